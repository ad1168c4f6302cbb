"""Values that no text may hold: keys and passwords, whatever their format, taken out by value."""

from __future__ import annotations

import json
from urllib.parse import quote

#: Shorter values are no secrets, and words would go missing from messages.
_SHORTEST = 8
_SHOWN = "[redacted]"

#: Every value that this process has read as a secret, in the forms in which it can come back.
_known: dict[str, None] = {}


def keep(*values: str) -> None:
    """Note that these values are secret, also as they look in JSON, a URL and a Python string."""
    for value in values:
        if len(value) >= _SHORTEST:
            for form in (value, json.dumps(value)[1:-1], quote(value, safe=""), repr(value)[1:-1]):
                _known[form] = None


def redact(text: str) -> str:
    """Return `text` without any value that is known to be secret."""
    for value in _known:
        if value in text:
            text = text.replace(value, _SHOWN)
    return text
