"""New texts for nodes, and nodes taken out: one splice for all of a file."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from mak.model import Aspect, Delete, Insert, Need, Node, NodeId, NodeKind, Replace
from mak.source.block import indents, read_block, trimmed, without_imports
from mak.source.file import Newer, Rejected, SourceFile, decode, label, unknown
from mak.source.grant import may_rename, may_write, not_granted
from mak.source.language import split
from mak.source.python_ast import parse
from mak.source.shape import Fitted, fit
from mak.source.splice import Piece, pieces_of, splice
from mak.source.text import BOM, is_trivia, reindent, to_str

_DEFINITIONS = (NodeKind.FUNCTION, NodeKind.METHOD, NodeKind.CLASS)


_BLANK_START = re.compile(rb"\A(?:[ \t\x0c]*(?:\r\n|\n|\r))+")
#: Blank lines after the last comment.
_BLANK_END = re.compile(rb"(?<=[\r\n])(?:[ \t\x0c]*(?:\r\n|\n|\r))+\Z|\A\s+\Z")


@dataclass(slots=True)
class _Work:
    """A file whose nodes are being replaced."""

    file: SourceFile
    granted: frozenset[NodeId]
    newer: Newer | None
    pieces: list[Piece]
    #: Piece by symbol of the node that it is.
    by_symbol: dict[str, Piece]
    moved: bool
    renamed: list[tuple[str, str]]
    imports: list[str]


def rewrite(
    file: SourceFile,
    edits: Sequence[Replace | Delete],
    granted: frozenset[NodeId],
    newer: Newer | None,
) -> tuple[SourceFile, tuple[str, ...]] | Rejected:
    """Replace and delete nodes; also return imports that stood in the new texts."""
    pieces = pieces_of(file)
    by_symbol = {piece.node.id.symbol: piece for piece in pieces if piece.node is not None}
    work = _Work(file, granted, newer, pieces, by_symbol, False, [], [])
    deleted = {edit.node.symbol for edit in edits if isinstance(edit, Delete)}
    for edit in edits:
        node = file.get(edit.node.node)
        if node is None:
            return unknown(file, edit.node)
        if not may_write(edit.node, granted):
            return not_granted(edit.node)
        flaw = (
            _delete(work, node, edit.node)
            if isinstance(edit, Delete)
            else _replace(work, node, edit, deleted)
        )
        if flaw is not None:
            return flaw
    _fill_emptied_classes(work)
    _start_clean(work)
    done = splice(
        file,
        [piece for piece in work.pieces if piece.data or piece.node is not None],
        newer,
        moved=work.moved,
        renamed=work.renamed,
    )
    return done if isinstance(done, Rejected) else (done, tuple(work.imports))


def unfold(
    file: SourceFile, edit: Replace, granted: frozenset[NodeId], newer: Newer | None
) -> list[Replace | Insert] | Rejected:
    """Turn a whole class given for its shell into edits of the shell and of each member.

    Members that the text leaves out stay; those it repeats unchanged are no edits. Another text for
    a member that was not granted is refused without offering the grant: more often than not it is
    what the member was before somebody else changed it.
    """
    node = file.get(edit.node)
    if node is None or node.kind is not NodeKind.CLASS or len(file.members(node.id)) == 1:
        return [edit]
    indent, unit = indents(file, node)
    base = decode(file, node.id)
    block = read_block(
        edit.source, node.id, newer, indent=indent, unit=unit, base=base, open_suite=True
    )
    if isinstance(block, Rejected):
        return [edit]
    block = without_imports(block, newer)
    cut = split(block.text.encode("utf-8", "surrogatepass"), "text.py", newer=newer)
    classes = [n for n in cut.nodes if n.kind is NodeKind.CLASS and "." not in n.id.symbol]
    if len(classes) != 1 or len(block.statements) != 1 or len(cut.members(classes[0].id)) == 1:
        return [edit]
    shell = classes[0]
    members = [n for n in cut.members(shell.id)[1:] if n.id.symbol.count(".") == 1]
    if len(members) == 1 and decode(cut, members[0].id).strip() in ("pass", "..."):
        return [edit]
    imports = "".join(f"{statement}\n" for statement in block.imports)
    head = to_str(cut.data[: shell.end], "utf-8")
    edits: list[Replace | Insert] = [replace(edit, source=imports + head)]
    previous: NodeId | None = node.id
    for member in members:
        is_class = member.kind is NodeKind.CLASS
        source = decode(cut, replace(member.id, aspect=Aspect.ALL) if is_class else member.id)
        symbol = node.id.symbol + member.id.symbol.removeprefix(shell.id.symbol)
        target = NodeId(file.path, symbol, Aspect.ALL if is_class else Aspect.TEXT)
        known = file.get(target.node)
        if known is None:
            edits.append(Insert(node.id, source, after=previous))
        elif _flat(decode(file, target), unit) != _flat(source, unit):
            if not may_write(target, granted):
                return Rejected(
                    "not-granted",
                    f"the text for class `{label(node.id)}` changes its member `{label(target)}`, "
                    "which was not granted; return only decorators, class line and docstring",
                    target,
                )
            edits.append(Replace(target, source))
        previous = target.node
    return edits


def _flat(text: str, unit: str) -> str:
    return trimmed(reindent(text, "", unit))


# ------------------------------------------------------------------------------- one node


def _replace(work: _Work, node: Node, edit: Replace, deleted: set[str]) -> Rejected | None:
    file = work.file
    all_of = edit.node.aspect is Aspect.ALL
    if all_of and node.kind is not NodeKind.CLASS:
        return Rejected("shape", f"`{label(node.id)}` is not a class", node.id)
    fitted = fit(file, node, edit.source, work.newer, work.granted, all_of=all_of)
    if isinstance(fitted, Rejected):
        return fitted
    work.imports.extend(fitted.imports)
    piece = work.by_symbol[node.id.symbol]
    symbol = node.id.symbol
    if node.kind in _DEFINITIONS:
        named = _named(work, node, fitted, deleted)
        if isinstance(named, Rejected):
            return named
        symbol = named
    if all_of:
        for member in file.members(node.id)[1:]:
            _drop(work, work.by_symbol[member.id.symbol])
        work.moved = True
    piece.data = fitted.data
    piece.allows = frozenset({symbol})
    piece.may_become_run = node.kind is NodeKind.HEADER
    piece.grows = fitted.grows
    piece.culprit = node.id
    work.moved = work.moved or piece.grows
    return None


def _named(work: _Work, node: Node, fitted: Fitted, deleted: set[str]) -> str | Rejected:
    """Return the symbol that a definition has with its new text."""
    old = node.id.symbol
    prefix = old.rpartition(".")[0]
    prefix = f"{prefix}." if prefix else ""
    role = f"[{fitted.role}]" if fitted.role else ""
    new = f"{prefix}{fitted.name}{role}"
    if new == old.partition("#")[0] or new == _uncounted(old):
        return old
    if not may_rename(node.id, work.granted):
        return Rejected(
            "renamed",
            f"the text for `{label(node.id)}` defines `{new}`; keep the name and its decorators' "
            "role, or ask for the signature",
            node.id,
            (Need(node.id.api, write=True, why="renames it"),),
        )
    if new in work.by_symbol and new not in deleted:
        return Rejected(
            "name-taken", f"`{label(node.id)}` cannot become `{new}`: that exists", node.id
        )
    work.moved = True
    if node.kind is NodeKind.CLASS:
        work.renamed.append((old, new))
    return new


def _uncounted(symbol: str) -> str:
    head, dot, last = symbol.rpartition(".")
    return f"{head}{dot}{last.partition('#')[0]}"


def _delete(work: _Work, node: Node, id: NodeId) -> Rejected | None:
    file = work.file
    if node.kind is NodeKind.HEADER:
        piece = work.by_symbol[node.id.symbol]
        piece.data = _BLANK_END.sub(b"", file.data[node.start : node.start + node.lead])
        piece.culprit = node.id
        piece.allows = frozenset({node.id.symbol}) if piece.data else None
        if not piece.data:
            _drop(work, piece)
        return None
    members = file.members(node.id) if node.kind is NodeKind.CLASS else (node,)
    if len(members) > 1 and id.aspect is not Aspect.ALL:
        everything = replace(node.id, aspect=Aspect.ALL)
        return Rejected(
            "shape",
            f"class `{label(node.id)}` has members; delete `{label(everything)}`",
            node.id,
            () if may_write(everything, work.granted) else (Need(everything, write=True),),
        )
    last = members[-1]
    tail = file.data[last.end - last.tail : last.end]
    for member in members:
        _drop(work, work.by_symbol[member.id.symbol])
    if tail.strip():
        _hand_back(work, work.by_symbol[node.id.symbol], tail)
    work.moved = True
    return None


def _drop(work: _Work, piece: Piece) -> None:
    piece.data = b""
    piece.node = None
    piece.allows = None


def _hand_back(work: _Work, piece: Piece, tail: bytes) -> None:
    """Give the comments at the end of a file to the node that is last then."""
    for other in reversed(work.pieces[: work.pieces.index(piece)]):
        if other.data:
            other.data += tail
            return


def _start_clean(work: _Work) -> None:
    """Mind the start of a file whose first nodes are gone.

    No blank lines there, but one between comments about the file and what is first now.
    """
    header, left = work.pieces[0], [piece for piece in work.pieces[1:] if piece.data]
    is_new = header.data != work.file.data[: work.file.nodes[0].end]
    if not left or not (is_new or not work.pieces[1].data):
        return
    if header.data in (b"", BOM):
        left[0].data = _BLANK_START.sub(b"", left[0].data)
    elif all(map(is_trivia, header.data.splitlines())) and not _BLANK_START.match(left[0].data):
        left[0].data = work.file.newline.encode() + left[0].data


def _fill_emptied_classes(work: _Work) -> None:
    """Put `pass` into classes that lost all members and have no docstring."""
    file = work.file
    for index, piece in enumerate(list(work.pieces)):
        node = piece.node
        if node is None or node.kind is not NodeKind.CLASS:
            continue
        members = file.members(node.id)[1:]
        if not members or any(work.by_symbol[m.id.symbol].data for m in members):
            continue
        indent, unit = indents(file, node)
        if _stands_alone(to_str(piece.data, file.encoding), unit):
            continue
        symbol = next(iter(piece.allows)) if piece.allows else node.id.symbol
        text = f"{indent}{unit}pass{file.newline}".encode()
        filler = work.pieces[index + 1]
        filler.data, filler.culprit = text, node.id
        filler.allows = frozenset({f"{symbol}.@body"})


def _stands_alone(text: str, unit: str) -> bool:
    try:
        body = parse(reindent(text, "", unit).encode("utf-8", "surrogatepass")).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return isinstance(body[0], ast.ClassDef)
