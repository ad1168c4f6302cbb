"""What stands around a task's own nodes, as the graph and the plan know it.

In this order, while the budget lasts: what the tasks it depends on have built, callers that have to
follow when the task changes an interface, and the interfaces that its own nodes use. Sources come
first; what does not fit as source is shown as its signature.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mak.agents.assignment import Slot
from mak.model import Aspect, NodeId, NodeKind

if TYPE_CHECKING:
    from mak.source.graph import Graph
    from mak.source.tree import Sources

#: Shares of the room that is left which the sources of a layer may take.
_BUILT = 1 / 2
_CALLERS = 1 / 2
#: How many nodes of one layer are shown.
_MOST = 60

#: Returns a node with its text, or with ``#api`` and its signature, in so many bytes.
Read = Callable[[NodeId, int], tuple[NodeId, str]]
#: Returns the signature of a node (``#all``: of a class and its members), in so many bytes.
Sign = Callable[[NodeId, int], str]


@dataclass(frozen=True, slots=True)
class Layer:
    """Nodes that are shown for one reason."""

    name: str
    shown: tuple[tuple[NodeId, str], ...]

    @property
    def size(self) -> int:
        """Bytes of text."""
        return sum(map(_size, (text for _, text in self.shown)))


def around(
    slots: Sequence[Slot],
    built: Iterable[NodeId],
    sources: Sources,
    read: Read,
    sign: Sign,
    room: int,
    known: set[NodeId],
) -> Iterator[Layer]:
    """Yield the layers around a task's own nodes; `known` nodes are shown already."""
    layer = Layer("built", tuple(_built(built, sources, read, room, known)))
    yield layer
    room -= layer.size
    if not any(slot.exists and slot.node.path.endswith((".py", ".pyi")) for slot in slots):
        yield from (Layer("callers", ()), Layer("interfaces", ()))
        return
    from mak.source.graph import graph_of

    graph = graph_of(sources)
    callers = (node for node in _callers(graph, slots) if node not in known)
    layer = Layer("callers", tuple(_fitting(callers, read, room, _CALLERS, known)))
    yield layer
    room -= layer.size
    yield Layer("interfaces", tuple(_interfaces(graph, slots, sign, room, known)))


def _built(
    nodes: Iterable[NodeId], sources: Sources, read: Read, room: int, known: set[NodeId]
) -> Iterator[tuple[NodeId, str]]:
    there: list[NodeId] = []
    for node in dict.fromkeys(node.node for node in nodes):
        if node in known:
            continue
        if _exists(sources, node):
            there.append(node)
        else:
            known.add(node)
            yield node.api, "# is not there any more"
    yield from _fitting(there, read, room, _BUILT, known)


def _fitting(
    nodes: Iterable[NodeId], read: Read, room: int, share: float, known: set[NodeId]
) -> Iterator[tuple[NodeId, str]]:
    """Yield sources while they fit into a share of the room, then signatures while those do."""
    for_sources = int(room * share)
    for number, node in enumerate(nodes):
        if number == _MOST:
            return
        shown, text = read(node, for_sources)
        is_source = shown.aspect is not Aspect.API
        if is_source:
            for_sources -= _size(text)
        room -= _size(text)
        if (text or is_source) and (room >= 0 or number == 0):
            known.add(node)
            yield shown, text


def _callers(graph: Graph, slots: Sequence[Slot]) -> Iterator[NodeId]:
    """Yield who has to follow when the interfaces that the task may change do."""
    from mak.source.graph import broken_by

    found: dict[NodeId, None] = {}
    for slot in slots:
        if slot.exists and slot.api and not slot.node.is_file:
            found.update(dict.fromkeys(link.source for link in broken_by(graph, slot.node.node)))
    yield from found


def _interfaces(
    graph: Graph, slots: Sequence[Slot], sign: Sign, room: int, known: set[NodeId]
) -> Iterator[tuple[NodeId, str]]:
    """Yield the signatures of what the task's nodes use in other files."""
    own = {slot.node.path for slot in slots}
    found: dict[NodeId, None] = {}
    for slot in slots:
        if slot.exists:
            for node in graph.uses_of(slot.node):
                if node.path not in own and node not in known and not node.is_file:
                    found[node] = None
    for node in list(found)[:_MOST]:
        if any(outer.node in found for outer in node.containers if outer.node != node):
            continue  # it is listed with its class
        wanted = node
        held = graph.sources.node(node)
        if held is not None and held.kind is NodeKind.CLASS:
            wanted = NodeId(node.path, node.symbol, Aspect.ALL)
        text = sign(wanted, room)
        room -= _size(text)
        if room < 0:
            return
        if text:
            known.add(node)
            yield node.api, text


def _exists(sources: Sources, node: NodeId) -> bool:
    return node.path in sources and (node.is_file or sources.node(node) is not None)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
