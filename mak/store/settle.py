"""Bring the files and the index entries of a wave to one side, before it or after it.

The one algorithm for taking a wave back and for finishing one that was cut off, from any state a
crash can leave, with a person's edits in between. Idempotent: cut off itself, it is run again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

from mak.store import place
from mak.store.journal import Journal, Touched
from mak.store.treeops import Entry
from mak.store.worktree import Found, Kind, Staged, Worktree


class Side(Enum):
    """Where a file stands."""

    BEFORE = auto()
    AFTER = auto()
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
    for entry, side in ((file.after, Side.AFTER), (file.before, Side.BEFORE)):
        if found.holds(entry):
            return side
    if found.kind is Kind.FILE:
        # Git may see another text in what it checked out itself: see `Worktree.is_checkout`.
        for entry, side in ((file.after, Side.AFTER), (file.before, Side.BEFORE)):
            if entry is not None and worktree.is_checkout(file.path, entry.oid):
                return side
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
    there = {file.path: file.after if forward else file.before for file in files}
    texts = worktree.texts({path: entry.oid for path, entry in there.items() if entry})
    for file in files:
        path, entry, found = file.path, there[file.path], standing.found[file.path]
        if entry is None:
            done = place.remove(worktree, path, found, journal.tag)
        else:
            mode, durable = file.mode(entry), not file.follows
            text = texts[path]
            done = place.put(worktree, path, text, found, journal.tag, mode=mode, durable=durable)
        if not done:
            raise Restless(path)


def sweep(worktree: Worktree, journal: Journal) -> list[str]:
    """Tidy up beside the files what a killed process left; return what holds a person's text."""
    found = (
        place.sweep(worktree, f.path, journal.tag, (f.base, f.new, f.before, f.after))
        for f in journal.files
    )
    return [name for name in found if name]
