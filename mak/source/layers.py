"""Edits of one file by several tasks that did not see each other's, as layers on its base.

Each layer keeps what its edits were made from. Layers lie in plan order, except that one lies above
those that were in what its agent saw; so the file on top depends on the layers alone and not on the
order in which they came. An edit of a node that nobody else changed goes straight into the file
below; otherwise the file that the agent meant is merged with the one below.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mak.model import Delete, Edit, Insert, NodeId, Replace
from mak.source.edit import apply
from mak.source.file import Applied, Conflict, Newer, Rejected, SourceFile
from mak.source.merge import merge


@dataclass(frozen=True, slots=True)
class Layer:
    """What one task does to a file."""

    #: The place of the task in its plan.
    rank: int
    #: The file as its agent saw it; None: there was none.
    seen: SourceFile | None
    #: Ranks of the layers that were in that.
    above: frozenset[int]
    edits: tuple[Edit, ...]
    granted: frozenset[NodeId]


@dataclass(frozen=True, slots=True)
class Layers:
    """A file with the edits of some tasks, in order."""

    path: str
    base: SourceFile | None
    layers: tuple[Layer, ...] = ()
    #: What each layer made of the file below it.
    results: tuple[Applied, ...] = ()

    @property
    def top(self) -> SourceFile | None:
        """The file with all layers."""
        return self.results[-1].file if self.results else self.base

    def add(self, layer: Layer, newer: Newer | None) -> Layers | Rejected:
        """Return the layers with one more; the reason when it goes with none of an order."""
        at = _place(self.layers, layer)
        order = (*self.layers[:at], layer, *self.layers[at:])
        results = [*self.results[:at]]
        for each in order[at:]:
            below = results[-1].file if results else self.base
            done = _laid(self.path, below, each, newer)
            if isinstance(done, Rejected):
                return done
            results.append(done)
        return replace(self, layers=order, results=tuple(results))

    def of(self, rank: int) -> Applied:
        """Return what the layer of a task did; raise KeyError."""
        for layer, result in zip(self.layers, self.results, strict=True):
            if layer.rank == rank:
                return result
        raise KeyError(rank)


def _place(layers: Sequence[Layer], new: Layer) -> int:
    """Return below which layer a new one goes: above what it was made on, else by rank."""
    if not layers or (layers[-1].rank < new.rank and layers[-1].rank in new.above):
        return len(layers)
    at = max((n + 1 for n, layer in enumerate(layers) if layer.rank in new.above), default=0)
    while at < len(layers) and layers[at].rank < new.rank:
        at += 1
    return at


def _laid(
    path: str, below: SourceFile | None, layer: Layer, newer: Newer | None
) -> Applied | Rejected:
    """Put a layer on the file below it."""
    moved = below is not layer.seen and _data(below) != _data(layer.seen)
    direct: Applied | Rejected | None = None
    if not moved or _untouched(below, layer):
        direct = apply(below, path, layer.edits, granted=layer.granted, newer=newer)
        if isinstance(direct, Applied) or not moved:
            return direct
    meant = apply(layer.seen, path, layer.edits, granted=layer.granted, newer=newer)
    if isinstance(meant, Rejected):
        return direct or meant
    if layer.seen is None or below is None or meant.file is None:
        if _data(below) == _data(meant.file):
            return replace(meant, file=below)
        return direct or Rejected("merge", f"{path} was made or deleted meanwhile", NodeId(path))
    merged = merge(layer.seen, below, meant.file, newer=newer)
    if isinstance(merged, Conflict):
        return direct or Rejected(
            "merge",
            f"{merged.nodes[0]} was changed meanwhile, and the two changes do not go together: "
            f"{merged.reason}",
            merged.nodes[0],
        )
    return replace(meant, file=merged)


def _data(file: SourceFile | None) -> bytes | None:
    return None if file is None else file.data


def _untouched(below: SourceFile | None, layer: Layer) -> bool:
    """Whether all that the edits replace or delete is as their agent saw it."""
    seen = layer.seen
    if seen is None or below is None or seen.whole or below.whole:
        return False
    for edit in layer.edits:
        if isinstance(edit, Insert) and edit.after is not None:
            after = edit.after.node
            if (seen.get(after) is None) != (below.get(after) is None):
                return False
        elif isinstance(edit, Replace | Delete) and (
            edit.node.is_file or not _is_same(seen, below, edit.node)
        ):
            return False
    return True


def _is_same(seen: SourceFile, below: SourceFile, id: NodeId) -> bool:
    """Whether a node, with the members of a class, is the same in two files."""
    mine, theirs = seen.members(id.node), below.members(id.node)
    if not mine or not theirs:
        return not mine and not theirs
    return [(node.id, node.digest) for node in mine] == [(node.id, node.digest) for node in theirs]
