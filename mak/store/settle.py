"""Bring the files and the index entries of a wave to one side, before it or after it.

The one algorithm for taking a wave back and for finishing one that was cut off, from any state a
crash can leave, with a person's edits in between. Idempotent: cut off itself, it is run again.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto

from mak.store.journal import Journal, Touched
from mak.store.treeops import Entry
from mak.store.worktree import Found, Kind, Staged, Worktree

#: `git` writes files in pieces of a multiple of this, and a write is cut off at one of these.
_PIECE = 4096


class Side(Enum):
    """Where a file stands."""

    BEFORE = auto()
    AFTER = auto()
    #: Gone or cut short: git was writing it. Belongs to neither side and holds nothing new.
    TORN = auto()
    #: A person changed it since.
    EDITED = auto()


@dataclass(frozen=True, slots=True)
class Standing:
    """Where the files of a wave stand."""

    found: dict[str, Found]
    staged: dict[str, Staged]
    sides: dict[str, Side]

    @property
    def edited(self) -> list[str]:
        """The files that a person changed since."""
        return [path for path, side in self.sides.items() if side is Side.EDITED]


class Restless(Exception):
    """A file changed while we were about to replace it: look again."""


def look(worktree: Worktree, files: Sequence[Touched]) -> Standing:
    """Find out where the files of a wave stand."""
    paths = [file.path for file in files]
    found, staged = worktree.look(paths), worktree.staged(paths)
    sides = {
        file.path: _side(worktree, file, found[file.path])
        if _is_ours(file, staged.get(file.path))
        else Side.EDITED
        for file in files
    }
    return Standing(found, staged, sides)


def _is_ours(file: Touched, staged: Staged | None) -> bool:
    """Whether the index holds what the wave, or its parent, would have there."""
    if staged is None:
        return file.base is None or file.new is None
    return not staged.stage and staged.entry in (file.base, file.new)


def _side(worktree: Worktree, file: Touched, found: Found) -> Side:
    if found.holds(file.after):
        return Side.AFTER
    if found.holds(file.before):
        return Side.BEFORE
    if not file.follows:
        return Side.EDITED  # replaced in one step, so never torn
    if found.kind is Kind.ABSENT:
        return Side.TORN
    return _by_bytes(worktree, file) if found.kind is Kind.FILE else Side.EDITED


def _by_bytes(worktree: Worktree, file: Touched) -> Side:
    """Compare a file with what git would write: the whole of it, or a beginning.

    The whole counts also where Git would store something else for it, because attributes and blob
    do not fit. A beginning was cut short where a write can be cut. A person who deletes the end of
    a file leaves a beginning of it, too, but hardly ever one whose length is a multiple of a page;
    where filters are at work, pieces have any length.
    """
    data = worktree.read(file.path)
    for entry, side in ((file.new, Side.AFTER), (file.base, Side.BEFORE)):
        if entry is None:
            continue
        whole = worktree.smudged({file.path: entry.oid})[file.path]
        if data == whole:
            return side
        if len(data) < len(whole) and whole.startswith(data):
            is_plain = worktree.blob(entry.oid) == whole
            if not is_plain or len(data) % _PIECE == 0:
                return Side.TORN
    return Side.EDITED


def settle(worktree: Worktree, journal: Journal, standing: Standing, *, forward: bool) -> None:
    """Bring everything that no person changed since to one side; leave the rest alone.

    Raises Restless when a person changes a file meanwhile, and StoreError when git does not do
    as told; either way it may be called again after another `look`.
    """
    there = Side.AFTER if forward else Side.BEFORE
    index: dict[str, Entry | None] = {}
    move: list[Touched] = []
    for file in journal.files:
        staged = standing.staged.get(file.path)
        wanted = file.new if forward else file.base
        if _is_ours(file, staged) and (staged.entry if staged else None) != wanted:
            index[file.path] = wanted
        side = standing.sides[file.path]
        if side not in (there, Side.EDITED) and file.before != file.after:
            move.append(file)
    worktree.set_index(index, standing.staged)
    _move(worktree, journal, standing, move, forward=forward)
    if index or move:
        worktree.refresh()


def _move(
    worktree: Worktree,
    journal: Journal,
    standing: Standing,
    files: Sequence[Touched],
    *,
    forward: bool,
) -> None:
    wanted = {file.path: file.after if forward else file.before for file in files}
    texts = worktree.smudged({path: entry.oid for path, entry in wanted.items() if entry})
    for path, entry in wanted.items():
        found = standing.found[path]
        if entry is None:
            done = worktree.remove(path, found)
        else:
            done = worktree.put(path, texts[path], found, scratch(journal, path), entry.mode)
        if not done:
            raise Restless(path)


def scratch(journal: Journal, path: str) -> str:
    """Return the name of the temporary neighbour through which a file is replaced."""
    return f".{path.rpartition('/')[2]}.mak-{journal.commit[:10]}"


def sweep(worktree: Worktree, journal: Journal) -> None:
    """Remove the temporary neighbours that a process left when it was killed."""
    for file in journal.files:
        temporary = (worktree.root / file.path).with_name(scratch(journal, file.path))
        with suppress(FileNotFoundError, NotADirectoryError):
            temporary.unlink()
