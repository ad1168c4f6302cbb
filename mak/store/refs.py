"""Moving one ref by compare-and-swap, between processes and against git itself.

Invariant: refs are only ever created and moved, each in a transaction of its own that reads the
old value under the ref's lock. libgit2 loses *other* refs when it deletes one while git packs
(libgit2 #1534), and a transaction over several refs is not atomic (libgit2 #5918).
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pygit2

from mak.errors import StoreError
from mak.store.repository import Repository

#: Seconds a ``.lock`` must stay unchanged before whoever may remove it does. Its only other
#: owners are ``git pack-refs``, ``gc`` and ``fetch``, which hold it for milliseconds.
STALE_AFTER = 10.0


class RefBusy(StoreError):
    """Somebody else kept a ref's lock for the whole time we waited."""


class LockedRef:
    """A ref that nobody else, git included, can move until the lock is given up."""

    def __init__(self, name: str, target: str, move: Callable[[str, str], None]) -> None:
        self.name = name
        #: Commit id under the lock; empty when the ref does not exist.
        self.target = target
        self._move = move

    def move(self, commit: str, message: str = "") -> None:
        """Point the ref at `commit` and give up the lock; `message` goes to the reflog."""
        self._move(commit, message)
        self.target = commit


@contextmanager
def locked(
    repository: Repository,
    name: str,
    *,
    timeout: float = 30.0,
    stale_after: float | None = None,
) -> Iterator[LockedRef]:
    """Hold the lock of a ref (``HEAD`` only when detached) while the block runs.

    Only who holds the store's lock may give `stale_after`: then no live MAK process can own a
    ``.lock`` that does not change for so many seconds, and it is removed. Raise RefBusy after
    `timeout` seconds.
    """
    handle = repository.handle
    transaction = handle.transaction()
    try:
        _lock(transaction, repository, name, timeout, stale_after)

        def move(commit: str, message: str) -> None:
            try:
                repository.before_write(f"ref {name}")
                transaction.set_target(name, commit, message=message or None)
                transaction.commit()
            except (pygit2.GitError, OSError) as error:
                raise StoreError(f"moving {name}: {error}") from error

        yield LockedRef(name, repository.ref(name), move)
    finally:
        # Frees the transaction, which drops a lock that was not used up by `move`.
        transaction.__exit__(Exception, None, None)


def lock_path(repository: Repository, name: str) -> Path:
    """Return where git and libgit2 put the lock file of a ref."""
    base = repository.common_dir if name.startswith("refs/") else repository.git_dir
    return base / f"{name}.lock"


def is_locked(error: Exception) -> bool:
    """Whether libgit2 failed because somebody holds a lock; it has no exception of its own."""
    text = str(error)
    return "failed to lock file" in text or "failed to create locked file" in text


def _lock(
    transaction: pygit2.transaction.ReferenceTransaction,
    repository: Repository,
    name: str,
    timeout: float,
    stale_after: float | None,
) -> None:
    path = lock_path(repository, name)
    started = time.monotonic()
    delay = 0.0002
    seen: tuple[int, int] | None = None
    since = started
    while True:
        try:
            return transaction.lock_ref(name)
        except (pygit2.GitError, OSError) as error:
            if not is_locked(error):
                raise
            now = time.monotonic()
            identity = _identity(path)
            if identity != seen:
                seen, since = identity, now
            elif identity and stale_after is not None and now - since > stale_after:
                path.unlink(missing_ok=True)
                seen = None
            if now - started > timeout:
                raise RefBusy(
                    f"moving {name}: somebody has held {path} for {timeout:.0f} s",
                    hint=f"when no git command is running, remove it: rm '{path}'",
                ) from error
        time.sleep(random.uniform(0, delay))
        delay = min(delay * 2, 0.02)


def _identity(path: Path) -> tuple[int, int] | None:
    """What tells one lock file from the next one of the same name."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_mtime_ns
