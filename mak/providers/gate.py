"""One gate per (endpoint, model): everybody who shares a quota waits together.

How many calls may be under way grows slowly while they succeed and halves when the endpoint
pushes back (additive increase, multiplicative decrease, as TCP does it); a pause that one caller is
told to make holds for all of them, so that nobody burns the quota that another one is waiting for.
What an endpoint says about what is left of a quota slows callers down before they are pushed back.
"""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import anyio

from mak.providers.limits import left


class Closed(Exception):
    """The endpoint wants to be left alone for longer than a caller may wait."""

    def __init__(self, pause: float) -> None:
        super().__init__(f"closed for {pause:.0f} s")
        self.pause = pause


class Gate:
    """Admits callers in the order in which they came."""

    def __init__(self, concurrency: int) -> None:
        self._most = float(concurrency)
        self._limit = float(concurrency)
        self._active = 0
        self._closed_until = 0.0
        self._queue: deque[anyio.Event] = deque()

    @property
    def limit(self) -> int:
        """How many calls may be under way."""
        return max(1, int(self._limit))

    @asynccontextmanager
    async def admit(self, max_wait: float = float("inf")) -> AsyncIterator[None]:
        """Wait for a place, hold it while the body runs.

        Raises `Closed` where the endpoint asked for a longer pause than `max_wait` seconds.
        """
        await self._enter(max_wait)
        try:
            yield
        finally:
            self._active -= 1
            self._wake()

    async def _enter(self, max_wait: float) -> None:
        turn = anyio.Event()
        self._queue.append(turn)
        try:
            while True:
                pause = self._closed_until - time.monotonic()
                if pause > max_wait:
                    raise Closed(pause)
                if self._queue[0] is not turn or (pause <= 0 and self._active >= self.limit):
                    await turn.wait()
                    turn = self._again(turn)
                elif pause > 0:
                    await anyio.sleep(pause)
                else:
                    break
            self._active += 1
        finally:
            self._queue.remove(turn)
            self._wake()

    def _again(self, turn: anyio.Event) -> anyio.Event:
        """Put a fresh event where the one that fired was; events fire once."""
        fresh = anyio.Event()
        self._queue[self._queue.index(turn)] = fresh
        return fresh

    def _wake(self) -> None:
        if self._queue:
            self._queue[0].set()

    def succeeded(self) -> None:
        """Let a little more through."""
        self._limit = min(self._most, self._limit + 1.0 / self.limit)
        self._wake()

    def pushed_back(self, pause: float) -> None:
        """Let half as much through, and nothing for `pause` seconds."""
        self._limit = max(1.0, self._limit / 2)
        self._close(pause)

    def heed(self, headers: Mapping[str, str], max_wait: float) -> None:
        """Slow down by what the endpoint says is left: no more calls than that until it is reset.

        A reset that is further away than `max_wait` seconds is left to the endpoint to enforce.
        """
        for what in left(headers):
            if what.share <= 0:
                if 0 < what.reset <= max_wait:
                    self._close(what.reset)
            elif what.calls is not None and what.calls < self._limit:
                self._limit = max(1.0, float(what.calls))

    def _close(self, pause: float) -> None:
        self._closed_until = max(self._closed_until, time.monotonic() + pause)


def backoff(first: float, most: float, attempt: int) -> float:
    """Return the pause before retry `attempt` (from 0): doubling, and never the same for two."""
    pause = min(most, first * 2.0**attempt)
    return pause * random.uniform(0.75, 1.25)


_gates: dict[tuple[str, str], Gate] = {}


def gate(endpoint: str, model: str, concurrency: int) -> Gate:
    """Return the gate that this process shares for a model at an endpoint."""
    return _gates.setdefault((endpoint, model), Gate(concurrency))
