"""Pages of runs, for whoever has the token that they are behind; there are none without one.

What is shown, everybody who may read the repository may read; who that is the App does not ask, so
that one token opens the pages of all repositories that it serves.
"""

from __future__ import annotations

import base64
import hmac
import logging
import re
import threading
import time
from collections.abc import Mapping
from typing import Any

import anyio
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from app.page import POLICY, page, render
from app.settings import Settings
from mak.errors import GitHubError
from mak.github.api import Api, AppApi
from mak.github.state import Proposal, RunState, load
from mak.github.tokens import GivenToken
from mak.github.transport import Transport

_LOG = logging.getLogger("app.runs")
_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}", re.ASCII)
_RUN = re.compile(r"r[0-9a-z]{1,32}", re.ASCII)
#: Seconds that a document is shown without asking GitHub again: an open page asks every ten.
_FRESH = 5.0
_MOST_FRESH = 100
READING: Mapping[str, str] = {"contents": "read"}
_HEADERS = {
    "content-security-policy": POLICY,
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


class Runs:
    """The endpoint of the pages."""

    def __init__(self, settings: Settings, app: AppApi) -> None:
        """Take the token that the pages are behind, and who reads documents."""
        self._settings, self._app = settings, app
        self._web = settings.web
        self._lock = threading.Lock()
        self._fresh: dict[tuple[str, str], tuple[float, str | None]] = {}

    async def show(self, request: Request) -> Response:
        """Answer with the page of one run."""
        if not self._settings.pages_token:
            return _answer("Not found", 404)
        if not self._allowed(request.headers.get("authorization", "")):
            asking = {"www-authenticate": 'Basic realm="MAK", charset="UTF-8"'}
            return _answer("Not allowed", 401, asking)
        owner, name = request.path_params["owner"], request.path_params["name"]
        run, full_name = request.path_params["run"], f"{owner}/{name}"
        fits = _NAME.fullmatch(owner) and _NAME.fullmatch(name) and _RUN.fullmatch(run)
        if not fits or {owner, name} & {".", ".."} or not self._settings.serves(full_name):
            return _answer("Not found", 404)
        try:
            found = await anyio.to_thread.run_sync(self._page, full_name, run)
        except GitHubError as error:
            _LOG.error("showing a run: %s", error)
            return _answer("GitHub does not answer", 502)
        return HTMLResponse(found, headers=_HEADERS) if found else _answer("Not found", 404)

    def _allowed(self, header: str) -> bool:
        scheme, _, rest = header.partition(" ")
        given = rest.strip()
        if scheme.lower() == "basic":
            try:
                given = base64.b64decode(given, validate=True).decode().partition(":")[2]
            except ValueError:
                return False
        elif scheme.lower() != "bearer":
            return False
        return hmac.compare_digest(given.encode(), self._settings.pages_token.encode())

    def _page(self, full_name: str, run: str) -> str | None:
        """Return the page, None when there is no such run; one thread at a time asks GitHub."""
        with self._lock:
            moment, shown = self._fresh.get((full_name, run), (0.0, None))
            if time.monotonic() - moment < _FRESH and moment:
                return shown
            shown = self._read(full_name, run)
            while len(self._fresh) >= _MOST_FRESH:
                del self._fresh[next(iter(self._fresh))]
            self._fresh[full_name, run] = (time.monotonic(), shown)
            return shown

    def _read(self, full_name: str, run: str) -> str | None:
        try:
            installation = self._app.installation(full_name)
        except GitHubError as error:
            if error.status == 404:
                return None
            raise
        narrowing: dict[str, Any] = {"repositories": [full_name.split("/")[1]]}
        minted = self._app.mint(installation["id"], {**narrowing, "permissions": dict(READING)})
        with Transport(GivenToken(minted["token"]), self._settings.github_url) as transport:
            api = Api(transport, full_name)
            ref = f"refs/mak/runs/{run}"
            commit = api.refs(ref).get(ref)
            document = api.content("state.json", commit) if commit else None
            if not commit or document is None:
                return None
            state = load(RunState, document)
            proposals = {}
            for rev in {offer.repair: offer.rev for offer in state.offers}.values():
                if (offered := api.content(f"plan/{rev}.json", commit)) is not None:
                    proposals[rev] = load(Proposal, offered)
        return render(state, proposals, full_name, self._web)


def _answer(says: str, status: int, headers: Mapping[str, str] | None = None) -> Response:
    document = page(says, f"<h1>{says}</h1>")
    return HTMLResponse(document, status, {**_HEADERS, **(headers or {})})
