"""No statement is added that does nothing: a number, a bare name or JSON where code should be.

A weak model under a grammar fills a field with anything that fits it. Strings and ``...`` may stand
alone in good code; a name may inside a function or a ``try``, as a probe.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from mak.checks.change import Change, Check, differing, is_cut
from mak.checks.tree import blocks, parse
from mak.model import Finding, Node
from mak.source import SourceFile, decode

#: What makes a value, and what in it may still have an effect: anything that can be overloaded.
_IDLE = (ast.Name, ast.Dict, ast.List, ast.Set, ast.Tuple, ast.Lambda)
_BUSY = (
    *(ast.Call, ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr),
    *(ast.Attribute, ast.Subscript, ast.BinOp, ast.Compare),
)


def _findings(change: Change) -> Iterator[Finding]:
    for _, before, after in change.files():
        if not is_cut(after):
            continue
        found = [(node, text) for node in differing(after, before) for text in _inert(after, node)]
        known = Counter[str]()
        for node in differing(before, after) if found else ():
            known.update(_inert(before, node))
        for node, text in found:
            known[text] -= 1
            if known[text] < 0:
                yield Finding(
                    CHECK.id,
                    node.id,
                    f"the statement `{text}` in {node.id} does nothing; "
                    "send working code, or nothing in its place",
                    node.line,
                )


def _inert(file: SourceFile | None, node: Node) -> Iterator[str]:
    """Yield the statements of a node that do nothing."""
    body = (parse(decode(file, node.id)) if file else None) or []
    for block in blocks(body):
        is_idle = _is_idle if block is body else _is_bare_value
        for statement in block:
            if isinstance(statement, ast.Expr) and is_idle(statement.value):
                yield ast.unparse(statement)


def _is_idle(value: ast.expr) -> bool:
    if not isinstance(value, _IDLE):
        return _is_bare_value(value)
    return not any(isinstance(part, _BUSY) for part in ast.walk(value))


def _is_bare_value(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and not isinstance(value.value, str | type(...))


CHECK = Check("inert", "a statement does nothing", _findings)
