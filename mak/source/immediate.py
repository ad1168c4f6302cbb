"""The names that a file surely looks up when it is imported, by where they stand.

Not what depends on a condition, is caught, or only runs when a function is called; nor annotations,
which may never be evaluated.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mak.source.positions import Positions
from mak.source.python_ast import parse
from mak.source.text import python_codec

#: Expressions whose parts need not run, or not now.
_LATER = (ast.Lambda, ast.IfExp, ast.BoolOp, ast.GeneratorExp)


def immediate(data: bytes) -> Iterator[int]:
    """Yield the offsets of names that are surely loaded while a module is; none when in doubt."""
    try:
        tree = parse(data)
        positions = Positions(data, python_codec(data))
    except (SyntaxError, ValueError, RecursionError, MemoryError, LookupError):
        return
    todo: list[ast.AST] = [*tree.body]
    while todo:
        node = todo.pop()
        match node:
            case ast.Name(ctx=ast.Load()):
                yield positions.start(node)
            case ast.FunctionDef(args=args) | ast.AsyncFunctionDef(args=args):
                todo += node.decorator_list
                todo += [value for value in (*args.defaults, *args.kw_defaults) if value]
            case ast.AnnAssign(value=value):
                todo += [value] if value is not None else []
            case ast.ClassDef() | ast.Assign() | ast.AugAssign() | ast.Expr():
                todo += ast.iter_child_nodes(node)
            case ast.stmt():
                pass
            case ast.expr() if not isinstance(node, _LATER):
                todo += ast.iter_child_nodes(node)
            case ast.keyword():
                todo.append(node.value)
