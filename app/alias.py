"""The other word for `/mak`: what the settings say, or the App's own name at GitHub."""

from __future__ import annotations

import asyncio
import logging

import anyio

from app.settings import Mode, Settings
from mak.errors import GitHubError
from mak.github.api import AppApi

_LOG = logging.getLogger("app.alias")
_AGAIN = 60.0


class Alias:
    """Says which word it is; until that is known, whatever could be it."""

    def __init__(self, settings: Settings, app: AppApi) -> None:
        """Take who can say it."""
        self._app = app
        self._known = settings.alias
        # Whoever is woken in vain finds no command; whoever is not woken hears none.
        self._meanwhile = "@" if settings.mode is Mode.RUN else ""

    def __call__(self) -> str:
        """Return the word, or a part of it."""
        return self._known or self._meanwhile

    async def find_out(self) -> None:
        """Ask GitHub until it has said how the App is called."""
        while not self._known:
            try:
                found = await anyio.to_thread.run_sync(self._app.app, abandon_on_cancel=True)
                self._known = f"@{found['slug']}"
            except GitHubError as error:
                _LOG.error("asking for the App's name: %s", error)
                await asyncio.sleep(_AGAIN)
