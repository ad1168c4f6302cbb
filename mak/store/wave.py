"""Commit a wave on a branch that a person may be working on, crash-safely.

Either the branch is at the wave's commit, with index and working tree to match, or it is as it
was. A person's uncommitted text is never overwritten and never committed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

#: ``merge(path, base, ours, theirs)``: the text that holds both changes, or None. Bytes are as in
#: blobs; `ours` is the wave's, `theirs` the working tree's.
Merge = Callable[[str, bytes, bytes, bytes], bytes | None]


def _no_merge(path: str, base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    return None


def _no_fault(phase: str) -> None:
    return None


@dataclass(frozen=True, slots=True)
class WaveWrite:
    """What a wave puts on the branch."""

    run: str
    number: int
    #: Commit that the files were built on; empty: the branch is unborn.
    parent: str
    #: New content by path, as blob bytes; None deletes.
    files: Mapping[str, bytes | None]
    #: The whole commit message, trailers included.
    message: str
    #: Node versions by path, in file order: (symbol, bytes); joined they equal the file.
    nodes: Mapping[str, Sequence[tuple[str, bytes]]] = field(default_factory=dict)
    #: Tasks whose locks end with the wave.
    tasks: tuple[str, ...] = ()
    merge: Merge = _no_merge
    #: File modes of paths that are new; others keep theirs.
    modes: Mapping[str, int] = field(default_factory=dict)
    #: Run the repository's pre-commit and commit-msg hooks as a gate.
    hooks: bool = False
    #: Test seam: called with the name of each phase once it is over.
    fault: Callable[[str], None] = _no_fault


@dataclass(frozen=True, slots=True)
class Committed:
    """The wave is on the branch."""

    commit: str
    #: Files where a person's uncommitted change was kept on top of the wave's text.
    merged: tuple[str, ...] = ()
    #: Sentences for the person.
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Moved:
    """The branch is not at the wave's parent; nothing changed. Build again on `tip`."""

    tip: str


@dataclass(frozen=True, slots=True)
class WaveHeld:
    """The wave cannot be committed as things stand; nothing changed."""

    paths: tuple[str, ...]
    #: What is in the way and what to do about it.
    reason: str
