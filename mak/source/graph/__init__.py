"""Who relies on whom: the dependency graph of a tree, resolved by scope and import.

`graph_of` gives the graph of a tree. It holds what is proved and nothing else: a name that could
mean something else, a receiver that is not known, a module that makes its names while it runs, give
no edge. All of it is looked up when asked, from the facts that are cached per blob: a tree that
differs in one file costs that file, and what refers to it.
"""

from mak.source.graph.callable import Callable_, Kind, callable_of
from mak.source.graph.calls import CallSite, Receiver
from mak.source.graph.edges import Edge, EdgeKind
from mak.source.graph.graph import Attribute, Graph, Imported, Link, Override, graph_of
from mak.source.graph.members import Has
from mak.source.graph.reach import MayCall, broken_by, callees, callers, handed_on, impact, may_call

__all__ = [
    "Attribute",
    "CallSite",
    "Callable_",
    "Edge",
    "EdgeKind",
    "Graph",
    "Has",
    "Imported",
    "Kind",
    "Link",
    "MayCall",
    "Override",
    "Receiver",
    "broken_by",
    "callable_of",
    "callees",
    "callers",
    "graph_of",
    "handed_on",
    "impact",
    "may_call",
]
