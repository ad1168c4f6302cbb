"""Runs that nobody works on any more are gone on with: looked for at the start, and again.

A worker that dies, here or in a job of the Action, leaves its run with a lease that ends. Nothing
happens on GitHub then that would wake anybody.
"""

from __future__ import annotations

import logging
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from app.queue import Arrival, Put, Queue
from app.settings import Settings
from mak.errors import GitHubError
from mak.github.api import Api, AppApi, installed
from mak.github.events import Wake
from mak.github.ledger import PLACES, Held, Ledger
from mak.github.reduce import expired
from mak.github.remote import Remote
from mak.github.state import Phase, RunState
from mak.github.tokens import InstallationToken
from mak.github.transport import Transport

_LOG = logging.getLogger("app.scan")
KIND = "run.unfinished"
READING: Mapping[str, str] = {"contents": "read"}


class Scan:
    """Looks through all repositories that the App is installed in."""

    def __init__(
        self,
        settings: Settings,
        app: AppApi,
        queue: Queue,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Take where to look, and where wakes go."""
        self._settings, self._app, self._queue, self._now = settings, app, queue, now
        #: By record: what was read there, so that it is read once.
        self._known: dict[str, RunState] = {}

    def __call__(self) -> int:
        """Wake whoever is to go on; return how many runs that are. Raises `GitHubError`."""
        count = 0
        known: dict[str, RunState] = {}
        for installation in self._app.installations():
            if installation.get("suspended_at"):
                continue
            try:
                count += self._installation(int(installation["id"]), known)
            except GitHubError as error:
                _LOG.error("looking through an installation: %s", error)
        self._known = known
        return count

    def _installation(self, installation: int, known: dict[str, RunState]) -> int:
        count = 0
        tokens = InstallationToken(installation, None, READING, self._app.mint)
        with Transport(tokens, self._settings.github_url) as transport:
            for repository in installed(transport):
                name = str(repository["full_name"])
                if repository.get("archived") or not self._settings.serves(name):
                    continue
                for held in self._runs(Api(transport, name), tokens):
                    known[held.commit] = held.state
                    if self._waits(held.state):
                        ids = (installation, int(repository["id"]), name)
                        count += self._wake(ids, held)
        return count

    def _runs(self, api: Api, tokens: InstallationToken) -> Iterator[Held]:
        """Yield the runs of a repository; those that are known are not read again."""
        commits = {commit for place in PLACES for commit in api.refs(f"{place}runs/").values()}
        if not commits:
            return
        if commits <= self._known.keys():
            yield from (Held(commit, self._known[commit]) for commit in commits)
            return
        with tempfile.TemporaryDirectory(prefix="mak-scan-") as folder:
            url = f"{self._settings.web}/{api.repository}.git"
            yield from Ledger(Remote(url, tokens, Path(folder) / "remote")).runs()

    def _waits(self, state: RunState) -> bool:
        """Say whether there is something to do that nobody does."""
        moment = int(self._now())
        if state.phase in (Phase.PLANNING, Phase.RUNNING):
            return state.lease is None or state.lease.until <= moment
        return expired(state, moment) != state

    def _wake(self, ids: tuple[int, int, str], held: Held) -> int:
        """Put a wake into the queue, once for what a run is now."""
        delivery = f"scan-{held.commit}"
        wake = Wake(*ids, held.state.issue, KIND, delivery)
        (put,) = self._queue.put([Arrival(delivery, held.state.requester.id, (wake,))])
        return put is Put.QUEUED
