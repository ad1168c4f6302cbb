"""Finding what a person names, and the nearest names where they do not quite."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING

from mak.errors import UsageError

if TYPE_CHECKING:
    from mak.providers import Setup
    from mak.providers.endpoints import Endpoint


def nearest(word: str, known: Iterable[str]) -> str:
    """Return what to add to a refusal: the nearest known word, if any is near."""
    close = difflib.get_close_matches(word, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def endpoint_named(id: str, setup: Setup) -> Endpoint:
    """Return an endpoint or preset by its id; raise `UsageError` with the nearest one."""
    found = setup.endpoints.get(id)
    if found is None:
        raise UsageError(
            f"no provider or endpoint is called {id!r}{nearest(id, setup.endpoints)}",
            hint="mak endpoint list",
        )
    return found
