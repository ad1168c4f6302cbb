"""Items put into a row in the row's own style: its lines, its indentation, its separators."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mak.source.items import Clash, Item, Layout, Row
from mak.source.text import indent_of

#: Columns that a line may have when none of the text is longer.
WIDTH = 88


@dataclass(frozen=True, slots=True)
class Patch:
    """Other bytes for ``[start, end)`` of a text."""

    start: int
    end: int
    data: bytes


def patched(data: bytes, patches: Iterable[Patch], start: int = 0, end: int | None = None) -> bytes:
    """Return ``data[start:end]`` with the patches in it; those at one offset stay in order."""
    parts: list[bytes] = []
    at = start
    for patch in sorted(patches, key=lambda patch: (patch.start, patch.end)):
        if patch.start < at:
            raise Clash("the edits of both sides overlap", final=False)
        parts += (data[at : patch.start], patch.data)
        at = patch.end
    return b"".join((*parts, data[at : len(data) if end is None else end]))


def arrange(frame: Row, other: Row, order: Sequence[Item], patches: list[Patch]) -> None:
    """Patch the frame's row so that it holds the items of `order`.

    Its own items are in it in their order; the rest are the other row's.
    """
    own = {id(item) for item in frame.items}
    kept = [item for item in order if id(item) in own]
    if len(kept) == len(frame.items) == len(order):
        return
    if frame.one_trails and len(order) == 1:
        raise Clash("one item alone would be left", final=False)
    if frame.layout is Layout.LINES:
        _lines(frame, other, order, own, patches)
    else:
        _inline(frame, other, order, own, patches)


# ------------------------------------------------------------------------------------ lines


def _lines(
    frame: Row, other: Row, order: Sequence[Item], own: set[int], patches: list[Patch]
) -> None:
    in_order = {id(item) for item in order}
    patches += [
        Patch(item.start, item.stop, b"") for item in frame.items if id(item) not in in_order
    ]
    at = frame.items[0].start if frame.items else frame.start
    trails = frame.trails
    for number, item in enumerate(order):
        wanted = bool(frame.comma) and (number + 1 < len(order) or trails)
        if id(item) in own:
            at = item.stop
            if wanted and item.comma < 0:
                patches.append(Patch(item.end, item.end, frame.comma))
            elif frame.comma and not wanted and item.comma >= 0:
                patches.append(Patch(item.comma, item.comma + len(frame.comma), b""))
            continue
        chunk = _chunk(frame, other, item, wanted)
        patches.append(Patch(at, at, _at_line_start(frame.data, at, chunk)))


def _at_line_start(data: bytes, at: int, chunk: bytes) -> bytes:
    """Return whole lines for a place that may be the end of a text without a final newline."""
    if at and not data[:at].endswith((b"\n", b"\r")):
        bare = chunk.rstrip(b"\r\n")
        return (chunk[len(bare) :] or b"\n") + bare
    return chunk


def _chunk(frame: Row, other: Row, item: Item, comma: bool) -> bytes:
    """Return the lines of an item of the other row, as the frame's row would have them."""
    indent = frame.indent(frame.items[0]) if frame.items else b""
    newline = _newline(frame.data)
    if other.layout is not Layout.LINES:
        return indent + other.code(item) + (frame.comma if comma else b"") + newline
    have = other.indent(item)
    end = item.end + (len(other.comma) if item.comma == item.end else 0)
    text = other.data[item.start : item.end] + (frame.comma if comma else b"")
    text += other.data[max(end, item.comma + len(other.comma)) : item.stop]
    if not text.endswith((b"\n", b"\r")):
        text += newline
    if frame.items and have != indent:
        lines = text.splitlines(keepends=True)
        if not all(line.startswith(have) or not line.strip() for line in lines):
            raise Clash("the two sides indent it differently", final=False)
        text = b"".join(indent + line[len(have) :] if line.strip() else line for line in lines)
    return text


def _newline(data: bytes) -> bytes:
    for newline in (b"\r\n", b"\n", b"\r"):
        if newline in data:
            return newline
    return b"\n"


# ------------------------------------------------------------------------------------ inline


def _inline(
    frame: Row, other: Row, order: Sequence[Item], own: set[int], patches: list[Patch]
) -> None:
    if any(b"#" in other.lead(item) + other.remark(item) for item in order if id(item) not in own):
        raise Clash("a comment has no place in a row of one line", final=False)
    texts = [(frame if id(item) in own else other).code(item) for item in order]
    wrapped = _wrapped(frame, texts, patches)
    if wrapped is not None:
        patches.append(wrapped)
        return
    gap = _gap(frame, other)
    in_order = {id(item) for item in order}
    _drop(frame, in_order, patches)
    if frame.one_trails and len(frame.items) == 1 and frame.items[0].comma >= 0:
        last = frame.items[0]
        patches.append(Patch(last.comma, last.comma + len(frame.comma), b""))
    at = None
    put = b""  # what was put in behind `at`
    for item, text in zip(order, texts, strict=True):
        if id(item) in own:
            at, put = item, b""
            continue
        if at is not None:
            more = _broken(frame, at.end, put, gap, text)
            patches.append(Patch(at.end, at.end, more))
            put += more
        else:
            first = next((i for i in frame.items if id(i) in in_order), None)
            place = first.code if first is not None else frame.start
            later = first is not None or item is not order[-1]
            patches.append(Patch(place, place, text + (gap if later else b"")))


def _drop(frame: Row, in_order: set[int], patches: list[Patch]) -> None:
    """Take items out together with the separator between them and what is left."""
    left = [item for item in frame.items if id(item) in in_order]
    if not left and frame.items:
        last = frame.items[-1]
        patches.append(Patch(frame.items[0].code, max(last.end, last.comma + 1), b""))
        return
    before = True
    for number, item in enumerate(frame.items):
        if id(item) in in_order:
            before = False
        elif before:
            patches.append(Patch(item.code, frame.items[number + 1].code, b""))
        else:
            patches.append(Patch(frame.items[number - 1].end, item.end, b""))


def _gap(frame: Row, other: Row) -> bytes:
    """Return a separator as it stands between two items of one line."""
    for row in (frame, other):
        for one, two in zip(row.items, row.items[1:], strict=False):
            between = row.data[one.end : two.code]
            if b"\n" not in between and b"\r" not in between and between.strip() == row.comma:
                return between
    return frame.comma + b" "


def _broken(frame: Row, at: int, put: bytes, gap: bytes, text: bytes) -> bytes:
    """Return a separator and an item; on a line of its own where the line would be too long.

    It goes behind `put`, which is put in at the same place.
    """
    data = frame.data
    begin = max(data.rfind(b"\n", 0, at), data.rfind(b"\r", 0, at)) + 1
    end = min(
        (e for e in (data.find(b"\n", at), data.find(b"\r", at)) if e >= 0), default=len(data)
    )
    line = data[begin:end]
    first = next((item for item in frame.items if begin <= item.code), frame.items[0])
    indent = indent_of(line) if first.code - begin == len(indent_of(line)) else None
    if indent is None:
        indent = b" " * (first.code - begin)
    size = len((data[begin:at] + put).splitlines()[-1]) + end - at
    is_long = size + len(gap) + len(text) > _width(data)
    is_packed = b"\n" in data[frame.start : frame.end]
    if not (is_long and is_packed and frame.may_wrap) or b"\n" in text:
        return gap + text
    return gap.rstrip() + _newline(data) + indent + text


def _wrapped(frame: Row, texts: Sequence[bytes], patches: Sequence[Patch]) -> Patch | None:
    """Return the row one item a line, where it is one line and would become too long."""
    data = frame.data
    span = data[frame.start : frame.end]
    if not frame.may_wrap or b"\n" in span or b"\r" in span or any(b"\n" in t for t in texts):
        return None
    if any(frame.start <= patch.start <= frame.end for patch in patches):
        return None
    begin = max(data.rfind(b"\n", 0, frame.start), data.rfind(b"\r", 0, frame.start)) + 1
    end = min(
        (e for e in (data.find(b"\n", frame.end), data.find(b"\r", frame.end)) if e >= 0),
        default=len(data),
    )
    size = sum(map(len, texts)) + 2 * len(texts) - len(span)
    if end - begin + size <= _width(data):
        return None
    newline, indent = _newline(data), indent_of(data[begin:end])
    step = _step(data)
    rows = [indent + step + text + frame.comma + newline for text in texts]
    if not frame.may_trail:
        rows[-1] = indent + step + texts[-1] + newline
    return Patch(frame.start, frame.end, newline + b"".join(rows) + indent)


def _width(data: bytes) -> int:
    return max(WIDTH, *(len(line.rstrip()) for line in data.splitlines()), 0)


def _step(data: bytes) -> bytes:
    """Return one step of indentation: the smallest that the text has."""
    indents = {indent_of(line) for line in data.splitlines() if line.strip()} - {b""}
    if any(indent.startswith(b"\t") for indent in indents):
        return b"\t"
    sizes = sorted(map(len, indents))
    steps = [b - a for a, b in zip([0, *sizes], sizes, strict=False) if b > a]
    return b" " * (min(steps) if steps and min(steps) in (2, 3, 4, 8) else 4)
