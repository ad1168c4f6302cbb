"""The envelope: a JSON header without code, then each source as text in a fenced block of its own.

For models that cannot be trusted to escape source code as JSON. Nothing in a block is decoded: what
stands between its fences is the source, byte for byte.
"""

from __future__ import annotations

import re
from typing import Any

#: What a model is told where it is to answer so.
WORDS = """\
This time the answer has two parts. First the JSON object as described above, but without source
code: new_source in results and source in new_nodes stay "". Then, for every slot with status
"edited", one fenced block named after the slot, with the whole new text of the node, plain and
not escaped; for the entries of new_nodes, blocks named new1, new2, … in their order:

```n1
def area(width, height):
    return width * height
```

Where a text itself holds a line of three backticks, fence its block with four. Write nothing else.
"""

_OPENING = re.compile(
    r"^(?P<fence>`{3,}|~{3,})[ \t]*(?:[\w.+-]+[ \t:]+)?(?P<name>n\d+|new\d+)[ \t]*\r?\n",
    re.MULTILINE,
)


def blocks(text: str) -> dict[str, str]:
    """Return the sources of an answer by name; one that is never closed is left out."""
    found: dict[str, str] = {}
    at = 0
    while opening := _OPENING.search(text, at):
        closing = re.compile(rf"^{re.escape(opening['fence'])}[ \t]*\r?$", re.MULTILINE).search(
            text, opening.end()
        )
        if closing is None:
            break
        found.setdefault(opening["name"], text[opening.end() : closing.start()])
        at = closing.end()
    return found


def header(text: str) -> str:
    """Return the part of an answer that stands before its blocks."""
    opening = _OPENING.search(text)
    return text[: opening.start()] if opening and text[: opening.start()].strip() else text


def fill(data: dict[str, Any], sources: dict[str, str]) -> dict[str, Any]:
    """Return the header with the sources where it left them out."""
    filled = dict(data)
    if isinstance(filled.get("results"), list):
        filled["results"] = [
            _with(each, "new_source", sources.get(str(each.get("node", ""))))
            if isinstance(each, dict) and each.get("status") == "edited"
            else each
            for each in filled["results"]
        ]
    if isinstance(filled.get("new_nodes"), list):
        filled["new_nodes"] = [
            _with(each, "source", sources.get(f"new{number}")) if isinstance(each, dict) else each
            for number, each in enumerate(filled["new_nodes"], 1)
        ]
    return filled


def _with(entry: dict[str, Any], field: str, source: str | None) -> dict[str, Any]:
    if source is None or str(entry.get(field) or "").strip():
        return entry
    return {**entry, field: source}
