"""A clock that runs while there is work and jumps while there is none.

Agents are modelled as time that passes: minutes in which a computer has nothing to do. On this
clock the work of the kernel and of Git takes as long as it takes, and the rest takes no time: when
the event loop would sleep, its clock jumps to where it would wake up. What is measured is what a
person's watch would show.
"""

from __future__ import annotations

import asyncio
import selectors
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


class _Selector(selectors.DefaultSelector):  # type: ignore[valid-type,misc]
    """Asks for what is there, and skips the time in which it would wait."""

    def __init__(self) -> None:
        super().__init__()
        self.skipped = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0 if timeout is not None else None)
        if not ready and timeout is not None and timeout > 0:
            self.skipped += timeout
        return ready


class JumpingLoop(asyncio.SelectorEventLoop):
    """An event loop on such a clock. Threads and child processes are not waited for."""

    def __init__(self) -> None:
        self._jumping = _Selector()
        super().__init__(self._jumping)

    def time(self) -> float:
        """Return seconds: those that passed, and those that were skipped."""
        return time.monotonic() + self._jumping.skipped


def run(main: Callable[[], Awaitable[T]]) -> T:
    """Run a coroutine function on a clock of its own."""
    with asyncio.Runner(loop_factory=JumpingLoop) as runner:

        async def started() -> T:
            return await main()

        return runner.run(started())


def now() -> float:
    """Return the time of the running loop, in seconds."""
    return asyncio.get_running_loop().time()
