"""The two streams a command writes to: data on stdout, everything else on stderr."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

#: Signs that MAK writes, and what says the same in ASCII.
_SIGNS = {"…": "...", "·": "-", "⠋": "|", "—": "-", "→": "->"}


def clean(text: str) -> str:
    """Make text from agents, files and commits safe to show.

    Control, bidirectional and zero-width characters could rewrite what a person reads on a
    terminal; they are shown as escapes. Line breaks and tabs stay. Signs that the terminal has no
    letters for are written with others.
    """
    if not text.isprintable():
        text = "".join(c if c.isprintable() or c in "\n\t" else _escape(c) for c in text)
    if text.isascii():
        return text
    return text.translate(_instead(getattr(sys.stderr, "encoding", None) or "ascii"))


@cache
def _instead(encoding: str) -> dict[int, str]:
    """Return what stands for signs of ours that an encoding does not have."""
    return {ord(sign): other for sign, other in _SIGNS.items() if not _has(encoding, sign)}


def _has(encoding: str, sign: str) -> bool:
    try:
        sign.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _escape(char: str) -> str:
    return char.encode("unicode_escape", "backslashreplace").decode("ascii")


def write_data(text: str) -> None:
    """Write what was asked for to stdout; a line break is added.

    It is there at once, so that where both streams go to one place they keep their order.
    """
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def write_json(data: Any) -> None:
    """Write one JSON document to stdout, in ASCII: paths may hold bytes that are not text."""
    write_data(json.dumps(data, indent=2))


def write_failure(error: str, hint: str) -> None:
    """Write the document that answers for programs when there is nothing else to tell."""
    with suppress(BrokenPipeError):
        write_json({"error": error, "hint": hint})


def write_note(text: str, style: str = "") -> None:
    """Write a line for the person at the terminal to stderr, in `style` where there is color."""
    text = clean(text)
    with surviving():
        if style and wants_color():
            console().print(text, style=style)
        else:
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()


@contextmanager
def surviving() -> Iterator[None]:
    """Go on when nobody reads stderr any more: a run must not die of a closed terminal."""
    try:
        yield
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def is_screen() -> bool:
    """Whether stderr is a terminal whose lines can be redrawn."""
    return sys.stderr.isatty() and os.environ.get("TERM", "") not in ("", "dumb")


def can_ask() -> bool:
    """Whether a person can be shown something and asked: stdin and stderr are terminals."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def wants_color() -> bool:
    """Whether stderr may be colored (https://no-color.org)."""
    return is_screen() and not os.environ.get("NO_COLOR")


def console() -> Console:
    """Return a rich console on stderr that shows text as it is: no markup, no wrapping."""
    from rich.console import Console

    return Console(file=sys.stderr, markup=False, highlight=False, emoji=False, soft_wrap=True)


def fitting(lines: Iterable[str]) -> list[str]:
    """Cut lines to the width of the terminal that stdout is; leave them alone if it is none."""
    if not sys.stdout.isatty():
        return list(lines)
    width = shutil.get_terminal_size().columns
    return [line if len(line) <= width else f"{line[: width - 1]}…" for line in lines]


def columns(rows: Iterable[Sequence[str]], *, indent: str = "", gap: str = "  ") -> list[str]:
    """Align rows of cells; the last column is not padded."""
    table = [[clean(cell) for cell in row] for row in rows]
    count = max((len(row) for row in table), default=0)
    widths = [max(len(row[i]) for row in table if i < len(row)) for i in range(count)]
    return [
        indent + gap.join(c.ljust(w) for c, w in zip(row, widths, strict=False)).rstrip()
        for row in table
    ]
