"""Which parts of a change fail a gate: halve, and halve again, keeping what is green."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


async def halve(
    parts: Sequence[T], passes: Callable[[tuple[T, ...]], Awaitable[bool]]
) -> tuple[tuple[T, ...], tuple[T, ...]]:
    """Return the parts that pass together, and those that fail with them, each in order.

    All of them together are known to fail, and none of them to pass. Whoever comes first is kept:
    of two parts that fail only together, the second one is left out. Asks about k · log n sets for
    k parts that are left out of n.
    """
    kept: tuple[T, ...] = ()
    left_out: list[T] = []

    async def grow(chunk: Sequence[T], fails: bool) -> None:
        nonlocal kept
        if not fails and await passes((*kept, *chunk)):
            kept = (*kept, *chunk)
        elif len(chunk) == 1:
            left_out.append(chunk[0])
        else:
            middle = len(chunk) // 2
            before = len(kept)
            await grow(chunk[:middle], False)
            # If the first half was kept whole, with the second it is what is known to fail.
            await grow(chunk[middle:], len(kept) == before + middle)

    if parts:
        await grow(parts, True)
    return kept, tuple(left_out)
