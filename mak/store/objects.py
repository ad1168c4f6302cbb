"""Write blobs: loose when few, as one pack when many.

A loose object costs a file and, made durable, a flush of the disk; `git index-pack` writes and
flushes a thousand blobs at the price of a few.
"""

from __future__ import annotations

import hashlib
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

import pygit2

from mak.errors import StoreError

if TYPE_CHECKING:
    from mak.store.repository import Repository

T = TypeVar("T")

#: From this many new blobs on, one pack is cheaper than loose objects.
PACK_FROM = 48

_BLOB = 3


def blob_id(data: bytes) -> str:
    """Return the id that Git gives these bytes as a blob."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


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


def put_blobs(repository: Repository, blobs: Mapping[str, bytes]) -> None:
    """Write blobs, given by their ids, that are not in the repository yet."""
    handle = repository.handle
    missing = [data for id, data in blobs.items() if id not in handle]
    if len(missing) < PACK_FROM:
        for data in missing:
            repository.put(data)
        return
    repository.before_write("pack")
    repository.git.run("index-pack", "--stdin", input=_pack(missing))


def _pack(blobs: Sequence[bytes]) -> bytes:
    out = bytearray(b"PACK" + (2).to_bytes(4, "big") + len(blobs).to_bytes(4, "big"))
    for data in blobs:
        size = len(data)
        byte = (_BLOB << 4) | (size & 15)
        size >>= 4
        while size:
            out.append(byte | 0x80)
            byte = size & 0x7F
            size >>= 7
        out.append(byte)
        out += zlib.compress(data, 1)
    out += hashlib.sha1(out, usedforsecurity=False).digest()
    return bytes(out)
