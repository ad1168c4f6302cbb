"""What keeps processes apart and git's garbage collector away: three kinds of files.

``mak/store.lock`` and ``mak/wave.lock`` are flocks, which the kernel drops when their owner dies.
``mak/holders/<id>`` is flocked for as long as a process holds claims: that, and nothing else,
says that it lives. ``gc.pid`` is git's own: while it names a live process, ``git gc`` declines.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import random
import socket
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from mak.errors import RepositoryRefused, StoreError

#: git ignores a gc.pid that is older; ours is touched well before.
_GC_STALE = 12 * 3600
_GC_TOUCH = 3600
#: Seconds between two looks at a gc.pid that is not ours.
_GC_RETRY = 1.0

_open: weakref.WeakSet[FileLock] = weakref.WeakSet()


class FileLock:
    """An exclusive lock on a file, between threads and processes; it dies with its process.

    Not reentrant. A forked child does not keep it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._thread = threading.Lock()
        self._fd: int | None = None
        _open.add(self)

    @contextmanager
    def held(self, timeout: float = 30.0) -> Iterator[None]:
        """Hold the lock while the block runs; raise StoreError when it does not come free."""
        if not self.acquire(timeout):
            raise StoreError(
                f"waiting for {self.path}: another mak process has held it for {timeout:.0f} s",
                hint="let it end, or end it: mak locks shows its pid",
            )
        try:
            yield
        finally:
            self.release()

    def acquire(self, timeout: float = 0.0) -> bool:
        """Take the lock, waiting at most `timeout` seconds; return whether we have it."""
        deadline = time.monotonic() + timeout
        if not self._thread.acquire(timeout=timeout if timeout > 0 else 0):
            return False
        try:
            fd = self._opened()
            delay = 0.0005
            while not _flock(fd, self.path):
                if time.monotonic() >= deadline:
                    self._thread.release()
                    return False
                time.sleep(random.uniform(0, delay))
                delay = min(delay * 2, 0.01)
        except BaseException:
            self._thread.release()
            raise
        return True

    def release(self) -> None:
        """Give up the lock."""
        assert self._fd is not None
        fcntl.flock(self._fd, fcntl.LOCK_UN)
        self._thread.release()

    def close(self) -> None:
        """Close the file, and with it the lock."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _opened(self) -> int:
        if self._fd is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        return self._fd

    def is_current(self) -> bool:
        """Whether the file we have open is the one that has the name; raise FileNotFoundError."""
        return self.path.stat().st_ino == os.fstat(self._opened()).st_ino

    def forget(self) -> None:
        """Let go in a forked child what its parent holds."""
        self.close()
        self._thread = threading.Lock()


def _in_child() -> None:
    for lock in list(_open):
        lock.forget()


os.register_at_fork(after_in_child=_in_child)


def _flock(fd: int, path: Path) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno in (errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL):
            raise RepositoryRefused(
                f"locking {path}: this file system has no file locks",
                hint="work in a clone on a local disk",
            ) from error
        raise
    return True


class Process(NamedTuple):
    """A process that takes part, or died while it did."""

    run: str
    pid: int
    host: str
    #: Unix seconds.
    since: float
    is_alive: bool


class Liveness:
    """Says which holders live, and makes this process one of them."""

    def __init__(self, common_dir: Path) -> None:
        self._folder = common_dir / "mak" / "holders"

    def begin(self, holder: str, run: str) -> FileLock:
        """Become alive as `holder`, until the lock that is returned is closed."""
        about = {"run": run, "pid": os.getpid(), "host": socket.gethostname()}
        path = self._folder / holder
        while True:
            lock = FileLock(path)
            # Whoever sweeps up may have removed the file between its creation and our lock.
            with suppress(FileNotFoundError):
                if lock.acquire(5.0) and lock.is_current():
                    path.write_text(json.dumps(about) + "\n")
                    return lock
            lock.close()

    def end(self, holder: str, lock: FileLock) -> None:
        """Stop being alive as `holder`."""
        (self._folder / holder).unlink(missing_ok=True)
        lock.close()

    def is_alive(self, holder: str) -> bool:
        """Whether some process holds this holder's file."""
        try:
            fd = os.open(self._folder / holder, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(fd)
        return False

    def sweep(self) -> None:
        """Remove the files that dead holders left."""
        for path in self._folder.glob("*"):
            with suppress(OSError):
                fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
                try:
                    # Shared, so that nobody who looks meanwhile takes the dead for alive.
                    fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
                    path.unlink(missing_ok=True)
                finally:
                    os.close(fd)

    def pids(self) -> set[int]:
        """Return the pids of the live holders of this repository."""
        return {one.pid for one in self._processes() if one.is_alive}

    def carrying_out(self, run: str) -> Process | None:
        """Return the live process that carries out a run, if any; it need not hold claims."""
        return next((one for one in self._processes() if one.run == run and one.is_alive), None)

    def is_dead(self, pid: int, host: str) -> bool:
        """Whether this was a holder that died: its pid may be somebody else's by now."""
        known = {o.is_alive for o in self._processes() if (o.pid, o.host) == (pid, host)}
        return known == {False}

    def _processes(self) -> Iterator[Process]:
        for path in self._folder.glob("*"):
            with suppress(OSError, ValueError, KeyError, TypeError):
                about = json.loads(path.read_text())
                pid, host, since = int(about["pid"]), str(about["host"]), path.stat().st_mtime
                yield Process(str(about["run"]), pid, host, since, self.is_alive(path.name))


class GcGuard:
    """Keeps ``git gc`` from pruning what is written but not yet referenced.

    Git's protocol (builtin/gc.c): take ``gc.pid.lock``, look at ``gc.pid``, rename over it. Git
    respects a pid that lives on the same host for 12 hours. ``git prune`` and ``gc --force`` do
    not ask; the ref transactions look after themselves.
    """

    def __init__(self, common_dir: Path, liveness: Liveness) -> None:
        self._path = common_dir / "gc.pid"
        self._liveness = liveness
        self._next = 0.0
        self._entered = False

    def enter(self, timeout: float = 10.0) -> None:
        """Take ``gc.pid``; wait for a collection that is under way, at most `timeout` seconds.

        Without it we go on: a collection only prunes what is two weeks old unless told otherwise.
        """
        self._entered = True
        deadline = time.monotonic() + timeout
        while not self._take() and time.monotonic() < deadline:
            pid = self._owner()
            if pid is not None and pid in self._liveness.pids():
                return
            time.sleep(0.02)

    def keep(self) -> None:
        """Keep the guard fresh, or take it when whoever had it is gone. Costs nothing mostly."""
        if self._entered and time.monotonic() >= self._next:
            self._take()

    def leave(self) -> None:
        """Give ``gc.pid`` to a live holder, or remove it; never somebody else's.

        The caller has ended its own holder before.
        """
        self._entered = False
        if self._owner() != os.getpid():
            return
        heirs = self._liveness.pids()
        with suppress(OSError):
            if not heirs:
                self._path.unlink(missing_ok=True)
            elif os.getpid() not in heirs:
                self._replace(min(heirs))

    def _take(self) -> bool:
        self._next = time.monotonic() + _GC_RETRY
        owner = self._owner()
        if owner not in (None, os.getpid()):
            return False
        with suppress(OSError):
            if owner is not None:
                os.utime(self._path)
            elif not self._replace(os.getpid()):
                return False
            self._next = time.monotonic() + _GC_TOUCH
            return True
        return False

    def _owner(self) -> int | None:
        """Return the pid that git would respect, -1 for one on another host, None for none."""
        try:
            pid, host = self._path.read_text().split(" ", 1)
            if time.time() - self._path.stat().st_mtime > _GC_STALE:
                return None
            if self._liveness.is_dead(int(pid), host):
                return None
            if host != socket.gethostname():
                return -1
            os.kill(int(pid), 0)
        except PermissionError:
            return int(pid)
        except (OSError, ValueError):
            return None
        return int(pid)

    def _replace(self, pid: int) -> bool:
        lock = self._path.with_name("gc.pid.lock")
        try:
            fd = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        except FileExistsError:
            return False  # git is about to look, or died there: then it cannot collect either
        try:
            os.write(fd, f"{pid} {socket.gethostname()}".encode())
        finally:
            os.close(fd)
        if self._owner() not in (None, os.getpid()):
            lock.unlink()
            return False
        lock.rename(self._path)
        return True
