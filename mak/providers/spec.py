"""Model specs, as in ``--models``: who answers, with which model, at which endpoint.

::

    builtin                    deterministic refactorings
    scripted:FILE              replies from a file
    replay:FILE                what an earlier run recorded
    ENDPOINT[:MODEL]           a preset or an endpoint of one's own; its default model
    ollama:MODEL[@URL]         Ollama, elsewhere
    local:MODEL@URL            any server that speaks Chat Completions

Models may hold ``/``, ``:`` and ``@``. This is the only place that takes specs apart.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NoReturn

from mak.errors import UsageError
from mak.providers.endpoints import OWN_KEY_NAME, Endpoint, Wire
from mak.providers.setup import Setup

BUILTIN, SCRIPTED, REPLAY, LOCAL = "builtin", "scripted", "replay", "local"
#: Names that no endpoint can have.
RESERVED = (BUILTIN, SCRIPTED, REPLAY, LOCAL)

_AT_URL = re.compile(r"(?P<model>.+?)@(?P<url>https?://\S+)", re.DOTALL)
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Spec:
    """A spec taken apart; `str` gives it back as it was written."""

    text: str
    #: One of `RESERVED`, or the endpoint's id.
    name: str
    #: The model, or the file of a scripted or replayed one.
    rest: str = ""
    #: None: nobody is asked over a network.
    endpoint: Endpoint | None = None

    def __str__(self) -> str:
        return self.text

    @property
    def label(self) -> str:
        """Endpoint and model, whether the model was named or is the default, and where."""
        label = f"{self.name}:{self.rest}" if self.rest else self.name
        # The same model elsewhere is another one.
        return self.text if self.text.startswith(f"{label}@") else label


def forms(setup: Setup) -> tuple[str, ...]:
    """Return the shapes that a spec can have, to show a person."""
    named = (
        f"{each.id}[:MODEL]"
        if each.model
        else f"{each.id}:MODEL{'[@URL]' if each.wire is Wire.OLLAMA else ''}"
        for each in setup.endpoints.values()
    )
    return (BUILTIN, *named, "local:MODEL@URL", "scripted:FILE", "replay:FILE")


def parse(text: str, setup: Setup | None = None) -> Spec:
    """Take `text` apart; raise `UsageError` with the nearest names unless it means something."""
    setup = Setup() if setup is None else setup
    name, colon, rest = text.strip().partition(":")
    if name == BUILTIN:
        if colon:
            _refuse(text, "builtin takes no model", "write builtin")
        return Spec(text, name)
    if name in (SCRIPTED, REPLAY):
        if not rest:
            kind = "a scripted agent" if name == SCRIPTED else "a replay"
            _refuse(text, f"{kind} needs its file", f"write {name}:FILE")
        return Spec(text, name, rest)
    at = _AT_URL.fullmatch(rest)
    from mak.config.keylike import looks_like_key, without_user  # pydantic, yaml

    if without_user(text) != text or looks_like_key(text):
        _refuse(
            text,
            "no key, user or password may stand in a spec, which logs and records hold",
            f"mak keys set {OWN_KEY_NAME}, or: mak endpoint add",
        )
    if name == LOCAL:
        if not at:
            _refuse(
                text,
                "a local model needs its URL",
                "write local:MODEL@URL, for example local:qwen3@http://127.0.0.1:8080/v1",
            )
        server = Endpoint(
            LOCAL, Wire.OPENAI, at["url"], "local", key_names=(OWN_KEY_NAME,), local=True, free=True
        )
        return Spec(text, name, at["model"], server)
    endpoint = setup.endpoints.get(name)
    if endpoint is None:
        _refuse(
            text,
            f"no provider is called {name!r}{_did_you_mean(_near(text, name, setup))}",
            f"write one of: {', '.join(forms(setup))}",
        )
    if at and endpoint.wire is Wire.OLLAMA:
        moved = replace(endpoint, url=at["url"], url_name="", key_names=(OWN_KEY_NAME,))
        return Spec(text, name, at["model"], moved)
    if "://" in rest:
        _refuse(
            text,
            f"{name} has its own URL",
            f"for another one write local:MODEL@URL, or: mak endpoint add {name}",
        )
    model = rest or endpoint.model
    known = setup.models.get(name, ())
    if not model:
        shown = ", ".join(f"{name}:{each}" for each in list(known)[:_SHOWN])
        _refuse(
            text,
            f"{name} has no default model",
            f"write {name}:MODEL{f', for example {shown}' if shown else f'; mak models {name}'}",
        )
    if known and model not in known:
        near = difflib.get_close_matches(model, list(known), n=_SHOWN, cutoff=0.5)
        _refuse(
            text,
            f"{name} has no model {model!r}{_did_you_mean([f'{name}:{each}' for each in near])}",
            f"a newer one: mak models --refresh {name} fetches its list; one that no list has: "
            f"mak endpoint add ID --from {name}, and write ID:{model}",
        )
    return Spec(text, name, model, endpoint)


def _refuse(text: str, why: str, hint: str) -> NoReturn:
    from mak.config.keylike import looks_like_key, without_user

    shown = without_user(text)
    if looks_like_key(shown):
        name = shown.partition(":")[0]
        shown = "…" if looks_like_key(name) else f"{name}:…"
    raise UsageError(f"reading the model spec {shown!r}: {why}", hint=hint)


def _did_you_mean(near: list[str]) -> str:
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""


def _near(text: str, name: str, setup: Setup) -> list[str]:
    """Return the nearest endpoints, and for a bare model the endpoints that have one like it."""
    ids = [*setup.endpoints, *RESERVED]
    if near := difflib.get_close_matches(name.lower(), ids, n=2, cutoff=0.6):
        return near
    models = dict(_models(setup))
    bare = text.strip()
    near = difflib.get_close_matches(bare, models, n=_SHOWN, cutoff=0.6)
    parts = {model.rpartition("/")[2]: model for model in models}
    near = near or [parts[part] for part in difflib.get_close_matches(bare, parts, n=_SHOWN)]
    return [f"{models[model]}:{model}" for model in near]


def _models(setup: Setup) -> Iterator[tuple[str, str]]:
    """Yield models with an endpoint that has them, a vendor's own before those of gateways."""
    for endpoint in reversed(list(setup.endpoints.values())):
        for model in (*setup.models.get(endpoint.id, ()), endpoint.model):
            if model:
                yield model, endpoint.id
