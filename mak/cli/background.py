"""What goes with choosing models: what to know about them, and their lists fetched beside a run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from mak.errors import UsageError

if TYPE_CHECKING:
    from mak.cli.options import Settings
    from mak.providers.endpoints import Endpoint


def begin(settings: Settings, specs: Sequence[str], say: Callable[[str], None]) -> None:
    """Tell what is to be known about models before they are asked, and fetch lists that are due."""
    from mak.cli.caveats import said

    for line in said(specs, settings.setup):
        say(line)
    refresh_due(settings, specs)


def due(settings: Settings, specs: Iterable[str]) -> list[Endpoint]:
    """Return the endpoints whose lists are to be fetched while these models are asked.

    None where no model is asked over a network, where the configuration says so, or where nothing
    may leave the machine. Otherwise every hosted endpoint that there is a key for.
    """
    from mak.cli import person
    from mak.config import Mode
    from mak.providers import parse
    from mak.providers.access import located
    from mak.providers.refresh import has_key

    setup = settings.setup
    asked = [parse(text, setup).endpoint for text in specs]
    hosted = any(endpoint is not None and not endpoint.local for endpoint in asked)
    if not hosted or not settings.config.models.auto_refresh or settings.config.mode is Mode.LOCAL:
        return []
    catalog = person.catalog()
    every = (located(each, setup) for each in setup.endpoints.values() if not each.local)
    return [
        each for each in every if each.key_needed and has_key(each, setup) and catalog.is_due(each)
    ]


def refresh_due(settings: Settings, specs: Iterable[str]) -> threading.Thread | None:
    """Begin to fetch what is due, in a thread that ends with the process at the latest."""
    try:
        endpoints = due(settings, specs)
    except UsageError:
        return None  # whoever opens these models says so
    if not endpoints:
        return None
    thread = threading.Thread(
        target=_refresh, args=(endpoints, settings), name="model lists", daemon=True
    )
    thread.start()
    return thread


def _refresh(endpoints: list[Endpoint], settings: Settings) -> None:
    import anyio

    from mak.cli import person
    from mak.providers.refresh import refresh

    anyio.run(refresh, person.catalog(), endpoints, settings.setup)
