"""A new text among the nodes of a file: blank lines, final newlines, comments at the end."""

from __future__ import annotations

from collections import Counter

from mak.model import Node, NodeKind
from mak.source.block import Block, indent_unit
from mak.source.file import Newer, Rejected, SourceFile
from mak.source.language import split
from mak.source.scope import Scope, placeholder_in
from mak.source.splice import Piece, pieces_of
from mak.source.text import BOM, is_blank, reindent, to_bytes

_DEFINITIONS = (NodeKind.FUNCTION, NodeKind.METHOD, NodeKind.CLASS)


def spaced(
    file: SourceFile, scope: Scope, block: Block, index: int, newer: Newer | None
) -> list[Piece] | Rejected:
    """Return the pieces of the file with the new text before the node `index`."""
    pieces = pieces_of(file)
    newline = file.newline.encode()
    placeholder = placeholder_in(file, scope)
    if placeholder is not None:
        index = scope.start
    previous = file.nodes[index - 1]
    inside = not scope.shell or (scope.units and index < scope.units[-1].end)
    following = file.nodes[index] if inside and index < len(file.nodes) else None
    style = _style(file, scope)
    before = _gap_before(file, scope, block, previous, style)
    unit = indent_unit(file)
    text = reindent(block.text, scope.indent, unit)
    try:
        data = to_bytes("\n" * before + text + "\n", file.encoding, file.newline)
    except UnicodeEncodeError as error:
        char = error.object[error.start]
        return Rejected(
            "encoding",
            f"{char!r} in the new text does not exist in the file's coding {file.encoding}",
            scope.id,
        )
    piece = Piece(data, None, _symbols(scope, block, newer), culprit=scope.id)
    piece.may_become_run = any(not s.is_definition for s in block.statements)
    earlier = pieces[index - 1]
    last = placeholder or previous
    if last.tail:
        piece.data += file.data[last.end - last.tail : last.end]
    if placeholder is not None:
        pieces[index] = piece
        return pieces
    if previous.tail:
        earlier.data = earlier.data[: -previous.tail]
    if earlier.data not in (b"", BOM) and not earlier.data.endswith((b"\n", b"\r")):
        earlier.data += newline
    if following is not None:
        missing = _gap_after(block, following, style) - _blanks(file, following)
        pieces[index].data = newline * max(missing, 0) + pieces[index].data
    pieces.insert(index, piece)
    return pieces


def _style(file: SourceFile, scope: Scope) -> int:
    """Return how many blank lines stand before most definitions of the scope."""
    counts = Counter(_blanks(file, unit.node) for unit in scope.units[1:] if unit.is_definition)
    if counts:
        return counts.most_common(1)[0][0]
    return 1 if scope.shell is not None else 2


def _blanks(file: SourceFile, node: Node) -> int:
    count = 0
    for line in file.data[node.start : node.start + node.lead].splitlines():
        if not is_blank(line):
            break
        count += 1
    return count


def _gap_before(file: SourceFile, scope: Scope, block: Block, previous: Node, style: int) -> int:
    if previous is scope.shell:
        text = file.data[previous.start : previous.end].rstrip()
        return 0 if text.endswith(b":") else 1
    if previous.kind is NodeKind.HEADER:
        if not file.data[: previous.end].strip(BOM + b" \t\r\n\x0c"):
            return 0
        return max(style, 1) if block.statements[0].is_definition else 1
    is_run = previous.kind not in _DEFINITIONS
    if is_run and not block.statements[0].is_definition:
        return 0
    return style


def _gap_after(block: Block, following: Node, style: int) -> int:
    if following.kind in _DEFINITIONS or block.statements[-1].is_definition:
        return style
    return 0


def _symbols(scope: Scope, block: Block, newer: Newer | None) -> frozenset[str]:
    """Return the symbols of the nodes that the text makes, without runs of the scope itself."""
    cut = split(block.text.encode("utf-8", "surrogatepass"), "text.py", newer=newer)
    return frozenset(
        f"{scope.prefix}{node.id.symbol}"
        for node in cut.nodes
        if node.kind is not NodeKind.HEADER and not node.id.symbol.startswith("@")
    )
