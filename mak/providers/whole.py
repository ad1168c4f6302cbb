"""Answers that come whole though a stream was asked for, as some gateways do it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mak.errors import AgentErrorKind as Kind
from mak.providers.faults import Asking, refused

if TYPE_CHECKING:
    import httpx2

_STREAM = "text/event-stream"


async def answered_whole(response: httpx2.Response, asking: Asking) -> Mapping[str, Any] | None:
    """Return the object that an answer holds instead of a stream; None: it is a stream.

    Raises `NoAnswer` for an answer that is neither, and for an error under status 200.
    """
    kind = response.headers.get("content-type", _STREAM)
    if kind.startswith(_STREAM):
        return None
    if "json" not in kind:
        raise asking.error(Kind.MALFORMED, f"answered with {kind}, not with a stream")
    body = json.loads(await response.aread())
    if not isinstance(body, Mapping):
        raise asking.error(Kind.MALFORMED, "the answer is JSON, but no object")
    if body.get("error"):
        raise refused(200, response.headers, body, asking)
    return body
