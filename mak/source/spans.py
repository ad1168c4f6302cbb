"""Rows made from places in a text: what stands between two brackets, or line by line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mak.source.items import Item, Layout, Row


@dataclass(frozen=True, slots=True)
class Span:
    """Where an item's code is, and what is known of it."""

    start: int
    end: int
    #: Where the separator behind it stands; -1: there is none.
    comma: int = -1
    name: str = ""
    key: str = ""
    inner: tuple[Row, ...] = ()
    origin: Any = None


def bracketed(
    data: bytes, start: int, end: int, spans: Sequence[Span], *, comment: bytes = b"#"
) -> Row:
    """Return what stands between two brackets, separated by commas."""
    if not (spans and _have_lines(data, start, end, spans, comment)):
        items = [_item(data, span, span.start, span.start, span.end) for span in spans]
        layout = Layout.INLINE if spans else Layout.EMPTY
        return Row(data, start, end, tuple(items), layout, b",")
    items = []
    at = line_end(data, start)
    for span in spans:
        stop = line_end(data, max(span.end, span.comma))
        items.append(_item(data, span, at, line_start(data, span.start), stop))
        at = stop
    return Row(data, start, end, tuple(items), Layout.LINES, b",")


def lined(data: bytes, start: int, end: int, spans: Sequence[Span]) -> Row:
    """Return items that have their lines to themselves, without separators."""
    items = []
    at = start
    for span in spans:
        stop = line_end(data, max(span.end - 1, span.start))
        items.append(_item(data, span, at, line_start(data, span.start), stop))
        at = stop
    layout = Layout.LINES if items else Layout.EMPTY
    return Row(data, start, max(end, at), tuple(items), layout)


def _item(data: bytes, span: Span, start: int, line: int, stop: int) -> Item:
    return Item(
        start,
        line,
        span.start,
        span.end,
        stop,
        data[span.start : span.end],
        span.name,
        span.key,
        span.comma,
        span.inner,
        origin=span.origin,
    )


def _have_lines(data: bytes, start: int, end: int, spans: Sequence[Span], comment: bytes) -> bool:
    """Whether each item has its lines to itself, and so have both brackets."""

    def is_blank(low: int, high: int) -> bool:
        text = data[low:high].strip()
        return not text or text.startswith(comment)

    first = line_end(data, start)
    if spans[0].start < first or not is_blank(start, first):
        return False
    for span in spans:
        behind = max(span.end, span.comma + 1)
        if data[line_start(data, span.start) : span.start].strip(b" \t"):
            return False
        if not is_blank(behind, line_end(data, behind - 1)):
            return False
        if span.comma >= 0 and data[span.end : span.comma].strip(b" \t"):
            return False
    return not data[line_start(data, end) : end].strip()


def line_start(data: bytes, offset: int) -> int:
    """Return where the line that holds an offset begins."""
    return max(data.rfind(b"\n", 0, offset), data.rfind(b"\r", 0, offset)) + 1


def line_end(data: bytes, offset: int) -> int:
    """Return where the line that holds an offset ends, its newline included."""
    newline = data.find(b"\n", offset)
    carriage = data.find(b"\r", offset, len(data) if newline < 0 else newline)
    if carriage >= 0 and carriage + 1 != newline:
        return carriage + 1
    return len(data) if newline < 0 else newline + 1
