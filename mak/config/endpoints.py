"""Endpoints of one's own, as they stand in files: where models are asked, and never a key.

They stand in a person's ``endpoints.json``, which `mak endpoint` writes, or under ``endpoints`` in
a configuration file.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from mak.config.documents import parse_document, read_text
from mak.config.keylike import looks_like_key
from mak.config.private import write_private
from mak.config.sections import Section, Texts
from mak.config.validation import OURS, validate
from mak.config.variables import NAME

#: Where a person's endpoints live, relative to their folder for MAK.
ENDPOINTS_FILE = Path("endpoints.json")

_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
#: Headers whose value is a secret whatever it looks like.
_SECRET_HEADERS = frozenset(
    {"authorization", "proxy-authorization", "cookie", "x-api-key", "api-key", "x-goog-api-key"}
)


def _refuse(text: str) -> PydanticCustomError:
    return PydanticCustomError(OURS, "{why}", {"why": text})


def _id(value: str) -> str:
    if not _ID.fullmatch(value):
        raise _refuse("an id is made of small letters, digits, '.', '_' and '-'")
    return value


def _plain(value: str) -> str:
    if looks_like_key(value):
        raise _refuse(
            "this looks like a key, and no key is kept here; store it with mak keys set NAME, "
            "and give the NAME as key"
        )
    return value


def _url(value: str) -> str:
    try:
        parts = urlsplit(value)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise _refuse("should be a URL such as https://host/v1") from None
    if parts.scheme not in ("http", "https") or not host:
        raise _refuse("should be a URL such as https://host/v1")
    if parts.username or parts.password:
        raise _refuse("no user or password is kept here; store the key with mak keys set NAME")
    return _plain(value).rstrip("/")


def _key_name(value: str) -> str:
    if value and (not NAME.fullmatch(value) or _plain(value) != value):
        raise _refuse("should be the name of an environment variable")
    return value


Format = Literal["json_schema", "tool", "json_object_schema", "json_object", "prompt"]
Plain = Annotated[str, AfterValidator(_plain)]
Id = Annotated[str, AfterValidator(_id), AfterValidator(_plain)]


class PriceSettings(Section):
    """US dollars for a million tokens."""

    input: float = Field(ge=0)
    """Of a prompt."""
    output: float = Field(ge=0)
    """Of an answer."""
    cached: float | None = Field(default=None, ge=0)
    """Of a prompt that the endpoint has cached; unset: as `input`."""


class EndpointSettings(Section):
    """Where models can be asked. Keys are named, never held."""

    url: Annotated[str, AfterValidator(_url)]
    """Base URL, up to what comes before `/chat/completions`, `/v1/messages` or `/api/chat`."""
    wire: Literal["openai", "anthropic", "ollama"] = "openai"
    """What it speaks: Chat Completions, Messages, or Ollama's own API."""
    title: Plain = ""
    """What to call it where a person reads it."""
    model: Plain = ""
    """The model for a spec that names none."""
    key: Annotated[str, AfterValidator(_key_name)] = ""
    """Name of the environment variable that holds the key; unset: no key is sent."""
    headers: dict[Plain, Plain] = Field(default_factory=dict)
    """Sent with every call; never a secret."""
    prices: dict[Plain, PriceSettings] = Field(default_factory=dict)
    """Prices by model; `*` stands for all others."""
    context: int = Field(default=0, ge=0)
    """Tokens of prompt and answer together; 0: what the server says."""
    max_output: int = Field(default=0, ge=0)
    """Tokens of an answer; 0: not known."""
    formats: Annotated[tuple[Format, ...], Field(strict=False)] = ()
    """Ways of asking for JSON that it takes, strictest first; unset: found out."""
    envelope: bool = False
    """Whether answers hold code in blocks beside the JSON, as weak models write it better."""
    local: bool = False
    """Whether it is a server of one's own: it may cut what it cannot hold, and costs nothing."""

    @model_validator(mode="after")
    def _no_secret_headers(self) -> EndpointSettings:
        for name in self.headers:
            if name.lower() in _SECRET_HEADERS:
                raise _refuse(f"the header {name} is a secret; name its variable as key instead")
        return self


class Endpoints(Section):
    """A person's `endpoints.json`."""

    endpoints: dict[Id, EndpointSettings] = Field(default_factory=dict)
    """By id, which works wherever a provider's name does."""
    hosts: Texts = ()
    """Where `mak local` looks besides this machine, as host:port."""


def read_endpoints(path: Path) -> Endpoints:
    """Read an endpoints file; what is not there holds nothing."""
    if not path.exists():
        return Endpoints()
    text = read_text(path)
    return validate(Endpoints, parse_document(text, str(path)), str(path), text)


def write_endpoints(path: Path, found: Endpoints) -> None:
    """Replace an endpoints file, after another look that everything in it may stand there."""
    data: dict[str, Any] = {"endpoints": {id: sparse(e) for id, e in found.endpoints.items()}}
    if found.hosts:
        data["hosts"] = list(found.hosts)
    validate(Endpoints, data, str(path))
    write_private(path, json.dumps(data, indent=2, ensure_ascii=False) + "\n")


def sparse(section: Section) -> dict[str, Any]:
    """Return what a section says beside its defaults, as JSON has it."""
    return section.model_dump(mode="json", exclude_defaults=True)
