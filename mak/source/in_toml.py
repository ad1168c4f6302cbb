"""TOML: each table is a node, and each key above the first table."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mak.source.entries import Entry, Structured
from mak.source.items import Row
from mak.source.spans import Span, bracketed, lined

_TEXT = re.compile(
    rb'"""(?:[^"\\]|\\.|"(?!""))*"{3,5}'
    rb"|'''(?:[^']|'(?!''))*'{3,5}"
    rb'|"(?:[^"\\\r\n]|\\.)*"'
    rb"|'[^'\r\n]*'",
    re.DOTALL,
)
_KEY = re.compile(rb"""(?:[A-Za-z0-9_.\- \t]|"(?:[^"\\\r\n]|\\.)*"|'[^'\r\n]*')+""")
_PART = re.compile(rb"""[A-Za-z0-9_-]+|"(?:[^"\\\r\n]|\\.)*"|'[^'\r\n]*'""")
_SPACE = re.compile(rb"(?:[ \t\r\n]+|#[^\r\n]*)*")
_BLANK = re.compile(rb"[ \t]*")
_WORD = re.compile(rb"[^\s,#\[\]{}]+(?: [0-9][^\s,#\[\]{}]*)?")


@dataclass(frozen=True, slots=True)
class _Line:
    """A table's header or an assignment."""

    name: str
    start: int
    end: int
    is_header: bool
    inner: tuple[Row, ...] = ()


def _lines(data: bytes) -> Iterator[_Line]:
    """Yield the headers and assignments of TOML text that is valid."""
    at = _skip(data, 0)
    while at < len(data):
        if data[at : at + 1] == b"[":
            double = data[at : at + 2] == b"[["
            match = _KEY.match(data, at + 1 + double)
            close = match.end() if match else at
            end = close + 1 + double
            if match is None or data[close:end] != b"]" * (1 + double):
                raise _wrong(data, at)
            yield _Line(_key(match[0]), at, end, True)
        else:
            match = _KEY.match(data, at)
            if match is None or data[match.end() : match.end() + 1] != b"=":
                raise _wrong(data, at)
            start = _blank(data, match.end() + 1)
            name = _key(match[0])
            end, row = _value(data, start, f"`{name}`")
            yield _Line(name, at, end, False, (row,) if row is not None else ())
        at = _skip(data, end)


def _value(data: bytes, at: int, label: str) -> tuple[int, Row | None]:
    """Return where a value ends, and its elements when it is an array or an inline table."""
    opening = data[at : at + 1]
    if opening not in (b"[", b"{"):
        match = _TEXT.match(data, at) or _WORD.match(data, at)
        if match is None:
            raise _wrong(data, at)
        return match.end(), None
    closing = b"]" if opening == b"[" else b"}"
    spans: list[Span] = []
    place = _skip(data, at + 1)
    while data[place : place + 1] != closing:
        start, name = place, ""
        if opening == b"{":
            match = _KEY.match(data, place)
            if match is None or data[match.end() : match.end() + 1] != b"=":
                raise _wrong(data, place)
            name = _key(match[0])
            place = _blank(data, match.end() + 1)
        end, row = _value(data, place, f"`{name}`" if name else label)
        place = _skip(data, end)
        comma = place if data[place : place + 1] == b"," else -1
        if comma >= 0:
            place = _skip(data, place + 1)
        elif data[place : place + 1] != closing:
            raise _wrong(data, place)
        inner = (row,) if row is not None else ()
        spans.append(Span(start, end, comma, name, f"the key `{name}`" if name else "", inner))
    row = bracketed(data, at + 1, place, spans)
    row.label = label
    row.may_trail = row.may_wrap = opening == b"["
    row.orders = (lambda item: item.text, lambda item: item.text.lower())
    return place + 1, row


def _key(text: bytes) -> str:
    parts = _PART.findall(text)
    return "/".join(part.strip(b"\"'").decode("utf-8", "replace") for part in parts)


def _skip(data: bytes, at: int) -> int:
    match = _SPACE.match(data, at)
    return match.end() if match else at


def _blank(data: bytes, at: int) -> int:
    match = _BLANK.match(data, at)
    return match.end() if match else at


def _wrong(data: bytes, at: int) -> ValueError:
    line = data.count(b"\n", 0, at) + 1
    return ValueError(f"is not TOML (line {line})")


def _read(data: bytes) -> Sequence[Entry]:
    _load(data)
    lines = [*_lines(data)]
    entries: list[Entry] = []
    for line in lines:
        first = data.count(b"\n", 0, line.start)
        last = data.count(b"\n", 0, line.end) + 1
        if line.is_header or not entries or not _in_table(lines, line):
            entries.append(Entry(line.name, first, last))
        else:
            entries[-1] = Entry(entries[-1].name, entries[-1].start, last)
    return entries


def _in_table(lines: Sequence[_Line], line: _Line) -> bool:
    return any(other.is_header and other.start < line.start for other in lines)


def _row(data: bytes) -> Row:
    spans = [
        Span(
            line.start,
            line.end,
            name=f"[{line.name}]" if line.is_header else line.name,
            key="" if line.is_header else f"the key `{line.name}`",
            inner=line.inner,
        )
        for line in _lines(data)
    ]
    row = lined(data, 0, len(data), spans)
    row.orders = (lambda item: item.name,)
    row.family = lambda item: None if item.name.startswith("[") else ""
    return row


def _load(data: bytes) -> Any:
    if b"\r" in data.replace(b"\r\n", b"\n"):
        raise ValueError("has line ends that TOML does not know")
    try:
        return tomllib.loads(data.decode("utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"is not TOML: {error}") from error


def _matches(path: str) -> bool:
    return path.endswith(".toml")


TOML = Structured("toml", 1, _matches, _read, _row, _load)
