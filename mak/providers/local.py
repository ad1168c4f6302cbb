"""Servers of one's own: found where they usually listen, asked what they run and how much it holds.

Only this machine and hosts that a person has named are looked at; every place is asked at once,
with short time-outs, and what does not answer is not there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx2

from mak.errors import UsageError
from mak.providers.connect import http_client
from mak.providers.endpoints import PRESETS
from mak.providers.policy import Policy

#: Kinds of servers that are told apart, as presets.
KINDS = ("ollama", "lmstudio", "llamacpp", "vllm")
#: Seconds for one server to say everything about itself.
PATIENCE = 1.5
THIS_MACHINE = "127.0.0.1"

#: What makes each kind hold more; `{tokens}` is what is needed.
_LARGER = {
    "lmstudio": "load it again with a longer context: lms load {model} --context-length {tokens}",
    "llamacpp": "start the server again with -c {tokens}",
    "vllm": "start the server again with --max-model-len {tokens}",
    "local": "start the server again with a longer context",
}
#: They say that a prompt is too long; the others drop its beginning without a word.
_REFUSING = frozenset({"vllm", "ollama"})


@dataclass(frozen=True, slots=True)
class LocalModel:
    """One model that a server has."""

    id: str
    #: Tokens of prompt and answer that it takes as it runs, or would run; 0: not said.
    window: int = 0
    #: Tokens that it could take; 0: not said.
    most: int = 0


@dataclass(frozen=True, slots=True)
class Server:
    """A server that answered."""

    #: Id of a preset; ``local`` for one that only speaks OpenAI's API.
    kind: str
    #: As it stands in a model spec.
    url: str
    models: tuple[LocalModel, ...]

    def spec(self, model: str) -> str:
        """Return what names a model of this server in ``--models``."""
        if self.kind == "local":
            return f"local:{model}@{self.url}"
        if self.url == PRESETS[self.kind].url:
            return f"{self.kind}:{model}"
        return f"{self.kind if self.kind == 'ollama' else 'local'}:{model}@{self.url}"

    def warning(self, model: LocalModel, needed: int) -> str:
        """Return what is wrong with a window below `needed` tokens, and what to do; or nothing."""
        if not model.window or model.window >= needed:
            return ""
        cut = "refuse" if self.kind in _REFUSING else "cut"
        can_grow = self.kind in _LARGER and not 0 < model.most < needed
        advice = _LARGER[self.kind] if can_grow else "choose a model that holds more"
        return (
            f"it holds {model.window:,} tokens, and a task may take {needed:,}, which the server "
            f"would {cut}; {advice.format(model=model.id, tokens=needed)}"
        )


def places(hosts: Iterable[str], moved: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the base URLs to look at: the usual ports here, and hosts as ``host[:port]``.

    A host without a port is looked at on the usual ports; `moved` are whole URLs.
    """
    ports = [urlsplit(PRESETS[kind].url).port for kind in KINDS]
    found = [f"http://{THIS_MACHINE}:{port}" for port in ports]
    for host in hosts:
        parts = urlsplit(host if "://" in host else f"http://{host}")
        if parts.port:
            found.append(f"{parts.scheme}://{parts.netloc}")
        else:
            found.extend(f"{parts.scheme}://{parts.netloc}:{port}" for port in ports)
    found.extend(f"{urlsplit(url).scheme}://{urlsplit(url).netloc}" for url in moved)
    return tuple(dict.fromkeys(found))


def check_host(text: str) -> str:
    """Return ``host[:port]`` as it is kept; raise `UsageError` where it is neither."""
    bare = text.strip()
    try:
        parts = urlsplit(bare if "://" in bare else f"http://{bare}")
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if (
        not host
        or parts.path not in ("", "/")
        or parts.query
        or parts.username
        or parts.scheme != "http"
    ):
        raise UsageError(
            f"{text!r} is no host and port",
            hint="mak local url 192.168.1.20:11434; for anything else: mak endpoint add ID --url …",
        )
    return parts.netloc


async def find(urls: Iterable[str], patience: float = PATIENCE) -> tuple[Server, ...]:
    """Return the servers that answer at these base URLs, in this order."""
    wanted = tuple(urls)
    found: dict[str, Server] = {}

    async def look(url: str) -> None:
        with anyio.move_on_after(patience):
            server = await _look(url, patience)
            if server is not None:
                found[url] = server

    async with anyio.create_task_group() as group:
        for url in wanted:
            group.start_soon(look, url)
    return tuple(found[url] for url in wanted if url in found)


class _Asker:
    """Asks one server; whatever is not JSON with status 200 is no answer."""

    def __init__(self, client: httpx2.AsyncClient, url: str) -> None:
        self._client = client
        self.url = url

    async def get(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        try:
            if body is None:
                response = await self._client.get(f"{self.url}{path}")
            else:
                response = await self._client.post(f"{self.url}{path}", json=body)
            return response.json() if response.status_code == 200 else None
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError, json.JSONDecodeError):
            return None

    async def rows(self, path: str, key: str) -> list[dict[str, Any]] | None:
        """Return the list of objects under a key; None when there is no such list."""
        answer = await self.get(path)
        rows = answer.get(key) if isinstance(answer, dict) else None
        if not isinstance(rows, list):
            return None
        return [row for row in rows if isinstance(row, dict)]


async def _look(url: str, patience: float) -> Server | None:
    policy = Policy(idle=patience, connect=min(patience, 1.0))
    async with http_client(url, policy) as client:
        ask = _Asker(client, url)
        for kind in (_ollama, _lm_studio, _openai):
            server = await kind(ask)
            if server is not None:
                return server
    return None


async def _ollama(ask: _Asker) -> Server | None:
    rows = await ask.rows("/api/tags", "models")
    if rows is None:
        return None
    names = [str(row["name"]) for row in rows if row.get("name")]
    sizes: dict[str, int] = {}

    async def size(name: str) -> None:
        answer = await ask.get("/api/show", {"model": name})
        info = answer.get("model_info") if isinstance(answer, dict) else None
        for key, value in (info if isinstance(info, dict) else {}).items():
            if key.endswith(".context_length") and isinstance(value, int):
                sizes[name] = value

    async with anyio.create_task_group() as group:
        for name in names:
            group.start_soon(size, name)
    # Every call says how large the window has to be, so that the model's own size is what counts.
    models = (LocalModel(name, sizes.get(name, 0), sizes.get(name, 0)) for name in names)
    return Server("ollama", ask.url, tuple(models))


async def _lm_studio(ask: _Asker) -> Server | None:
    rows = await ask.rows("/api/v0/models", "data")
    if rows is None:
        return None
    models = (
        LocalModel(
            str(row["id"]),
            _number(row.get("loaded_context_length")),
            _number(row.get("max_context_length")),
        )
        for row in rows
        if row.get("id") and row.get("type") != "embeddings"
    )
    return Server("lmstudio", f"{ask.url}/v1", tuple(models))


async def _openai(ask: _Asker) -> Server | None:
    rows = await ask.rows("/v1/models", "data")
    if rows is None:
        return None
    owners = {str(row.get("owned_by", "")) for row in rows}
    props = await ask.get("/props")
    settings = props.get("default_generation_settings") if isinstance(props, dict) else None
    if isinstance(settings, dict):
        window = _number(settings.get("n_ctx"))
        models = [
            LocalModel(str(row["id"]), window, _number((row.get("meta") or {}).get("n_ctx_train")))
            for row in rows
            if row.get("id")
        ]
        return Server("llamacpp", f"{ask.url}/v1", tuple(models))
    models = [
        LocalModel(str(row["id"]), _number(row.get("max_model_len")))
        for row in rows
        if row.get("id")
    ]
    return Server("vllm" if "vllm" in owners else "local", f"{ask.url}/v1", tuple(models))


def _number(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0
