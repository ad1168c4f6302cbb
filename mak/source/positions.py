"""Where the nodes of Python's parser stand in the bytes of a file as they are stored."""

from __future__ import annotations

import re
from typing import Any

from mak.source.facts import UNPLACED

_NEWLINE = re.compile(rb"\r\n|\n|\r")


class Positions:
    """From the line and column of the parser to offsets into the bytes as they are stored."""

    def __init__(self, data: bytes, encoding: str) -> None:
        bom = 3 if data.startswith(b"\xef\xbb\xbf") else 0
        self.data = data
        self.encoding = "utf-8" if encoding == "utf-8-sig" else encoding
        self.starts = [bom, *(match.end() for match in _NEWLINE.finditer(data))]
        #: Whether columns, which count UTF-8 bytes, are offsets into the line.
        self.plain = self.encoding in ("utf-8", "ascii") or data.isascii()

    def at(self, line: int, column: int) -> int:
        """Return the offset of a position that the parser reported."""
        start = self.starts[line - 1]
        if self.plain:
            return start + column
        end = self.starts[line] if line < len(self.starts) else len(self.data)
        text = self.data[start:end].decode(self.encoding)
        return start + len(text.encode()[:column].decode().encode(self.encoding))

    def start(self, node: Any) -> int:
        """Return where a node starts."""
        return self.at(node.lineno, node.col_offset)

    def end(self, node: Any) -> int:
        """Return where a node ends."""
        return self.at(node.end_lineno, node.end_col_offset)

    def token(self, name: str, start: int) -> int:
        """Return `start` when `name` stands there as it is spelled, else `UNPLACED`."""
        return start if self.data.startswith(name.encode(self.encoding), start) else UNPLACED
