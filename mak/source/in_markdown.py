"""Markdown: each heading with what stands below it is a node; bullets are its items."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from mak.source.entries import Entry, Structured
from mak.source.items import Clash, Meeting, Row
from mak.source.spans import Span, lined

_SUFFIXES = (".md", ".markdown")
_HEADING = re.compile(rb"^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_FENCE = re.compile(rb"^ {0,3}(`{3,}|~{3,})")
_BULLET = re.compile(rb"^( {0,3})([-*+]|\d{1,9}[.)])(?=[ \t]|$)")


def _headings(lines: Sequence[bytes]) -> Iterator[tuple[int, int, bytes]]:
    """Yield line, level and text of every heading outside of code and comments."""
    for number, is_text in enumerate(_is_text(lines)):
        if not is_text:
            continue
        if match := _HEADING.match(lines[number]):
            yield number, len(match[1]), match[2] or b""


def _is_text(lines: Sequence[bytes]) -> Iterator[bool]:
    """Yield for every line whether it lies outside of fenced code and comments."""
    fence = b""
    comment = False
    for line in lines:
        if comment:
            comment = b"-->" not in line
            yield False
            continue
        match = _FENCE.match(line)
        if fence:
            if match and match[1].startswith(fence) and not line[match.end() :].strip():
                fence = b""
            yield False
        elif match and not (match[1][:1] == b"`" and b"`" in line[match.end() :]):
            fence = match[1]
            yield False
        else:
            yield True
            opened = line.rfind(b"<!--")
            comment = opened >= 0 and b"-->" not in line[opened:]


def _read(data: bytes) -> Sequence[Entry]:
    lines = data.splitlines()
    if lines and lines[0].strip() == b"---":
        return _shifted(lines)
    return _sections(lines, 0)


def _shifted(lines: Sequence[bytes]) -> Sequence[Entry]:
    """Return the sections below the front matter of a page."""
    for number in range(1, len(lines)):
        if lines[number].strip() in (b"---", b"..."):
            return _sections(lines[number + 1 :], number + 1)
    return _sections(lines, 0)


def _sections(lines: Sequence[bytes], shift: int) -> Sequence[Entry]:
    found = [*_headings(lines)]
    entries: list[Entry] = []
    path: list[tuple[int, str]] = []
    for index, (number, level, text) in enumerate(found):
        while path and path[-1][0] >= level:
            path.pop()
        name = re.sub(r"\W+", "-", text.decode("utf-8")).strip("-") or "section"
        above = [each for depth, each in path if depth > 1]
        path.append((level, name))
        end = found[index + 1][0] if index + 1 < len(found) else len(lines)
        while end > number + 1 and not lines[end - 1].strip():
            end -= 1
        entries.append(Entry("/".join((*above, name)), number + shift, end + shift))
    return entries


def _row(data: bytes) -> Row:
    """Return a section's heading, paragraphs, code and bullets."""
    lines = data.splitlines(keepends=True)
    texts = [*_is_text([line.rstrip(b"\r\n") for line in lines])]
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    spans: list[Span] = []
    first = -1
    for number in range(len(lines) + 1):
        if first >= 0 and (number == len(lines) or _begins(lines, texts, number, first)):
            end = starts[number]
            text = data[starts[first] : end]
            bare = text.rstrip()
            spans.append(
                Span(starts[first], starts[first] + len(bare), name=_name(bare), origin=bare)
            )
            first = -1
        if first < 0 and number < len(lines) and lines[number].strip():
            first = number
    row = lined(data, 0, len(data), spans)
    row.rule = _commute
    row.family = lambda item: "bullet" if _BULLET.match(item.text) else None
    row.orders = (lambda item: item.text.lower(),)
    return row


def _begins(lines: Sequence[bytes], texts: Sequence[bool], number: int, first: int) -> bool:
    """Whether a line is the start of another item than the one that began at `first`."""
    line = lines[number].rstrip(b"\r\n")
    if not texts[number] and not _FENCE.match(line):
        return False
    if not texts[number] and number and not texts[number - 1]:
        return False
    opening = _BULLET.match(lines[first])
    if opening and (not line.strip() or line[: len(opening[0]) + 1].strip() == b""):
        # Blank, or indented as what belongs to a bullet.
        return not line.strip() and not _goes_on(lines, number, len(opening[0]) + 1)
    if not line.strip():
        return True
    bullet = _BULLET.match(line)
    if bullet and not (opening and len(bullet[1]) > len(opening[1]) + 1):
        return True
    return bool(_HEADING.match(line) or _HEADING.match(lines[number - 1].rstrip(b"\r\n")))


def _goes_on(lines: Sequence[bytes], number: int, column: int) -> bool:
    """Whether what follows blank lines still belongs to a bullet."""
    for line in lines[number:]:
        if line.strip():
            return not line[:column].strip()
    return False


def _name(text: bytes) -> str:
    if match := _HEADING.match(text):
        return match[0].decode("utf-8")
    return ""


def _commute(meeting: Meeting) -> None:
    """Refuse what two sides write at one place, unless it is bullets."""
    for ours, theirs in meeting.beside:
        for item in (*ours, *theirs):
            if not _BULLET.match(item.text):
                raise Clash("both sides write at one place", final=False)


def _load(data: bytes) -> Any:
    return [item.text.decode("utf-8") for item in _row(data).items]


def _matches(path: str) -> bool:
    return path.lower().endswith(_SUFFIXES)


MARKDOWN = Structured("markdown", 1, _matches, _read, _row, _load, comment=b"")
