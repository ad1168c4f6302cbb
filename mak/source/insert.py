"""New symbols for a file or a class: what they are, where they go, how they are spaced."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from mak.model import Insert, Need, Node, NodeId, NodeKind
from mak.source.block import Block, indent_unit, indents, read_block, without_imports
from mak.source.file import Newer, Rejected, SourceFile, label
from mak.source.language import split
from mak.source.place import Newcomer, Unit, find_spot, survey, units_of, uses
from mak.source.python_ast import parse
from mak.source.replace import unknown
from mak.source.splice import Piece, pieces_of, splice
from mak.source.statement import Is
from mak.source.text import BOM, indent_of, is_blank, reindent, to_bytes, to_str

_DEFINITIONS = (NodeKind.FUNCTION, NodeKind.METHOD, NodeKind.CLASS)
#: Roles of which one name may have several.
_SHARED_ROLES = ("overload", "register")
_PLACEHOLDERS = (b"pass", b"...")


@dataclass(frozen=True, slots=True)
class _Scope:
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


def insert(
    file: SourceFile, edit: Insert, newer: Newer | None
) -> tuple[SourceFile, tuple[str, ...]] | Rejected:
    """Insert symbols; also return imports that stood in their text."""
    scope = _scope(file, edit.parent.node)
    if isinstance(scope, Rejected):
        return scope
    block = read_block(edit.source, edit.parent, newer, indent=scope.indent, unit=indent_unit(file))
    if isinstance(block, Rejected):
        return replace(block, reason=block.reason.replace("the text for", "the new text in", 1))
    if scope.shell is None and (imports := _only_imports(block)):
        return file, imports
    block = without_imports(block, newer)
    if not block.statements:
        reason = f"the new text in `{label(edit.parent)}` holds no code"
        return Rejected("empty", reason, edit.parent)
    if scope.shell is not None and _is_opaque(file, scope.shell):
        opened = _opened(file, scope, newer)
        if isinstance(opened, Rejected):
            return opened
        file = opened
        again = _scope(file, edit.parent.node)
        if isinstance(again, Rejected):
            return again
        scope = again
    if taken := _taken(file, scope, block):
        return taken
    newcomer = _newcomer(scope, block)
    wanted = _wanted(file, scope, edit.after)
    spot = find_spot(scope.units, newcomer, scope.start, wanted, deep=scope.shell is None)
    if spot.blocked:
        return Rejected("placement", spot.blocked, edit.parent)
    pieces = _pieces(file, scope, block, spot.index, newer)
    if isinstance(pieces, Rejected):
        return pieces
    done = splice(file, pieces, newer, moved=True)
    return done if isinstance(done, Rejected) else (done, block.imports)


def _only_imports(block: Block) -> tuple[str, ...]:
    """Return the import statements of text that holds nothing else."""
    body = block.tree.body if block.tree else []
    if not all(isinstance(node, ast.Import | ast.ImportFrom) for node in body):
        return ()
    return tuple(ast.unparse(node) for node in body)


# ------------------------------------------------------------------------------- the scope


def _scope(file: SourceFile, parent: NodeId) -> _Scope | Rejected:
    if file.whole:
        return unknown(file, parent)
    tree = None if file.newer else parse(file.data)
    lazy = "annotations" in file.nodes[0].names
    if parent.is_file:
        units = units_of(file, parent)
        survey(file, units, tree.body if tree else (), lazy=lazy)
        _name_units(file, units)
        return _Scope(parent, None, "", "", 1, units)
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
    return _Scope(
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


# ------------------------------------------------------------------------------- one-line classes


def _is_opaque(file: SourceFile, shell: Node) -> bool:
    """Whether a class without members has statements that are not its docstring."""
    if len(file.members(shell.id)) > 1:
        return False
    node = _class_at(parse(file.data), shell) if not file.newer else None
    if node is None:
        return False
    only_docstring = len(node.body) == 1 and ast.get_docstring(node, clean=False) is not None
    return not only_docstring or node.body[0].lineno == node.lineno


def _opened(file: SourceFile, scope: _Scope, newer: Newer | None) -> SourceFile | Rejected:
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


# ------------------------------------------------------------------------------- the newcomer


def _newcomer(scope: _Scope, block: Block) -> Newcomer:
    needs: set[str] = set()
    for node in block.tree.body if block.tree else ():
        needs |= uses(node, lazy=False)[0]
    names = tuple(dict.fromkeys(name for s in block.statements for name in s.names))
    definitions = [s for s in block.statements if s.is_definition]
    first = definitions[0] if definitions else None
    kin = first is not None and (first.role or first.names[0] in scope.names)
    return Newcomer(
        names,
        frozenset(needs - set(names)),
        bool(definitions),
        block.statements[0].kind is Is.MAIN,
        first.names[0] if first is not None and kin else "",
        first.role if first is not None else "",
    )


def _taken(file: SourceFile, scope: _Scope, block: Block) -> Rejected | None:
    """Say when a name exists in the scope."""
    extended = {
        node.target.id
        for node in (block.tree.body if block.tree else ())
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)
    }
    header = set(file.nodes[0].names) if scope.shell is None else set()
    seen: set[str] = set()
    for statement in block.statements:
        name = f"{statement.names[0]}[{statement.role}]" if statement.is_definition else ""
        if name and name in seen and statement.role not in _SHARED_ROLES:
            reason = f"the new text in `{label(scope.id)}` defines `{statement.names[0]}` twice"
            return Rejected("name-taken", reason, scope.id)
        seen.add(name)
    for statement in block.statements:
        for name in statement.names:
            symbol = f"{scope.prefix}{name}"
            if statement.role:
                if statement.role in _SHARED_ROLES:
                    continue
                symbol += f"[{statement.role}]"
                if file.get(NodeId(file.path, symbol)) is None:
                    continue
            elif (
                name in extended
                or name not in scope.names | header
                or (statement.is_definition and _only_overloads(file, scope, name))
            ):
                continue
            where = _binder(file, scope, name)
            return Rejected(
                "name-taken",
                f"`{name}` already exists in `{label(scope.id)}` (line {file.code_line(where)}); "
                f"edit `{label(where.id)}` instead",
                where.id,
                (Need(where.id, write=True, why="already defines the name"),),
            )
    return None


def _binder(file: SourceFile, scope: _Scope, name: str) -> Node:
    depth = scope.prefix.count(".")
    for node in file.nodes:
        inside = node.id.symbol.startswith(scope.prefix) and node.id.symbol.count(".") == depth
        if inside and name in node.names:
            return node
    return file.nodes[0]


def _only_overloads(file: SourceFile, scope: _Scope, name: str) -> bool:
    """Whether the name exists only as overloads that wait for their implementation."""
    depth = scope.prefix.count(".")
    symbols = [
        node.id.symbol.partition("#")[0]
        for unit in scope.units
        for node in file.nodes[unit.start : unit.end]
        if name in node.names and node.id.symbol.count(".") == depth
    ]
    return bool(symbols) and set(symbols) == {f"{scope.prefix}{name}[overload]"}


def _wanted(file: SourceFile, scope: _Scope, after: NodeId | None) -> int | None:
    """Return how many units shall come before, as an agent asked; None: it did not."""
    node = file.get(after.node) if after is not None and not after.is_file else None
    if node is None:
        return None
    index = file.nodes.index(node)
    if index < scope.start:
        return 0 if index == scope.start - 1 else None
    for number, unit in enumerate(scope.units):
        if unit.start <= index < unit.end:
            return number + 1
    return None


# ------------------------------------------------------------------------------- spacing


def _pieces(
    file: SourceFile, scope: _Scope, block: Block, index: int, newer: Newer | None
) -> list[Piece] | Rejected:
    """Return the pieces of the file with the new text before the node `index`."""
    pieces = pieces_of(file)
    newline = file.newline.encode()
    placeholder = _placeholder(file, scope)
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


def _placeholder(file: SourceFile, scope: _Scope) -> Node | None:
    """Return the `pass` that a class holds instead of members, if that is all."""
    if scope.shell is None or len(scope.units) != 1 or scope.units[0].is_definition:
        return None
    node = scope.units[0].node
    is_one = scope.units[0].end - scope.units[0].start == 1
    held = file.data[node.start : node.end - node.tail].strip()
    return node if is_one and held in _PLACEHOLDERS else None


def _symbols(scope: _Scope, block: Block, newer: Newer | None) -> frozenset[str]:
    """Return the symbols of the nodes that the text makes, without runs of the scope itself."""
    cut = split(block.text.encode("utf-8", "surrogatepass"), "text.py", newer=newer)
    return frozenset(
        f"{scope.prefix}{node.id.symbol}"
        for node in cut.nodes
        if node.kind is not NodeKind.HEADER and not node.id.symbol.startswith("@")
    )


def _style(file: SourceFile, scope: _Scope) -> int:
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


def _gap_before(file: SourceFile, scope: _Scope, block: Block, previous: Node, style: int) -> int:
    if previous is scope.shell:
        text = file.data[previous.start : previous.end].rstrip()
        return 0 if text.endswith(b":") else 1
    if previous.kind is NodeKind.HEADER:
        if not file.data[: previous.end].strip(BOM + b" \t\r\n\x0c"):
            return 0
        return style if block.statements[0].is_definition else 1
    is_run = previous.kind not in _DEFINITIONS
    if is_run and not block.statements[0].is_definition:
        return 0
    return style


def _gap_after(block: Block, following: Node, style: int) -> int:
    if following.kind in _DEFINITIONS or block.statements[-1].is_definition:
        return style
    return 0
