"""What a change brings into a tree: what the rules say after, without what they said before.

Findings are compared as a multiset of file, rule, text and enclosing node, never by line, so that
code which moves keeps what was wrong with it before. Only those files are looked at that a change
can matter to: the changed ones, and those that spell a name whose interface is another.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from functools import cached_property

from mak.checks.view import THERE, Problem, Rule, Spot, View
from mak.model import Finding, Need, NodeId, NodeKind, Place
from mak.source import SourceFile, Sources, unlike
from mak.source.facts import BindingKind, Facts
from mak.source.hierarchy import descendants
from mak.source.resolve import Variable

_SUFFIXES = (".py", ".pyi")
#: What a class needs to be constructed is another when one of these is.
_CONSTRUCTORS = ("__init__", "__new__")

#: Words and punctuation; what is left over are numbers, operators and white space.
_SAYING = re.compile(rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*|[()\[\]{},.=*:@'\"#]")
_STATEMENTS = (NodeKind.BODY, NodeKind.CLASS_BODY)

Files = Mapping[str, SourceFile | None]


class Trees:
    """A tree before and after a change."""

    def __init__(
        self,
        before: Sources | None,
        after: Sources,
        changed: Iterable[str],
        settled: Set[str] = frozenset(),
    ) -> None:
        self.before = View(before) if before is not None else None
        self.after = View(after, self.before, alone=before is None)
        #: Paths that are not the same in both, in order.
        self.changed = tuple(sorted(changed))
        #: Those that were judged as they are, so that only changes of other files matter to them.
        self.settled = settled

    @cached_property
    def affected(self) -> tuple[str, ...]:
        """The Python files that the change can matter to, in order."""
        if self.before is None:
            return self.after.names.index.paths
        changed = [
            path
            for path in self.changed
            if path.endswith(_SUFFIXES) and not _reads_alike(self.before, self.after, path)
        ]
        found = {path for path in changed if path not in self.settled}
        for name in self._renewed(changed):
            for view in (self.before, self.after):
                found.update(view.names.index.mentioning(name))
        return tuple(sorted(found))

    @cached_property
    def edited(self) -> frozenset[NodeId]:
        """The nodes of the tree after that are new or another."""
        found: set[NodeId] = set()
        for path in self.changed if self.before is not None else ():
            if path not in self.after.sources:
                continue
            old = {}
            if self.before is not None and path in self.before.sources:
                old = {node.id: node.digest for node in self.before.sources.nodes(path)}
            for node in self.after.sources.nodes(path):
                if old.get(node.id) != node.digest:
                    found.add(node.id)
        return frozenset(found)

    def _renewed(self, paths: Iterable[str]) -> set[str]:
        """Return the names that stand for another interface than they did."""
        names: set[str] = set()
        for path in paths:
            sides = [(view, view.facts(path)) for view in (self.before, self.after) if view]
            old, new = (facts.interface if facts else None for _, facts in sides)
            if old is None or new is None:
                names.add(_stem(path))
            old, new = old or {}, new or {}
            keys = {key for key in {*old, *new} if old.get(key) != new.get(key)}
            remade = self._remade(path)
            if not keys and not remade:
                continue
            names |= remade
            for scope, name in keys:
                if name:
                    names.add(name)
                klass = scope.rpartition(".")[2]
                if klass and (
                    name in _CONSTRUCTORS or not name or _is_field(old, new, scope, name)
                ):
                    names.add(klass)
            for view, facts in sides:
                if facts is not None:
                    names.update(_derived(view, path, facts, {*names}))
                    names.update(_starred(view, path, facts, keys))
        return names

    def _remade(self, path: str) -> set[str]:
        """Return classes whose fields, and tables whose keys, may be others."""
        texts: list[dict[NodeId, tuple[str, tuple[str, ...]]]] = []
        for view in (self.before, self.after):
            nodes = view.sources.nodes(path) if view and path in view.sources else ()
            texts.append({n.id: (n.digest, n.names) for n in nodes if n.kind in _STATEMENTS})
        old, new = texts
        names: set[str] = set()
        for node in {*old, *new}:
            if old.get(node) != new.get(node):
                inside, _, _ = node.symbol.rpartition(".")
                bound = (*old.get(node, ("", ()))[1], *new.get(node, ("", ()))[1])
                names.update((inside.rpartition(".")[2],) if inside else bound)
        return names


def introduced(check: str, rule: Rule, trees: Trees) -> Iterator[Finding]:
    """Yield what a rule says of the tree after that it did not say of the one before."""
    said = [
        (path, problem, trees.after.node(Spot(path, problem.start)))
        for path in trees.affected
        if path in trees.after.sources
        for problem in sorted(rule(trees.after, path), key=lambda p: p.start)
    ]
    before = trees.before if said else None
    old = Counter[tuple[str, str, NodeId]]()
    if before is not None:
        for path in trees.affected:
            for problem in rule(before, path) if path in before.sources else ():
                old[path, problem.text, before.node(Spot(path, problem.start))] += 1
    new: list[tuple[Problem, NodeId]] = []
    for path, problem, node in said:
        key = path, problem.text, node
        if old[key]:
            old[key] -= 1
        else:
            new.append((problem, node))
    # What is gone from one place and said of another has moved there.
    moved = Counter[str]()
    for (_, text, _), count in old.items():
        moved[text] += count
    spots = {(Spot(p.path, p.start), p.there): node for p, node in new if p.there is not None}
    for problem, node in new:
        there, spot = problem.there, Spot(problem.path, problem.start)
        mirrored = spots.get((there, spot)) if there is not None else None
        if moved[problem.text]:
            moved[problem.text] -= 1
        elif mirrored is None or _counts(problem, node, mirrored, trees.edited):
            yield finding(check, problem, node, trees)


def _counts(problem: Problem, node: NodeId, mirrored: NodeId, edited: frozenset[NodeId]) -> bool:
    """Whether, of two places that disagree with each other, this is the one to tell about."""
    if (node in edited) != (mirrored in edited):
        return node in edited
    return problem.there is not None and Spot(problem.path, problem.start) > problem.there


def finding(check: str, problem: Problem, node: NodeId, trees: Trees) -> Finding:
    """Return a problem as a finding, blamed on the node whose edit brought it about."""
    view = trees.after
    spot = Spot(problem.path, max(problem.start, 0))
    place = there = None
    if problem.there is not None:
        there = problem.there
        line = view.line(there) if there.path in view.sources else 1
        place = Place(there.path, line, problem.shown)
    text = problem.text.replace(THERE, f"{place.path}:{place.line}" if place else "")
    needs: tuple[Need, ...] = ()
    blame = None
    if trees.before is not None and node not in trees.edited:
        needs = (Need(node, write=True, why=text),)
        blame = view.node(there) if there is not None and there.path in view.sources else None
    return Finding(
        check,
        node,
        text,
        view.line(spot),
        needs,
        problem.missing,
        view.column(spot),
        (place,) if place else (),
        blame,
    )


def _reads_alike(before: View, after: View, path: str) -> bool:
    """Whether both texts of a file say the same about names, calls and keys: only values differ."""
    if path not in before.sources or path not in after.sources:
        return False
    one, other = before.sources.file(path), after.sources.file(path)
    old, new = unlike(one, other)
    return len(old) == len(new) and all(
        (a.id, a.kind, a.names, a.api) == (b.id, b.kind, b.names, b.api)
        and _SAYING.findall(one.data, a.start, a.end) == _SAYING.findall(other.data, b.start, b.end)
        for a, b in zip(old, new, strict=True)
    )


def _stem(path: str) -> str:
    """Return the word by which importers call a module."""
    folder, _, name = path.rpartition("/")
    stem = name.partition(".")[0]
    return folder.rpartition("/")[2] if stem == "__init__" else stem


_Key = tuple[str, str]


def _is_field(
    old: Mapping[_Key, tuple[object, ...]],
    new: Mapping[_Key, tuple[object, ...]],
    scope: str,
    name: str,
) -> bool:
    said = (*old.get((scope, name), ()), *new.get((scope, name), ()))
    return any(isinstance(item, tuple) and item[0] is BindingKind.ASSIGN for item in said)


def _derived(view: View, path: str, facts: Facts, names: set[str]) -> Iterator[str]:
    """Yield the names of classes that derive from renewed classes of the file, however far."""
    todo = [
        Variable(path, definition.holder, definition.name)
        for definition in facts.definitions
        if definition.is_class and definition.name in names
    ]
    seen = {*todo}
    while todo:
        for derived in descendants(view.names, todo.pop()):
            if derived not in seen:
                seen.add(derived)
                todo.append(derived)
                yield derived.name


def _starred(view: View, path: str, facts: Facts, keys: set[_Key]) -> Iterator[str]:
    """Yield what the file's star imports bring, when one of them is another."""
    if ("", "*") not in keys:
        return
    for entry in facts.stars:
        module = view.names.modules.imported(entry.level, entry.module, path)
        other = view.facts(module) if module is not None else None
        if other is not None:
            yield from other.names_in(0)
