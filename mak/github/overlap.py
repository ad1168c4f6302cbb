"""What open runs are to write that another writes too: told before somebody approves either."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from mak.github.state import Overlap, Proposal, RunState
from mak.model import Aspect, NodeId, Plan
from mak.plan import parse_plan


def touched(plan: Plan) -> tuple[NodeId, ...]:
    """Return what the tasks of a plan write and create, each once, in the plan's order."""
    return tuple(
        dict.fromkeys(node for task in plan.tasks for node in (*task.writes, *task.creates))
    )


def overlaps(
    nodes: Iterable[NodeId], others: Iterable[tuple[RunState, Proposal]]
) -> tuple[Overlap, ...]:
    """Return which other runs write what `nodes` are, hold or lie in; by run.

    `others` are open runs of the same base with what they offered, repairs too where there are
    some. What is named is the narrower of two nodes: with a whole file or a class (``#all``), its
    member. Nodes that only grow are named like all others: runs do not merge each other's edits. A
    run that was asked for as a plan only writes nothing.
    """
    mine = _by_path(nodes)
    found: dict[str, tuple[RunState, set[NodeId]]] = {}
    for state, proposal in others:
        if state.plan_only:
            continue
        for path, theirs in _by_path(touched(parse_plan(proposal.plan))).items():
            shared = _shared(mine.get(path, frozenset()), theirs)
            if shared:
                found.setdefault(state.run, (state, set()))[1].update(shared)
    return tuple(
        Overlap(run, state.issue, state.requester.login, tuple(map(str, sorted(nodes))))
        for run, (state, nodes) in sorted(found.items())
    )


def _by_path(nodes: Iterable[NodeId]) -> dict[str, frozenset[NodeId]]:
    found: dict[str, set[NodeId]] = defaultdict(set)
    for node in nodes:
        found[node.path].add(node if node.aspect is Aspect.ALL else node.node)
    return {path: frozenset(nodes) for path, nodes in found.items()}


def _shared(mine: frozenset[NodeId], theirs: frozenset[NodeId]) -> set[NodeId]:
    """Return those of either that are the other's, or lie inside of one of the other's."""
    return {
        *(mine & theirs),
        *(node for node in mine if not theirs.isdisjoint(node.containers)),
        *(node for node in theirs if not mine.isdisjoint(node.containers)),
    }
