"""The worker: takes wakes from the queue, has each worked off, and says what became of it.

A wake that was taken is either done, or due again: after an error with a wait, after a stop at
once, after a crash when its lease ends.
"""

from __future__ import annotations

import inspect
import logging
import os
import secrets
import socket
import time
from collections.abc import Awaitable, Callable
from functools import partial

import anyio
from anyio.abc import TaskGroup
from sqlalchemy.exc import SQLAlchemyError

from app.queue import LEASE, Queue, Taken
from mak.errors import MakError
from mak.github.events import Wake

_LOG = logging.getLogger("app.worker")


class GivenBack(Exception):
    """A wake is not worked off, since the service stops: whoever comes next has it at once."""


#: Works off one wake. What blocks runs in a thread, what is a coroutine on the loop.
Work = Callable[[Wake], Awaitable[None] | None]
#: Seconds between two looks into the queue when it was empty.
_POLL = 0.5
_PRUNE = 3600.0


class Worker:
    """One process's share of the work."""

    def __init__(self, queue: Queue, work: Work, *, slots: int = 4, grace: float = 30.0) -> None:
        """Work off up to `slots` wakes at once; give those in hand `grace` seconds at the end."""
        self._queue, self._work = queue, work
        self._slots, self._grace = slots, grace
        self.name = f"{socket.gethostname()[:32]}-{os.getpid()}-{secrets.token_hex(4)}"
        self._in_hand = 0
        self._freed = anyio.Event()

    async def run(self, stop: anyio.Event) -> None:
        """Work until told to stop; return when what was in hand has ended or was given back."""
        _LOG.info("worker begins", extra={"worker": self.name, "slots": self._slots})
        async with anyio.create_task_group() as upkeep:
            upkeep.start_soon(self._renew)
            upkeep.start_soon(self._prune)
            async with anyio.create_task_group() as group:
                group.start_soon(self._stop_in_time, stop, group)
                await self._take_until(stop, group)
                while self._in_hand:
                    self._freed = anyio.Event()
                    await self._freed.wait()
                group.cancel_scope.cancel()
            upkeep.cancel_scope.cancel()
        left = 0
        try:
            left = await anyio.to_thread.run_sync(self._queue.release, self.name)
        except SQLAlchemyError:
            _LOG.exception("what is in hand is due again when its lease ends")
        _LOG.info("worker ends", extra={"worker": self.name, "given_back": left})

    async def _take_until(self, stop: anyio.Event, group: TaskGroup) -> None:
        while not stop.is_set():
            self._freed = anyio.Event()
            taken = []
            if free := self._slots - self._in_hand:
                try:
                    take = partial(self._queue.take, self.name, free)
                    taken = await anyio.to_thread.run_sync(take)
                except SQLAlchemyError:
                    _LOG.exception("the queue could not be read")
            for one in taken:
                self._in_hand += 1
                group.start_soon(self._do, one)
            if not taken:
                with anyio.move_on_after(_POLL):
                    await _either(stop, self._freed)

    async def _stop_in_time(self, stop: anyio.Event, group: TaskGroup) -> None:
        await stop.wait()
        await anyio.sleep(self._grace)
        _LOG.warning("what is in hand is given back", extra={"count": self._in_hand})
        group.cancel_scope.cancel()

    async def _do(self, taken: Taken) -> None:
        began = time.monotonic()
        wake = taken.wake
        about = {
            "delivery": wake.delivery,
            "repository": wake.repository,
            "number": wake.number,
            "kind": wake.kind,
            "attempt": taken.attempt,
        }
        try:
            try:
                error = await self._try(wake)
            except GivenBack:
                # With all that is still in hand when the worker ends.
                return
            settle = (
                partial(self._queue.done, taken)
                if error is None
                else partial(self._queue.again, taken, error)
            )
            try:
                held = await anyio.to_thread.run_sync(settle)
            except SQLAlchemyError:
                # Its lease will end.
                _LOG.exception("the queue could not be written to", extra=about)
                return
            spent = round(time.monotonic() - began, 3)
            if error is None:
                _LOG.info("worked off", extra={**about, "seconds": spent, "held": held})
            else:
                outcome = "tried again later" if held else "put aside"
                _LOG.error("failed", extra={**about, "error": error, "outcome": outcome})
        finally:
            self._in_hand -= 1
            self._freed.set()

    async def _try(self, wake: Wake) -> str | None:
        """Work one off; return what went wrong."""
        try:
            if _is_coroutine(self._work):
                result = self._work(wake)
            else:
                call = partial(self._work, wake)
                result = await anyio.to_thread.run_sync(call, abandon_on_cancel=True)
            if result is not None:
                await result
        except GivenBack:
            raise
        except MakError as error:
            return str(error)
        except Exception as error:  # noqa: BLE001, the process outlives any one wake
            _LOG.exception("working off a wake")
            return f"{type(error).__name__}: {error}"
        return None

    async def _renew(self) -> None:
        while True:
            await anyio.sleep(LEASE / 3)
            try:
                await anyio.to_thread.run_sync(self._queue.renew, self.name)
            except SQLAlchemyError:
                _LOG.exception("leases could not be renewed")

    async def _prune(self) -> None:
        while True:
            try:
                await anyio.to_thread.run_sync(self._queue.prune)
            except SQLAlchemyError:
                _LOG.exception("the queue could not be pruned")
            await anyio.sleep(_PRUNE)


async def _either(first: anyio.Event, second: anyio.Event) -> None:
    async with anyio.create_task_group() as group:

        async def wait(event: anyio.Event) -> None:
            await event.wait()
            group.cancel_scope.cancel()

        group.start_soon(wait, first)
        group.start_soon(wait, second)


def _is_coroutine(work: Work) -> bool:
    called = getattr(work, "__call__", None)  # noqa: B004, its own, for an object that is called
    return inspect.iscoroutinefunction(work) or inspect.iscoroutinefunction(called)
