"""Ollama's own API, ``/api/chat``: unlike its copy of OpenAI's, it takes the window's size.

A server that is asked without ``num_ctx`` drops the start of a prompt that is larger than its
default window, and says nothing. So every call says how large the window has to be, and a prompt
that cannot fit the model is not sent.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

import httpx2

from mak.errors import AgentErrorKind as Kind
from mak.providers.access import NO_KEY, Access
from mak.providers.connect import client, http_client, shown
from mak.providers.faults import MISSHAPEN, Asking, explain, refused
from mak.providers.ladder import strict
from mak.providers.policy import Policy
from mak.providers.prices import Counts, tokens, told
from mak.providers.request import Completion, Published, Request, Rung, Stop, Tally

#: Windows are asked for in steps: a server loads a model anew for each size.
_STEP = 4_096
#: How much larger than our estimate a prompt may be.
_MARGIN = 1.3


class OllamaProvider:
    """Streams every answer as JSON lines."""

    rungs: tuple[Rung, ...] = (Rung.JSON_SCHEMA, Rung.JSON_OBJECT, Rung.PROMPT)

    def __init__(self, access: Access, policy: Policy) -> None:
        self.name = access.endpoint.id
        self.endpoint = shown(access.url)
        self.cuts = True
        self._access = access
        self._policy = policy

    def _client(self) -> httpx2.AsyncClient:
        return client(self, httpx2.AsyncClient, self._make)

    def _make(self) -> httpx2.AsyncClient:
        made = http_client(self._access.url, self._policy)
        made.headers.update(dict(self._access.endpoint.headers))
        parts = urlsplit(self._access.url)
        if self._access.key != NO_KEY:
            made.headers["authorization"] = f"Bearer {self._access.key}"
        elif parts.username:
            made.auth = (unquote(parts.username), unquote(parts.password or ""))
        host = parts.netloc.rpartition("@")[2]
        made.base_url = httpx2.URL(urlunsplit((parts.scheme, host, parts.path, "", "")))
        return made

    async def complete(self, model: str, request: Request, rung: Rung, tally: Tally) -> Completion:
        """Make one call; see `Provider`."""
        asking = self._asking(model, rung)
        answer = _Answer(model)
        try:
            body = self._body(model, request, rung)
            async with self._client().stream("POST", "/api/chat", json=body) as response:
                tally.headers = response.headers
                if response.status_code != 200:
                    await response.aread()
                    raise refused(response.status_code, response.headers, _json(response), asking)
                kind = response.headers.get("content-type", "application/x-ndjson")
                if "json" not in kind:
                    raise asking.error(Kind.MALFORMED, f"answered with {kind}, not with a stream")
                async for line in response.aiter_lines():
                    if line.strip():
                        answer.add(json.loads(line), asking)
                        tally.began()
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, *MISSHAPEN) as error:
            raise explain(error, asking) from None
        finally:
            if answer.began:
                tally.usage = self._access.tariff.usage(answer.counts(request), model)
        return answer.completion(rung)

    def _body(self, model: str, request: Request, rung: Rung) -> dict[str, Any]:
        needed = int(tokens(request.system, request.said) * _MARGIN) + request.max_tokens
        window = -(-needed // _STEP) * _STEP
        most = request.window
        body: dict[str, Any] = {
            "model": model,
            "messages": [
                {"role": "system", "content": request.system},
                {"role": "user", "content": request.said},
            ],
            "stream": True,
            "options": {
                "num_ctx": min(window, most) if most else window,
                "num_predict": request.max_tokens,
            },
        }
        if request.schema and rung is Rung.JSON_SCHEMA:
            body["format"] = strict(request.schema)
        elif request.schema and rung is Rung.JSON_OBJECT:
            body["format"] = "json"
        return body

    async def models(self) -> tuple[Published, ...]:
        """See `Provider`: what has been pulled to the server."""
        what = ""
        found = await self._fetch("GET", "/api/tags", None, what)
        try:
            names = [each["name"] for each in found.get("models") or ()]
        except MISSHAPEN as error:
            raise explain(error, self._asking(what, Rung.PROMPT)) from None
        return tuple(Published(name) for name in names if isinstance(name, str) and name)

    async def look(self, model: str) -> Published | None:
        """See `Provider`: how much the model can hold."""
        found = await self._fetch("POST", "/api/show", {"model": model}, model)
        info = found.get("model_info")
        facts = info.items() if isinstance(info, dict) else ()
        sizes = (value for name, value in facts if name.endswith(".context_length"))
        window = next((value for value in sizes if isinstance(value, int) and value > 0), None)
        return Published(model, context=window, schema=True)

    async def _fetch(self, method: str, path: str, body: Any, what: str) -> dict[str, Any]:
        asking = self._asking(what, Rung.PROMPT)
        try:
            response = await self._client().request(method, path, json=body)
            if response.status_code != 200:
                raise refused(response.status_code, response.headers, _json(response), asking)
            found = response.json()
            if not isinstance(found, dict):
                raise ValueError(f"{path} is not an object")
            return found
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, *MISSHAPEN) as error:
            raise explain(error, asking) from None

    def _asking(self, model: str, rung: Rung) -> Asking:
        return self._access.asking(model, rung)


def _json(response: httpx2.Response) -> Any:
    try:
        return response.json()
    except ValueError:
        return response.text


class _Answer:
    """One answer while it comes in."""

    def __init__(self, model: str) -> None:
        self.model = model
        self.began = False
        self._text: list[str] = []
        self._thought: list[str] = []
        self._stop: str | None = None
        self._given = self._made = 0

    def add(self, line: dict[str, Any], asking: Asking) -> None:
        if line.get("error"):
            raise refused(200, {}, line, asking)
        if "message" not in line and "done" not in line:
            raise ValueError("a line with neither a message nor an end")
        self.began = True
        message = line.get("message") or {}
        for name, texts in (("content", self._text), ("thinking", self._thought)):
            text = message.get(name) or ""
            if not isinstance(text, str):
                raise ValueError(f"{name} is no text")
            texts.append(text)
        if line.get("done"):
            self._stop = line.get("done_reason") or "stop"
            self._given = told(line, "prompt_eval_count")
            self._made = told(line, "eval_count")

    def completion(self, rung: Rung) -> Completion:
        text = "".join(self._text)
        match self._stop:
            case None:
                # Without its last line the stream ended early; nobody knows what is missing.
                stop = Stop.INCOMPLETE
            case "length":
                stop = Stop.TRUNCATED
            case _:
                stop = Stop.DONE if text.strip() else Stop.EMPTY
        return Completion(text, stop, self.model, rung)

    def counts(self, request: Request) -> Counts:
        if not self._given:
            # Not told: the stream broke off, or the prompt was in the server's cache.
            given = tokens(request.system, request.shared, request.prompt)
            made = self._made or tokens(*self._text, *self._thought)
            return Counts(given, made, estimated=True)
        return Counts(self._given, self._made)
