"""What a person took out of a plan: their decision, which no task undoes by asking for more."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from mak.model import NodeId, Plan, Task


def without(plan: Plan, gone: Sequence[Task]) -> Plan:
    """Return a plan that knows of tasks that were dropped from it: what only they were to write."""
    kept = {node for task in plan.tasks for node in (*task.writes, *task.creates)}
    targets = dict.fromkeys(node for task in gone for node in (*task.writes, *task.creates))
    left = (node for node in (*plan.dropped, *targets) if not _is_within(node, kept))
    return replace(plan, dropped=tuple(dict.fromkeys(left)))


def barred(plan: Plan, nodes: Iterable[NodeId]) -> list[NodeId]:
    """Return those of the nodes that are, hold or lie in what a person dropped."""
    dropped = {*plan.dropped}
    return [
        node
        for node in nodes
        if _is_within(node, dropped) or any(_is_within(each, {node}) for each in dropped)
    ]


def _is_within(node: NodeId, others: set[NodeId]) -> bool:
    return not others.isdisjoint((node, node.node, node.api, *node.containers))
