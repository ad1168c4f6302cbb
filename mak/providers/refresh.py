"""Fetching lists of models: all endpoints at once, and what fails changes nothing."""

from __future__ import annotations

from collections.abc import Iterable

import anyio

from mak.errors import MakError
from mak.providers.access import access
from mak.providers.catalog import Catalog
from mak.providers.connect import close
from mak.providers.endpoints import Endpoint
from mak.providers.policy import Policy
from mak.providers.request import Published
from mak.providers.setup import Setup

#: Seconds that one endpoint has for its list.
PATIENCE = 20.0


async def fetch(endpoint: Endpoint, setup: Setup, patience: float = PATIENCE) -> list[Published]:
    """Return an endpoint's list of models, sorted; raise `MakError` when there is none."""
    from mak.providers.opened import connected

    what = f"listing the models of {endpoint.id}"
    policy = Policy(idle=patience, connect=min(patience, 5.0))
    provider = connected(access(endpoint, setup), policy)
    try:
        with anyio.fail_after(patience):
            models = await provider.models()
    except TimeoutError:
        raise MakError(f"{what}: no answer in {patience:g} s") from None
    if not models:
        raise MakError(f"{what}: the list is empty")
    return sorted(models, key=lambda model: model.id)


async def refresh(
    catalog: Catalog, endpoints: Iterable[Endpoint], setup: Setup, patience: float = PATIENCE
) -> dict[Endpoint, MakError]:
    """Fetch the lists of endpoints side by side; return why some failed."""
    failures: dict[Endpoint, MakError] = {}

    async def one(endpoint: Endpoint) -> None:
        try:
            catalog.take(endpoint, await fetch(endpoint, setup, patience))
        except MakError as error:
            failures[endpoint] = error
            catalog.fail(endpoint, str(error))

    try:
        async with anyio.create_task_group() as group:
            for endpoint in endpoints:
                group.start_soon(one, endpoint)
    finally:
        with anyio.CancelScope(shield=True):
            await close()
    return failures


def has_key(endpoint: Endpoint, setup: Setup) -> bool:
    """Whether an endpoint can be asked, as far as keys go."""
    return not endpoint.key_needed or any(
        setup.variables.get(name, "").strip() for name in endpoint.key_names
    )
