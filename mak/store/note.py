"""A note beside the wave's lock that says which ref lock this process holds.

Between taking the branch's lock and writing the journal nothing in Git says whose the lock file
is. A note that is still there when its writer is gone, which the free wave lock proves, does.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from mak.store.refs import lock_path
from mak.store.repository import Repository

#: Seconds that a lock must stay as it is when the note cannot tell it from another git's.
_UNSURE = 1.0


@contextmanager
def locking(repository: Repository) -> Iterator[Callable[[], None]]:
    """Keep a note while the block takes, holds and gives up the lock of the branch.

    The block calls what it is given as soon as it has the lock. The caller holds the wave's lock.
    """
    path = lock_path(repository, repository.branch_ref)
    file = _file(repository.git_dir)
    file.parent.mkdir(parents=True, exist_ok=True)
    _write(file, path, ())
    try:
        yield lambda: _write(file, path, _identity(path))
    finally:
        file.unlink(missing_ok=True)


def is_left(git_dir: Path) -> bool:
    """Whether there is a note: of a wave under way, or of one whose process died."""
    return _file(git_dir).exists()


def drop_stale_lock(git_dir: Path) -> bool:
    """Remove the lock that a dead process left, if its note says so; return whether it did.

    The caller holds the wave lock of this git directory.
    """
    file = _file(git_dir)
    file.with_suffix(".new").unlink(missing_ok=True)
    try:
        text = file.read_text()
    except FileNotFoundError:
        return False
    removed = False
    if text:
        path, *identity = json.loads(text)
        lock = Path(path)
        seen = _identity(lock)
        if seen and seen != tuple(identity):
            time.sleep(_UNSURE)
        if seen and seen == _identity(lock):
            lock.unlink(missing_ok=True)
            removed = True
    file.unlink(missing_ok=True)
    return removed


def _file(git_dir: Path) -> Path:
    return git_dir / "mak" / "wave.note"


def _write(file: Path, path: Path, identity: tuple[int, ...]) -> None:
    temporary = file.with_suffix(".new")
    temporary.write_text(json.dumps([str(path), *identity]))
    temporary.replace(file)


def _identity(path: Path) -> tuple[int, ...]:
    try:
        status = path.stat()
    except FileNotFoundError:
        return ()
    return status.st_ino, status.st_mtime_ns
