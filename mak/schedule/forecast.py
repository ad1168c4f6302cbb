"""What a plan will take: a run of the real scheduler on a clock of its own."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass

from mak.model import Mode, NodeId, Plan
from mak.schedule.levels import levels
from mak.schedule.locks import Locker, locks_for
from mak.schedule.scheduler import Scheduler


@dataclass(frozen=True, slots=True)
class Forecast:
    """How a plan is carried out when every task takes as long as it is said to take."""

    #: From the first start to the last end, and the longest chain of dependencies; in the unit of
    #: the durations.
    makespan: float
    critical: float
    #: All durations together.
    work: float
    #: The longest line of tasks that exclude each other at one node.
    line: float
    #: Rounds: the makespan when every task takes one.
    rounds: int

    @property
    def least(self) -> float:
        """What no order of the tasks can be under, as far as chains and lines tell."""
        return max(self.critical, self.line)

    @property
    def speedup(self) -> float:
        """How much sooner it is done than by one agent; 1 for a plan without work."""
        return self.work / self.makespan if self.makespan else 1.0


def forecast(
    plan: Plan,
    *,
    capacity: int,
    locks: Locker = locks_for,
    duration: Callable[[str], float] = lambda task: 1.0,
) -> Forecast:
    """Carry out `plan` with `capacity` agents; `duration` gives the time of a task by its id."""
    took = {task.id: duration(task.id) for task in plan.tasks}
    makespan = _makespan(plan, capacity, locks, took)
    even = dict.fromkeys(took, 1.0)
    rounds = makespan if took == even else _makespan(plan, capacity, locks, even)
    work = sum(took.values())
    return Forecast(makespan, _critical(plan, took), work, _line(plan, locks, took), round(rounds))


def _makespan(plan: Plan, capacity: int, locks: Locker, took: dict[str, float]) -> float:
    scheduler = Scheduler(plan, capacity=capacity, locks=locks)
    now = 0.0
    running: list[tuple[float, int, str]] = []
    place = {task: i for i, task in enumerate(took)}
    while not scheduler.done:
        for task in scheduler.start():
            heapq.heappush(running, (now + took[task], place[task], task))
        while (wave := scheduler.wave()) is not None:
            scheduler.committed(wave.number)
        if running:
            now, _, task = heapq.heappop(running)
            scheduler.settle(task)
            while running and running[0][0] == now:
                scheduler.settle(heapq.heappop(running)[2])
    return now


def _critical(plan: Plan, took: dict[str, float]) -> float:
    end: dict[str, float] = {}
    needed = {task.id: task.depends_on for task in plan.tasks}
    for level in levels(plan):
        for task in level:
            end[task] = took[task] + max((end[other] for other in needed[task]), default=0.0)
    return max(end.values(), default=0.0)


def _line(plan: Plan, locks: Locker, took: dict[str, float]) -> float:
    lines: dict[NodeId, float] = {}
    for task in plan.tasks:
        for lock in locks(task):
            if lock.mode is Mode.X:
                lines[lock.node] = lines.get(lock.node, 0.0) + took[task.id]
    return max(lines.values(), default=0.0)
