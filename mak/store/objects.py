"""Objects as Git names them, and how one is written."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

import pygit2

from mak.errors import StoreError

T = TypeVar("T")


class Raw(NamedTuple):
    """An object that may not be written yet."""

    kind: bytes
    data: bytes

    @property
    def id(self) -> str:
        """The id that Git gives it."""
        head = b"%s %d\0" % (self.kind, len(self.data))
        return hashlib.sha1(head + self.data, usedforsecurity=False).hexdigest()


def blob_id(data: bytes) -> str:
    """Return the id that Git gives these bytes as a blob."""
    return Raw(b"blob", data).id


def put(write: Callable[[], T]) -> T:
    """Write an object, again when `git prune-packed` takes its directory away meanwhile.

    libgit2 makes the fan-out directory and then renames into it, without git's retry between.
    """
    for attempt in range(1, 6):
        try:
            return write()
        except (OSError, pygit2.GitError) as error:
            if "No such file" not in str(error) or attempt == 5:
                raise StoreError(f"writing a Git object: {error}") from error
            time.sleep(0.002 * attempt)
    raise AssertionError("unreachable")


@contextmanager
def durable() -> Iterator[None]:
    """Flush loose objects and refs to the disk as they are written."""
    pygit2.settings.enable_fsync_gitdir(True)
    try:
        yield
    finally:
        pygit2.settings.enable_fsync_gitdir(False)
