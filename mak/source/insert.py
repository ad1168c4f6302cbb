"""New symbols for a file or a class: read, placed, and put in with the spacing around them."""

from __future__ import annotations

import ast
from dataclasses import replace

from mak.model import Insert, Node, NodeId, NodeKind
from mak.source.block import Block, indent_unit, read_block, without_imports
from mak.source.file import Newer, Rejected, SourceFile, label
from mak.source.place import Newcomer, decorators_of, find_spot, uses
from mak.source.scope import Scope, is_opaque, opened, scope_of
from mak.source.spacing import spaced
from mak.source.splice import splice
from mak.source.statement import Is, Statement
from mak.source.written import written

#: Roles of which one name may have several.
_SHARED_ROLES = ("overload", "register")


def insert(
    file: SourceFile, edit: Insert, newer: Newer | None
) -> tuple[SourceFile, tuple[str, ...]] | Rejected:
    """Insert symbols; also return imports that stood in their text."""
    scope = scope_of(file, edit.parent.node)
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
    if scope.shell is not None and is_opaque(file, scope.shell):
        with_body = opened(file, scope, newer)
        if isinstance(with_body, Rejected):
            return with_body
        file = with_body
        again = scope_of(file, edit.parent.node)
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
    pieces = spaced(file, scope, block, spot.index, newer)
    if isinstance(pieces, Rejected):
        return pieces
    done = splice(file, pieces, newer, moved=True)
    return done if isinstance(done, Rejected) else (done, block.imports)


def _only_imports(block: Block) -> tuple[str, ...]:
    """Return the import statements of text that holds nothing else."""
    body = block.tree.body if block.tree else []
    if not all(isinstance(node, ast.Import | ast.ImportFrom) for node in body):
        return ()
    return tuple(written(node) for node in body)


# ------------------------------------------------------------------------------- the newcomer


def _kind(first: Statement | None) -> NodeKind | None:
    if first is None:
        return None
    return NodeKind.CLASS if first.kind is Is.CLASS else NodeKind.FUNCTION


def _newcomer(scope: Scope, block: Block) -> Newcomer:
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
        _kind(first),
        block.statements[0].kind is Is.MAIN,
        first.names[0] if first is not None and kin else "",
        first.role if first is not None else "",
        _decorators(block, first),
    )


def _decorators(block: Block, first: Statement | None) -> frozenset[str]:
    if first is None or block.tree is None:
        return frozenset()
    return frozenset(decorators_of(block.tree.body[block.statements.index(first)]))


def _taken(file: SourceFile, scope: Scope, block: Block) -> Rejected | None:
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
                f"choose another name or ask for `{label(where.id)}`",
                where.id,
            )
    return None


def _binder(file: SourceFile, scope: Scope, name: str) -> Node:
    depth = scope.prefix.count(".")
    for node in file.nodes:
        inside = node.id.symbol.startswith(scope.prefix) and node.id.symbol.count(".") == depth
        if inside and name in node.names:
            return node
    return file.nodes[0]


def _only_overloads(file: SourceFile, scope: Scope, name: str) -> bool:
    """Whether the name exists only as overloads that wait for their implementation."""
    depth = scope.prefix.count(".")
    symbols = [
        node.id.symbol.partition("#")[0]
        for unit in scope.units
        for node in file.nodes[unit.start : unit.end]
        if name in node.names and node.id.symbol.count(".") == depth
    ]
    return bool(symbols) and set(symbols) == {f"{scope.prefix}{name}[overload]"}


def _wanted(file: SourceFile, scope: Scope, after: NodeId | None) -> int | None:
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
