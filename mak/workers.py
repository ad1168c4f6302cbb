"""Pure functions run in a worker process, with a time and a memory limit.

Parsers with native recursion can exhaust the stack or run for minutes on one expression; behind
this module the worst they can do is to lose one call.
"""

from __future__ import annotations

import resource
from collections.abc import Callable
from typing import TypeVar

import anyio
from anyio import BrokenWorkerProcess, to_process

from mak.errors import MakError

T = TypeVar("T")

#: Seconds one call may take.
TIMEOUT = 20.0
#: Bytes of address space one worker may use.
MEMORY = 4 * 1024**3


class WorkerDied(MakError):
    """A worker process crashed, ran out of memory or ran out of time; the call has no result."""


def _limited(memory: int, func: Callable[..., T], args: tuple[object, ...]) -> T:
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (memory, hard))
    return func(*args)


async def call(
    func: Callable[..., T], *args: object, timeout: float = TIMEOUT, memory: int = MEMORY
) -> T:
    """Run the module-level function `func` on picklable `args` in a worker process.

    Exceptions that `func` raises pass through. Raises `WorkerDied` when there is no result.
    """
    what = f"running {func.__module__}.{func.__qualname__} in a worker"
    try:
        with anyio.fail_after(timeout):
            return await to_process.run_sync(_limited, memory, func, args, cancellable=True)
    except TimeoutError as error:
        raise WorkerDied(f"{what}: no result within {timeout:g} s") from error
    except BrokenWorkerProcess as error:
        raise WorkerDied(f"{what}: the process died") from error
    except MemoryError as error:
        raise WorkerDied(f"{what}: more than {memory >> 20} MiB of memory") from error


def call_blocking(
    func: Callable[..., T], *args: object, timeout: float = TIMEOUT, memory: int = MEMORY
) -> T:
    """As `call`, for code that runs outside an event loop."""

    async def main() -> T:
        return await call(func, *args, timeout=timeout, memory=memory)

    return anyio.run(main)
