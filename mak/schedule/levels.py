"""The levels of a plan: how many tasks must be behind a task before it can start."""

from __future__ import annotations

from collections import deque

from mak.errors import MakBug
from mak.model import Plan


def levels(plan: Plan) -> tuple[tuple[str, ...], ...]:
    """Return the task ids by level, in plan order.

    A task is one level above the highest of the tasks it depends on. The plan is acyclic and names
    only tasks that exist; grounding has seen to that.
    """
    waits_for = {task.id: set(task.depends_on) for task in plan.tasks}
    level = dict.fromkeys(waits_for, 0)
    after = dependants(plan)
    left = {task: len(needed) for task, needed in waits_for.items()}
    free = deque(task for task, count in left.items() if not count)
    seen = 0
    while free:
        task = free.popleft()
        seen += 1
        for later in after[task]:
            level[later] = max(level[later], level[task] + 1)
            left[later] -= 1
            if not left[later]:
                free.append(later)
    if seen != len(level):
        stuck = [task for task, count in left.items() if count]
        raise MakBug(f"computing levels: tasks wait for each other: {', '.join(stuck[:5])}")
    found: list[list[str]] = [[] for _ in range(max(level.values(), default=-1) + 1)]
    for task, number in level.items():
        found[number].append(task)
    return tuple(map(tuple, found))


def dependants(plan: Plan) -> dict[str, tuple[str, ...]]:
    """Return, for every task, the tasks that depend on it directly, in plan order."""
    after: dict[str, dict[str, None]] = {task.id: {} for task in plan.tasks}
    if len(after) != len(plan.tasks):
        raise MakBug("computing levels: two tasks of the plan have the same id")
    for task in plan.tasks:
        for needed in task.depends_on:
            if needed not in after:
                raise MakBug(f"computing levels: {task.id} depends on {needed}, which is no task")
            after[needed][task.id] = None
    return {task: tuple(later) for task, later in after.items()}
