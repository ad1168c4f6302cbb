"""Modules import each other in a circle that was not there before.

Only imports that run when a module is loaded count: not those in functions, and not those that
only type checkers see. The package that a module lies in does not count as imported by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from mak.checks.change import Change, Check
from mak.checks.trees import Trees, finding
from mak.checks.view import Problem, Spot, View
from mak.model import Finding
from mak.source.loading import loaded


def _findings(change: Change) -> Iterator[Finding]:
    trees = change.trees
    if trees is None:
        return
    if trees.before is None:
        for circle in _circles(trees.after):
            yield _finding(trees, circle[0], circle[1:])
        return
    told: set[frozenset[str]] = set()
    for path, _, after in change.reshaped():
        if after is None or after.whole or not path.endswith(".py"):
            continue
        known = (
            {to for to, _ in imports(trees.before, path)} if path in trees.before.sources else ()
        )
        for to, _ in imports(trees.after, path):
            way = _way(trees.after, to, path) if to not in known else []
            modules = frozenset(way)
            if way and modules not in told and not _was_there(trees.before, way):
                told.add(modules)
                yield _finding(trees, path, way)


def _finding(trees: Trees, path: str, way: Sequence[str]) -> Finding:
    """Return the circle from a file by its first import on the way back to it."""
    start = next(start for to, start in imports(trees.after, path) if to == way[0])
    problem = Problem(
        path,
        start,
        f"closes a circle of imports: {' → '.join((path, *way))}; import where it is used, or move "
        "what both need",
        Spot(way[0], 0),
        way[0],
    )
    node = trees.after.node(Spot(path, start))
    return finding(CHECK.id, problem, node, trees)


def imports(view: View, path: str) -> tuple[tuple[str, int], ...]:
    """Return the modules that a file imports when it is loaded, each with its first place."""
    if path not in view.imports:
        found = [
            (entry.path, entry.start)
            for entry in loaded(view.names, path)
            if entry.path != path and entry.path.endswith(".py")
        ]
        view.imports[path] = tuple(dict(reversed(found)).items())
    return view.imports[path]


def _way(view: View, start: str, goal: str) -> list[str]:
    """Return the shortest way of imports from one module to another; empty: there is none."""
    came: dict[str, str] = {start: ""}
    layer = [start]
    while layer and goal not in came:
        after: list[str] = []
        for path in layer:
            for to, _ in imports(view, path):
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


def _was_there(was: View, circle: Iterable[str]) -> bool:
    """Whether these modules imported each other, directly or not, already."""
    modules = [*circle]
    return all(
        module in was.sources and bool(_way(was, module, modules[0]) or module == modules[0])
        for module in modules
    ) and all(bool(_way(was, modules[0], module)) for module in modules[1:])


def _circles(view: View) -> Iterator[list[str]]:
    """Yield one circle for each group of modules that all import each other."""
    for group in _groups(view):
        if len(group) > 1:
            first = min(group)
            ways = (_way(view, to, first) for to, _ in imports(view, first) if to in group)
            yield [first, *min(filter(None, ways), key=len)]


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
            for to, _ in rest:
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
    "modules import each other in a new circle",
    _findings,
    looks_beyond=True,
    for_people=True,
)
