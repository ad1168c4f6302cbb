"""Files made of entries: keys, tables, sections or lines that a reader finds, cut into nodes.

An entry has its lines to itself; blank lines and comments above it belong to it. What comes before
the first entry is ``@top`` (and, as a banner, whatever a blank line parts from it), what comes
after the last is ``@end``. A file that a reader cannot make entries of is one node.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from mak.model import Node, NodeId, NodeKind
from mak.source.file import FLAW, Newer, SourceFile
from mak.source.items import Row
from mak.source.python import flaw_of, whole
from mak.source.statement import digest_api
from mak.source.text import BOM, blob_id, newline_of, text_codec

#: What may stand in a symbol as it is.
_PLAIN = re.compile(r"[\w$/+~ -]")


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a file, in 0-based lines ``[start, end)``."""

    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Structured:
    """A language whose files are rows of entries."""

    name: str
    #: Raised whenever the same bytes would give other nodes.
    version: int
    matches: Callable[[str], bool]
    #: Finds the entries in the lines of a text without BOM. Raises ValueError with the reason.
    read: Callable[[bytes], Sequence[Entry]]
    #: Reads one node, or several, for merging. Raises ValueError.
    row: Callable[[bytes], Row]
    #: Reads what a text says, as plain data. Raises ValueError with the reason.
    load: Callable[[bytes], Any]
    #: How a comment begins; empty: there are none.
    comment: bytes = b"#"
    #: What separates entries; empty: the end of the line.
    separator: bytes = b""
    #: Where in an entry's text its separator belongs, and where it stands (-1: nowhere).
    separated: Callable[[bytes], tuple[int, int]] = lambda text: (len(text), -1)
    #: Whether entries of one name are one thing to two sides that add it.
    merges_new: bool = True

    def claims(self, path: str, data: bytes) -> bool:
        """Whether the file is in the language."""
        return self.matches(path)

    def cut(self, path: str, data: bytes, newer: Newer | None) -> SourceFile:
        """Cut the file into its entries; into one node, with the reason, when it has none."""
        codec = text_codec(data)
        if not codec:
            return whole(path, data, codec, "is not UTF-8 text", language=self.name)
        if not data.removeprefix(BOM).strip():
            return whole(path, data, codec, language=self.name)
        bare = data.removeprefix(BOM)
        try:
            entries = self.read(bare)
        except (ValueError, RecursionError) as error:
            why = str(error) if isinstance(error, ValueError) else "is nested too deeply"
            return whole(path, data, codec, why, language=self.name)
        if not entries:
            return whole(path, data, codec, language=self.name)
        nodes = self._tile(path, data, entries)
        file = SourceFile(path, data, self.name, nodes, newline_of(data), codec)
        if (flaw := flaw_of(file)) is not None:
            return whole(path, data, codec, f"{flaw}, {FLAW}", language=self.name)
        return file

    def read_block(self, data: bytes) -> Sequence[Entry]:
        """Return the entries of a text that holds nothing else. Raises ValueError."""
        if not self.separator:
            return self.read(data)
        found = self.read(b"{\n%b}\n" % data)  # the brackets that such a text stands in
        return [Entry(entry.name, entry.start - 1, entry.end - 1) for entry in found]

    def load_entry(self, data: bytes) -> Any:
        """Return what an entry's text says by itself. Raises ValueError."""
        return self.load(b"{\n%b}\n" % data if self.separator else data)

    def complaint(self, data: bytes) -> str | None:
        """Return why the text is not valid; None when it is."""
        try:
            self.load(data.removeprefix(BOM))
        except (ValueError, RecursionError) as error:
            return str(error) or "it is nested too deeply"
        return None

    # ------------------------------------------------------------------------ cutting

    def _tile(self, path: str, data: bytes, entries: Sequence[Entry]) -> tuple[Node, ...]:
        lines = data.splitlines(keepends=True)
        offsets = list(accumulate(map(len, lines), initial=0))
        nodes: list[Node] = []
        seen: dict[str, int] = {}

        def emit(symbol: str, kind: NodeKind, start: int, end: int, code: int, last: int) -> None:
            count = seen[symbol] = seen.get(symbol, 0) + 1
            begin, stop = offsets[start], offsets[end]
            text = data[begin:stop]
            nodes.append(
                Node(
                    NodeId(path, symbol if count == 1 else f"{symbol}#{count}"),
                    kind,
                    begin,
                    stop,
                    offsets[code] - begin,
                    start + 1,
                    end,
                    (),
                    digest_api(symbol),
                    _first_line(lines[code]) if code < end else "",
                    blob_id(text),
                    stop - offsets[last],
                )
            )

        at = self._top(lines, entries[0].start)
        emit("@top", NodeKind.TEXT, 0, at, at, at)
        for number, entry in enumerate(entries):
            final = number + 1 == len(entries)
            rest = lines[entry.end :] if final else []
            closing = final and not all(map(self._is_trivia, rest))
            end = len(lines) if final and not closing else entry.end
            emit(symbol_of(entry.name), NodeKind.ENTRY, at, end, entry.start, entry.end)
            at = end
        if at < len(lines):
            emit("@end", NodeKind.TEXT, at, len(lines), at, len(lines))
        return tuple(nodes)

    def _top(self, lines: Sequence[bytes], first: int) -> int:
        """Return where the first entry begins, with the comments right above it."""
        at = first
        while at and lines[at - 1].strip() and self._is_trivia(lines[at - 1]):
            at -= 1
        return at if any(line.strip() for line in lines[:at]) else 0 if at == first else at

    def _is_trivia(self, line: bytes) -> bool:
        code = line.strip()
        return not code or (bool(self.comment) and code.startswith(self.comment))


def symbol_of(name: str) -> str:
    """Return a name as the symbol of a node: what has a meaning there is written as ``%2E``."""
    return "".join(
        char if _PLAIN.match(char) else "".join(f"%{byte:02X}" for byte in char.encode())
        for char in name
    )


def _first_line(line: bytes) -> str:
    text = line.decode("utf-8", "replace").strip()
    return text if len(text) <= 80 else text[:79] + "…"
