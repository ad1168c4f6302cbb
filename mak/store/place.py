"""Put a file into a working tree, or take one out, in one step and never over a person's text.

``git checkout`` looks at every file first and writes them all afterwards; what an editor saves in
between is lost. Here each file is swapped for the new one, and what came out is looked at: when it
is not the file that was expected, it is swapped back. So at every moment, also when the process
is killed, each text is at its path or in the temporary neighbour, which `sweep` looks at.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import stat
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from mak.errors import StoreError
from mak.store.treeops import EXECUTABLE, FILE, Entry
from mak.store.worktree import ABSENT, Found, Kind, Worktree, stamp

_UNSUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP)
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
_CTIME = 3


def neighbour(path: str, tag: str) -> str:
    """Return the name of the file through which the file at `path` is replaced."""
    return f".{path.rpartition('/')[2][-200:]}.mak-{tag}"


def put(
    worktree: Worktree, path: str, data: bytes, found: Found, tag: str, *, mode: int, durable: bool
) -> bool:
    """Put a file in the place of what was found there, a file or nothing.

    `mode` says whether it is executable, 0: as before. `durable` flushes it to the disk. Returns
    False, with nothing changed, when something else is there by now.
    """
    target = worktree.root / path
    temporary = target.with_name(neighbour(path, tag))
    try:
        if found.kind is Kind.ABSENT:
            target.parent.mkdir(parents=True, exist_ok=True)
        _write(temporary, data, None if found.kind is Kind.ABSENT else target, mode, durable)
        if found.kind is not Kind.ABSENT:
            return _swap(worktree, path, temporary, found)
        try:
            _link(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)
        return True
    except (FileNotFoundError, FileExistsError, NotADirectoryError):
        return False
    except OSError as error:
        raise StoreError(f"writing {path}: {error.strerror}") from error


def _write(temporary: Path, data: bytes, like: Path | None, mode: int, durable: bool) -> None:
    """Write a new file with the permissions of another one, or with those of any new file."""
    temporary.unlink(missing_ok=True)
    try:
        with temporary.open("xb") as stream:
            stream.write(data)
            stream.flush()
            old = os.fstat(stream.fileno()) if like is None else os.lstat(like)
            os.fchmod(stream.fileno(), _permissions(old.st_mode, mode))
            if durable:
                os.fsync(stream.fileno())
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def remove(worktree: Worktree, path: str, found: Found, tag: str) -> bool:
    """Take out a file that was found, and the folders above it that this leaves empty.

    Returns False, with nothing changed, when something else is there by now.
    """
    target = worktree.root / path
    temporary = target.with_name(neighbour(path, tag))
    try:
        target.rename(temporary)
        if not _is_the_one(worktree, path, temporary, found):
            _link(temporary, target)
            temporary.unlink(missing_ok=True)
            return False
        temporary.unlink()
    except (FileNotFoundError, FileExistsError, NotADirectoryError):
        return False  # where something new is there, what was taken out is left to `sweep`
    except OSError as error:
        raise StoreError(f"removing {path}: {error.strerror}") from error
    for parent in target.parents:
        if parent == worktree.root:
            break
        try:
            parent.rmdir()
        except OSError:
            break
    return True


def sweep(worktree: Worktree, path: str, tag: str, known: Iterable[Entry | None]) -> str:
    """Remove what a killed process left beside a file; `known` are the texts it dealt with.

    A text that is none of these, nor the beginning of one, is a person's, saved in the moment of
    the swap: it goes back to its path or, where that holds something new, too, stays; then its
    name is returned.
    """
    target = worktree.root / path
    temporary = target.with_name(neighbour(path, tag))
    try:
        data = temporary.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return ""
    entries = list(known)
    for oid in {entry.oid for entry in entries if entry}:
        if worktree.texts({path: oid})[path].startswith(data):
            temporary.unlink()
            return ""
    there = worktree.look([path])[path]
    if not any(there.holds(entry) for entry in entries):
        return str(temporary.relative_to(worktree.root))
    if there == ABSENT:
        _link(temporary, target)
    elif not _exchange(temporary, target):
        temporary.replace(target)
    temporary.unlink(missing_ok=True)
    return ""


def _swap(worktree: Worktree, path: str, temporary: Path, found: Found) -> bool:
    target = worktree.root / path
    ours = os.lstat(temporary)
    try:
        is_there = worktree.is_as(path, found)
        if is_there and not _exchange(temporary, target):
            temporary.replace(target)
            return True
    except FileNotFoundError:
        is_there = False
    if not is_there:
        temporary.unlink()
        return False
    if _is_the_one(worktree, path, temporary, found):
        temporary.unlink()
        return True
    _exchange(temporary, target)
    if not os.path.samestat(ours, os.lstat(temporary)) or (
        stamp(ours)[:_CTIME] != stamp(os.lstat(temporary))[:_CTIME]
    ):
        # Saved again, over our text, while theirs was out: the newest counts.
        _exchange(temporary, target)
    temporary.unlink()
    return False


def _is_the_one(worktree: Worktree, path: str, taken: Path, found: Found) -> bool:
    """Whether a file that was moved to a new name is the one that was found at `path`.

    The ctime changes with the name. Within one tick of the clock only the content tells.
    """
    now = stamp(os.lstat(taken))
    if now[:_CTIME] != found.stamp[:_CTIME] or now[_CTIME + 1 :] != found.stamp[_CTIME + 1 :]:
        return False
    return not _is_being_written(taken) and worktree.hash_as(taken, path) in ("", found.oid)


def _is_being_written(path: Path) -> bool:
    """Whether some process has the file open for writing: the kernel gives no read lease then."""
    if not hasattr(fcntl, "F_SETLEASE"):
        return False
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except BlockingIOError:
        return True
    except OSError:
        return False  # another owner's file, or a file system without leases
    finally:
        os.close(fd)
    return False


def _exchange(one: Path, other: Path) -> bool:
    """Swap the files at two paths in one step; False: this system cannot."""
    swap = _swapper()
    if swap is None:
        return False
    if swap(os.fsencode(one), os.fsencode(other)) == 0:
        return True
    code = ctypes.get_errno()
    if code in _UNSUPPORTED:
        return False
    raise OSError(code, os.strerror(code), str(other))


@cache
def _swapper() -> Any:
    """Return the system call that swaps two files (Linux 3.15, macOS 10.12), or None."""
    libc = ctypes.CDLL(None, use_errno=True)
    if sys.platform == "darwin" and hasattr(libc, "renamex_np"):
        return lambda one, other: libc.renamex_np(one, other, 2)
    if hasattr(libc, "renameat2"):
        here = -100
        return lambda one, other: libc.renameat2(here, one, here, other, 2)
    return None


def _link(source: Path, target: Path) -> None:
    """Give a file a second name, which must be new."""
    try:
        target.hardlink_to(source)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if os.path.lexists(target):
            raise FileExistsError(target) from error
        source.rename(target)


def _permissions(old: int, mode: int) -> int:
    bits = stat.S_IMODE(old)
    if mode == EXECUTABLE:
        return bits | (bits & 0o444) >> 2
    return bits & ~0o111 if mode == FILE else bits
