"""What import statements bind, and to what."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from mak.source.bindings import bound_names
from mak.source.python import why
from mak.source.python_ast import parse
from mak.source.written import written

ImportStatement = ast.Import | ast.ImportFrom


@dataclass(frozen=True, slots=True, order=True)
class Name:
    """One name that an import binds, and to what."""

    #: Empty: ``import target``; else ``from module import target``, dots of a relative one first.
    module: str
    target: str
    asname: str = ""

    @property
    def bound(self) -> str:
        """The name in the importing module."""
        plain = self.target if self.module else self.target.partition(".")[0]
        return self.asname or plain

    @property
    def origin(self) -> str:
        """What the bound name stands for, whichever way it is imported."""
        if self.module:
            return f"{self.module}{'' if self.module.endswith('.') else '.'}{self.target}"
        return self.target if self.asname else self.bound

    def is_bound_by(self, other: Name) -> bool:
        """Whether `other` makes this import superfluous."""
        if self.target == "*" or other.target == "*":
            return self == other
        if (self.bound, self.origin) != (other.bound, other.origin):
            return False
        loads = not self.module and not self.asname and "." in self.target
        return not loads or f"{other.target}.".startswith(f"{self.target}.")

    @property
    def rank(self) -> int:
        """Which of the usual groups of imports it belongs to."""
        root = (self.module or self.target).partition(".")[0]
        if not root:
            return 3
        if root == "__future__":
            return 0
        return 1 if root in sys.stdlib_module_names else 2

    @property
    def root(self) -> str:
        """The top-level package; empty for a relative import."""
        return (self.module or self.target).partition(".")[0]

    def __str__(self) -> str:
        suffix = f" as {self.asname}" if self.asname else ""
        source = f"from {self.module} " if self.module else ""
        return f"{source}import {self.target}{suffix}"


def names_of(node: ImportStatement) -> tuple[Name, ...]:
    """Return what an import statement binds, one for each alias."""
    module = "." * node.level + (node.module or "") if isinstance(node, ast.ImportFrom) else ""
    return tuple(Name(module, alias.name, alias.asname or "") for alias in node.names)


def read_imports(statement: str) -> tuple[Name, ...] | str:
    """Read one or more import statements; return what is wrong when they are something else."""
    try:
        body = parse(statement.strip().encode("utf-8", "surrogatepass")).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return f"the import `{_short(statement)}` does not parse: {why(error)}"
    found: list[Name] = []
    for node in body:
        if not isinstance(node, ast.Import | ast.ImportFrom):
            return f"`{_short(statement)}` is not an import"
        found.extend(names_of(node))
    return tuple(found) if found else "the import is empty"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else line[:57] + "…"


@dataclass(frozen=True, slots=True)
class Imported:
    """What a header imports, and everything else in it."""

    #: Of its import statements, not of those in its blocks.
    names: tuple[Name, ...]
    #: Lines outside of import statements, and comments inside of them, without blank lines.
    rest: tuple[bytes, ...]


def imported(header: bytes) -> Imported | None:
    """Read a header; None when this Python cannot."""
    try:
        body = parse(header).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    nodes = [node for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
    inside = {
        line for node in nodes for line in range(node.lineno - 1, node.end_lineno or node.lineno)
    }
    rest = [
        (b"#" + line.partition(b"#")[2] if number in inside else line).strip()
        for number, line in enumerate(header.splitlines())
    ]
    names = tuple(name for node in nodes for name in names_of(node))
    return Imported(names, tuple(line for line in rest if line not in (b"", b"#")))


def bound_in_block(node: ast.stmt, name: Name) -> bool | str:
    """Return whether a compound statement of the header binds the name the same way.

    What is bound for type checkers alone does not count as bound, but must not differ.
    """
    differs = ""
    for leaf, typing_only in _leaves(node, False):
        if isinstance(leaf, ast.Import | ast.ImportFrom):
            for other in names_of(leaf):
                if name.is_bound_by(other):
                    if not typing_only:
                        return True
                elif other.bound == name.bound and other.origin != name.origin:
                    differs = (
                        f"`{name.bound}` is already imported by `{other}` (line {leaf.lineno})"
                    )
        elif name.bound in bound_names((leaf,)):
            differs = f"`{name.bound}` is already bound in line {leaf.lineno}"
    return differs or False


def _leaves(node: ast.stmt, typing_only: bool) -> Iterator[tuple[ast.stmt, bool]]:
    if isinstance(node, ast.If):
        guarded = typing_only or "TYPE_CHECKING" in written(node.test)
        for child in node.body:
            yield from _leaves(child, guarded)
        for child in node.orelse:
            yield from _leaves(child, typing_only)
    elif isinstance(node, ast.Try | ast.TryStar):
        handlers = [child for handler in node.handlers for child in handler.body]
        for child in (*node.body, *handlers, *node.orelse, *node.finalbody):
            yield from _leaves(child, typing_only)
    else:
        yield node, typing_only
