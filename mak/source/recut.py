"""Cut a file again where only the code of functions changed, without reading the rest of it.

What stands before and after the text of a function was whole statements and still is, and says the
same whatever stands between. So when the new text, read by itself, is that one function and ends
where the old one did, the other nodes are as they were, further up or down. Any doubt, and the
whole file is to be cut: comments around the function, another indentation, an end that is not the
end of a line, the first two lines, where a coding may stand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from mak.model import Node, NodeKind
from mak.source.collector import paused
from mak.source.file import SourceFile, changed_functions
from mak.source.python import Python, flaw_of
from mak.source.python_ast import DEFINITIONS, Reader, parse_text
from mak.source.statement import Is, Statement
from mak.source.text import blob_id, indent_of, newline_of, width
from mak.source.tiling import code_end

if TYPE_CHECKING:
    from mak.source.splice import Piece

_FUNCTIONS = (NodeKind.FUNCTION, NodeKind.METHOD)
_MARK = "\ufeff".encode()
_CODECS = ("utf-8", "utf-8-sig")


def recut(before: SourceFile, pieces: Sequence[Piece]) -> SourceFile | None:
    """Return the file that the pieces make; None when only a cut of the whole can tell.

    The result is the same as that cut, provided that the file compiles, which is for the caller
    to see to.
    """
    if before.language != Python.name or before.whole or before.newer:
        return None
    if before.encoding not in _CODECS or len(pieces) != len(before.nodes):
        return None
    nodes = []
    line = 1
    for piece, old in zip(pieces, before.nodes, strict=True):
        if piece.node is not old:
            return None
        new = _node(before, old, piece)
        if new is None:
            return None
        size = new.end_line - new.line + 1
        nodes.append(
            replace(new, start=piece.start, end=piece.end, line=line, end_line=line + size - 1)
            if (new.start, new.end, new.line) != (piece.start, piece.end, line)
            else new
        )
        line += size
    data = b"".join([piece.data for piece in pieces])
    file = SourceFile(
        before.path, data, before.language, tuple(nodes), newline_of(data), before.encoding
    )
    return file if flaw_of(file) is None else None


def united(base: SourceFile, ours: SourceFile, theirs: SourceFile) -> SourceFile | None:
    """Return two versions in one that changed the code of different functions; None: they did more.

    The cuts of both hold, since nothing else moved; it compiles if both of them do.
    """
    mine, new = changed_functions(base, ours), changed_functions(base, theirs)
    if mine is None or new is None or base.newer or base.encoding not in _CODECS:
        return None
    texts = {old.id: (node, theirs) for old, node in new}
    if any(old.id in texts or old.line < 3 for old, _ in mine) or any(o.line < 3 for o, _ in new):
        return None
    nodes, parts = [], []
    start, line = 0, 1
    for own in ours.nodes:
        node, file = texts.get(own.id, (own, ours))
        part = file.data[node.start : node.end]
        rows = node.end_line - node.line
        nodes.append(
            replace(node, start=start, end=start + len(part), line=line, end_line=line + rows)
        )
        parts.append(part)
        start, line = start + len(part), line + rows + 1
    data = b"".join(parts)
    if newline_of(data) != base.newline:
        return None
    file = replace(ours, data=data, nodes=tuple(nodes))
    return file if flaw_of(file) is None else None


def _node(before: SourceFile, old: Node, piece: Piece) -> Node | None:
    """Return the node that a piece makes, placed as the old one."""
    text = before.data[old.start : old.end]
    if piece.data == text:
        return old
    if not piece.is_edit or piece.allows != frozenset((old.id.symbol,)) or piece.grows:
        return None
    if old.kind not in _FUNCTIONS or old.line < 3:
        return None
    lead, tail = text[: old.lead], text[len(text) - old.tail :]
    if not (piece.data.startswith(lead) and piece.data.endswith(tail)):
        return None
    code = piece.data[len(lead) : len(piece.data) - len(tail)]
    indent = indent_of(code)
    if indent != indent_of(text[len(lead) :]) or len(lead) + len(tail) > len(piece.data):
        return None
    found = _function(code, bool(indent))
    if found is None or found.names != old.names or f"[{found.role}]" != _role(old):
        return None
    return replace(
        old,
        end_line=old.line + len(piece.data.splitlines()) - 1,
        names=found.names,
        api=found.api,
        signature=found.signature,
        digest=blob_id(piece.data),
    )


def _function(code: bytes, is_indented: bool) -> Statement | None:
    """Return the function that code is, from its first line to its last; None: it may be more."""
    lines = code.splitlines(keepends=True)
    if not lines or not code.endswith((b"\n", b"\r")) or b"\x0c" in code:
        return None
    if code.rstrip().endswith(b"\\") or _MARK in code:
        return None
    above = [b"if 1:\n"] if is_indented else []
    try:
        # As text: a coding cookie counts in a file's first lines only.
        text = b"".join((*above, code)).decode("utf-8")
        with paused():
            body = parse_text(text.rstrip()).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if is_indented:
        opening, *more = body
        body = [*opening.body, *opening.orelse, *more]  # type: ignore[attr-defined]
    if len(body) != 1 or not isinstance(body[0], DEFINITIONS):
        return None
    found = Reader([*above, *lines], walrus=False).definition(body[0])
    start, end = found.start - len(above), found.end - len(above)
    if found.kind is not Is.FUNCTION or start:
        return None
    return found if code_end(lines, end, width(lines[0]), len(lines)) == len(lines) else None


def _role(node: Node) -> str:
    leaf = node.id.symbol.rpartition(".")[2].partition("#")[0]
    return leaf[len(node.names[0]) :] or "[]"
