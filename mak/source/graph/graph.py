"""The graph of one tree: what checks, planning and `mak graph` ask."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mak.model import Aspect, NodeId
from mak.source.collector import calm
from mak.source.facts import Call, Context, Guard, Import, Use
from mak.source.graph.callable import Callable_, callable_of
from mak.source.graph.calls import CallSite, calls_in
from mak.source.graph.construct import constructor
from mak.source.graph.doubt import is_certain, owner_is_sure
from mak.source.graph.edges import (
    Edge,
    EdgeKind,
    defined,
    edges_in,
    edges_named,
    overrides_in,
)
from mak.source.graph.members import Has, has
from mak.source.names import line_of, names_of, node_at, refer, variables
from mak.source.resolve import Module, Names, Thing, Variable
from mak.source.signature import Parameters
from mak.source.tree import Sources


@dataclass(frozen=True, slots=True, order=True)
class Link:
    """One edge between nodes."""

    kind: EdgeKind
    #: The node that relies on the other, and the token that does.
    source: NodeId
    target: NodeId
    path: str
    start: int
    line: int
    call: Call | None = None


@dataclass(frozen=True, slots=True)
class Imported:
    """One name of an import statement."""

    path: str
    entry: Import
    #: The module of the repository that it is taken from; None: another package, or not known.
    module: str | None
    #: What is imported; None: it cannot be told, or is not there.
    thing: Thing | None
    #: Whether the module has the name. ``import m`` and star imports: YES.
    has: Has
    #: Whether an ``ImportError`` is expected there.
    guarded: bool


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute that is taken from a module or a class of the repository."""

    path: str
    use: Use
    #: Which name of the use's chain it is.
    position: int
    owner: Module | Variable
    has: Has
    #: Whether an ``AttributeError`` is expected there, or looked out for before.
    guarded: bool

    @property
    def name(self) -> str:
        """The attribute."""
        return self.use.names[self.position]

    @property
    def start(self) -> int:
        """Where it stands."""
        return self.use.starts[self.position]


@dataclass(frozen=True, slots=True)
class Override:
    """A method and the one that it overrides, both as attributes of their classes."""

    path: str
    start: int
    method: Variable
    base: Variable
    #: The class that has the method.
    klass: Variable
    #: Whether no base from outside may come between.
    certain: bool


class Graph:
    """What is proved about a tree; cheap to make."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self.names: Names = names_of(sources)
        self._edges: dict[str, tuple[Edge, ...]] = {}
        self._by_node: dict[str, dict[NodeId, list[Edge]]] = {}

    @property
    def paths(self) -> tuple[str, ...]:
        """The Python files of the tree."""
        return self.names.index.paths

    def load(self) -> None:
        """Read the facts of every file at once."""
        self.names.index.load(self.paths)

    # ------------------------------------------------------------------------ one file

    def edges(self, path: str) -> tuple[Edge, ...]:
        """Return the edges that start in a file, in order of kind and place."""
        if path not in self._edges:
            facts = self.names.facts(path)
            found = edges_in(self.names, path, facts) if facts is not None else ()
            self._edges[path] = tuple(found)
        return self._edges[path]

    def every_edge(self) -> Iterator[Edge]:
        """Yield the edges of all files, file by file."""
        with calm():
            self.load()
            for path in self.paths:
                yield from self.edges(path)

    def calls(self, path: str) -> tuple[CallSite, ...]:
        """Return the calls in a file whose callee is proved."""
        facts = self.names.facts(path)
        return tuple(calls_in(self.names, path, facts)) if facts is not None else ()

    def imports(self, path: str) -> Iterator[Imported]:
        """Yield what a file imports, also within functions."""
        facts = self.names.facts(path)
        for entry in facts.imports if facts is not None else ():
            module = self.names.modules.imported(entry.level, entry.module, path)
            thing = self.names.imported(path, entry)
            guarded = facts is not None and facts.is_guarded(entry.start, Guard.IMPORT)
            known = Has.MAYBE if module is None or module == path else Has.YES
            if module is not None and module != path and entry.name not in ("", "*"):
                known = has(self.names, Module(module), entry.name)
            yield Imported(path, entry, module, thing, known, guarded)

    def attributes(self, path: str) -> Iterator[Attribute]:
        """Yield the attributes that a file takes from modules and classes of the repository."""
        facts = self.names.facts(path)
        for use in facts.chains if facts is not None else ():
            for position in range(1, len(use.names)):
                last = position == len(use.names) - 1
                if use.starts[position] < 0 or (last and use.context is not Context.LOAD):
                    continue
                owners = self.names.receivers(path, use, position)
                owner = next(iter(owners)) if len(owners) == 1 else None
                if not isinstance(owner, Module | Variable):
                    break
                if isinstance(owner, Variable) and self.names.class_of(owner) is None:
                    break
                known = has(self.names, owner, use.names[position])
                guarded = facts is not None and facts.is_guarded(
                    use.starts[position], Guard.ATTRIBUTE
                )
                yield Attribute(path, use, position, owner, known, guarded)

    def overrides(self, path: str) -> Iterator[Override]:
        """Yield the methods of a file that override one in a base of the repository."""
        facts = self.names.facts(path)
        for edge in overrides_in(self.names, path, facts) if facts is not None else ():
            if isinstance(edge.target, Variable):
                found = self._override(edge, edge.target)
                if found is not None:
                    yield found

    def _override(self, edge: Edge, base: Variable) -> Override | None:
        facts = self.names.facts(edge.path)
        for binding in facts.bindings if facts is not None else ():
            if binding.start == edge.start:
                assert facts is not None
                holder = facts.definition_of(binding.scope)
                assert holder is not None
                klass = Variable(edge.path, holder.holder, holder.name)
                method = Variable(edge.path, binding.scope, binding.name)
                certain = self._follows(klass, base)
                return Override(edge.path, edge.start, method, base, klass, certain)
        return None

    def _follows(self, klass: Variable, base: Variable) -> bool:
        parents = [b for b in self.names.lineage(klass).bases if isinstance(b, Variable)]
        first = self.names.lineage(klass).bases[:1]
        return (
            bool(parents) and first == (parents[0],) and owner_is_sure(self.names, parents[0], base)
        )

    # -------------------------------------------------------------------- definitions

    def callable(self, variable: Variable) -> Callable_ | None:
        """Return how a function is called, decorators considered; None: not known."""
        return callable_of(self.names, variable)

    def constructor(self, klass: Variable) -> tuple[Parameters, ...]:
        """Return the parameter lists, one of which a call of a class must fit; empty: unknown."""
        return constructor(self.names, klass)

    def has(self, owner: Module | Variable, name: str) -> Has:
        """Tell whether a module or a class has an attribute."""
        return has(self.names, owner, name)

    def is_certain(self, site: CallSite) -> bool:
        """Whether a call surely goes to its target, and is not meant to fail.

        Looks at the whole tree: ask it only about calls that do not fit.
        """
        return is_certain(self.names, site)

    def variables(self, node: NodeId | str) -> tuple[Variable, ...]:
        """Return what a node, or a dotted name, defines."""
        return variables(self.names, node)

    def nodes_of(self, thing: Thing) -> tuple[NodeId, ...]:
        """Return the nodes that define something, in order; a module is its file."""
        if isinstance(thing, Module):
            return (NodeId(thing.path.rstrip("/")),)
        if not isinstance(thing, Variable):
            return ()
        facts = self.names.facts(thing.path)
        bound = facts.bound(thing.scope, thing.name) if facts is not None else ()
        starts = sorted(binding.start for binding in bound if binding.start >= 0)
        return tuple(dict.fromkeys(node_at(self.sources, thing.path, s) for s in starts))

    def line(self, path: str, start: int) -> int:
        """Return the 1-based line of an offset."""
        return line_of(self.sources, path, start)

    def node_at(self, path: str, start: int) -> NodeId:
        """Return the node that holds an offset."""
        return node_at(self.sources, path, start)

    # ------------------------------------------------------------------ between nodes

    def links_from(self, node: NodeId) -> tuple[Link, ...]:
        """Return the edges that start in a node (a file: in any of its nodes)."""
        by_node = self._edges_by_node(node.path)
        found = []
        for source in by_node if node.is_file else (node.node,):
            for edge in by_node.get(source, ()):
                for target in self.nodes_of(edge.target):
                    if target != source:
                        found.append(self._link(edge.kind, source, target, edge))
        return tuple(sorted(set(found), key=_order))

    def uses_of(self, node: NodeId) -> tuple[NodeId, ...]:
        """Return the nodes that define what a node (``#all``: a class) uses, in order of use.

        Looks at that node alone, and is the quick way to ask about one.
        """
        facts = self.names.facts(node.path)
        if facts is None:
            return ()
        if node.is_file:
            begin, end = 0, sys.maxsize
        else:
            found = [
                one
                for one in self.sources.nodes(node.path)
                if one.id == node.node
                or (node.aspect is Aspect.ALL and one.id.symbol.startswith(f"{node.symbol}."))
            ]
            if not found:
                return ()
            begin, end = min(one.start for one in found), max(one.end for one in found)
        targets: dict[NodeId, None] = {}
        for use in facts.uses_between(begin, end):
            for position in range(0 if use.names[0] else 1, len(use.names)):
                for thing in self.names.use(node.path, use, position):
                    for meant in defined(self.names, thing):
                        if isinstance(meant, Variable):
                            targets.update(dict.fromkeys(self.nodes_of(meant)))
        return tuple(target for target in targets if target != node.node)

    def _edges_by_node(self, path: str) -> dict[NodeId, list[Edge]]:
        if path not in self._by_node:
            found = self._by_node[path] = {}
            for edge in self.edges(path):
                source = node_at(self.sources, edge.path, edge.start)
                found.setdefault(source, []).append(edge)
        return self._by_node[path]

    def links_to(self, node: NodeId) -> tuple[Link, ...]:
        """Return the edges that end in a node (a file: in any of its names), from other nodes."""
        return tuple(sorted(set(self._links_to(node)), key=_order))

    def _links_to(self, node: NodeId) -> Iterator[Link]:
        wanted = set(self.variables(node))
        for edge in self._edges_to_file(node.path) if node.is_file else self._edges_to(wanted):
            if edge.target in wanted or (node.is_file and edge.target == Module(node.path)):
                source = node_at(self.sources, edge.path, edge.start)
                if source != node.node and not (node.is_file and source.path == node.path):
                    yield self._link(edge.kind, source, node.node, edge)

    def _edges_to(self, wanted: Iterable[Variable]) -> Iterator[Edge]:
        """Yield every edge that may end in some variables, looking only at what spells them."""
        for variable in wanted:
            for name, paths in self.names.spellings(variable).items():
                for path in paths:
                    facts = self.names.facts(path)
                    if facts is not None:
                        yield from edges_named(self.names, path, facts, name)

    def _edges_to_file(self, path: str) -> Iterator[Edge]:
        """Yield every edge of the files that import a module, or use something of it."""
        paths = {*self._importers(path)}
        for variable in self.variables(NodeId(path)):
            paths.update(reference.path for reference in refer(self.names, variable))
        for other in sorted(paths):
            yield from self.edges(other)

    def _importers(self, path: str) -> list[str]:
        name = self.names.modules.name(path).rpartition(".")[2]
        return self.names.index.mentioning(name) if name else []

    def _link(self, kind: EdgeKind, source: NodeId, target: NodeId, edge: Edge) -> Link:
        line = line_of(self.sources, edge.path, edge.start)
        return Link(kind, source, target, edge.path, edge.start, line, edge.call)


def _order(link: Link) -> tuple[str, int, str, str]:
    return link.path, link.start, str(link.kind), str(link.target)


def graph_of(sources: Sources) -> Graph:
    """Return the graph of a tree, shared by all who ask about the same tree."""
    found = sources.known.get("graph")
    if not isinstance(found, Graph):
        found = sources.known["graph"] = Graph(sources)
    return found
