"""How far a change of a node reaches: its callers, what it calls, what would break, who else may.

All of it is proved, except what `may_call` returns: that goes by the name alone, and serves prompts
and lists for people, never a finding.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from mak.model import NodeId
from mak.source.graph.construct import maker_of
from mak.source.graph.edges import EdgeKind
from mak.source.graph.graph import Graph, Link
from mak.source.hierarchy import descendants
from mak.source.names import line_of, node_at
from mak.source.resolve import Thing, Variable

#: Edges by which a name is only handed on.
_HANDED_ON = (EdgeKind.IMPORT, EdgeKind.REEXPORT, EdgeKind.EXPORT)
#: Edges whose source has to follow when a signature changes.
_FOLLOWING = (EdgeKind.CALL, EdgeKind.CONSTRUCT, EdgeKind.PARTIAL, EdgeKind.OVERRIDE)
#: A name that more definitions share than this says nothing.
_COMMON = 8


@dataclass(frozen=True, slots=True)
class MayCall:
    """A call of something of the same name, through a receiver that is not known."""

    node: NodeId
    path: str
    line: int
    #: How many definitions of the repository the name may mean.
    candidates: int


def callers(graph: Graph, node: NodeId) -> tuple[Link, ...]:
    """Return the edges that end in a node, imports not counted, in the order of files.

    Who makes an instance calls the method, or relies on the fields, that it is made with.
    """
    found = {link for link in graph.links_to(node) if link.kind not in _HANDED_ON}
    found.update(_constructions(graph, node))
    return tuple(sorted(found, key=lambda link: (link.path, link.start, str(link.kind))))


def handed_on(graph: Graph, node: NodeId) -> tuple[Link, ...]:
    """Return the imports and the entries of ``__all__`` that name a node, in the order of files."""
    found = {link for link in graph.links_to(node) if link.kind in _HANDED_ON}
    return tuple(sorted(found, key=lambda link: (link.path, link.start, str(link.kind))))


def callees(graph: Graph, node: NodeId) -> tuple[Link, ...]:
    """Return the edges that start in a node, imports not counted, in order."""
    return tuple(link for link in graph.links_from(node) if link.kind not in _HANDED_ON)


def impact(graph: Graph, node: NodeId, *, limit: int = 10_000) -> dict[NodeId, int]:
    """Return every node that relies on a node, directly or not, with the number of steps to it.

    Nodes of one step come first; the node itself is not among them. At most `limit` are returned.
    """
    found: dict[NodeId, int] = {}
    todo = [node.node]
    step = 0
    while todo and len(found) < limit:
        step += 1
        after: list[NodeId] = []
        for one in todo:
            for link in callers(graph, one):
                if link.source not in found and link.source != node.node:
                    found[link.source] = step
                    after.append(link.source)
        todo = after
    return found


def broken_by(graph: Graph, node: NodeId) -> tuple[Link, ...]:
    """Return the edges whose source has to follow when the signature of a node changes.

    Those are its calls, a class's constructions, and methods that override it or that it overrides.
    """
    found = {link for link in callers(graph, node) if link.kind in _FOLLOWING}
    for link in graph.links_from(node):
        if link.kind is EdgeKind.OVERRIDE:
            found.add(Link(link.kind, link.target, link.source, link.path, link.start, link.line))
    return tuple(sorted(found, key=lambda link: (str(link.source), link.start)))


def _constructions(graph: Graph, node: NodeId) -> Iterator[Link]:
    """Yield the constructions of the classes that are made with what a node defines."""
    for klass in _made_with(graph, node):
        for target in graph.nodes_of(klass):
            for link in graph.links_to(target):
                if link.kind is EdgeKind.CONSTRUCT and link.source != node.node:
                    yield replace(link, target=node.node)


def _made_with(graph: Graph, node: NodeId) -> list[Variable]:
    names = graph.names
    found: dict[Variable, None] = {}
    for variable in graph.variables(node):
        facts = names.facts(variable.path)
        holder = facts.definition_of(variable.scope) if facts is not None else None
        if holder is None or not holder.is_class:
            continue
        todo = [Variable(variable.path, holder.holder, holder.name)]
        while todo:
            klass = todo.pop()
            maker = maker_of(names, klass) if klass not in found else None
            if maker == variable or (
                maker is True
                and variable.name in {p for s in graph.constructor(klass) for p in s.names}
            ):
                found[klass] = None
                todo.extend(descendants(names, klass))
    return list(found)


def _is_unknown(graph: Graph, owner: Thing) -> bool:
    """Whether it is not known what a variable holds."""
    return isinstance(owner, Variable) and graph.names.class_of(owner) is None


def may_call(graph: Graph, node: NodeId) -> tuple[MayCall, ...]:
    """Return the calls that go by the name of a node where the receiver is not known.

    Names that few definitions share come first; one that very many share gives nothing.
    """
    names = graph.names
    found: set[MayCall] = set()
    for name in {variable.name for variable in graph.variables(node)}:
        candidates = sum(
            definition.name == name and not definition.is_class
            for path in names.index.mentioning(name)
            if (facts := names.facts(path)) is not None
            for definition in facts.definitions
        )
        if not candidates or candidates > _COMMON or name.startswith("__"):
            continue
        for path in names.index.mentioning(name):
            facts = names.facts(path)
            for use in facts.uses(name) if facts is not None else ():
                last = len(use.names) - 1
                if use.call is None or last == 0 or use.names[last] != name or use.starts[last] < 0:
                    continue
                owners = names.receivers(path, use, last)
                if owners and not any(_is_unknown(graph, owner) for owner in owners):
                    continue
                at = use.starts[last]
                source = node_at(graph.sources, path, at)
                if source != node.node:
                    line = line_of(graph.sources, path, at)
                    found.add(MayCall(source, path, line, candidates))
    return tuple(sorted(found, key=lambda one: (one.candidates, one.path, one.line)))
