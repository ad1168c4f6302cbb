"""The one invariant of every edit: a piece of text changed the nodes it was meant for, no others.

A file is put together from pieces: the bytes of nodes that nobody touched, texts that replace a
node, texts that are new. It is then cut again, and each cut must fall where a piece ends. An open
string, a dangling decorator, a dedented method, a second definition: whatever a text does to its
neighbours moves a cut.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from mak.model import Node, NodeId, NodeKind
from mak.source.file import Newer, Rejected, SourceFile, label
from mak.source.language import split
from mak.source.recut import recut

_RUNS = (NodeKind.BODY, NodeKind.CLASS_BODY)
#: How symbols end of which there may be several.
_SHARED = ("[overload]", "[register]")


@dataclass(slots=True)
class Piece:
    """A part of a file that is being put together."""

    data: bytes
    #: The node of before whose place it has; None: new.
    node: Node | None = None
    #: Symbols that may come out of an edited or new piece; None: the piece is nobody's edit.
    allows: frozenset[str] | None = None
    #: Whether an edited class may also get members.
    grows: bool = False
    #: Whether statements in it may be, or join, a run that is named after another definition.
    may_become_run: bool = False
    #: What to name when the piece is at fault.
    culprit: NodeId | None = None
    start: int = field(default=0, init=False)

    @property
    def end(self) -> int:
        """Where it ends in the file that it went into."""
        return self.start + len(self.data)

    @property
    def is_edit(self) -> bool:
        """Whether an agent wrote it."""
        return self.allows is not None

    def may_hold(self, symbol: str) -> bool:
        """Whether a node of this symbol may come out of the piece."""
        allows = self.allows or ()
        if symbol in allows:
            return True
        if _uncounted(symbol).endswith(_SHARED) and _uncounted(symbol) in allows:
            return True
        if self.may_become_run and symbol.rpartition(".")[2].startswith(("@body", "@main")):
            return True
        return self.grows and any(symbol.startswith(f"{name}.") for name in allows)


def pieces_of(file: SourceFile) -> list[Piece]:
    """Return the nodes of a file as untouched pieces."""
    return [Piece(file.data[node.start : node.end], node) for node in file.nodes]


def splice(
    before: SourceFile,
    pieces: Sequence[Piece],
    newer: Newer | None,
    *,
    moved: bool = False,
    renamed: Collection[tuple[str, str]] = (),
) -> SourceFile | Rejected:
    """Put pieces together and cut the result again; the cuts must be where the pieces end.

    `moved`: nodes come or go, so that a run of statements may be named after another definition
    and equal names may be counted anew. `renamed`: old and new symbols of classes.
    """
    end = 0
    for piece in pieces:
        piece.start = end
        end = piece.end
    file = None if moved or renamed else recut(before, pieces)
    if file is None:
        file = split(b"".join(piece.data for piece in pieces), before.path, newer=newer)
    edits = [piece for piece in pieces if piece.is_edit]
    culprit = next((p.culprit for p in edits if p.culprit is not None), before.id)
    if file.whole:
        return Rejected(
            "syntax", f"with the edit of `{label(culprit)}` the file {file.why_whole}", culprit
        )
    if file.encoding != before.encoding:
        return Rejected(
            "encoding",
            f"the edit of `{label(culprit)}` changes the file's coding from {before.encoding} to "
            f"{file.encoding}",
            culprit,
        )
    return _misplaced(file, pieces, moved, renamed) or file


def _misplaced(
    file: SourceFile,
    pieces: Sequence[Piece],
    moved: bool,
    renamed: Collection[tuple[str, str]],
) -> Rejected | None:
    """Compare the nodes of the new file with the pieces it is made of."""
    solid = [piece for piece in pieces if piece.data]
    covered: set[int] = set()
    first = 0
    for node in file.nodes:
        if node.start == node.end:
            continue
        while solid[first].end <= node.start:
            first += 1
        last = first
        while solid[last].end < node.end:
            last += 1
        under = solid[first : last + 1]
        covered.update(
            id(piece) for piece in under if node.start <= piece.start and piece.end <= node.end
        )
        if len(under) > 1:
            grown = node.kind is NodeKind.HEADER and moved
            may_join = node.kind in _RUNS or grown
            if not (may_join and all(map(_is_run, under[grown:])) and _share_scope(under)):
                edit = next((piece for piece in under if piece.is_edit), None)
                return _runs_over(edit or _nearest_edit(pieces, under[0]), node, under)
        elif under[0].is_edit:
            is_banner = node.kind is NodeKind.HEADER and node.lead == node.end
            if not is_banner and not under[0].may_hold(node.id.symbol):
                return _unexpected(under[0], node)
        elif not _same(under[0], node, moved, renamed):
            return _runs_over(_nearest_edit(pieces, under[0]), node, under)
    for piece in solid:
        if not piece.is_edit and id(piece) not in covered:
            return _runs_over(_nearest_edit(pieces, piece), file.nodes[0], [piece])
        if piece.allows and not _delivers(piece, file):
            return _undelivered(piece)
    return None


def _is_run(piece: Piece) -> bool:
    return piece.may_become_run or (piece.node is not None and piece.node.kind in _RUNS)


def _share_scope(pieces: Sequence[Piece]) -> bool:
    """Whether the pieces stood in the same class, or all in none."""
    return len({p.node.id.symbol.rpartition(".")[0] for p in pieces if p.node is not None}) < 2


def _same(piece: Piece, new: Node, moved: bool, renamed: Collection[tuple[str, str]]) -> bool:
    """Whether a node is what an untouched piece was before."""
    old = piece.node
    if old is None or new.kind is not old.kind:
        return False
    if (new.start, new.end) != (piece.start, piece.end):
        return False
    if new.id == old.id:
        return True
    symbol = old.id.symbol
    for before, after in renamed:
        if symbol.startswith(f"{before}."):
            symbol = after + symbol[len(before) :]
    if new.id.symbol == symbol:
        return True
    if not moved and not renamed:
        return False
    return new.kind in _RUNS or _uncounted(new.id.symbol) == _uncounted(symbol)


def _uncounted(symbol: str) -> str:
    return ".".join(part.partition("#")[0] for part in symbol.split("."))


def _delivers(piece: Piece, file: SourceFile) -> bool:
    """Whether a node that an edited piece was written for did come out of it."""
    return any(
        node.start < piece.end
        and node.end > piece.start
        and {node.id.symbol, _uncounted(node.id.symbol)} & (piece.allows or frozenset())
        for node in file.nodes
    )


# ------------------------------------------------------------------------------- reasons


def _nearest_edit(pieces: Sequence[Piece], piece: Piece) -> Piece:
    edits = [p for p in pieces if p.is_edit]
    before = [p for p in edits if p.start <= piece.start]
    return before[-1] if before else edits[0] if edits else piece


def _name(piece: Piece) -> tuple[str, NodeId]:
    culprit = piece.culprit or (piece.node.id if piece.node else NodeId(""))
    return label(culprit), culprit


def _runs_over(piece: Piece, node: Node, under: Sequence[Piece]) -> Rejected:
    name, culprit = _name(piece)
    other = next((p.node.id for p in under if p.node is not None and not p.is_edit), node.id)
    return Rejected(
        "closure",
        f"the text for `{name}` does not end where it should: it would change `{label(other)}` "
        "(an open string or block, a decorator without a definition, or wrong indentation)",
        culprit,
    )


def _unexpected(piece: Piece, node: Node) -> Rejected:
    name, culprit = _name(piece)
    symbol = node.id.symbol
    if "#" in symbol and _uncounted(symbol) in {_uncounted(s) for s in piece.allows or ()}:
        return Rejected(
            "name-taken",
            f"`{_uncounted(symbol)}` is defined twice with the edit of `{name}`",
            culprit,
        )
    return Rejected(
        "closure", f"the text for `{name}` would also make the node `{symbol}`", culprit
    )


def _undelivered(piece: Piece) -> Rejected:
    name, culprit = _name(piece)
    wanted = ", ".join(f"`{symbol}`" for symbol in sorted(piece.allows or ()))
    return Rejected("closure", f"with the text for `{name}` the file has no node {wanted}", culprit)
