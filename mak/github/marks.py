"""The last line of every text that MAK writes on GitHub: by it the text is found again.

A mark is an index and never authority: whoever may write can write one. It holds ids only, so that
nothing in it can end the HTML comment that hides it.
"""

from __future__ import annotations

import json
import re

_LINE = re.compile(r"<!-- mak:v1 (\{[^<>]*\}) -->")
_VALUE = re.compile(r"[0-9a-z]{1,64}", re.ASCII)
_KEYS = ("run", "kind", "rev", "digest", "seq")

Mark = dict[str, str | int]


def write(**ids: str | int) -> str:
    """Return the line for `kind` and what else names the text: run, rev, digest, seq."""
    for key, value in ids.items():
        if key not in _KEYS or not _fits(value):
            raise ValueError(f"{key}={value!r} cannot be in a mark")
    ordered = {key: ids[key] for key in _KEYS if key in ids}
    return f"<!-- mak:v1 {json.dumps(ordered, separators=(',', ':'))} -->"


def read(body: str) -> Mark | None:
    """Return the mark that a text ends with, or None; one that is quoted or higher up is none."""
    match = _LINE.fullmatch(body.rstrip().rpartition("\n")[2])
    if match is None:
        return None
    try:
        found = json.loads(match[1])
    except (ValueError, RecursionError):
        return None
    if not all(key in _KEYS and _fits(value) for key, value in found.items()):
        return None
    return dict(found)


def _fits(value: object) -> bool:
    if isinstance(value, bool):
        return False
    if isinstance(value, int):
        return 0 <= value < 10**15
    return isinstance(value, str) and _VALUE.fullmatch(value) is not None
