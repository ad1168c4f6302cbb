"""A text as items in rows: statements of a block, elements of a display, bullets of a list.

It is what `mak.source.weave` merges, whatever language the text is in. Offsets are into the UTF-8
bytes of the text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Layout(StrEnum):
    """How items lie in their lines."""

    #: Each begins on a line of its own and has that line's end to itself.
    LINES = "lines"
    #: Several in a line, or beside a bracket.
    INLINE = "inline"
    #: There is none.
    EMPTY = "empty"


class Clash(Exception):
    """Two edits do not go together, for a reason that a person and an agent can act on."""

    def __init__(self, reason: str, *, final: bool = True) -> None:
        super().__init__(reason)
        #: Whether no other way of merging may be tried: the meaning clashes, not the lines.
        self.final = final


@dataclass(slots=True, eq=False)
class Item:
    """One item of a row."""

    #: Of the lines that are its own, with the comments and blank lines above it; inline: `code`.
    start: int
    #: Of the line on which its code begins; inline: `code`.
    line: int
    code: int
    end: int
    #: Behind its last line; inline: `end`.
    stop: int
    #: Its code, by which it is compared.
    text: bytes
    #: By what it is known again when its text differs; empty: by nothing.
    name: str = ""
    #: What must differ between two that different sides add; empty: nothing.
    key: str = ""
    #: Where the separator behind it stands; -1: there is none.
    comma: int = -1
    #: Rows inside of it that are merged by themselves, in order.
    inner: tuple[Row, ...] = ()
    #: What the text before its first inner row is when only one side may change it; else empty.
    head: str = ""
    #: What its language knows it as.
    origin: Any = None


@dataclass(slots=True, eq=False)
class Meeting:
    """What two sides did to one row, for the row's language to judge."""

    base: Row
    #: What each side added that the other did not.
    added: tuple[Sequence[Item], Sequence[Item]]
    #: What each side changed or removed: as it was and as it is.
    touched: tuple[Sequence[Item], Sequence[Item]]
    #: What they added at one place, side by side.
    beside: Sequence[tuple[Sequence[Item], Sequence[Item]]]


#: Raises `Clash` when what two sides did to a row does not commute.
Rule = Callable[[Meeting], None]


@dataclass(slots=True, eq=False)
class Row:
    """Items between two brackets, or the lines of a block."""

    #: The whole text that the offsets are into.
    data: bytes
    start: int
    end: int
    items: tuple[Item, ...]
    layout: Layout
    #: What separates them, without white space; empty: the end of the line.
    comma: bytes = b""
    #: Whether a separator may stand behind the last one, as far as the language goes.
    may_trail: bool = True
    #: How messages call it.
    label: str = ""
    rule: Rule | None = None
    #: Keys by which people sort such items.
    orders: Sequence[Callable[[Item], Any]] = ()
    #: Items of one family are sorted among themselves; those of None are not.
    family: Callable[[Item], str | None] = lambda item: ""
    #: Whether lines may be broken between the items.
    may_wrap: bool = False
    #: Whether one item alone needs a separator behind it.
    one_trails: bool = False
    #: What its language knows about the place.
    context: str = ""

    @property
    def trails(self) -> bool:
        """Whether a separator stands behind the last item."""
        return bool(self.items) and self.items[-1].comma >= 0

    def lead(self, item: Item) -> bytes:
        """Return the lines above an item that belong to it."""
        return self.data[item.start : item.line]

    def remark(self, item: Item) -> bytes:
        """Return what stands behind an item in its last line."""
        return self.data[max(item.end, item.comma + len(self.comma)) : item.stop]

    def code(self, item: Item) -> bytes:
        """Return an item's code."""
        return self.data[item.code : item.end]

    def indent(self, item: Item) -> bytes:
        """Return the white space before an item that begins its line."""
        return self.data[item.line : item.code]
