"""The Anthropic Messages API, through the vendor's SDK.

Importing this takes a while, so it is done when an endpoint is opened and not before.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import anthropic
import httpx2
from anthropic import AsyncAnthropic, transform_schema
from anthropic.types import Message

from mak.errors import AgentErrorKind as Kind
from mak.providers.access import Access
from mak.providers.connect import client, http_client, shown
from mak.providers.faults import MISSHAPEN, Asking, explain
from mak.providers.policy import Policy
from mak.providers.prices import Counts, tokens, told
from mak.providers.request import Completion, Published, Request, Rung, Stop, Tally, is_named
from mak.providers.whole import answered_whole

_STOPS = {
    "end_turn": Stop.DONE,
    "stop_sequence": Stop.DONE,
    "tool_use": Stop.DONE,
    "max_tokens": Stop.TRUNCATED,
    "refusal": Stop.REFUSED,
    "model_context_window_exceeded": Stop.CONTEXT,
}

#: The SDK raises on a tool that is called with what is not JSON. The model's answer follows it;
#: whoever asked can send it back with what is wrong, which a broken connection does not deserve.
_BROKEN_INPUT = re.compile(r"tool parameter JSON.* JSON: (.+)", re.DOTALL)


#: What a message says at least; servers that only speak like the API leave some of it out.
_BLANK: Mapping[str, Any] = {
    "id": "",
    "type": "message",
    "role": "assistant",
    "model": "",
    "stop_reason": None,
    "stop_sequence": None,
}
_COUNTS = (
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
)


class AnthropicProvider:
    """Streams every answer; the shared part of a prompt is marked for the cache."""

    rungs: tuple[Rung, ...] = (Rung.JSON_SCHEMA, Rung.TOOL, Rung.PROMPT)

    def __init__(self, access: Access, policy: Policy) -> None:
        self.name = access.endpoint.id
        self.endpoint = shown(access.url)
        self.cuts = access.cuts
        self._access = access
        self._policy = policy

    def _client(self) -> AsyncAnthropic:
        return client(
            self,
            AsyncAnthropic,
            lambda: AsyncAnthropic(
                # Explicit, or the SDK would look for other credentials on this machine.
                api_key=self._access.key,
                base_url=self._access.url,
                max_retries=0,
                default_headers=dict(self._access.endpoint.headers),
                http_client=http_client(self._access.url, self._policy),
            ),
        )

    async def complete(self, model: str, request: Request, rung: Rung, tally: Tally) -> Completion:
        """Make one call; see `Provider`."""
        asking = self._asking(model, rung)
        message: Message | None = None
        broken = ""
        try:
            async with self._client().messages.stream(**_arguments(model, request, rung)) as stream:
                tally.headers = stream.response.headers
                if (whole := await answered_whole(stream.response, asking)) is not None:
                    message = _message(whole)
                    tally.began()
                    return _completion(message, model, rung)
                async for _ in stream:
                    message = stream.current_message_snapshot
                    tally.began()
        except (anthropic.AnthropicError, httpx2.HTTPError, OSError, *MISSHAPEN) as error:
            found = _BROKEN_INPUT.search(str(error))
            if found is None:
                raise explain(error, asking, anthropic) from None
            broken = found[1]
        finally:
            if message is not None:
                counts = _counts(message, request)
                tally.usage = self._access.tariff.usage(counts, model, message.model)
        if message is None:
            raise asking.error(Kind.MALFORMED, "the stream held no message")
        if broken:
            return Completion(broken, Stop.DONE, message.model or model, rung)
        return _completion(message, model, rung)

    async def models(self) -> tuple[Published, ...]:
        """See `Provider`."""
        asking = self._asking("", Rung.PROMPT)
        try:
            pages = self._client().models.list(limit=1000)
            return tuple([_published(each) async for each in pages if is_named(each)])
        except (anthropic.AnthropicError, httpx2.HTTPError, OSError, *MISSHAPEN) as error:
            raise explain(error, asking, anthropic) from None

    async def look(self, model: str) -> Published | None:
        """See `Provider`; what is published comes with the list of models."""
        return None

    def _asking(self, model: str, rung: Rung) -> Asking:
        return self._access.asking(model, rung)


def _message(whole: Mapping[str, Any]) -> Message:
    """Return an answer that came whole, with what it counts as far as those are counts."""
    usage = {name: told(whole.get("usage"), name) for name in _COUNTS}
    return Message.model_validate({**_BLANK, **whole, "usage": usage})


def _published(info: Any) -> Published:
    schema = getattr(getattr(info, "capabilities", None), "structured_outputs", None)
    retires = getattr(info, "retires_at", None)
    return Published(
        info.id,
        str(info.display_name or ""),
        told(info, "max_input_tokens") or None,
        told(info, "max_tokens") or None,
        getattr(schema, "supported", None),
        str(getattr(info, "lifecycle", None) or ""),
        str(retires)[:10] if retires else "",
    )


def _blocks(*texts: str) -> list[dict[str, Any]]:
    """Return blocks of text; the API takes no empty ones."""
    return [{"type": "text", "text": text} for text in texts if text]


def _arguments(model: str, request: Request, rung: Rung) -> dict[str, Any]:
    system, said = _blocks(request.system), _blocks(request.shared, request.prompt)
    # One mark caches all that comes before it, the rules included.
    marked = said if request.shared else system
    for block in marked[:1]:
        block["cache_control"] = {"type": "ephemeral"}
    arguments: dict[str, Any] = {
        "model": model,
        "max_tokens": request.max_tokens,
        "messages": [{"role": "user", "content": said}],
    }
    if system:
        arguments["system"] = system
    if not request.schema or rung is Rung.PROMPT:
        return arguments
    schema = transform_schema(dict(request.schema))
    if rung is Rung.TOOL:
        arguments["tools"] = [
            {
                "name": request.schema_name,
                "description": "Hand in the answer.",
                "strict": True,
                "input_schema": schema,
            }
        ]
        arguments["tool_choice"] = {
            "type": "tool",
            "name": request.schema_name,
            "disable_parallel_tool_use": True,
        }
    else:
        arguments["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
    return arguments


def _completion(message: Message, model: str, rung: Rung) -> Completion:
    text = _text(message)
    # Without a stop reason the stream ended early, and nobody knows what is missing.
    stop = _STOPS.get(message.stop_reason or "", Stop.INCOMPLETE)
    if stop is Stop.DONE and not text.strip():
        stop = Stop.EMPTY
    details = message.stop_details
    detail = ""
    if stop is Stop.REFUSED and details is not None:
        parts = (getattr(details, "category", None), getattr(details, "explanation", None))
        detail = ": ".join(str(part) for part in parts if part)
    return Completion(text, stop, message.model or model, rung, detail)


def _text(message: Message) -> str:
    """Return the answer: what the tool was called with, else the text."""
    for block in message.content:
        if block.type == "tool_use":
            return json.dumps(block.input, ensure_ascii=False)
    return "".join(block.text for block in message.content if block.type == "text")


def _counts(message: Message, request: Request) -> Counts:
    usage: object = message.usage
    cached = told(usage, "cache_read_input_tokens")
    written = told(usage, "cache_creation_input_tokens")
    # The API's own count leaves out what the cache saw.
    given = told(usage, "input_tokens") + cached + written
    output = told(usage, "output_tokens")
    estimated = False
    if given == 0:
        given = tokens(request.system, request.shared, request.prompt)
        estimated = True
    if message.stop_reason is None:
        # The count for the answer comes last; a stream that broke off never told it.
        output, estimated = max(output, tokens(_text(message))), True
    return Counts(given, output, cached, written, estimated)
