"""End a wave that was cut off: finish it, or take it back when a person has gone on meanwhile.

Runs under the wave's lock, so whoever wrote the journal is dead. May be cut off itself: what it
does is decided anew, each time, from what is there.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pygit2

from mak.errors import StoreError
from mak.store import journal, note, refs, settle
from mak.store.ground import Ground
from mak.store.guard import FileLock
from mak.store.journal import Journal
from mak.store.repository import Repository
from mak.store.settle import Restless
from mak.store.worktree import Worktree

#: Times that it starts over because something else is at work on the index or a file.
_TRIES = 20
_PAUSE = 0.05
#: Seconds to wait for an orphaned git to let go of the index.
_ORPHAN = 2.0
#: An index lock made this many seconds after the wave's commit, or earlier, was our git's.
_OURS = 10
_PATIENCE = 5.0


class _Occupied(StoreError):
    """A person's git holds the index, and not for a moment."""


def recover(ground: Ground) -> list[str]:
    """Finish, or take back, a wave that a dead process left half done; say what was done.

    Raises StoreError when something else stays in the way; nothing is lost then, and it can be
    called again.
    """
    with ground.wave_lock.held():
        return recover_locked(ground)


def recover_locked(ground: Ground) -> list[str]:
    """Do as `recover` does, for a caller that holds the wave's lock."""
    note.drop_stale_lock(ground.repository.git_dir)
    sentences: list[str] = []
    for left in reversed(range(_TRIES)):
        found = ground.state.read()[1].wave
        if found is None:
            return sentences
        entry = Journal.from_json(dict(found))
        try:
            with _owner_is_gone(ground, entry) as repository:
                if repository is not None:
                    sentences.append(_Recovery(ground, entry, repository).carry_out())
        except Restless:
            time.sleep(_PAUSE)
        except StoreError as error:
            if isinstance(error, _Occupied) or "index.lock" not in str(error) or not left:
                raise
            time.sleep(_PAUSE)
    raise StoreError(
        f"recovering {entry}: its files keep changing", hint="try again once it is quiet"
    )


def take_back(ground: Ground, entry: Journal, why: str) -> None:
    """Undo what a wave of this very process did to index and files, and say so in the state."""
    if entry.root:
        worktree = Worktree.of(ground.repository)
        for left in reversed(range(_TRIES)):
            try:
                settle.sweep(worktree, entry)
                standing = settle.look(worktree, entry.files)
                settle.settle(worktree, entry, standing, forward=False)
                break
            except Restless:
                time.sleep(_PAUSE)
            except StoreError as error:
                if "index.lock" not in str(error) or not left:
                    raise
                time.sleep(_PAUSE)
    journal.abandon(ground.state, ground.repository, entry, why)


@contextmanager
def _owner_is_gone(ground: Ground, entry: Journal) -> Iterator[Repository | None]:
    """Hold the wave lock of the worktree that a journal is from; yield that worktree.

    Yields None when its owner was alive, and has ended the wave while we waited.
    """
    git_dir = Path(entry.git_dir)
    if git_dir == ground.repository.git_dir:
        yield ground.repository
        return
    if not git_dir.exists():
        yield Repository(git_dir, ground.repository.common_dir, None, "")
        return
    lock = FileLock(git_dir / "mak" / "wave.lock")
    try:
        with lock.held():
            if (ground.state.read()[1].wave or {}).get("commit") != entry.commit:
                yield None
                return
            note.drop_stale_lock(git_dir)
            root = Path(entry.root) if entry.root else None
            repository = Repository(git_dir, ground.repository.common_dir, root, "")
            repository.branch = entry.branch
            yield repository
    finally:
        lock.close()


class _Recovery:
    """Ends one wave."""

    def __init__(self, ground: Ground, entry: Journal, repository: Repository) -> None:
        self.ground = ground
        self.entry = entry
        #: As the worktree sees it that the wave was committed from.
        self.repository = repository

    def carry_out(self) -> str:
        """End the wave; return the sentence that says how."""
        follows = self._follows()
        saved: list[str] = []
        if follows:
            self._free_index()
            saved = settle.sweep(Worktree.of(self.repository), self.entry)
        sentence = self._end(follows)
        if saved:
            sentence += f"; what you saved in that very moment is in {', '.join(saved)}"
        return sentence

    def _end(self, follows: bool) -> str:
        entry = self.entry
        if self._is_elsewhere():
            return self._superseded("")
        name = self.ground.repository.branch_ref
        branch = refs.locked(self.ground.repository, name, timeout=_PATIENCE, stale_after=None)
        with note.locking(self.ground.repository) as locked, branch as ref:
            locked()
            if ref.target not in (entry.commit, self._base(ref.target)):
                return self._superseded(ref.target)
            is_on = ref.target == entry.commit
            edited = self._settle(is_on) if follows else ([] if is_on or not entry.root else None)
            if edited is None:
                return self._superseded(ref.target)
            if edited and not is_on:
                why = f"{', '.join(edited)} changed since"
                journal.abandon(self.ground.state, self.ground.repository, entry, why)
                return (
                    f"took back {entry}, which had been cut off: {', '.join(edited)} changed since "
                    "and was left as it is"
                )
            if not is_on:
                ref.move(entry.commit, f"mak: {entry} (recovered)")
        journal.finish(self.ground.state, self.ground.repository, entry)
        where = f"{entry.branch.removeprefix('refs/heads/')} is at {entry.commit[:10]}"
        kept = f"; your change of {', '.join(edited)} is kept" if edited else ""
        return f"finished {entry}, which had been cut off: {where}{kept}"

    def _base(self, target: str) -> str:
        """Return the commit that a ref which did not move is at: none for a new branch."""
        is_new = not target and not self.entry.root
        return "" if is_new else self.entry.base

    def _is_elsewhere(self) -> bool:
        """Whether the branch was a detached HEAD, and HEAD is on a branch since."""
        repository = self.ground.repository
        return repository.branch_ref == "HEAD" and repository.head() != repository.branch

    def _follows(self) -> bool:
        """Whether index and files still follow the branch, with nothing of a person's going on."""
        repository, root = self.repository, self.repository.root
        if not self.entry.root or root is None or not root.exists():
            return False
        return repository.is_checked_out and repository.operation() is None

    def _free_index(self) -> None:
        """Wait for an orphaned git, then remove the index lock that it left."""
        lock = self.repository.git_dir / "index.lock"
        deadline = time.monotonic() + _ORPHAN
        while lock.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        made = self.ground.repository.handle[self.entry.commit]
        assert isinstance(made, pygit2.Commit)
        with suppress(FileNotFoundError):
            if lock.stat().st_mtime <= made.commit_time + _OURS:
                lock.unlink()
                return
            raise _Occupied(
                f"recovering {self.entry}: another git command holds {lock}",
                hint=f"let it end; when none is running: rm '{lock}'",
            )

    def _settle(self, is_on: bool) -> list[str]:
        """Bring index and files to the right side; return the files that a person changed."""
        worktree = Worktree.of(self.repository)
        standing = settle.look(worktree, self.entry.files)
        forward = is_on or not standing.edited
        settle.settle(worktree, self.entry, standing, forward=forward)
        worktree.refresh()
        return standing.edited

    def _superseded(self, tip: str) -> str:
        """End a wave whose branch has gone on without us."""
        entry, states, repository = self.entry, self.ground.state, self.ground.repository
        handle = repository.handle
        if tip == entry.commit or (
            tip and tip in handle and handle.descendant_of(tip, entry.commit)
        ):
            journal.finish(states, repository, entry)
            return f"finished {entry}, which had been cut off: it is in the branch's history"
        journal.abandon(states, repository, entry, "the branch moved on")
        return (
            f"gave up {entry}, which had been cut off: the branch or HEAD has moved on since; "
            "its files were left as they are (git status shows them)"
        )
