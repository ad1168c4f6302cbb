"""Statements and lines to nodes that tile the file.

Cuts lie at line starts only: a definition always has its lines to itself. Blank lines and comments
before a statement belong to it, comments below it that are indented deeper belong to it too, and
what is left at the end of the file belongs to the last node. Neighbouring statements that define no
function or class are one piece, named after the definition before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from mak.model import Node, NodeId, NodeKind
from mak.source.statement import Is, Statement, digest_api
from mak.source.text import BOM, blob_id, is_trivia, width


def tile(
    path: str, data: bytes, raw: list[bytes], lines: list[bytes], statements: Sequence[Statement]
) -> tuple[Node, ...]:
    """Return the nodes of a Python file, header first.

    `raw` are its lines, `lines` the same in UTF-8 without BOM.
    """
    tiler = _Tiler(path, data, raw, lines)
    tiler.module(list(statements))
    return tuple(tiler.nodes)


class _Tiler:
    def __init__(self, path: str, data: bytes, raw: list[bytes], lines: list[bytes]) -> None:
        self.path = path
        self.data = data
        self.lines = lines
        self.bom = data.startswith(BOM)
        self.offsets = list(accumulate(map(len, raw), initial=0))
        self.nodes: list[Node] = []
        self.seen: dict[str, int] = {}

    def module(self, body: list[Statement]) -> None:
        total = len(self.lines)
        count = header_length(body)
        names = tuple(dict.fromkeys(name for s in body[:count] for name in s.names))
        if not body:
            end = code_end = total
        elif count:
            limit = body[count].start if count < len(body) else total
            code_end = self.end_of(body[count - 1].end, 0, limit)
            end = code_end if count < len(body) else total
        else:
            end = code_end = self.banner(body[0].start)
        self.emit(NodeKind.HEADER, "@header", 0, end, code_end, names)
        if not end and self.bom:
            self.give_bom_to_header()
        self.block(body[count:], end, total, "", NodeKind.FUNCTION, NodeKind.BODY)

    def banner(self, limit: int) -> int:
        """Return where the comments end that belong to the file rather than to its first node."""
        last = 0
        for number in range(limit):
            line = self.lines[number].strip()
            if not line.startswith(b"#"):
                continue
            detached = number + 1 < limit and not self.lines[number + 1].strip()
            special = number < 2 and (line.startswith(b"#!") or b"coding" in line)
            if detached or special:
                last = number + 1
        return last

    def give_bom_to_header(self) -> None:
        self.nodes[0] = Node(
            self.nodes[0].id,
            NodeKind.HEADER,
            0,
            len(BOM),
            len(BOM),
            1,
            1,
            api=digest_api(),
            digest=blob_id(BOM),
        )
        self.offsets[0] = len(BOM)

    def block(
        self,
        body: Sequence[Statement],
        start: int,
        end: int,
        prefix: str,
        function: NodeKind,
        piece: NodeKind,
    ) -> None:
        """Emit the nodes of statements that lie in the lines ``[start, end)``."""
        anchor = ""
        index, count = 0, len(body)
        while index < count:
            first = body[index]
            last = index + 1
            if not first.is_definition:
                while last < count and not (
                    body[last].is_definition
                    or (body[last].kind is Is.MAIN and first.kind is not Is.MAIN)
                ):
                    last += 1
            limit = body[last].start if last < count else end
            code_end = self.end_of(body[last - 1].end, width(self.lines[first.start]), limit)
            stop = code_end if last < count else end
            if first.kind is Is.CLASS:
                self.klass(first, start, stop, code_end, prefix)
            elif first.kind is Is.FUNCTION:
                self.definition(function, first, start, stop, code_end, prefix)
            else:
                symbol = f"@body:{anchor}" if anchor else "@body"
                if first.kind is Is.MAIN:
                    symbol = "@main"
                names = tuple(dict.fromkeys(name for s in body[index:last] for name in s.names))
                self.emit(piece, prefix + symbol, start, stop, code_end, names)
            if first.is_definition:
                anchor = first.names[0]
            start, index = stop, last

    def definition(
        self,
        kind: NodeKind,
        statement: Statement,
        start: int,
        end: int,
        code_end: int,
        prefix: str,
    ) -> str:
        name = statement.names[0]
        symbol = f"{prefix}{name}[{statement.role}]" if statement.role else prefix + name
        return self.emit(
            kind, symbol, start, end, code_end, statement.names, statement.api, statement.signature
        )

    def klass(self, statement: Statement, start: int, end: int, code_end: int, prefix: str) -> None:
        body = statement.body
        own = 1 if body and body[0].kind is Is.DOCSTRING else 0
        while 0 < own < len(body) and body[own].start < body[own - 1].end:
            own += 1
        if own >= len(body):
            self.definition(NodeKind.CLASS, statement, start, end, code_end, prefix)
            return
        if own:
            column = width(self.lines[body[0].start])
            shell_end = self.end_of(body[own - 1].end, column, body[own].start)
        else:
            shell_end = body[0].start
            while shell_end > statement.head and is_trivia(self.lines[shell_end - 1]):
                shell_end -= 1
        symbol = self.definition(NodeKind.CLASS, statement, start, shell_end, shell_end, prefix)
        self.block(body[own:], shell_end, end, symbol + ".", NodeKind.METHOD, NodeKind.CLASS_BODY)

    def end_of(self, end: int, column: int, limit: int) -> int:
        return code_end(self.lines, end, column, limit)

    def emit(
        self,
        kind: NodeKind,
        symbol: str,
        start: int,
        end: int,
        code_end: int,
        names: tuple[str, ...] = (),
        api: str = "",
        signature: str = "",
    ) -> str:
        """Append a node of the lines ``[start, end)``; return its symbol, made unique."""
        count = self.seen[symbol] = self.seen.get(symbol, 0) + 1
        if count > 1:
            symbol = f"{symbol}#{count}"
        lines, offsets = self.lines, self.offsets
        code = start
        while code < code_end and is_trivia(lines[code]):
            code += 1
        begin, stop = offsets[start], offsets[end]
        self.nodes.append(
            Node(
                NodeId(self.path, symbol),
                kind,
                begin,
                stop,
                max(offsets[code] - begin, len(BOM) if not begin and self.bom and stop else 0),
                start + 1,
                end,
                names,
                api or digest_api(*sorted(names)),
                signature,
                blob_id(self.data[begin:stop]),
                stop - offsets[code_end],
            )
        )
        return symbol


def header_length(body: Sequence[Statement]) -> int:
    """Return how many statements are header: up to the last import before a definition."""
    count = 0
    for index, statement in enumerate(body):
        if statement.is_definition or statement.kind is Is.MAIN:
            break
        if statement.kind is Is.IMPORT or statement.kind is Is.DOCSTRING:
            count = index + 1
    while 0 < count < len(body) and body[count].start < body[count - 1].end:
        count += 1
    return count


def code_end(lines: Sequence[bytes], end: int, column: int, limit: int) -> int:
    """Extend a statement's end over continuation lines and comments deeper than `column`."""
    while 0 < end < limit and _continues(lines[end - 1]):
        end += 1
    last = end
    while end < limit and is_trivia(lines[end]):
        if lines[end].strip():
            if width(lines[end]) <= column:
                break
            last = end + 1
        end += 1
    return last


def _continues(line: bytes) -> bool:
    bare = line.rstrip(b"\r\n")
    return bare.endswith(b"\\") and not bare.lstrip().startswith(b"#")
