"""The file or class that gets new symbols: its units, its indentation, what stands in the way."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from mak.model import Node, NodeId, NodeKind
from mak.source.block import indents
from mak.source.file import Newer, Rejected, SourceFile, label, unknown
from mak.source.place import Unit, survey, units_of
from mak.source.python_ast import parse
from mak.source.splice import Piece, pieces_of, splice
from mak.source.text import indent_of, to_bytes, to_str

_PLACEHOLDERS = (b"pass", b"...")


@dataclass(frozen=True, slots=True)
class Scope:
    """The file or class that gets new symbols."""

    id: NodeId
    #: The class's shell; None for a file.
    shell: Node | None
    prefix: str
    indent: str
    #: Index of the first node in it.
    start: int
    units: list[Unit]

    @property
    def names(self) -> set[str]:
        """Names that its nodes bind, without the header's."""
        return {name for unit in self.units for name in unit.binds}


def scope_of(file: SourceFile, parent: NodeId) -> Scope | Rejected:
    """Return what new symbols of `parent`, a file or class, have to fit into."""
    if file.whole:
        return unknown(file, parent)
    tree = None if file.newer else parse(file.data)
    lazy = "annotations" in file.nodes[0].names
    if parent.is_file:
        units = units_of(file, parent)
        survey(file, units, tree.body if tree else (), lazy=lazy)
        _name_units(file, units)
        return Scope(parent, None, "", "", 1, units)
    shell = file.get(parent)
    if shell is None:
        return unknown(file, parent)
    if shell.kind is not NodeKind.CLASS:
        return Rejected("shape", f"`{label(parent)}` is not a class: nothing goes into it", parent)
    units = units_of(file, parent)
    node = _class_at(tree, shell) if tree else None
    survey(file, units, node.body if node else (), lazy=lazy)
    _name_units(file, units)
    start = file.nodes.index(shell) + 1
    return Scope(
        parent, shell, f"{parent.symbol}.", _member_indent(file, shell, node), start, units
    )


def _name_units(file: SourceFile, units: Sequence[Unit]) -> None:
    """Let units bind what their nodes say, for files that no syntax tree tells about."""
    for unit in units:
        for node in file.nodes[unit.start : unit.end]:
            if node.id.symbol.count(".") == unit.node.id.symbol.count("."):
                unit.binds.update(node.names)


def _class_at(tree: ast.Module, shell: Node) -> ast.ClassDef | None:
    for node in ast.walk(tree):
        if not isinstance(node, ast.ClassDef) or node.name != shell.names[0]:
            continue
        if shell.line <= node.lineno <= shell.end_line:
            return node
    return None


def _member_indent(file: SourceFile, shell: Node, node: ast.ClassDef | None) -> str:
    if node is not None and node.body[0].lineno > node.lineno:
        first = node.body[0]
        line = file.data.splitlines()[first.lineno - 1]
        space = indent_of(line)
        if line[len(space) :]:
            return space.decode("ascii").replace("\x0c", "")
    for member in file.members(shell.id)[1:]:
        return indents(file, member)[0]
    indent, unit = indents(file, shell)
    return indent + unit


def placeholder_in(file: SourceFile, scope: Scope) -> Node | None:
    """Return the `pass` that a class holds instead of members, if that is all."""
    if scope.shell is None or len(scope.units) != 1 or scope.units[0].is_definition:
        return None
    node = scope.units[0].node
    is_one = scope.units[0].end - scope.units[0].start == 1
    held = file.data[node.start : node.end - node.tail].strip()
    return node if is_one and held in _PLACEHOLDERS else None


# ------------------------------------------------------------------------------- one-line classes


def is_opaque(file: SourceFile, shell: Node) -> bool:
    """Whether a class without members has statements that are not its docstring."""
    if len(file.members(shell.id)) > 1:
        return False
    node = _class_at(parse(file.data), shell) if not file.newer else None
    if node is None:
        return False
    only_docstring = len(node.body) == 1 and ast.get_docstring(node, clean=False) is not None
    return not only_docstring or node.body[0].lineno == node.lineno


def opened(file: SourceFile, scope: Scope, newer: Newer | None) -> SourceFile | Rejected:
    """Write ``class A: x = 1`` as a class with a body of its own lines."""
    shell = scope.shell
    node = _class_at(parse(file.data), shell) if shell is not None else None
    if shell is None or node is None:
        return Rejected("shape", f"`{label(scope.id)}` has no body of its own lines", scope.id)
    indent, unit = indents(file, shell)
    lines = to_str(file.data, file.encoding).split("\n")
    first, last = node.body[0], node.body[-1]
    line = lines[first.lineno - 1].encode()
    head = "\n".join(
        (*lines[shell.line - 1 : first.lineno - 1], line[: first.col_offset].decode())
    ).rstrip(" \t\\\n")
    body = [ast.get_source_segment("\n".join(lines), part) or "" for part in node.body]
    rest = lines[(last.end_lineno or 1) - 1].encode()[last.end_col_offset or 0 :].decode()
    comment = f"  {rest.strip(' ;')}" if rest.strip(" ;").startswith("#") else ""
    rows = "".join(f"\n{indent}{unit}{text}" for text in body)
    pieces = pieces_of(file)
    at = file.nodes.index(shell)
    tail = file.data[shell.end - shell.tail : shell.end]
    try:
        text = to_bytes(f"{head}{comment}{rows}\n", file.encoding, file.newline)
    except UnicodeEncodeError:
        return Rejected("encoding", f"`{label(scope.id)}` cannot be rewritten", scope.id)
    pieces[at] = Piece(
        text + tail, shell, frozenset({scope.id.symbol}), grows=True, culprit=scope.id
    )
    return splice(file, pieces, newer, moved=True)
