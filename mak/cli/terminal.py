"""The two streams a command writes to: data on stdout, everything else on stderr."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

#: Signs that MAK writes, and what says the same in ASCII.
_SIGNS = {"…": "...", "·": "-", "⠋": "|", "—": "-", "→": "->"}

#: Where a line goes on when it is broken: below what follows its last gap of this many spaces.
_GAP = "  "
#: Locales in which Python writes UTF-8 unasked (PEP 538, PEP 540), whatever the terminal has.
_NO_LOCALE, _COERCED = ("", "C", "POSIX"), ("C.UTF-8", "C.utf8", "UTF-8")


@dataclass(frozen=True, slots=True)
class Manner:
    """How this process speaks to the person at the terminal."""

    #: No colours and nothing that is redrawn, as screen readers like it.
    plain: bool = False
    #: Lines that are too long for the screen are broken between words.
    folds: bool = False
    #: What a sentence about command lines is, where they are typed in another way.
    reword: Callable[[str], str] = str


_manner = Manner()


@contextmanager
def speaking(**changed: Any) -> Iterator[None]:
    """Let another manner hold while the block runs; takes the fields of `Manner`."""
    global _manner
    before, _manner = _manner, replace(_manner, **changed)
    try:
        yield
    finally:
        _manner = before


def clean(text: str) -> str:
    """Make text from agents, files and commits safe to show.

    Control, bidirectional and zero-width characters could rewrite what a person reads on a
    terminal; they are shown as escapes, and so is what it has no letters for. Line breaks and tabs
    stay. Signs of ours that it has no letters for are written with others.
    """
    if not text.isprintable():
        text = "".join(c if c.isprintable() or c in "\n\t" else _escape(c) for c in text)
    if text.isascii():
        return text
    encoding: str = getattr(sys.stderr, "encoding", None) or "ascii"
    text = text.translate(_instead(_letters(encoding)))
    # Whatever breaks and counts lines has to know how long they become.
    return text.encode(encoding, "backslashreplace").decode(encoding)


def _letters(named: str) -> str:
    """Return the encoding that signs of ours may use; ASCII at a terminal without a locale."""
    if not sys.stderr.isatty():
        return named
    get = os.environ.get
    if get("PYTHONIOENCODING") or get("PYTHONUTF8"):
        return named
    kind = get("LC_CTYPE", "")
    # Python itself sets LC_CTYPE where the locale is C, hence such a value says nothing.
    locale = get("LC_ALL") or ("" if kind in _COERCED else kind) or get("LANG", "")
    return "ascii" if locale in _NO_LOCALE else named


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
    _write(_folded(text) if sys.stdout.isatty() else text)


def _write(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def write_json(data: Any) -> None:
    """Write one JSON document to stdout, in ASCII: paths may hold bytes that are not text."""
    _write(json.dumps(data, indent=2))


def write_failure(error: str, hint: str) -> None:
    """Write the document that answers for programs when there is nothing else to tell."""
    with suppress(BrokenPipeError):
        write_json({"error": error, "hint": hint})


def write_note(text: str, style: str = "", *, exact: bool = False) -> None:
    """Write a line for the person at the terminal to stderr, in `style` where there is color.

    An `exact` one is neither reworded nor broken, as code wants it.
    """
    text = clean(text) if exact else worded(text)
    with surviving():
        if style and wants_color():
            console().print(text, style=style)
        else:
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()


def worded(text: str) -> str:
    """Return a sentence of ours as it is shown: clean, in the words and lines of the manner."""
    return _folded(clean(_manner.reword(text)))


def _folded(text: str) -> str:
    if not _manner.folds or not is_screen():
        return text
    room = width()
    return "\n".join(fold(line, room) for line in text.split("\n"))


def fold(line: str, room: int) -> str:
    """Break a line between words; what follows stands below its last column, else indented."""
    if len(line) <= room:
        return line
    import textwrap

    indent = len(line) - len(line.lstrip())
    gap = line.rfind(_GAP, indent, room // 2)
    hang = indent + 2 if gap < indent else gap + len(_GAP)
    lines = textwrap.wrap(
        line,
        room,
        subsequent_indent=" " * hang,
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
    )
    return "\n".join(lines)


def width() -> int:
    """Return the columns of the terminal that stderr is."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except (OSError, ValueError):
        return shutil.get_terminal_size().columns


@contextmanager
def surviving() -> Iterator[None]:
    """Go on when nobody reads stderr any more: a run must not die of a closed terminal."""
    try:
        yield
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def is_screen() -> bool:
    """Whether stderr is a terminal whose lines can be redrawn, and may be."""
    return (
        not _manner.plain and sys.stderr.isatty() and os.environ.get("TERM", "") not in ("", "dumb")
    )


def breaks_anew() -> bool:
    """Whether the terminal breaks its lines anew when it becomes narrower; some cut them."""
    kind = os.environ.get("TERM", "")
    is_screen = kind.startswith("screen") and not os.environ.get("TMUX")
    return not (os.environ.get("XTERM_VERSION") or kind == "linux" or is_screen)


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
