"""Edits of one file by agents that saw the same version of it, merged in halves.

The ranks of the tasks are the leaves of a binary tree: a part of it holds the layers whose rank
lies in a range of ``2 ** n``, as the merge of those in its lower half with those in its upper one;
ranges with layers in one half only are left out. The parts are the same for the same layers, so
the result does not depend on the order in which they came, and a new layer, first or last, changes
the parts above its leaf alone: at most as many merges as its rank has bits.

Where two parts do not merge, the edits of the upper one go into the lower one as they are, if all
that they replace or delete is as their agents saw it; what is in their way says more of a clash
than a merge can.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
class _Part:
    """The layers whose ranks lie in ``[low, low + size)``, merged."""

    low: int
    size: int
    #: What they make of the file that their agents saw.
    meant: Applied
    #: The lower and the upper half; none: it is one layer.
    halves: tuple[_Part, _Part] | None = None
    layer: Layer | None = None

    def layers(self) -> Iterator[Layer]:
        if self.layer is not None:
            yield self.layer
        for half in self.halves or ():
            yield from half.layers()

    def leaf(self, rank: int) -> _Part:
        part = self
        while part.halves is not None:
            part = part.halves[rank >= part.halves[1].low]
        return part


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """Layers of which each lies above those of lower rank, on one file."""

    path: str
    seen: SourceFile | None
    root: _Part
    layers: tuple[Layer, ...]

    @classmethod
    def of(cls, path: str, layer: Layer, newer: Newer | None) -> Run | Rejected:
        """Return a run of one layer; why its edits do not go into what its agent saw."""
        meant = apply(layer.seen, path, layer.edits, granted=layer.granted, newer=newer)
        if isinstance(meant, Rejected):
            return meant
        return cls(path, layer.seen, _Part(layer.rank, 1, meant, layer=layer), (layer,))

    @property
    def whole(self) -> Applied:
        """What all layers make of the file that their agents saw."""
        return self.root.meant

    def meant(self, rank: int) -> Applied:
        """Return what the layer of this rank makes of that file by itself."""
        return self.root.leaf(rank).meant

    def may_follow(self, other: Run) -> bool:
        """Whether the run can be one with the one below it."""
        return self._saw_as(other) and self.layers[0].rank > other.layers[-1].rank

    def may_hold(self, other: Run, at: int) -> bool:
        """Whether another run of one layer, which lies on the first `at` of this, can be in it."""
        below, above = self.layers[at - 1].rank, self.layers[at].rank
        return other._saw_as(self) and below < other.layers[0].rank < above

    def _saw_as(self, other: Run) -> bool:
        return self.seen is other.seen or data_of(self.seen) == data_of(other.seen)

    def joined(self, other: Run, newer: Newer | None) -> Run | Rejected:
        """Return the run with the layers of another."""
        return self._of(_join(self, self.root, other.root, newer))

    def cut(self, at: int, newer: Newer | None) -> tuple[Run, Run] | Rejected:
        """Return the run without all but its first `at` layers, and without those."""
        lower, upper = (
            self._of(_side(self, self.root, self.layers[at].rank, is_upper, newer))
            for is_upper in (False, True)
        )
        if isinstance(lower, Rejected):
            return lower
        return upper if isinstance(upper, Rejected) else (lower, upper)

    def _of(self, root: _Part | Rejected | None) -> Run | Rejected:
        if root is None or isinstance(root, Rejected):
            return root or Rejected("merge", "nothing is left of it", NodeId(self.path))
        return replace(self, root=root, layers=tuple(root.layers()))


def _join(run: Run, one: _Part, two: _Part, newer: Newer | None) -> _Part | Rejected:
    """Return all layers of two parts as one."""
    if one.size < two.size:
        one, two = two, one
    if one.halves is None or not one.low <= two.low < one.low + one.size:
        return _over(run, one, two, newer) if one.low < two.low else _over(run, two, one, newer)
    lower, upper = one.halves
    if one.low == two.low and one.size == two.size and two.halves is not None:
        left = _join(run, lower, two.halves[0], newer)
        right = _join(run, upper, two.halves[1], newer)
    elif two.low < one.low + one.size // 2:
        left, right = _join(run, lower, two, newer), upper
    else:
        left, right = lower, _join(run, upper, two, newer)
    if isinstance(left, Rejected):
        return left
    return right if isinstance(right, Rejected) else _over(run, left, right, newer)


def _over(run: Run, lower: _Part, upper: _Part, newer: Newer | None) -> _Part | Rejected:
    """Return the smallest part that holds two, of which none holds the other."""
    size = 1 << (lower.low ^ upper.low).bit_length()
    file = together(run.path, run.seen, lower.meant.file, upper.meant.file, newer)
    if isinstance(file, Rejected):
        direct = straight(run.path, lower.meant.file, upper.layers(), newer)
        if direct is None or isinstance(direct, Rejected):
            return direct or file
        file = direct.file
    return _Part(lower.low & -size, size, replace(lower.meant, file=file), (lower, upper))


def _side(
    run: Run, part: _Part, rank: int, is_upper: bool, newer: Newer | None
) -> _Part | Rejected | None:
    """Return a part's layers from a rank on, or those below it; None: there are none."""
    if part.low >= rank:
        return part if is_upper else None
    if part.halves is None or part.low + part.size <= rank:
        return None if is_upper else part
    lower, upper = (_side(run, half, rank, is_upper, newer) for half in part.halves)
    if isinstance(lower, Rejected) or upper is None:
        return lower
    if isinstance(upper, Rejected) or lower is None:
        return upper
    return _over(run, lower, upper, newer)


def together(
    path: str,
    seen: SourceFile | None,
    below: SourceFile | None,
    above: SourceFile | None,
    newer: Newer | None,
) -> SourceFile | Rejected | None:
    """Return a file with what two versions made of the one that was seen; None: it is deleted."""
    if data_of(below) == data_of(above) or data_of(above) == data_of(seen):
        return below
    if data_of(below) == data_of(seen):
        return above
    if seen is None or below is None or above is None:
        return Rejected("merge", f"{path} was made or deleted meanwhile", NodeId(path))
    merged = merge(seen, below, above, newer=newer)
    if isinstance(merged, Conflict):
        return Rejected(
            "merge",
            f"{merged.nodes[0]} was changed meanwhile, and the two changes do not go together: "
            f"{merged.reason}",
            merged.nodes[0],
        )
    return merged


def straight(
    path: str, below: SourceFile | None, layers: Iterable[Layer], newer: Newer | None
) -> Applied | Rejected | None:
    """Put the edits of layers into a file as they are, one after the other.

    Returns None when it has not all that they replace or delete as their agents saw it.
    """
    done: Applied | Rejected | None = None
    for layer in layers:
        if not _untouched(below, layer):
            return None
        done = apply(below, path, layer.edits, granted=layer.granted, newer=newer)
        if isinstance(done, Rejected):
            return done
        below = done.file
    return done


def data_of(file: SourceFile | None) -> bytes | None:
    """Return the bytes of a file; None when there is none."""
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
