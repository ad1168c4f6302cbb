"""Requirements of pip: each line is a node, named after the distribution it asks for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from mak.source.entries import Entry, Structured
from mak.source.items import Row
from mak.source.spans import Span, lined

_FILE = re.compile(
    r"(^|/)((dev|test|docs?|base|prod)[-_.])?(requirements|constraints)[^/]*\.(txt|in)$"
)
_FOLDER = re.compile(r"(^|/)requirements/[^/]+\.(txt|in)$")
_NAME = re.compile(r"^([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?:[\[<>=!~;@#(]|$|--)")
_EGG = re.compile(r"[#&]egg=([A-Za-z0-9._-]+)")


def canonical(name: str) -> str:
    """Return a distribution's name as indexes compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _entries(data: bytes) -> Iterator[tuple[str, int, int]]:
    """Yield name, first line and end of every logical line that is no comment."""
    lines = data.splitlines()
    number = 0
    while number < len(lines):
        first = number
        while lines[number].rstrip().endswith(b"\\") and number + 1 < len(lines):
            number += 1
        number += 1
        text = b" ".join(line.rstrip(b"\\ \t") for line in lines[first:number]).strip()
        if text and not text.startswith(b"#"):
            yield _name(text.decode("utf-8")), first, number


def _name(text: str) -> str:
    if match := _NAME.match(text):
        return canonical(match[1])
    if match := _EGG.search(text):
        return canonical(match[1])
    return text.split(" #")[0].strip()


def _read(data: bytes) -> Sequence[Entry]:
    return [Entry(*entry) for entry in _entries(data)]


def _row(data: bytes) -> Row:
    starts = [0]
    for line in data.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    spans = [
        Span(
            starts[first],
            starts[first] + len(data[starts[first] : starts[end]].rstrip()),
            name=name,
            key=f"`{name}`",
        )
        for name, first, end in _entries(data)
    ]
    row = lined(data, 0, len(data), spans)
    row.orders = (lambda item: item.name,)
    return row


def _load(data: bytes) -> Any:
    return [(name, first) for name, first, _ in _entries(data)]


def _matches(path: str) -> bool:
    return bool(_FILE.search(path) or _FOLDER.search(path))


REQUIREMENTS = Structured("requirements", 1, _matches, _read, _row, _load, merges_new=False)
