"""Every refactoring there is, and how a request is read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from mak.source.names import names_of
from mak.source.refactor.add_parameter import AddParameter
from mak.source.refactor.move import Move
from mak.source.refactor.phrases import plain
from mak.source.refactor.rename import Rename
from mak.source.refactor.rename_parameter import RenameParameter
from mak.source.refactor.replace_calls import ReplaceCalls
from mak.source.refactor.sites import Intent, Refusal, Sites
from mak.source.tree import Sources

#: In the order in which a sentence is offered to them.
REFACTORINGS: tuple[type[Intent], ...] = (
    RenameParameter,
    Rename,
    AddParameter,
    ReplaceCalls,
    Move,
)

_SENTENCE = re.compile(
    r"\s*(?:\n|;|\.\s+(?:then\s+)?(?=(?:rename|move|add|replace)\b)|,?\s+(?:and\s+)?then\s+|,\s+and\s+(?=(?:rename|move|add|replace)\b)|"
    r"\s+and\s+(?=(?:rename|move|replace)\b))\s*",
    re.IGNORECASE,
)
_PROVEN = re.compile(r",?\s+(?:but\s+)?only\s+where\s+(?:(?:it|that|this)\s+is\s+)?proven$", re.I)
#: Words that tell the forms of one verb apart.
_NAMING = frozenset(("parameter", "calls"))
_QUOTED = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"")


def forms() -> tuple[str, ...]:
    """Return how each refactoring may be asked for."""
    return tuple(form for refactoring in REFACTORINGS for form in refactoring.forms)


def parse(request: str) -> tuple[Intent, ...] | str:
    """Read a request of one or more sentences; return the first that is not understood instead."""
    intents: list[Intent] = []
    for sentence in _sentences(request.strip()):
        text = sentence.strip().lstrip("-*•").strip().rstrip(".!").strip()
        if not text:
            continue
        intent = read(text)
        if intent is None:
            return text
        intents.append(intent)
    return tuple(intents) or request


def _sentences(request: str) -> Iterator[str]:
    """Split a request, but not inside quotes."""
    masked = _QUOTED.sub(lambda match: "_" * len(match[0]), request)
    at = 0
    for match in _SENTENCE.finditer(masked):
        yield request[at : match.start()]
        at = match.end()
    yield request[at:]


def read(sentence: str) -> Intent | None:
    """Read one sentence."""
    said = sentence.strip().rstrip(".!")
    text = _PROVEN.sub("", said)
    for spelled in dict.fromkeys((" ".join(text.split()), plain(text))):
        for refactoring in REFACTORINGS:
            intent = refactoring.parse(spelled)
            if intent is not None:
                return replace(intent, proven=text != said)
    return None


def nearest(sentence: str) -> str:
    """Return the form that a sentence comes nearest to; empty when there is none."""
    words = re.findall(r"\w+", plain(sentence).lower())
    found: list[tuple[int, int, str]] = []
    for refactoring in REFACTORINGS:
        for form in refactoring.forms:
            verb, *rest = re.findall(r"[a-z]+", form.partition("[")[0])
            if verb in words:
                naming = _NAMING.intersection(rest)
                found.append((len(naming.intersection(words)), -len(naming), form))
    return max(found)[2] if found else ""


def find(sources: Sources, intent: Intent) -> Sites | Refusal:
    """Return everything that an intent changes in a tree."""
    return intent.find(names_of(sources))
