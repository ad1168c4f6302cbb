"""Where the nodes of Python's parser stand in the bytes of a file as they are stored."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from typing import Any

from mak.source.facts import UNPLACED


class Positions:
    """From the line and column of the parser to offsets into the bytes as they are stored."""

    def __init__(self, data: bytes, encoding: str) -> None:
        bom = 3 if data.startswith(b"\xef\xbb\xbf") else 0
        self.data = data
        self.encoding = "utf-8" if encoding == "utf-8-sig" else encoding
        starts = [0, *accumulate(map(len, data.splitlines(keepends=True)))]
        starts[0] = bom
        self.starts = starts
        #: Whether columns, which count UTF-8 bytes, are offsets into the line.
        plain = self.encoding in ("utf-8", "ascii") or data.isascii()
        #: The offset of a position (line, column) that the parser reported.
        self.at: Callable[[int, int], int] = (
            (lambda line, column: starts[line - 1] + column) if plain else self._recoded
        )
        is_there, coded = data.startswith, self.encoding
        #: The offset where a name stands as it is spelled, else `UNPLACED`.
        self.token: Callable[[str, int], int] = lambda name, start: (
            start if is_there(name.encode(coded), start) else UNPLACED
        )

    def _recoded(self, line: int, column: int) -> int:
        """Return the offset where columns count other bytes than the file has."""
        start = self.starts[line - 1]
        end = self.starts[line] if line < len(self.starts) else len(self.data)
        text = self.data[start:end].decode(self.encoding)
        return start + len(text.encode()[:column].decode().encode(self.encoding))

    def start(self, node: Any) -> int:
        """Return where a node starts."""
        return self.at(node.lineno, node.col_offset)

    def end(self, node: Any) -> int:
        """Return where a node ends."""
        return self.at(node.end_lineno, node.end_col_offset)
