"""Chat Completions, through OpenAI's SDK: OpenAI itself and every server that speaks the same.

Importing this takes a while, so it is done when an endpoint is opened and not before.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx2
import openai
from openai import AsyncOpenAI
from openai.types import CompletionUsage
from openai.types.chat import ChatCompletionChunk

from mak.errors import AgentErrorKind as Kind
from mak.providers.access import Access
from mak.providers.connect import client, http_client, shown
from mak.providers.faults import MISSHAPEN, Asking, explain
from mak.providers.ladder import strict
from mak.providers.policy import Policy
from mak.providers.prices import Counts, tokens, told
from mak.providers.request import (
    Completion,
    NoAnswer,
    Published,
    Request,
    Rung,
    Stop,
    Tally,
    is_named,
)
from mak.providers.whole import answered_whole

_STOPS = {
    "stop": Stop.DONE,
    "eos": Stop.DONE,
    "tool_calls": Stop.DONE,
    "function_call": Stop.DONE,
    "length": Stop.TRUNCATED,
    "content_filter": Stop.FILTERED,
}

#: Two names for one field: OpenAI's reasoning models refuse the old one, old servers the new one.
_ROOM_FIELDS = ("max_completion_tokens", "max_tokens")
#: How servers say that they do not know a field.
_UNKNOWN = ("unsupported", "not supported", "unrecognized", "unknown", "extra", "unexpected")


class OpenAIProvider:
    """Streams every answer; learns which optional fields the server does not take."""

    rungs: tuple[Rung, ...] = (
        Rung.JSON_SCHEMA,
        Rung.JSON_OBJECT_SCHEMA,
        Rung.JSON_OBJECT,
        Rung.PROMPT,
    )

    def __init__(self, access: Access, policy: Policy) -> None:
        self.name = access.endpoint.id
        self.endpoint = shown(access.url)
        self.cuts = access.cuts
        self._access = access
        self._policy = policy
        official = (urlsplit(access.url).hostname or "").endswith(".openai.com")
        self._official = official
        self._room_fields = _ROOM_FIELDS if official else _ROOM_FIELDS[::-1]
        self._refused: set[str] = set()

    def _client(self) -> AsyncOpenAI:
        return client(
            self,
            AsyncOpenAI,
            lambda: AsyncOpenAI(
                api_key=self._access.key,
                base_url=self._access.url,
                max_retries=0,
                default_headers=dict(self._access.endpoint.headers),
                http_client=http_client(self._access.url, self._policy),
            ),
        )

    async def complete(self, model: str, request: Request, rung: Rung, tally: Tally) -> Completion:
        """Make one call, or a second one without the field that the server refused."""
        while True:
            known = len(self._refused)
            try:
                return await self._complete(model, request, rung, tally)
            except NoAnswer as error:
                self._learn(error)
                if len(self._refused) == known:
                    raise

    def _learn(self, error: NoAnswer) -> None:
        """Note which field the server says it does not know, once each."""
        said = str(error).lower()
        if error.kind is not Kind.BAD_REQUEST:
            return
        if "stream_options" in said:
            self._refused.add("stream_options")
        elif self._room_field in said and any(word in said for word in _UNKNOWN):
            self._refused.add(self._room_field)

    @property
    def _room_field(self) -> str:
        """The field that says how long an answer may be."""
        return next((name for name in self._room_fields if name not in self._refused), "")

    async def _complete(self, model: str, request: Request, rung: Rung, tally: Tally) -> Completion:
        asking = self._asking(model, rung)
        answer = _Answer(model)
        try:
            stream = await self._client().chat.completions.create(
                **self._arguments(model, request, rung)
            )
            async with stream:
                tally.headers = stream.response.headers
                if (whole := await answered_whole(stream.response, asking)) is not None:
                    answer.add(_as_chunk(whole))
                    tally.began()
                    return answer.completion(rung)
                chunks: AsyncIterator[ChatCompletionChunk] = stream
                async for chunk in chunks:
                    answer.add(chunk)
                    tally.began()
        except (openai.OpenAIError, httpx2.HTTPError, OSError, *MISSHAPEN) as error:
            raise explain(error, asking, openai) from None
        finally:
            if answer.began:
                tally.usage = self._access.tariff.usage(answer.counts(request), model, answer.model)
        return answer.completion(rung)

    async def models(self) -> tuple[Published, ...]:
        """See `Provider`."""
        asking = self._asking("", Rung.PROMPT)
        try:
            page = await self._client().models.list()
            return tuple(_published(each) for each in page.data if is_named(each))
        except (openai.OpenAIError, httpx2.HTTPError, OSError, *MISSHAPEN) as error:
            raise explain(error, asking, openai) from None

    async def look(self, model: str) -> Published | None:
        """See `Provider`: servers of one's own say in their list how much they can hold."""
        if not self._access.endpoint.local:
            return None
        return next((each for each in await self.models() if each.id == model), None)

    def _asking(self, model: str, rung: Rung) -> Asking:
        return self._access.asking(model, rung, usual_end="/v1")

    def _arguments(self, model: str, request: Request, rung: Rung) -> dict[str, Any]:
        arguments: dict[str, Any] = {
            "model": model,
            "messages": [
                {"role": "system", "content": request.system},
                {"role": "user", "content": request.said},
            ],
            "stream": True,
        }
        if self._room_field:
            arguments[self._room_field] = request.max_tokens
        if "stream_options" not in self._refused:
            arguments["stream_options"] = {"include_usage": True}
        if request.cache_key and self._official:
            # Calls with one key go to one machine, which has read the prompt's beginning before.
            arguments["prompt_cache_key"] = request.cache_key
        if request.schema:
            match rung:
                case Rung.JSON_SCHEMA:
                    arguments["response_format"] = {
                        "type": "json_schema",
                        "json_schema": {
                            "name": request.schema_name,
                            "strict": True,
                            "schema": strict(request.schema),
                        },
                    }
                case Rung.JSON_OBJECT_SCHEMA:
                    arguments["response_format"] = {
                        "type": "json_object",
                        "schema": strict(request.schema),
                    }
                case Rung.JSON_OBJECT:
                    arguments["response_format"] = {"type": "json_object"}
        return arguments


#: What servers call the size of a window in their lists: vLLM, OpenRouter, LM Studio, Groq.
_CONTEXT_FIELDS = ("max_model_len", "context_length", "max_context_length", "context_window")


def _published(info: Any) -> Published:
    more: Mapping[str, Any] = info.model_extra or {}
    meta = more.get("meta")
    # llama.cpp tells it beside what the model was trained with.
    told = [more.get(name) for name in _CONTEXT_FIELDS]
    told += [meta.get("n_ctx") if isinstance(meta, dict) else None]
    top = more.get("top_provider")
    output = top.get("max_completion_tokens") if isinstance(top, dict) else None
    takes = more.get("supported_parameters")
    retires = more.get("shutdown_date") or getattr(info, "shutdown_date", None)
    return Published(
        info.id,
        str(more.get("name") or ""),
        next((value for value in told if isinstance(value, int) and value > 0), None),
        output if isinstance(output, int) else None,
        "structured_outputs" in takes if isinstance(takes, list) else None,
        retires=str(retires)[:10] if retires else "",
    )


def _as_chunk(whole: Mapping[str, Any]) -> ChatCompletionChunk:
    """Return an answer that came whole as a stream of one piece."""
    choices = [
        {
            "index": 0,
            "delta": {name: choice["message"].get(name) for name in ("content", "refusal")},
            "finish_reason": choice.get("finish_reason"),
        }
        for choice in whole["choices"]
    ]
    parts = {name: whole.get(name) for name in ("id", "model", "usage")}
    # As the SDK makes the pieces of a stream: what it does not know is no error.
    return ChatCompletionChunk.construct(**parts, choices=choices)


def _said(content: object) -> str:
    """Return what a piece says: text, or for some servers a list of parts, thoughts among them."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = (part.get("text") for part in parts if isinstance(part, Mapping))
    return "".join(text for text in texts if isinstance(text, str))


class _Answer:
    """One answer while it comes in."""

    def __init__(self, model: str) -> None:
        self.model = model
        self.began = False
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._stop: str | None = None
        self._usage: CompletionUsage | None = None

    def add(self, chunk: ChatCompletionChunk) -> None:
        self.began = True
        self.model = str(chunk.model or self.model)
        self._usage = chunk.usage or self._usage
        for choice in (chunk.choices or [])[:1]:
            self._stop = choice.finish_reason or self._stop
            if choice.delta is not None:
                self._text.append(_said(choice.delta.content))
                self._refusal.append(_said(choice.delta.refusal))

    def completion(self, rung: Rung) -> Completion:
        text, refusal = "".join(self._text), "".join(self._refusal)
        # Without a finish reason the stream ended early, and nobody knows what is missing.
        stop = _STOPS.get(self._stop or "", Stop.INCOMPLETE)
        if refusal and stop is not Stop.INCOMPLETE:
            stop = Stop.REFUSED
        elif stop is Stop.DONE and not text.strip():
            stop = Stop.EMPTY
        return Completion(text, stop, self.model, rung, " ".join(refusal.split())[:300])

    def counts(self, request: Request) -> Counts:
        given, made = told(self._usage, "prompt_tokens"), told(self._usage, "completion_tokens")
        if not given:
            given = tokens(request.system, request.shared, request.prompt)
            return Counts(given, made or tokens(*self._text, *self._refusal), estimated=True)
        details = getattr(self._usage, "prompt_tokens_details", None)
        cached, written = told(details, "cached_tokens"), told(details, "cache_write_tokens")
        return Counts(given, made, cached, written)
