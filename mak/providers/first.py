"""The first call with a prompt goes ahead alone: what it finds out and warms, the others use.

It shows whether the endpoint takes the format, and it fills the prompt cache, which only holds a
prompt's beginning once an answer to it has begun. Ten agents that start at once would otherwise be
refused ten times, and pay ten times for what all of them are told.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
from anyio.lowlevel import RunVar


@dataclass(slots=True)
class _Beginning:
    """What is known of one beginning in this event loop."""

    is_known: bool = False
    #: Set when the call that went ahead has begun its answer, or ended.
    under_way: anyio.Event | None = field(default=None)


_beginnings: RunVar[dict[Hashable, _Beginning]] = RunVar("mak.providers.first")


@asynccontextmanager
async def first(key: Hashable, most: float) -> AsyncIterator[Callable[[], None]]:
    """Wait, for at most `most` seconds, until a call with this key has begun to be answered.

    Yields what to call when this one's answer begins.
    """
    beginning = _beginnings.get({})
    _beginnings.set(beginning)
    this = beginning.setdefault(key, _Beginning())
    with anyio.move_on_after(most):
        while not this.is_known and this.under_way is not None:
            await this.under_way.wait()
    if this.is_known or this.under_way is not None:
        yield lambda: None
        return
    event = this.under_way = anyio.Event()

    def began() -> None:
        this.is_known = True
        done()

    def done() -> None:
        if this.under_way is event:
            this.under_way = None
        event.set()

    try:
        yield began
    finally:
        done()
