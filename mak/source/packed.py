"""Cuts as bytes for a cache: everything about a file's nodes but the path and the source."""

from __future__ import annotations

import json
from typing import Any

from mak.model import Node, NodeId, NodeKind
from mak.source.file import SourceFile

#: Raised whenever `dump` writes something that `load` of before would misread.
VERSION = 1

_KINDS = tuple(NodeKind)
_CODES = {kind: code for code, kind in enumerate(_KINDS)}


class Cut:
    """How a file is cut, without its path and bytes; nodes are made when they are asked for."""

    __slots__ = ("_columns", "_head")

    def __init__(self, head: list[str | int], columns: list[list[Any]]) -> None:
        self._head = head
        self._columns = columns

    @classmethod
    def of(cls, file: SourceFile) -> Cut:
        """Take the cut of a file."""
        nodes = file.nodes
        return cls(
            [file.language, file.newline, file.encoding, file.why_whole, int(file.newer)],
            [
                [node.id.symbol for node in nodes],
                [_CODES[node.kind] for node in nodes],
                [node.end - node.start for node in nodes],
                [node.lead for node in nodes],
                [node.tail for node in nodes],
                [node.end_line for node in nodes],
                [" ".join(node.names) for node in nodes],
                [node.api for node in nodes],
                [node.signature for node in nodes],
                [node.digest for node in nodes],
            ],
        )

    @classmethod
    def load(cls, packed: bytes) -> Cut:
        """Read what `dump` wrote. Raises ValueError when it is something else."""
        read = json.loads(packed)
        if not isinstance(read, list) or len(read) != 12 or read[0] != VERSION:
            raise ValueError("reading a cached cut: written by another version")
        _, head, *columns = read
        if len(head) != 5 or len({len(column) for column in columns}) != 1:
            raise ValueError("reading a cached cut: its columns differ in length")
        return cls(head, columns)

    def dump(self) -> bytes:
        """Return it as bytes."""
        return json.dumps([VERSION, self._head, *self._columns], separators=(",", ":")).encode()

    def nodes(self, path: str) -> tuple[Node, ...]:
        """Return the nodes as those of the file at `path`."""
        start, line, nodes = 0, 1, []
        for symbol, code, size, lead, tail, end_line, names, api, signature, digest in zip(
            *self._columns, strict=True
        ):
            nodes.append(
                Node(
                    NodeId(path, symbol),
                    _KINDS[code],
                    start,
                    start + size,
                    lead,
                    line,
                    end_line,
                    tuple(names.split()),
                    api,
                    signature,
                    digest,
                    tail,
                )
            )
            start, line = start + size, end_line + 1
        return tuple(nodes)

    def file(self, path: str, data: bytes) -> SourceFile | None:
        """Return the file at `path` with these bytes; None when the cut is not one of them."""
        nodes = self.nodes(path)
        if not nodes or nodes[-1].end != len(data):
            return None
        language, newline, encoding, why_whole = map(str, self._head[:4])
        newer = bool(self._head[4])
        return SourceFile(path, data, language, nodes, newline, encoding, why_whole, newer=newer)
