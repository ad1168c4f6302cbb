"""One tree as the rules see it, and what a rule says about a place in it.

Names are resolved by `mak.source`; syntax trees are only made of files in which something looks
wrong, to see what excuses it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import NamedTuple

from mak.model import NodeId
from mak.source import Sources
from mak.source.facts import Facts
from mak.source.graph import CallSite, Graph, graph_of
from mak.source.names import line_of, node_at
from mak.source.positions import Positions
from mak.source.python_ast import parse
from mak.source.resolve import Names, Variable
from mak.source.text import python_codec

#: Where a problem's text names the place of the definition that it is about.
THERE = "\0"


class Spot(NamedTuple):
    """A byte of a file."""

    path: str
    start: int


class Problem(NamedTuple):
    """What a rule says about a place in one tree."""

    path: str
    start: int
    #: One sentence: what is wrong, then what to do; `THERE` stands for the definition's place.
    #: Holds no line number, so that it says the same wherever the code moves to.
    text: str
    #: The definition that the place disagrees with.
    there: Spot | None = None
    #: The definition as text: ``f(a, b=1)``.
    shown: str = ""
    #: The symbol that would have to be there.
    missing: NodeId | None = None


class Entry(NamedTuple):
    """One key that a file gives a value in a table, or registers."""

    #: What holds the keys, or takes them: a dotted name; empty for a literal table.
    holder: tuple[str, ...]
    key: str
    start: int
    #: What else has to be the same for two entries to be one and the same.
    rest: str
    #: The run of statements that it stands in, nothing else between.
    run: int


class View:
    """A tree and what has been found out about it; everything is looked up when asked."""

    def __init__(self, sources: Sources, was: View | None = None, *, alone: bool = False) -> None:
        self.sources = sources
        #: Whether there is no other tree to compare it with.
        self.alone = alone
        #: The tree that this one came from, for rules about what is gone.
        self.was = was
        self._syntax: dict[str, Syntax | None] = {}
        #: The modules that a file imports when it is loaded.
        self.imports: dict[str, tuple[str, ...]] = {}
        #: What a file registers, by what it registers with.
        self.entries: dict[str, tuple[Entry, ...]] = {}
        #: The calls of a file that surely fail, with what says so.
        self.misfits: dict[str, tuple[tuple[CallSite, Variable], ...]] = {}
        #: The keys of tables that nothing changes; None: not known.
        self.tables: dict[Variable, frozenset[str] | None] = {}
        #: Whether a class lacks an attribute, as far as anybody asked.
        self.lacking: dict[tuple[Variable, str], bool] = {}

    @cached_property
    def graph(self) -> Graph:
        """Who relies on whom in this tree."""
        return graph_of(self.sources)

    @property
    def names(self) -> Names:
        """Name resolution in this tree."""
        return self.graph.names

    def facts(self, path: str) -> Facts | None:
        """Return what a file says about names; None when it is not there or does not parse."""
        return self.names.facts(path)

    def data(self, path: str) -> bytes:
        """Return the bytes of a file."""
        return self.sources.data(path)

    def syntax(self, path: str) -> Syntax | None:
        """Return the syntax tree of a file; None when the running Python cannot parse it."""
        if path not in self._syntax:
            try:
                self._syntax[path] = Syntax(self.data(path))
            except (SyntaxError, ValueError, RecursionError, MemoryError, LookupError):
                self._syntax[path] = None
        return self._syntax[path]

    def definition(self, variable: Variable) -> Spot:
        """Return where something is defined: its last ``def`` or ``class``, or what binds it."""
        facts = self.facts(variable.path)
        bound = facts.bound(variable.scope, variable.name) if facts is not None else ()
        return Spot(variable.path, max((b.start for b in bound), default=0))

    def line(self, spot: Spot) -> int:
        """Return the 1-based line of a place."""
        return line_of(self.sources, spot.path, spot.start)

    def column(self, spot: Spot) -> int:
        """Return the 1-based column of a place, in characters."""
        data = self.data(spot.path)
        start = max(data.rfind(b"\n", 0, spot.start), data.rfind(b"\r", 0, spot.start)) + 1
        return len(data[start : spot.start].decode("utf-8", "replace")) + 1

    def node(self, spot: Spot) -> NodeId:
        """Return the node that holds a place."""
        return node_at(self.sources, spot.path, max(spot.start, 0))


class Syntax:
    """The syntax tree of a file, by byte offsets."""

    def __init__(self, data: bytes) -> None:
        self.tree = parse(data)
        self.positions = Positions(data, python_codec(data))

    @cached_property
    def _parents(self) -> dict[ast.AST, ast.AST]:
        return {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    @cached_property
    def _ends(self) -> dict[tuple[int, str], ast.expr]:
        return {
            (self.positions.end(node), node.id if isinstance(node, ast.Name) else node.attr): node
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Name | ast.Attribute)
        }

    def spelled(self, start: int, name: str) -> ast.expr | None:
        """Return the name, or the attribute with what stands before it, that ends in `name`."""
        return self._ends.get((start + len(name.encode(self.positions.encoding)), name))

    def above(self, node: ast.AST) -> Iterable[tuple[ast.AST, ast.AST]]:
        """Yield what encloses a node, inside out, each with its part that leads to the node."""
        inner = node
        while (outer := self._parents.get(inner)) is not None:
            yield outer, inner
            inner = outer


Rule = Callable[[View, str], Iterable[Problem]]
