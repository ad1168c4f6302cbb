"""``mak graph``: who relies on a node, what it relies on, how far a change of it reaches."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from mak.cli import terminal
from mak.cli.command import EXIT_DONE, Command
from mak.cli.options import add_json, add_work_dir, work_dir
from mak.errors import UsageError
from mak.model import NodeId

if TYPE_CHECKING:
    from mak.source import Sources
    from mak.source.graph import Graph, Link

#: Candidates that are named when an id may mean several nodes.
NAMED = 5


def add_arguments(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("node", metavar="NODE", help="path::name, a dotted name, or a file")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--callers", action="store_true", help="only what relies on it")
    what.add_argument("--callees", action="store_true", help="only what it relies on")
    what.add_argument(
        "--impact", action="store_true", help="everything that relies on it, directly or not"
    )
    add_work_dir(parser)
    add_json(parser)


def run(args: Namespace) -> int:
    """Tell what is proved about one node of the working tree."""
    from mak.cli.comparison import present
    from mak.source.graph import graph_of
    from mak.store import Store

    with Store.open(work_dir(args), write=False) as store:
        sources = present(store)
        node = _find(sources, args.node, store.prefix)
        graph = graph_of(sources)
        parts = [name for name in ("callers", "callees", "impact") if getattr(args, name)]
        document: dict[str, Any] = {"node": str(node), "signature": _signature(sources, node)}
        for part in parts or ["callers", "callees"]:
            document |= _PARTS[part](graph, node)
    if args.json:
        terminal.write_json(document)
    else:
        terminal.write_data("\n".join(terminal.fitting(_lines(document))))
    return EXIT_DONE


def _find(sources: Sources, text: str, prefix: str) -> NodeId:
    """Return the node that is meant; raise `UsageError` that names the nearest ones."""
    from mak.plan.near import Nearby, undecorated

    asked = undecorated(NodeId.parse(text)).node
    for id in (NodeId(f"{prefix}{asked.path}", asked.symbol), asked):
        if id.path in sources and (id.is_file or sources.node(id) is not None):
            return id
    nearby = Nearby(sources)
    meant = tuple(dict.fromkeys(id.node for id in nearby.meant(asked)))
    if len(meant) == 1:
        terminal.write_note(f"{text}: taken as {meant[0]}")
        return meant[0]
    near = meant or nearby.like(asked)
    listed = ", ".join(map(str, near[:NAMED])) + (", …" if len(near) > NAMED else "")
    if meant:
        raise UsageError(f"mak graph: {text} may be any of: {listed}", hint="name one of them")
    advice = f"; did you mean {listed}?" if listed else ""
    raise UsageError(
        f"mak graph: there is no node {text}{advice}", hint="mak nodes PATH lists them"
    )


def _signature(sources: Sources, node: NodeId) -> str:
    found = None if node.is_file else sources.node(node)
    return found.signature if found is not None else ""


# ------------------------------------------------------------------------------------ the parts


def _callers(graph: Graph, node: NodeId) -> dict[str, Any]:
    from mak.source.graph import callers, handed_on, may_call

    maybe = [
        {"node": str(one.node), "path": one.path, "line": one.line, "candidates": one.candidates}
        for one in may_call(graph, node)
    ]
    return {
        "callers": [_link(link, link.source) for link in callers(graph, node)],
        "imports": [_link(link, link.source) for link in handed_on(graph, node)],
        "may_call": maybe,
    }


def _callees(graph: Graph, node: NodeId) -> dict[str, Any]:
    from mak.source.graph import callees

    return {"callees": [_link(link, link.target) for link in callees(graph, node)]}


def _impact(graph: Graph, node: NodeId) -> dict[str, Any]:
    from mak.source.graph import impact

    reached = sorted(impact(graph, node).items(), key=lambda item: (item[1], item[0]))
    return {"impact": [{"node": str(id), "steps": steps} for id, steps in reached]}


_PARTS: dict[str, Callable[[Graph, NodeId], dict[str, Any]]] = {
    "callers": _callers,
    "callees": _callees,
    "impact": _impact,
}


def _link(link: Link, other: NodeId) -> dict[str, Any]:
    return {"kind": str(link.kind), "node": str(other), "path": link.path, "line": link.line}


# ------------------------------------------------------------------------------------ as text


def _lines(document: dict[str, Any]) -> list[str]:
    signature = document["signature"]
    lines = [f"{document['node']}  {signature}".rstrip()]
    for name, title, empty in (
        ("callers", "relies on it", "nothing is known to use it"),
        ("imports", "imports it or lists it in __all__", ""),
        ("callees", "it relies on", "it relies on nothing of the repository"),
    ):
        if name in document and (document[name] or empty):
            links = document[name]
            rows = (
                (f"{link['path']}:{link['line']}", link["kind"], link["node"]) for link in links
            )
            lines += _block(title, rows, len(links), empty)
    if document.get("may_call"):
        found = document["may_call"]
        rows = ((f"{one['path']}:{one['line']}", "?", one["node"]) for one in found)
        lines += _block("may call it, by the name alone", rows, len(found), "")
    if "impact" in document:
        reached = document["impact"]
        steps = ((str(one["steps"]), one["node"]) for one in reached)
        lines += _block("steps to it", steps, len(reached), "nothing is known to rely on it")
    return lines


def _block(title: str, rows: Iterable[tuple[str, ...]], count: int, empty: str) -> list[str]:
    if not count:
        return ["", empty]
    return ["", f"{title} ({count}):", *terminal.columns(rows, indent="  ")]


COMMAND = Command(
    "graph",
    "tell who relies on a node, and what it relies on",
    add_arguments,
    run,
    details="Resolved by scope and import: what cannot be proved is not listed, or marked ?.",
)
