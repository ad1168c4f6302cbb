"""The HTTP server: uvicorn, with an end to requests whose headers do not come."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

#: Seconds and bytes that a request's headers may take.
HEADER_SECONDS = 10.0
HEADER_BYTES = 64 * 1024
_CONNECTIONS = 10_000
#: Objects that are made before the collector looks for circles among them.
_YOUNG = 20_000


class Protocol(HttpToolsProtocol):
    """A connection that is closed when it stays open without a request."""

    _timer: asyncio.TimerHandle | None = None
    _header_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Wait for the rest of the headers, whatever trickles in."""
        if self.cycle is None or self.cycle.response_complete:
            self._wait()
            self._header_bytes += len(data)
            # A first piece may hold a part of the body, too; no piece has so much of it.
            if self._header_bytes > HEADER_BYTES + 256 * 1024:
                self.transport.close()
                return
        super().data_received(data)

    def on_headers_complete(self) -> None:
        """Stop waiting: from here on the application has its own limits."""
        self._stop()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop()
        super().connection_lost(exc)

    def _wait(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(HEADER_SECONDS, self._give_up)

    def _stop(self) -> None:
        self._header_bytes = 0
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._timer = None
        self.transport.abort()


def server(app: ASGIApp, **options: Any) -> uvicorn.Server:
    """Return a server of an application; `options` are uvicorn's, as host and port."""
    # What was imported stays; looking through it, again and again, is most of a burst's pauses.
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, 50, 50)
    config = uvicorn.Config(
        app,
        **{
            "http": Protocol,
            "ws": "none",
            "lifespan": "on",
            "log_config": None,
            "access_log": False,
            "server_header": False,
            "limit_concurrency": _CONNECTIONS,
            "backlog": 4096,
            "timeout_keep_alive": 30,
            **options,
        },
    )
    return uvicorn.Server(config)
