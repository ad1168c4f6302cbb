"""Values that no text may hold: keys and passwords, whatever their format, taken out by value."""

from __future__ import annotations

import json
import re
from urllib.parse import quote

#: Shorter values are no secrets, and words would go missing from messages.
_SHORTEST = 8
#: What nobody writes by chance: long, with letters and digits. Keyless servers are given words.
_UNGUESSABLE = re.compile(r"(?=.*[0-9])(?=.*[A-Za-z]).{16,}", re.DOTALL)
_SHOWN = "[redacted]"

#: Every value that this process has read as a secret, in the forms in which it can come back, and
#: whether it may be taken out of program text as well.
_known: dict[str, bool] = {}


def keep(*values: str) -> None:
    """Note that these values are secret, also as they look in JSON, a URL and a Python string."""
    for value in values:
        if len(value) >= _SHORTEST:
            anywhere = _UNGUESSABLE.fullmatch(value) is not None
            for form in (value, json.dumps(value)[1:-1], quote(value, safe=""), repr(value)[1:-1]):
                _known[form] = anywhere


def redact(text: str) -> str:
    """Return a message without any value that is known to be secret."""
    for value in _longest_first():
        text = text.replace(value, _SHOWN)
    return text


def redact_content(text: str) -> str:
    """Return an answer or a record without secrets; words that are somebody's key stay in it.

    A key such as ``lm-studio`` hides nothing, and code that says so must not change.
    """
    for value in _longest_first():
        if _known[value]:
            text = text.replace(value, _SHOWN)
    return text


def _longest_first() -> list[str]:
    """Return all values; of one that begins like another, no end may be left over."""
    return sorted(_known, key=len, reverse=True)
