"""Modules import each other in a circle, and one of them fails when it is imported first.

Only imports that run when a module is loaded count: not those in functions, and not those that
only type checkers see. A circle in which nobody takes a name before it is there does no harm, and
neither does one that failed before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mak.checks.change import Change, Check
from mak.checks.trees import Trees, finding
from mak.checks.view import Problem, Spot, View
from mak.model import Finding
from mak.source.loading import Failure, failure, loaded


def _findings(change: Change) -> Iterator[Finding]:
    trees = change.trees
    if trees is None:
        return
    # Several circles may fail at one and the same place.
    failed: set[tuple[str, str, str]] = set()
    if trees.before is None:
        for group in _groups(trees.after):
            found = _failing(trees.after, sorted(group)) if len(group) > 1 else None
            if found is not None and _is_new(found[1], failed):
                yield _finding(trees, found[1].path, found[1].source, *found)
        return
    told: set[frozenset[str]] = set()
    for path, _, after in change.reshaped():
        if after is None or after.whole or not path.endswith(".py"):
            continue
        known = {*imports(trees.before, path)} if path in trees.before.sources else ()
        for to in imports(trees.after, path):
            way = _way(trees.after, to, path) if to not in known else []
            modules = frozenset(way)
            if not way or modules in told:
                continue
            told.add(modules)
            found = _failing(trees.after, way, trees.before)
            if found is not None and _is_new(found[1], failed):
                yield _finding(trees, path, to, *found)


def _is_new(failed: Failure, told: set[tuple[str, str, str]]) -> bool:
    """Whether nothing was told yet about what fails; from now on it is."""
    key = failed.path, failed.name, failed.source
    is_new = key not in told
    told.add(key)
    return is_new


def _failing(
    view: View, modules: Iterable[str], was: View | None = None
) -> tuple[str, Failure] | None:
    """Return the first of some modules that fails when it is imported first, and how.

    Not one that failed in the same way before.
    """
    for module in modules:
        found = failure(view.names, module)
        if found is None:
            continue
        before = failure(was.names, module) if was and module in was.sources else None
        if before is None or before._replace(start=found.start) != found:
            return module, found
    return None


def _finding(trees: Trees, path: str, to: str, first: str, failed: Failure) -> Finding:
    """Return the circle that begins with an import of `to` in a file, and what fails in it."""
    start = next(e.start for e in loaded(trees.after.names, path) if e.path == to)
    way = (path, to, *_way(trees.after, to, path)[1:])
    problem = Problem(
        path,
        start,
        f"closes a circle of imports: {' → '.join(way)}; when {first} is imported first, "
        f"{failed.path} takes {failed.name} from {failed.source} before it is there; import it "
        "where it is used, or move what both need",
        Spot(failed.source, 0),
        failed.source,
    )
    node = trees.after.node(Spot(path, start))
    return finding(CHECK.id, problem, node, trees)


def imports(view: View, path: str) -> tuple[str, ...]:
    """Return the modules that a file imports when it is loaded."""
    if path not in view.imports:
        found = (entry.path for entry in loaded(view.names, path))
        view.imports[path] = tuple(
            dict.fromkeys(to for to in found if to != path and to.endswith(".py"))
        )
    return view.imports[path]


def _way(view: View, start: str, goal: str) -> list[str]:
    """Return the shortest way of imports from one module to another; empty: there is none."""
    came: dict[str, str] = {start: ""}
    layer = [start]
    while layer and goal not in came:
        after: list[str] = []
        for path in layer:
            for to in imports(view, path):
                if to not in came:
                    came[to] = path
                    after.append(to)
        layer = after
    if goal not in came:
        return []
    way = [goal]
    while came[way[-1]]:
        way.append(came[way[-1]])
    return way[::-1]


def _groups(view: View) -> Iterator[set[str]]:
    """Yield the strongly connected modules (Tarjan 1972), without recursion."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    inside: set[str] = set()
    for root in view.graph.paths:
        if root in index:
            continue
        index[root] = low[root] = len(index)
        stack.append(root)
        inside.add(root)
        todo = [(root, iter(imports(view, root)))]
        while todo:
            path, rest = todo[-1]
            for to in rest:
                if to not in index:
                    index[to] = low[to] = len(index)
                    stack.append(to)
                    inside.add(to)
                    todo.append((to, iter(imports(view, to))))
                    break
                if to in inside:
                    low[path] = min(low[path], index[to])
            else:
                todo.pop()
                if todo:
                    low[todo[-1][0]] = min(low[todo[-1][0]], low[path])
                if low[path] == index[path]:
                    group: set[str] = set()
                    while path not in group:
                        group.add(stack.pop())
                    inside -= group
                    yield group


CHECK = Check(
    "import-cycle",
    "modules import each other in a circle that fails",
    _findings,
    looks_beyond=True,
    for_people=True,
)
