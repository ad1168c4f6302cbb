"""JSON, also with comments and trailing commas: the keys of the outermost object are the nodes."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mak.source.entries import Entry, Structured
from mak.source.items import Row
from mak.source.spans import Span, bracketed, line_start, lined

_SUFFIXES = (".json", ".jsonc", ".json5", ".webmanifest", ".code-workspace", ".ipynb")
_SPACE = re.compile(rb"(?:[ \t\r\n]+|//[^\r\n]*|/\*(?:[^*]|\*(?!/))*\*/)*")
_TEXT = re.compile(rb'"(?:[^"\\\x00-\x1f]|\\.)*"', re.DOTALL)
_WORD = re.compile(rb"[-+]?[A-Za-z0-9_.]+(?:[+-][0-9]+)?")
#: Levels below which a reader gives up.
_DEEPEST = 100


@dataclass(frozen=True, slots=True)
class _Value:
    """A value and its places: of itself, of its items with the commas behind them."""

    start: int
    end: int
    #: ``{``, ``[`` or empty.
    opening: bytes = b""
    items: tuple[tuple[bytes, int, _Value, int], ...] = ()


class _Scanner:
    def __init__(self, data: bytes) -> None:
        self.data = data

    def skip(self, at: int) -> int:
        match = _SPACE.match(self.data, at)
        return match.end() if match else at

    def value(self, at: int, depth: int = 0) -> _Value:
        data = self.data
        opening = data[at : at + 1]
        if depth > _DEEPEST:
            raise ValueError("is nested too deeply")
        if opening not in (b"{", b"["):
            match = _TEXT.match(data, at) or _WORD.match(data, at)
            if match is None:
                raise self.wrong(at)
            return _Value(at, match.end())
        closing = b"}" if opening == b"{" else b"]"
        items: list[tuple[bytes, int, _Value, int]] = []
        place = self.skip(at + 1)
        while data[place : place + 1] != closing:
            if items and items[-1][3] < 0:
                raise self.wrong(place)
            start, key = place, b""
            if opening == b"{":
                match = _TEXT.match(data, place)
                if match is None:
                    raise self.wrong(place)
                key = match[0]
                place = self.skip(match.end())
                if data[place : place + 1] != b":":
                    raise self.wrong(place)
                place = self.skip(place + 1)
            value = self.value(place, depth + 1)
            place = self.skip(value.end)
            comma = place if data[place : place + 1] == b"," else -1
            place = self.skip(place + 1) if comma >= 0 else place
            items.append((key, start, value, comma))
        return _Value(at, place + 1, opening, tuple(items))

    def wrong(self, at: int) -> ValueError:
        line = self.data.count(b"\n", 0, at) + 1
        return ValueError(f"is not JSON (line {line})")

    def row(self, value: _Value, label: str) -> Row:
        """Return the items of an object or array."""
        spans = [
            Span(
                start,
                item.end,
                comma,
                name=_text(key),
                key=f"the key `{_text(key)}`" if key else "",
                inner=(self.row(item, f"`{_text(key)}`" if key else label),)
                if item.opening
                else (),
            )
            for key, start, item, comma in value.items
        ]
        row = bracketed(self.data, value.start + 1, value.end - 1, spans, comment=b"//")
        row.label = label
        row.may_trail = False
        row.may_wrap = True
        row.orders = (lambda item: item.name or item.text,)
        return row


def _text(key: bytes) -> str:
    try:
        return str(json.loads(key)) if key else ""
    except ValueError:
        return key.decode("utf-8", "replace")


def _read(data: bytes) -> Sequence[Entry]:
    scanner = _Scanner(data)
    start = scanner.skip(0)
    value = scanner.value(start)
    if data[scanner.skip(value.end) :]:
        raise scanner.wrong(scanner.skip(value.end))
    if value.opening != b"{" or not value.items:
        return ()
    numbers = _Lines(data)
    entries: list[Entry] = []
    last = numbers.at(start) + 1
    for key, begin, item, comma in value.items:
        first = numbers.at(begin)
        if first < last or data[line_start(data, begin) : begin].strip():
            return ()
        last = numbers.at(max(item.end - 1, comma)) + 1
        entries.append(Entry(_text(key), first, last))
    return entries if numbers.at(value.end - 1) >= last else ()


class _Lines:
    def __init__(self, data: bytes) -> None:
        self.starts = [0]
        for line in data.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def at(self, offset: int) -> int:
        """Return the 0-based line that holds an offset."""
        return min(bisect_right(self.starts, offset), len(self.starts)) - 1


def _row(data: bytes) -> Row:
    """Return the entries of an object without its brackets."""
    scanner = _Scanner(data)
    spans: list[Span] = []
    at = scanner.skip(0)
    while at < len(data):
        match = _TEXT.match(data, at)
        if match is None:
            raise scanner.wrong(at)
        colon = scanner.skip(match.end())
        if data[colon : colon + 1] != b":":
            raise scanner.wrong(colon)
        value = scanner.value(scanner.skip(colon + 1))
        name = _text(match[0])
        inner = (scanner.row(value, f"`{name}`"),) if value.opening else ()
        spans.append(Span(at, value.end, -1, name, f"the key `{name}`", inner))
        at = scanner.skip(value.end)
        if data[at : at + 1] == b",":
            at = scanner.skip(at + 1)
    return lined(data, 0, len(data), spans)


def _separated(text: bytes) -> tuple[int, int]:
    """Return where a comma behind an entry belongs, and where one stands."""
    scanner = _Scanner(text)
    at = scanner.skip(0)
    match = _TEXT.match(text, at)
    if match is None:
        return len(text), -1
    value = scanner.value(scanner.skip(scanner.skip(match.end()) + 1))
    behind = scanner.skip(value.end)
    return value.end, behind if text[behind : behind + 1] == b"," else -1


def _load(data: bytes) -> Any:
    """Read JSON; comments and trailing commas are left out first where it is not strict."""
    try:
        return json.loads(data.decode("utf-8"), object_pairs_hook=_object)
    except json.JSONDecodeError:
        return json.loads(_strict(data), object_pairs_hook=_object)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = next(k for n, (k, _) in enumerate(pairs) if k in dict(pairs[:n]))
        raise ValueError(f"has the key {twice!r} twice")
    return found


def _strict(data: bytes) -> str:
    scanner = _Scanner(data)
    value = scanner.value(scanner.skip(0))
    if data[scanner.skip(value.end) :]:
        raise scanner.wrong(scanner.skip(value.end))

    def write(value: _Value) -> str:
        if not value.opening:
            return data[value.start : value.end].decode("utf-8")
        parts = [f"{k.decode()}:{write(v)}" if k else write(v) for k, _, v, _ in value.items]
        return value.opening.decode() + ",".join(parts) + ("}" if value.opening == b"{" else "]")

    return write(value)


def _matches(path: str) -> bool:
    return path.endswith(_SUFFIXES)


JSON = Structured(
    "json", 1, _matches, _read, _row, _load, comment=b"//", separator=b",", separated=_separated
)
