"""What commands write, read as far as it can be: tests that fail, lines complained of."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

#: Characters of output that travel with a finding.
MOST = 6_000
_HEAD = MOST // 4
#: Failures that are named in one line.
SHOWN = 2

_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|[\x00-\x08\x0b-\x1f\x7f]")
_PYTEST = re.compile(r"^(?:FAILED|ERROR) (?P<id>\S+\.py\S*)", re.MULTILINE)
_UNITTEST = re.compile(r"^(?:FAIL|ERROR): (?P<id>\w+ \([\w.]+\))", re.MULTILINE)
_COMPLAINT = re.compile(
    r"^(?P<path>[^\s:]+\.\w+):\d+(?::\d+)?(?::|\s)\s*(?P<what>.+)$", re.MULTILINE
)
_DOTTED = re.compile(r"^\w+ \(([\w.]+)\)$")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def failures(output: str) -> Counter[str]:
    """Return what failed, without what changes when lines move; empty: it cannot be told.

    Knows the summaries of pytest and unittest, and lines like ``path:line: message``.
    """
    for pattern in (_PYTEST, _UNITTEST):
        found = Counter(match["id"] for match in pattern.finditer(output))
        if found:
            return found
    return Counter(f"{m['path']}: {m['what'].strip()}" for m in _COMPLAINT.finditer(output))


def paths(found: Iterable[str]) -> Iterator[str]:
    """Yield the files that failures name; of a dotted name every file that it can mean."""
    for text in found:
        if dotted := _DOTTED.search(text):
            parts = dotted[1].split(".")
            yield from (f"{'/'.join(parts[: i + 1])}.py" for i in range(len(parts)))
            continue
        path = re.split(r"::|: ", text, maxsplit=1)[0]
        if "/" in path or "." in path:
            yield path


def subject(output: str, found: Iterable[str]) -> str:
    """Return what failed in one line that is the same whenever the same fails."""
    names = sorted(found)
    if names:
        more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
        return f"{', '.join(names[:SHOWN])}{more}"
    last = next((line.strip() for line in reversed(output.splitlines()) if line.strip()), "")
    return _NUMBER.sub("#", last)[:200] or "it says nothing"


def tidy(output: str, folder: str) -> str:
    """Return output without colours, control characters and the folder it was run in."""
    return _ESCAPE.sub("", output.replace("\r\n", "\n")).replace(f"{folder}/", "")


def cut(output: str) -> str:
    """Return the beginning and the end of a long text, and how much is left out."""
    text = output.strip()
    if len(text) <= MOST:
        return text
    tail = MOST - _HEAD
    left_out = len(text) - _HEAD - tail
    return f"{text[:_HEAD]}\n… {left_out} characters left out …\n{text[-tail:]}"
