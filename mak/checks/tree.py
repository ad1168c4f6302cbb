"""The syntax tree of one node, for the rules that look inside it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mak.model import Node
from mak.source import SourceFile, decode
from mak.source.python_ast import parse_text

Function = ast.FunctionDef | ast.AsyncFunctionDef


def parse(text: str) -> list[ast.stmt] | None:
    """Parse statements at any indentation; None: this Python cannot.

    Several rules look at the same nodes: leave the trees as they are.
    """
    text = text.lstrip("\n").rstrip()
    first = next(
        (line for line in text.split("\n") if line.strip() and line.lstrip()[0] != "#"), ""
    )
    indented = first[:1] in (" ", "\t")
    try:
        tree = parse_text(f"if 1:\n{text}" if indented else text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if indented and tree.body:
        block = tree.body[0]
        return block.body if isinstance(block, ast.If) and len(tree.body) == 1 else None
    return tree.body


def function(file: SourceFile, node: Node) -> Function | None:
    """Return the tree of a function or method node; None: it is none, or cannot be parsed."""
    body = parse(decode(file, node.id))
    if body is not None and len(body) == 1 and isinstance(body[0], Function):
        return body[0]
    return None


def blocks(block: list[ast.stmt]) -> Iterator[list[ast.stmt]]:
    """Yield a block of statements and all the blocks in it, however deep."""
    todo = [block]
    while todo:
        block = todo.pop()
        yield block
        for statement in block:
            for name in ("body", "orelse", "finalbody"):
                inner = getattr(statement, name, None)
                if inner:
                    todo.append(inner)
            for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
                todo.append(part.body)


def real_body(tree: Function) -> list[ast.stmt]:
    """Return the body without its docstring."""
    return without_docstring(tree.body)


def without_docstring(block: list[ast.stmt]) -> list[ast.stmt]:
    """Return the statements after a leading string."""
    first = block[0]
    if (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    ):
        return block[1:]
    return block


def is_placeholder(statement: ast.stmt) -> bool:
    """Whether the statement is ``pass`` or ``...``."""
    return isinstance(statement, ast.Pass) or is_ellipsis(statement)


def is_ellipsis(statement: ast.stmt) -> bool:
    """Whether the statement is ``...``."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and statement.value.value is Ellipsis
    )


def dotted(expression: ast.expr) -> str:
    """Return ``a.b.c`` for such an expression, or for a call of it; else an empty string."""
    if isinstance(expression, ast.Call):
        return dotted(expression.func)
    if isinstance(expression, ast.Attribute):
        head = dotted(expression.value)
        return f"{head}.{expression.attr}" if head else ""
    return expression.id if isinstance(expression, ast.Name) else ""
