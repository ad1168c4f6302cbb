"""Pure functions run in other processes: with a time and a memory limit, or several at a time.

Parsers with native recursion can exhaust the stack or run for minutes on one expression; behind
this module the worst they can do is to lose one call. One worker is kept, so that a thousand calls
cost one start; not for several threads at once.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import resource
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import util
from typing import TypeVar

from mak.errors import MakError

P = TypeVar("P")
T = TypeVar("T")

#: Seconds one call may take.
TIMEOUT = 20.0
#: Bytes of address space one worker may use.
MEMORY = 4 * 1024**3

_pool: ProcessPoolExecutor | None = None


class WorkerDied(MakError):
    """A worker process crashed, ran out of memory or ran out of time; the call has no result."""


def call(
    func: Callable[..., T], *args: object, timeout: float = TIMEOUT, memory: int = MEMORY
) -> T:
    """Run the module-level function `func` on picklable `args` in a worker process, and wait.

    Exceptions that `func` raises pass through. Raises `WorkerDied` when there is no result.
    """
    what = f"running {func.__module__}.{func.__qualname__} in a worker"
    try:
        return _worker().submit(_limited, memory, func, args).result(timeout)
    except TimeoutError as error:
        stop()
        raise WorkerDied(f"{what}: no result within {timeout:g} s") from error
    except BrokenProcessPool as error:
        stop()
        raise WorkerDied(f"{what}: the process died") from error
    except MemoryError as error:
        stop()
        raise WorkerDied(f"{what}: more than {memory >> 20} MiB of memory") from error


def forked(func: Callable[[P], T], parts: Sequence[P]) -> list[T]:
    """Run `func` on every part: on the first here, on the others in copies of this process.

    Returns the results in the order of the parts. What a copy changes is lost with it, and it must
    not touch what processes cannot share, a connection for example. A part whose copy dies, or
    cannot be made (no `fork`, several threads), is done here.
    """
    copies: list[tuple[int, int] | None] = []
    for part in parts[1:]:
        copies.append(_forked(func, part))
    found = [func(part) for part in parts[:1]]
    for part, copy in zip(parts[1:], copies, strict=True):
        data = _result(*copy) if copy is not None else b""
        found.append(pickle.loads(data) if data else func(part))
    return found


def _forked(func: Callable[[P], T], part: P) -> tuple[int, int] | None:
    """Start a copy of this process; return its id and where its result will be read."""
    if not hasattr(os, "fork") or threading.active_count() > 1:
        return None
    reading, writing = os.pipe()
    try:
        child = os.fork()
    except OSError:
        os.close(reading)
        os.close(writing)
        return None
    if child:
        os.close(writing)
        return child, reading
    try:
        with os.fdopen(writing, "wb") as out:
            out.write(pickle.dumps(func(part)))
        os._exit(0)
    finally:
        os._exit(1)


def _result(child: int, reading: int) -> bytes:
    with os.fdopen(reading, "rb") as source:
        data = source.read()
    _, status = os.waitpid(child, 0)
    return data if status == 0 else b""


def stop() -> None:
    """End the worker at once; the next call starts another."""
    global _pool
    if _pool is not None:
        for process in list((_pool._processes or {}).values()):
            with contextlib.suppress(OSError):
                process.kill()
        _pool.shutdown(wait=True, cancel_futures=True)
        _pool = None


def _worker() -> ProcessPoolExecutor:
    global _pool
    if _pool is None:
        # A fresh interpreter: a forked one would hold our locks, and hold on to our files.
        context = multiprocessing.get_context("spawn")
        _pool = ProcessPoolExecutor(1, context, initializer=_end_with_parent)
        # A worker of somebody else's pool waits for its children before it tells them to end.
        util.Finalize(None, stop, exitpriority=100)
    return _pool


def _end_with_parent() -> None:
    """Leave nobody behind when the parent is killed: an idle worker would not notice."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_outlive, args=(parent.join,), daemon=True).start()


def _outlive(wait: Callable[[], None]) -> None:
    wait()
    os._exit(1)


def _limited(memory: int, func: Callable[..., T], args: tuple[object, ...]) -> T:
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (memory, hard))
    return func(*args)
