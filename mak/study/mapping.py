"""From ranges of lines to nodes: what a change touches, as the kernel's own cutter sees it.

A node is touched when a range of the difference reaches into it and its text, apart from blank
lines around it, is another one afterwards. That a function moves down the file touches nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mak.model import Node, NodeId
from mak.source import SourceFile, appendable, only_adds
from mak.study.history import FileDiff, Hunk


@dataclass(frozen=True, slots=True)
class Touch:
    """One node that a change touches."""

    node: NodeId
    #: Whether what callers rely on is another: the signature, or that the node is there at all.
    api: bool
    #: Whether it only adds to something that grows: entries of a table, imports, a new symbol.
    adds: bool


def touches(
    diff: FileDiff, before: SourceFile | None, after: SourceFile | None
) -> tuple[Touch, ...]:
    """Return the nodes that a change of one file touches, in the order of the file.

    A file that is new, gone, renamed or not cut is one node.
    """
    if before is None or after is None:
        return (Touch(NodeId(diff.path), api=True, adds=before is None),)
    found: dict[NodeId, Touch] = {}
    if diff.old_path != diff.new_path:
        for path in (diff.old_path, diff.new_path):
            found[NodeId(path)] = Touch(NodeId(path), api=True, adds=False)
    if before.whole or after.whole:
        if before.data != after.data:
            found.setdefault(before.id, Touch(before.id, api=False, adds=False))
        return tuple(found.values())
    for id in _reached(diff.hunks, before, after):
        old, new = before.get(id), _same(after, id)
        if old is None or new is None:
            # A symbol that comes meets nobody but one of its own name.
            found[id] = Touch(id, api=True, adds=old is None)
        elif _text(before, old) != _text(after, new):
            grows = old.id == new.id and appendable(before, old.id) is not None
            adds = grows and only_adds(before, after, old.id)
            found[id] = Touch(id, api=old.api != new.api, adds=adds)
    return tuple(found.values())


def covered(hunks: Sequence[Hunk], file: SourceFile, *, old: bool) -> int:
    """Return how many of the changed lines of one side lie in a node."""
    return sum(
        sum(1 for line in range(start, end + 1) if _at(file, line) is not None)
        for start, end in _ranges(hunks, old=old)
    )


def _reached(hunks: Sequence[Hunk], before: SourceFile, after: SourceFile) -> Iterator[NodeId]:
    """Yield the nodes that ranges of either side reach into, by the names of before."""
    seen = set()
    for file, old in ((before, True), (after, False)):
        nodes = file.nodes
        at = 0
        for start, end in _ranges(hunks, old=old):
            while at < len(nodes) and nodes[at].end_line < start:
                at += 1
            number = at
            while number < len(nodes) and nodes[number].line <= end:
                id = NodeId(before.path, nodes[number].id.symbol)
                if id not in seen:
                    seen.add(id)
                    yield id
                number += 1


def _ranges(hunks: Sequence[Hunk], *, old: bool) -> Iterator[tuple[int, int]]:
    """Yield first and last line of what a difference takes out, or puts in."""
    for hunk in hunks:
        start, count = (hunk.old, hunk.old_count) if old else (hunk.new, hunk.new_count)
        if count:
            yield start, start + count - 1


def _at(file: SourceFile, line: int) -> Node | None:
    return next((node for node in file.nodes if node.line <= line <= node.end_line), None)


def _same(after: SourceFile, id: NodeId) -> Node | None:
    return after.get(NodeId(after.path, id.symbol))


def _text(file: SourceFile, node: Node) -> bytes:
    return file.data[node.start : node.end].strip(b"\r\n")
