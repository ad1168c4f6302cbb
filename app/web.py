"""What the service answers over HTTP: GitHub's webhooks, and whether it is well.

A delivery is measured, then verified over its bytes, and only then read. It is acknowledged when it
is in the queue; what is refused, GitHub keeps as failed, and it can be sent again.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
from pydantic_core import from_json
from sqlalchemy.exc import SQLAlchemyError
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from app.inbox import Inbox
from app.queue import Arrival, Put, Queue
from app.settings import Settings
from mak.errors import GitHubError
from mak.github.events import WEBHOOKS, Event, InstallationChanged, Pinged, read, wakes

Endpoint = Callable[[Request], Awaitable[Response]]

_LOG = logging.getLogger("app.web")
#: GitHub sends no more.
LARGEST = 25 * 1024 * 1024
#: Bytes of bodies held at once, over all requests: nobody has been verified by then.
_HELD = 256 * 1024 * 1024
#: GitHub itself gives up after ten seconds.
BODY_SECONDS = 10.0
_READY_SECONDS = 2.0
_ID = re.compile(r"[0-9A-Za-z-]{1,64}", re.ASCII)


class _Refused(Exception):
    """A request that is not taken: a status, and a word that tells whoever sent it nothing more."""

    def __init__(self, status: int, says: str) -> None:
        super().__init__(says)
        self.status, self.says = status, says


class Webhooks:
    """The endpoint of GitHub's deliveries."""

    def __init__(self, settings: Settings, inbox: Inbox, alias: Callable[[], str]) -> None:
        """Take whom to trust, where deliveries go, and what else `/mak` is called."""
        self._alias = alias
        self._secrets = [secret.encode() for secret in settings.webhook_secrets]
        self._settings, self._inbox = settings, inbox
        self._held = 0

    async def receive(self, request: Request) -> Response:
        """Answer one delivery."""
        began = time.perf_counter()
        about: dict[str, Any] = {}
        try:
            status, outcome = await self._take(request, about)
        except _Refused as refused:
            status, outcome = refused.status, refused.says
        except ClientDisconnect:
            status, outcome = 400, "gone"
        spent = round(1000 * (time.perf_counter() - began), 1)
        level = logging.INFO if status < 400 else logging.WARNING
        about |= {"status": status, "outcome": outcome, "ms": spent}
        _LOG.log(level, "webhook", extra=about)
        headers = {"retry-after": "60"} if status in (429, 503) else {}
        # After a refusal there may be a body that nobody has read.
        headers |= {"connection": "close"} if status in (401, 408, 413, 415, 503) else {}
        return JSONResponse({"status": outcome}, status, headers)

    async def _take(self, request: Request, about: dict[str, Any]) -> tuple[int, str]:
        headers = request.headers
        if headers.get("content-encoding", "identity") != "identity":
            raise _Refused(415, "unsupported")
        body = await self._body(request)
        if not self._signed(body, headers.get("x-hub-signature-256", "")):
            raise _Refused(401, "unauthorized")
        name, delivery = headers.get("x-github-event", ""), headers.get("x-github-delivery", "")
        if not name or not _ID.fullmatch(delivery):
            raise _Refused(400, "not a delivery")
        about |= {"event": name[:64], "delivery": delivery}
        if not headers.get("content-type", "").lower().startswith("application/json"):
            raise _Refused(415, "the content type of the webhook has to be application/json")
        if name not in WEBHOOKS:
            return 202, "ignored"
        event = _event(name, body)
        if event is None:
            return 202, "ignored"
        return await self._queue(event, delivery, about)

    async def _queue(self, event: Event, delivery: str, about: dict[str, Any]) -> tuple[int, str]:
        if isinstance(event, Pinged):
            return 202, "pong"
        sender = event.sender if isinstance(event, InstallationChanged) else event.place.sender
        found = tuple(
            wake
            for wake in wakes(event, delivery, self._alias())
            # An App's deliveries name the installation; others have no token to act with.
            if wake.installation and self._settings.serves(wake.full_name)
        )
        if not found:
            return 202, "ignored"
        about |= {"repository": found[0].repository, "number": found[0].number}
        put = await self._inbox.add(Arrival(delivery, sender.id, found))
        return {Put.FULL: 503, Put.LIMITED: 429}.get(put, 202), put.value

    def _signed(self, body: bytes, signature: str) -> bool:
        given = signature.encode("utf-8", "replace")
        fits = False
        for secret in self._secrets:
            digest = hmac.new(secret, body, hashlib.sha256).hexdigest()
            # All are compared, so that the time says nothing about which one fits.
            fits |= hmac.compare_digest(f"sha256={digest}".encode(), given)
        return fits

    async def _body(self, request: Request) -> bytes:
        length = request.headers.get("content-length", "0")
        # A number that has more digits than this is larger; reading it could take long.
        if not re.fullmatch(r"[0-9]{1,12}", length, re.ASCII) or int(length) > LARGEST:
            raise _Refused(413, "too large")
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(BODY_SECONDS):
                async for part in request.stream():
                    size += len(part)
                    self._held += len(part)
                    if size > LARGEST:
                        raise _Refused(413, "too large")
                    if self._held > _HELD:
                        raise _Refused(503, "busy")
                    parts.append(part)
        except TimeoutError as error:
            raise _Refused(408, "too slow") from error
        finally:
            self._held -= size
        return b"".join(parts)


def _event(name: str, body: bytes) -> Event | None:
    try:
        # It has a limit of its own on depth, and takes half the time of the standard library's.
        payload = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise _Refused(400, "not JSON") from error
    if not isinstance(payload, dict):
        raise _Refused(400, "not an object")
    try:
        return read(name, payload)
    except GitHubError as error:
        _LOG.warning("%s", error)
        raise _Refused(400, "not what GitHub describes") from error


class Health:
    """Whether the service runs, and whether it can do its work."""

    def __init__(self, queue: Queue) -> None:
        """Take the queue, without which there is none."""
        self._queue = queue
        self.stopping = False

    async def alive(self, request: Request) -> Response:
        """Say that requests are answered."""
        return JSONResponse({"status": "ok"})

    async def ready(self, request: Request) -> Response:
        """Say whether deliveries are taken: the database answers, and nothing is about to stop."""
        if self.stopping:
            return JSONResponse({"status": "stopping"}, 503)
        try:
            with anyio.fail_after(_READY_SECONDS):
                counts = await anyio.to_thread.run_sync(self._queue.counts, abandon_on_cancel=True)
        except (TimeoutError, SQLAlchemyError):
            return JSONResponse({"status": "no queue"}, 503)
        shown = {"waiting": counts.waiting, "running": counts.running, "failed": counts.failed}
        return JSONResponse({"status": "ok", **shown})


def application(
    settings: Settings,
    queue: Queue,
    runs: Endpoint | None = None,
    alias: Callable[[], str] | None = None,
) -> Starlette:
    """Return the service, with pages of runs where there is somebody to make them."""
    inbox = Inbox(queue.put)
    health = Health(queue)
    webhooks = Webhooks(settings, inbox, alias or (lambda: settings.alias))

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        writing = asyncio.create_task(inbox.run())
        try:
            yield
        finally:
            # The server has answered every request by now.
            health.stopping = True
            writing.cancel()
            with suppress(asyncio.CancelledError):
                await writing

    routes = [
        Route("/github/webhook", webhooks.receive, methods=["POST"]),
        Route("/healthz", health.alive),
        Route("/readyz", health.ready),
    ]
    if runs is not None:
        routes.append(Route("/runs/{owner}/{name}/{run}", runs))
    return Starlette(lifespan=lifespan, routes=routes)
