"""Files that only their owner may read, replaced as a whole or not at all."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mak.errors import MakError


def write_private(path: Path, text: str) -> None:
    """Replace a file in one step, readable and writable by its owner alone (0600).

    Missing folders are made for the owner alone. Where `path` is a symbolic link, as people keep
    their dotfiles, what it leads to is replaced. Raises `MakError` and leaves the old file.
    """
    target = path.resolve()
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(target)
        except BaseException:
            with suppress(OSError):
                Path(name).unlink()
            raise
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise MakError(f"writing {path}: {reason}") from error


@contextmanager
def changing(path: Path) -> Iterator[None]:
    """Keep other processes from changing a file between reading and writing it."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = (path.parent / ".lock").open("a")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise MakError(f"writing {path}: {reason}") from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
