"""What is done on one branch stands on this: where it is, what processes agree on, who we are."""

from __future__ import annotations

from mak.store.guard import FileLock
from mak.store.repository import Repository
from mak.store.state import StateRef


class Ground:
    """One branch of one repository, and this process on it."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        #: Queues our processes and decides about stale locks.
        self.lock = FileLock(repository.common_dir / "mak" / "store.lock")
        #: Held by whoever touches the index and the files of this worktree.
        self.wave_lock = FileLock(repository.git_dir / "mak" / "wave.lock")
        self.state = StateRef(repository, self.lock)
        #: Who we are in the lock table; empty outside of `Store.enter`.
        self.holder = ""
