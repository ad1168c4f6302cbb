"""Edits of one file by several tasks that did not see each other's, as layers on its base.

Each layer keeps what its edits were made from. Layers lie in plan order, except that one lies above
those that were in what its agent saw; so the file on top depends on the layers alone and not on the
order in which they came.

Layers next to each other whose agents saw the same file are a run (`mak.source.run`): one more
costs a number of merges that grows with the logarithm of theirs, wherever among them it lies. A
run is laid on what is below it as one: an edit of a node that nobody else changed goes straight in;
otherwise the file that its agents meant is merged with the one below.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from mak.source.file import Applied, Newer, Rejected, SourceFile
from mak.source.run import Layer, Run, data_of, straight, together

__all__ = ["Layer", "Layers"]


@dataclass(frozen=True, slots=True)
class Layers:
    """A file with the edits of some tasks, in order."""

    path: str
    base: SourceFile | None
    runs: tuple[Run, ...] = ()
    #: What each run made of the file below it.
    results: tuple[Applied, ...] = ()

    @property
    def top(self) -> SourceFile | None:
        """The file with all layers."""
        return self.results[-1].file if self.results else self.base

    def add(self, layer: Layer, newer: Newer | None) -> Layers | Rejected:
        """Return the layers with one more; the reason when it goes with none of an order."""
        run = Run.of(self.path, layer, newer)
        if isinstance(run, Rejected):
            return run
        order = [each for one in self.runs for each in one.layers]
        runs = _with(self.runs, run, _place(order, layer), newer)
        if isinstance(runs, Rejected):
            return runs
        same = next(
            (n for n, (old, new) in enumerate(zip(self.runs, runs, strict=False)) if old != new),
            min(len(self.runs), len(runs)),
        )
        results = [*self.results[:same]]
        for one in runs[same:]:
            below = results[-1].file if results else self.base
            done = _laid(self.path, below, one, newer)
            if isinstance(done, Rejected):
                return done
            results.append(done)
        return replace(self, runs=runs, results=tuple(results))

    def of(self, rank: int) -> Applied:
        """Return what the layer of a task did; raise KeyError."""
        for run, result in zip(self.runs, self.results, strict=True):
            for layer in run.layers:
                if layer.rank == rank:
                    return result if len(run.layers) == 1 else run.meant(rank)
        raise KeyError(rank)


def _place(layers: Sequence[Layer], new: Layer) -> int:
    """Return below which layer a new one goes: above what it was made on, else by rank."""
    if not layers or (layers[-1].rank < new.rank and layers[-1].rank in new.above):
        return len(layers)
    at = max((n + 1 for n, layer in enumerate(layers) if layer.rank in new.above), default=0)
    while at < len(layers) and layers[at].rank < new.rank:
        at += 1
    return at


def _with(
    runs: Sequence[Run], new: Run, at: int, newer: Newer | None
) -> tuple[Run, ...] | Rejected:
    """Return the runs with a new one of one layer, below the layer that is number `at`."""
    left: list[Run] = []
    right = [*runs]
    while right and at >= len(right[0].layers):
        at -= len(right[0].layers)
        left.append(right.pop(0))
    if at and right[0].may_hold(new, at):
        joined = right[0].joined(new, newer)
        return joined if isinstance(joined, Rejected) else (*left, joined, *right[1:])
    if at:
        parts = right.pop(0).cut(at, newer)
        if isinstance(parts, Rejected):
            return parts
        left, right = [*left, parts[0]], [parts[1], *right]
    return _joined(left[:-1], [*left[-1:], new, *right[:1]], right[1:], newer)


def _joined(
    below: Sequence[Run], runs: Iterable[Run], above: Sequence[Run], newer: Newer | None
) -> tuple[Run, ...] | Rejected:
    """Return all runs in one row; those in the middle are one where they can be."""
    found: list[Run] = []
    for run in runs:
        if not found or not run.may_follow(found[-1]):
            found.append(run)
            continue
        joined = found[-1].joined(run, newer)
        if isinstance(joined, Rejected):
            return joined
        found[-1] = joined
    return (*below, *found, *above)


def _laid(path: str, below: SourceFile | None, run: Run, newer: Newer | None) -> Applied | Rejected:
    """Put a run on the file below it."""
    meant = run.whole
    if below is run.seen or data_of(below) == data_of(run.seen):
        return meant
    is_one = len(run.layers) == 1
    direct = straight(path, below, run.layers, newer) if is_one else None
    if isinstance(direct, Applied):
        return direct
    file = together(path, run.seen, below, meant.file, newer)
    if not isinstance(file, Rejected):
        return replace(meant, file=file)
    if not is_one:
        direct = straight(path, below, run.layers, newer)
    if isinstance(direct, Applied):
        return replace(meant, file=direct.file)
    return direct or file
