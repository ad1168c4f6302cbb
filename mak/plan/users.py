"""Who relies on the nodes that a request names, as lines for a planner."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mak.model import NodeId
from mak.plan.untrusted import one_line
from mak.source import Sources
from mak.source.graph import callers, graph_of, may_call

#: How many nodes are listed for one that is named; the rest is counted.
_LISTED = 30


def users_of(named: Sequence[NodeId], sources: Sources, room: int) -> str:
    """Return a line for each named node with what calls it, as many as fit into `room`.

    Files are left out: what relies on all of a file says nothing. Callers that are only known by
    the name are counted.
    """
    visible = {*sources.visible}
    lines: list[str] = []
    for node in named:
        if node.is_file:
            continue
        line = one_line("".join(_line(node, sources, visible)))
        room -= len(line) + 1
        if room < 0:
            break
        if line:
            lines.append(line)
    return "\n".join(lines)


def _line(node: NodeId, sources: Sources, visible: set[str]) -> Iterator[str]:
    graph = graph_of(sources)
    found = dict.fromkeys(link.source for link in callers(graph, node))
    users = [str(user) for user in found if user.path in visible]
    maybe = {call.node for call in may_call(graph, node) if call.node.path in visible}
    if not users and not maybe:
        return
    yield f"{node} <- "
    yield ", ".join(users[:_LISTED]) or "nobody for certain"
    if len(users) > _LISTED:
        yield f" and {len(users) - _LISTED} more"
    if unsure := len(maybe.difference(found)):
        yield f"; perhaps {unsure} more by the name"
