"""What went wrong, where several things may have at once."""

from __future__ import annotations

from collections.abc import Iterable


def leaves(error: BaseException) -> Iterable[BaseException]:
    """Yield the errors in an error, groups taken apart."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from leaves(inner)
    else:
        yield error
