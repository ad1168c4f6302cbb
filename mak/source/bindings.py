"""Names that statements bind, and what kind of statements they are, read off `ast`."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_Names = dict[str, None]


def bound_names(body: Iterable[ast.stmt], *, walrus: bool = True) -> tuple[str, ...]:
    """Return the names that statements bind in their own scope, in order, once each.

    Without `walrus`, expressions are not searched for ``:=``.
    """
    found: _Names = {}
    todo: list[ast.stmt | ast.pattern] = []
    todo += [*body][::-1]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.pattern):
            _pattern(node, found)
        else:
            todo += _statement(node, found, walrus)[::-1]
    return tuple(found)


def alias_name(alias: ast.alias, *, plain: bool) -> str:
    """Return the name that one alias of an import binds; ``*`` for a star.

    `plain`: of ``import a.b``, not of ``from a import b``.
    """
    return alias.asname or (alias.name.partition(".")[0] if plain else alias.name)


def _statement(node: ast.stmt, found: _Names, walrus: bool) -> Sequence[ast.stmt | ast.pattern]:
    """Note what a statement binds by itself; return what is inside it in the same scope."""
    if isinstance(node, _SCOPES):
        found[node.name] = None
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            _targets(target, found)
        if walrus:
            _expression(node.value, found)
    elif isinstance(node, (ast.AnnAssign, ast.AugAssign)):
        _targets(node.target, found)
        if walrus and node.value is not None:
            _expression(node.value, found)
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        plain = isinstance(node, ast.Import)
        for alias in node.names:
            if alias.name != "*":
                found[alias_name(alias, plain=plain)] = None
    elif isinstance(node, (ast.For, ast.AsyncFor)):
        _targets(node.target, found)
        return (*node.body, *node.orelse)
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        for item in node.items:
            if item.optional_vars is not None:
                _targets(item.optional_vars, found)
        return node.body
    elif isinstance(node, (ast.If, ast.While)):
        if walrus:
            _expression(node.test, found)
        return (*node.body, *node.orelse)
    elif isinstance(node, (ast.Try, ast.TryStar)):
        handled = [child for handler in node.handlers for child in handler.body]
        return (*node.body, *handled, *node.orelse, *node.finalbody)
    elif isinstance(node, ast.Match):
        parts: list[ast.stmt | ast.pattern] = []
        for case in node.cases:
            parts += (case.pattern, *case.body)
        return parts
    elif type(node).__name__ == "TypeAlias":
        _targets(node.name, found)  # type: ignore[attr-defined,unused-ignore]
    elif walrus and isinstance(node, ast.Expr):
        _expression(node.value, found)
    return ()


def _targets(node: ast.expr, found: _Names) -> None:
    if isinstance(node, ast.Name):
        found[node.id] = None
    elif isinstance(node, (ast.Tuple, ast.List)):
        for element in node.elts:
            _targets(element, found)
    elif isinstance(node, ast.Starred):
        _targets(node.value, found)


def _pattern(root: ast.pattern, found: _Names) -> None:
    for node in ast.walk(root):
        if isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name:
            found[node.name] = None
        elif isinstance(node, ast.MatchMapping) and node.rest:
            found[node.rest] = None


def _expression(root: ast.expr, found: _Names) -> None:
    """Find ``name := …`` below `root`, not in the body of a lambda."""
    todo: list[ast.AST] = [root]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.NamedExpr):
            found[node.target.id] = None
        if not isinstance(node, ast.Lambda):
            todo.extend(reversed(list(ast.iter_child_nodes(node))))


# ---------------------------------------------------------------------------------- kinds


def is_string(node: ast.expr) -> bool:
    """Whether the expression is a plain string, as a docstring is."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def is_main(test: ast.expr) -> bool:
    """Whether the condition is ``__name__ == "__main__"``, either way round."""
    if not (isinstance(test, ast.Compare) and len(test.ops) == 1):
        return False
    if not isinstance(test.ops[0], ast.Eq):
        return False
    sides = (test.left, test.comparators[0])
    return any(isinstance(side, ast.Name) and side.id == "__name__" for side in sides) and any(
        isinstance(side, ast.Constant) and side.value == "__main__" for side in sides
    )


def only_imports(node: ast.stmt) -> bool:
    """Whether every leaf is an import, `pass` or an assignment to names; at least one import."""
    imports = 0
    todo = [node]
    while todo:
        leaf = todo.pop()
        if isinstance(leaf, (ast.Import, ast.ImportFrom)):
            imports += 1
        elif isinstance(leaf, ast.If):
            todo += (*leaf.body, *leaf.orelse)
        elif isinstance(leaf, (ast.Try, ast.TryStar)):
            todo += (*leaf.body, *leaf.orelse, *leaf.finalbody)
            for handler in leaf.handlers:
                todo += handler.body
        elif isinstance(leaf, ast.Assign):
            if not all(isinstance(target, ast.Name) for target in leaf.targets):
                return False
        elif not isinstance(leaf, ast.Pass):
            return False
    return imports > 0
