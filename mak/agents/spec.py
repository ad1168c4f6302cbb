"""Model specs, as in ``--models``: who answers, with which model, at which endpoint."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection
from dataclasses import dataclass

from mak.errors import UsageError

_LOCAL = re.compile(r"(?P<model>.+?)@(?P<url>https?://\S+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Spec:
    """A spec taken apart; `str` gives it back as it was written."""

    text: str
    #: Key into `mak.agents.registry.AGENTS`.
    name: str
    #: A model name, or the file of a scripted agent; empty: the default.
    rest: str = ""
    url: str = ""

    def __str__(self) -> str:
        return self.text


def parse(text: str, names: Collection[str], forms: Collection[str]) -> Spec:
    """Take `text` apart; raise `UsageError` unless its name is one of `names`.

    Models may hold ``/``, ``:`` and ``@``. `forms` are the shapes to show a person.
    """
    name, _, rest = text.strip().partition(":")
    if name not in names:
        near = difflib.get_close_matches(name.lower(), list(names), n=2, cutoff=0.5)
        did = f"; did you mean {' or '.join(repr(n) for n in near)}?" if near else ""
        raise UsageError(
            f"reading the model spec {text!r}: no provider is called {name!r}{did}",
            hint=f"write one of: {', '.join(forms)}",
        )
    if name == "local":
        match = _LOCAL.fullmatch(rest)
        if not match:
            raise UsageError(
                f"reading the model spec {text!r}: a local model needs its URL",
                hint="write local:MODEL@URL, for example local:qwen3@http://127.0.0.1:8080/v1",
            )
        return Spec(text, name, match["model"], match["url"])
    return Spec(text, name, rest)
