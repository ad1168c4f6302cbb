"""What a model of one's own server can hold: asked once per process, for all who ask at once."""

from __future__ import annotations

import anyio

from mak.providers.first import first
from mak.providers.request import NoAnswer, Provider, Published

_found: dict[tuple[str, str], Published | None] = {}


async def discovered(provider: Provider, model: str, patience: float) -> Published | None:
    """Return what the server says about a model; None where it says nothing within `patience`."""
    key = (provider.endpoint, model)
    if key in _found:
        return _found[key]
    async with first(("look", *key), patience) as began:
        if key not in _found:
            try:
                with anyio.fail_after(patience):
                    _found[key] = await provider.look(model)
            except (NoAnswer, TimeoutError):
                _found[key] = None
            began()
    return _found[key]
