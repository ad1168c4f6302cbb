"""An interface that an agent was shown changed under it, and its edit still uses the old one.

What no longer fits is found by `mak.checks.call`; here are the uses that still fit and mean another
thing: parameters, or fields of a class, that changed places, a function that is to be awaited now,
a method that became a property or the other way round.
"""

from __future__ import annotations

from collections.abc import Iterator

from mak.checks.change import Change, Check, definitions, is_cut
from mak.checks.interface import Interface, breaks, called, interfaces
from mak.model import Finding, Node, NodeId, NodeKind, Place
from mak.source import SourceFile, Sources
from mak.source.graph import graph_of
from mak.source.graph.construct import maker_of


def _findings(change: Change) -> Iterator[Finding]:
    if change.seen is None or change.trees is None or change.trees.before is None:
        return
    if not change.trees.affected:
        return
    now = change.trees.before.sources
    for path in change.moved():
        was, file = _file(change.seen, path), _file(now, path)
        if not is_cut(was) or not is_cut(file):
            continue
        for definition in definitions(was):
            if definition.node.kind is NodeKind.CLASS:
                both = _made_of_fields(change.seen, now, definition.node.id)
            else:
                both = interfaces(was, file, definition)
            if both is None:
                continue
            seen, interface = both
            node = file.node(definition.node.id)
            there = Place(path, file.code_line(node), node.signature)
            for reference in change.references(called(definition), change.after):
                if reference.node.node not in change.trees.edited or reference.path == path:
                    continue
                if breaks(reference, interface, seen):
                    yield Finding(
                        CHECK.id,
                        reference.node,
                        f"{reference.node} uses {node.id} as it was shown, "
                        f"`{_said(definition.node, seen)}`; meanwhile it is "
                        f"`{_said(node, interface)}` ({path}:{there.line}): use it as it is",
                        related=(there,),
                    )
                    break


def _made_of_fields(seen: Sources, now: Sources, id: NodeId) -> tuple[Interface, Interface] | None:
    """Return how a class is made, then and now, where its fields say so and say another thing."""
    both = []
    for sources in (seen, now):
        graph = graph_of(sources)
        found = [klass for klass in graph.variables(id) if maker_of(graph.names, klass) is True]
        if len(found) != 1 or len(takes := graph.constructor(found[0])) != 1:
            return None
        both.append(Interface(takes[0], takes[0], is_async=False, shapes=frozenset()))
    known, interface = both
    return None if interface.replaces(known) else (known, interface)


def _said(node: Node, interface: Interface) -> str:
    """Return a definition as it is to be used; of a class, the fields that it is made with."""
    if node.kind is not NodeKind.CLASS:
        return node.signature
    parameters = interface.parameters
    return f"{node.names[0]}({', '.join((*parameters.ordered, *parameters.keyword_only))})"


def _file(sources: Sources, path: str) -> SourceFile | None:
    return sources.file(path) if path in sources else None


CHECK = Check("stale-read", "what was shown changed under the edit", _findings, looks_beyond=True)
