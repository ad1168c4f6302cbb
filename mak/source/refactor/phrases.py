"""How people say it: the turns of phrase that come down to the sentences that refactorings read.

Lenient on phrasing, exact on names: what is dropped or turned round here never changes which
definition is meant, only how it is written.
"""

from __future__ import annotations

import re

_NAME = r"[`'\"]?[\w.]+(?:\(\))?[`'\"]?"
_PLACE = r"[`'\"]?(?P<place>[\w./\\-]+)[`'\"]?"
_KIND = r"(?:module-level\s+)?(?:function|class|constant|variable|method|symbol)s?"
_SAME = str.maketrans("“”‘’«»", '""\'\'""')
_POLITE = re.compile(
    r"^(?:(?:please|kindly|now|just|can you|could you|would you|let us|let's|i want to|i want you "
    r"to|i would like to|i'd like to|we should|you should|refactor(?:ing)?\s*:)[,\s]+)+",
    re.IGNORECASE,
)
_EVERYWHERE = re.compile(
    r"(?:,?\s+(?:everywhere|globally|throughout|please|"
    r"(?:in|across|throughout)\s+(?:the\s+)?(?:whole\s+|entire\s+)?"
    r"(?:project|repository|repo|code\s?base|code|package)|"
    r"(?:and\s+)?(?:update|fix|adapt|adjust|change)\s+(?:all\s+|every\s+|the\s+)*(?:of\s+)?(?:its\s+)?"
    r"(?:callers?|usages?|uses?|call\s?sites?|imports?|importers?|references?)"
    r"(?:\s+(?:and|,)\s+(?:callers?|usages?|uses?|call\s?sites?|imports?|references?))*))+$",
    re.IGNORECASE,
)
_ARROW = re.compile(r"\s*(?:→|->|=>)\s*")
#: Turned round, in this order.
_TURNS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), into)
    for pattern, into in (
        (r"^(?:change|alter)\s+(?:the\s+)?name\s+of\s+(.+)$", r"rename \1"),
        (
            rf"^(rename\s+(?:the\s+)?(?:{_KIND}\s+)?)({_NAME})(\s+(?:to|as|into)\s+\S+?)"
            r",?\s+(?:in|of|from)\s+(?:the\s+)?((?:module|file|class)\s+)?([\w./\\-]+\.py)$",
            r"\1\2 in \4\5\3",
        ),
        (
            r"^use\s+(\S+)\s+(?:instead\s+of|in\s+place\s+of)\s+(\S+)$",
            r"replace calls of \2 with \1",
        ),
        (
            r"^(replace|change|switch)\s+(?:all\s+|every\s+|the\s+)*calls?\s+(\S+)\s+(with|by|to)\b",
            r"\1 calls of \2 \3",
        ),
    )
)
_OF_CLASS = re.compile(
    rf"\b(?P<kind>{_KIND})\s+(?P<name>{_NAME})\s+(?:in|of|on|from|defined\s+in|inside)\s+"
    rf"(?:the\s+)?(?:(?:class|module|file|package)\s+)?{_PLACE}",
    re.IGNORECASE,
)
_IN_FILE = re.compile(
    rf"(?<![\w.`'\"])(?P<name>{_NAME})\s+(?:in|of|from|defined\s+in|inside)\s+"
    r"(?:the\s+)?(?:(?:module|file)\s+)?[`'\"]?(?P<place>[\w./\\-]+\.py)[`'\"]?(?![\w:.])",
    re.IGNORECASE,
)
_FROM = re.compile(
    rf"^(?P<head>move\s+(?:the\s+)?(?:{_KIND}\s+)?)(?P<name>{_NAME})\s+(?:from|out\s+of)\s+"
    rf"(?:the\s+)?(?:(?:module|file)\s+)?{_PLACE}(?=\s+(?:in)?to\b)",
    re.IGNORECASE,
)
_QUOTES = "`'\""


def plain(sentence: str) -> str:
    """Return a sentence without what does not matter, in the order in which it is read."""
    text = " ".join(sentence.translate(_SAME).split())
    text = _POLITE.sub("", text)
    text = _EVERYWHERE.sub("", text.rstrip(".!? ")).rstrip(",;: ")
    if re.match(r"(?:rename|move)\b", text, re.IGNORECASE):
        text = _ARROW.sub(" to ", text)
    for pattern, into in _TURNS:
        text = pattern.sub(into, text)
    text = _FROM.sub(lambda m: f"{m['head']}{_joined(m)}", text)
    text = _OF_CLASS.sub(lambda m: f"{m['kind']} {_joined(m)}", text)
    return " ".join(_IN_FILE.sub(_joined, text).split())


def _joined(match: re.Match[str]) -> str:
    """Write a name and where it is as one: ``pkg/mod.py::f``, ``pkg.mod.f``, ``C.m``."""
    name = match["name"].strip(_QUOTES).removesuffix("()")
    place = match["place"].strip(_QUOTES)
    separator = "::" if place.endswith(".py") else "."
    return f"{place}{separator}{name}"
