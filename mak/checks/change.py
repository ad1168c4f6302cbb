"""What a check looks at: some files before and after, and who was allowed to do what."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import TypeGuard

from mak.checks.trees import Trees, introduced
from mak.checks.view import Rule
from mak.model import Edit, Finding, Node, NodeId, NodeKind, Task
from mak.source import SourceFile, Sources, decode, of_file, unlike
from mak.source.names import Reference

DEFINITIONS = frozenset({NodeKind.FUNCTION, NodeKind.METHOD, NodeKind.CLASS})
_FUNCTIONS = frozenset({NodeKind.FUNCTION, NodeKind.METHOD})

_SYMBOL = re.compile(r"(?P<name>[^\[#]*)(?:\[(?P<role>[^\]]*)\])?(?:#(?P<ordinal>\d+))?")


@dataclass(frozen=True, slots=True)
class Change:
    """Files before and after an edit, a wave or a commit, with what is known about it."""

    #: None: no such file.
    before: Mapping[str, SourceFile | None]
    after: Mapping[str, SourceFile | None]
    #: Who made the change; None: many did, and what was granted to each is not known.
    task: Task | None = None
    edits: Sequence[Edit] = ()
    #: Nodes that the edits declare to be new, and gone.
    created: frozenset[NodeId] = frozenset()
    deleted: frozenset[NodeId] = frozenset()
    #: What other tasks of the plan are still to write.
    planned: Set[NodeId] = frozenset()
    #: What refers to a definition, as far as that is proved, before the change but with these
    #: files as they are given (None: deleted).
    references: Callable[[NodeId, Mapping[str, SourceFile | None]], Sequence[Reference]] = (
        lambda node, files: ()
    )
    #: The whole tree before and after; None: nothing is known but the files.
    trees: Trees | None = None

    #: The tree as it was shown to who made the change; None: not known.
    seen: Sources | None = None
    #: Files that are others by now than they were shown.
    moved: Callable[[], Iterable[str]] = lambda: ()
    #: Whether a person made it, who is told place by place.
    by_person: bool = False
    #: Files that the checks saw as they are here, before and after, when they judged one task.
    checked: frozenset[str] = frozenset()

    def files(self) -> Iterator[tuple[str, SourceFile | None, SourceFile | None]]:
        """Yield path, before and after of every file that differs, in the order of the paths."""
        for path in sorted({*self.before, *self.after}):
            before, after = self.before.get(path), self.after.get(path)
            if before is None or after is None:
                if before is not after:
                    yield path, before, after
            elif before.data != after.data:
                yield path, before, after

    def reshaped(self) -> Iterator[tuple[str, SourceFile | None, SourceFile | None]]:
        """Yield, as `files` does, what differs by more than the code inside of functions."""
        for path, before, after in self.files():
            if before is None or after is None or not _bodies_only(before, after):
                yield path, before, after

    @property
    def grants(self) -> frozenset[NodeId]:
        """What the task may write, files and symbols that it was to create among it."""
        return frozenset((*self.task.writes, *self.task.creates)) if self.task else frozenset()

    @property
    def goal(self) -> str:
        """What the task was asked to do."""
        return self.task.goal if self.task else ""


@dataclass(frozen=True, slots=True)
class Check:
    """One rule over a change."""

    #: Stable; people select and ignore findings by it.
    id: str
    #: One line for a list of checks.
    title: str
    findings: Callable[[Change], Iterable[Finding]]
    #: Whether it looks beyond the file: at who uses what, and at what other tasks of the plan do.
    looks_beyond: bool = False
    #: Whether it also judges what a person changes, not only what agents may.
    for_people: bool = False
    #: What it says about one file of a tree, when that is all there is to it.
    rule: Rule | None = None


def tree_check(id: str, title: str, rule: Rule) -> Check:
    """Make a check of a rule: what it says of the tree after and did not say of the one before.

    Where another task of the plan is still to write, nothing is certain.
    """

    def findings(change: Change) -> Iterator[Finding]:
        if change.trees is None:
            return
        for finding in introduced(id, rule, change.trees):
            if not _is_awaited(finding, change.planned):
                # An agent is told the text alone.
                yield replace(finding, message=f"{finding.node} {finding.message}")

    return Check(id, title, findings, looks_beyond=True, for_people=True, rule=rule)


def _is_awaited(finding: Finding, planned: Set[NodeId]) -> bool:
    """Whether another task is still to write where a finding is, or in what it disagrees with."""
    if not planned:
        return False
    if is_covered(finding.node, planned):
        return True
    paths = {node.path for node in planned}
    return any(place.path in paths for place in finding.related)


@dataclass(frozen=True, slots=True)
class Definition:
    """A function, method or class node, and where its name lives."""

    node: Node
    #: Qualified name of the class that holds it (empty: the module), and which one of that name.
    scope: tuple[str, int]
    name: str
    role: str


def is_cut(file: SourceFile | None) -> TypeGuard[SourceFile]:
    """Whether the file is there and cut into nodes of code."""
    return file is not None and file.is_code


def node_bytes(file: SourceFile, node: Node) -> bytes:
    """Return the bytes of a node."""
    return file.data[node.start : node.end]


def differing(file: SourceFile | None, other: SourceFile | None) -> list[Node]:
    """List the nodes of `file` whose text is not that of the same node in `other`."""
    if file is None or other is None:
        return [*file.nodes] if file else []
    found = []
    for node in unlike(file, other)[0]:
        twin = other.get(node.id)
        if twin is None or twin.digest != node.digest:
            found.append(node)
    return found


def _bodies_only(before: SourceFile, after: SourceFile) -> bool:
    """Whether the files define the same names with the same signatures, in the same order."""
    old, new = unlike(before, after)
    return len(old) == len(new) and all(
        a.kind in _FUNCTIONS and (a.id, a.kind, a.names, a.api) == (b.id, b.kind, b.names, b.api)
        for a, b in zip(old, new, strict=True)
    )


def significant_lines(file: SourceFile, node: Node) -> Counter[str]:
    """Count the lines of a node, stripped, that hold more than white space or a comment."""
    lines = (line.strip() for line in decode(file, node.id).split("\n"))
    return Counter(line for line in lines if line and not line.startswith("#"))


def is_covered(node: NodeId, by: Set[NodeId]) -> bool:
    """Whether a set of grants holds the node, its signature, or something that encloses it."""
    return (
        node in by
        or node.node in by
        or node.api in by
        or any(container in by for container in node.containers)
    )


def split_symbol(symbol: str) -> tuple[str, str, str]:
    """Return the qualified name of the scope, the name and the role that a symbol is made of."""
    scope, _, leaf = symbol.rpartition(".")
    if leaf.isidentifier():
        return scope, leaf, ""
    match = _SYMBOL.fullmatch(leaf)
    if match is None or leaf.startswith("@"):
        return scope, leaf, ""
    return scope, match["name"], match["role"] or ""


@of_file
def definitions(file: SourceFile) -> tuple[Definition, ...]:
    """List the definitions of a file in order; of a class that is there twice, each its own."""
    classes: dict[str, int] = {}
    found = []
    for node in file.nodes:
        if node.kind not in DEFINITIONS:
            continue
        scope, name, role = split_symbol(node.id.symbol)
        holder = plain(scope)
        found.append(Definition(node, (holder, classes.get(holder, 0)), name, role))
        if node.kind is NodeKind.CLASS:
            qualname = f"{holder}.{name}" if holder else name
            classes[qualname] = classes.get(qualname, 0) + 1
    return tuple(found)


def names_in(file: SourceFile, scope: str) -> Set[str]:
    """Return what is bound in a scope of the file: definitions, imports, assignments."""
    return _names(file).get(scope, frozenset())


@of_file
def _names(file: SourceFile) -> dict[str, set[str]]:
    names: dict[str, set[str]] = {}
    for node in file.nodes:
        names.setdefault(plain(split_symbol(node.id.symbol)[0]), set()).update(node.names)
    return names


def plain(qualname: str) -> str:
    """Drop the ordinals of a qualified name: ``C#2.D`` → ``C.D``."""
    return re.sub(r"#\d+", "", qualname) if "#" in qualname else qualname
