"""What answers say about quotas, in the headers of all vendors."""

from __future__ import annotations

import email.utils
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

#: What is counted, and how its headers are called: what is left, how much there is, when it is new.
_ANTHROPIC = ("requests", "tokens", "input-tokens", "output-tokens")
_OPENAI = ("requests", "tokens")
_PARTS = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
#: Larger numbers of seconds are points in time.
_EPOCH = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Left:
    """What is left of one quota."""

    #: From 0 to 1.
    share: float
    #: Calls, where those are counted.
    calls: int | None
    #: Seconds until it is whole again; 0: not said.
    reset: float


def left(headers: Mapping[str, str]) -> Iterator[Left]:
    """Yield what an answer's headers say is left."""
    for what in _ANTHROPIC:
        name = f"anthropic-ratelimit-{what}"
        yield from _left(headers, f"{name}-remaining", f"{name}-limit", f"{name}-reset", what)
    for what in _OPENAI:
        remaining, limit, reset = (
            f"x-ratelimit-{part}-{what}" for part in ("remaining", "limit", "reset")
        )
        yield from _left(headers, remaining, limit, reset, what)


def _left(
    headers: Mapping[str, str], remaining: str, limit: str, reset: str, what: str
) -> Iterator[Left]:
    told = _number(headers.get(remaining, ""))
    if told is None:
        return
    whole = _number(headers.get(limit, "")) or max(told, 1.0)
    calls = int(told) if what == "requests" else None
    yield Left(min(1.0, told / whole), calls, duration(headers.get(reset, "")))


def _number(text: str) -> float | None:
    return float(text) if re.fullmatch(r"\d+(\.\d+)?", text.strip()) else None


def duration(text: str) -> float:
    """Return seconds from now: ``6m0s``, ``1.5``, a Unix time or an ISO 8601 one; 0 for others."""
    text = text.strip()
    number = _number(text)
    if number is not None:
        # OpenRouter counts milliseconds.
        number = number / 1000 if number > 1000 * _EPOCH else number
        return max(0.0, number - time.time()) if number > _EPOCH else number
    if re.fullmatch(f"(?:{_PARTS.pattern})+", text):
        return sum(float(value) * _UNITS[unit] for value, unit in _PARTS.findall(text))
    try:
        return max(0.0, datetime.fromisoformat(text).timestamp() - time.time())
    except ValueError:
        return 0.0


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that an endpoint asks to be left alone: given in ms, s or as a date."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name, "").strip()
        if (number := _number(value)) is not None:
            return number * unit
        date = email.utils.parsedate_tz(value) if value else None
        if date:
            return max(0.0, email.utils.mktime_tz(date) - time.time())
    return None
