"""Deliveries on their way into the queue: what comes at the same time is written together.

A commit to a disk takes about as long for one delivery as for hundreds; nothing is acknowledged
before its commit.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

import anyio
from sqlalchemy.exc import SQLAlchemyError

from app.queue import Arrival, Put

_LOG = logging.getLogger("app.inbox")
#: What waits for its commit at most, and what one commit holds.
_MOST = 5_000
_BATCH = 500


class Inbox:
    """Where requests hand in deliveries; `run` is what writes them."""

    def __init__(self, put: Callable[[Sequence[Arrival]], list[Put]]) -> None:
        """Take what writes a batch: in a thread, one batch at a time."""
        self._put = put
        self._waiting: list[tuple[Arrival, asyncio.Future[Put]]] = []
        self._filled = asyncio.Event()

    async def add(self, arrival: Arrival) -> Put:
        """Hand in a delivery; return what became of it once that is sure."""
        if len(self._waiting) >= _MOST:
            return Put.FULL
        answer: asyncio.Future[Put] = asyncio.get_running_loop().create_future()
        self._waiting.append((arrival, answer))
        self._filled.set()
        return await answer

    async def run(self) -> None:
        """Write what is handed in, until cancelled."""
        while True:
            await self._filled.wait()
            batch, self._waiting = self._waiting[:_BATCH], self._waiting[_BATCH:]
            if not self._waiting:
                self._filled.clear()
            await self._write(batch)

    async def _write(self, batch: list[tuple[Arrival, asyncio.Future[Put]]]) -> None:
        arrivals = [arrival for arrival, _ in batch]
        try:
            puts = await anyio.to_thread.run_sync(self._put, arrivals)
        except SQLAlchemyError:
            _LOG.exception("the queue could not be written to")
            puts = [Put.FULL] * len(batch)
        for (_, answer), put in zip(batch, puts, strict=True):
            # Whoever waited may have gone; GitHub then sends it again.
            if not answer.done():
                answer.set_result(put)
