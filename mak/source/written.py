"""How an expression or a statement is written, without its layout: `ast.unparse`, and faster.

Merges and lists of entries ask for thousands of small ones: names, dotted names, constants, calls
and assignments of these are put together here, and read exactly as `ast.unparse` would have it.
"""

from __future__ import annotations

import ast


def written(node: ast.AST) -> str:
    """Return the text of a syntax tree, the same for all that differ in layout alone."""
    found = _plain(node)
    return ast.unparse(node) if found is None else found


def _plain(node: ast.AST) -> str | None:
    """Return what is put together of small parts; None: it is not."""
    match node:
        case ast.Name():
            return node.id
        case ast.Attribute():
            # A number needs a space before the dot.
            is_plain = isinstance(node.value, ast.Name | ast.Attribute | ast.Call)
            value = _plain(node.value) if is_plain else None
            return None if value is None else f"{value}.{node.attr}"
        case ast.Constant():
            return _constant(node)
        case ast.Call():
            return _call(node)
        case ast.Expr():
            return None if isinstance(node.value, ast.Constant) else _plain(node.value)
        case ast.Assign(targets=[ast.Name() | ast.Attribute() as target], type_comment=None):
            name, value = _plain(target), _plain(node.value)
            return None if name is None or value is None else f"{name} = {value}"
    return None


def _constant(node: ast.Constant) -> str | None:
    value = node.value
    if value is None or value is True or value is False:
        return repr(value)
    if type(value) is str and node.kind is None:
        return repr(value)
    if type(value) is int and value < 1 << 64:
        return repr(value)
    return None


def _call(node: ast.Call) -> str | None:
    if not isinstance(node.func, ast.Name | ast.Attribute):
        return None
    parts = [_plain(node.func)]
    parts += map(_plain, node.args)
    for keyword in node.keywords:
        value = _plain(keyword.value) if keyword.arg is not None else None
        parts.append(None if value is None else f"{keyword.arg}={value}")
    if None in parts:
        return None
    return f"{parts[0]}({', '.join(part for part in parts[1:] if part is not None)})"
