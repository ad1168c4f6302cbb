"""Who runs next: a plan goes in, grants and wave boundaries come out.

The scheduler decides and remembers; it neither runs nor waits for anything. Every task is in one
state at a time, a running task holds all of its locks, and any other task holds none.

A wave is a level of the plan. Its tasks run side by side where their locks allow, otherwise one
after the other; it is complete when each of them is settled, failed or skipped, and the next level
opens when it is committed. Callers rely on `start` and `wave` only, never on which level a task is
in, so that tasks of a later level may be granted before the wave below them is committed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from mak.errors import MakBug
from mak.model import Lock, Plan, TaskState
from mak.schedule.levels import dependants, levels
from mak.schedule.locks import Conflict, LockTable, locks_for, with_intentions
from mak.schedule.queue import Queue


@dataclass(frozen=True, slots=True)
class Wave:
    """Tasks to be committed together."""

    #: Its level, from 0. Numbers rise; one is left out when nothing of its level settled.
    number: int
    #: In plan order; never empty.
    tasks: tuple[str, ...]


class Scheduler:
    """The state of a plan being carried out, at most `capacity` tasks at a time."""

    def __init__(self, plan: Plan, *, capacity: int) -> None:
        if capacity < 1:
            raise MakBug(f"scheduling: capacity is {capacity}")
        self._capacity = capacity
        self._order = tuple(task.id for task in plan.tasks)
        self._position = {task: i for i, task in enumerate(self._order)}
        self._levels = levels(plan)
        self._level_of = {task: n for n, level in enumerate(self._levels) for task in level}
        self._dependants = dependants(plan)
        self._locks = {task.id: locks_for(task) for task in plan.tasks}
        self._table = LockTable()
        self._queue = Queue()
        self._states = dict.fromkeys(self._order, TaskState.PENDING)
        self._reasons: dict[str, str] = {}
        self._because: dict[str, str] = {}
        self._running = 0
        self._elsewhere: set[str] = set()
        #: What the last `start` tried in vain.
        self._refused: dict[str, Conflict] = {}
        #: Queued since the last `start`.
        self._fresh: set[str] = set()
        #: Tasks that have not ended yet, over all and by level; settled ones by level.
        self._unended = len(self._order)
        self._unsettled = [len(level) for level in self._levels]
        self._settled = [0] * len(self._levels)
        self._level = 0
        self._open()

    # -- what is

    @property
    def states(self) -> Mapping[str, TaskState]:
        """Every task's state, in plan order; a live view."""
        return MappingProxyType(self._states)

    @property
    def done(self) -> bool:
        """Whether every task is committed, failed or skipped."""
        return not self._unended

    @property
    def because(self) -> Mapping[str, str]:
        """For every skipped task, the failed task it depends on, directly or not."""
        return MappingProxyType(self._because)

    @property
    def reasons(self) -> Mapping[str, str]:
        """Why each failed task failed and each skipped task was skipped, in words."""
        return MappingProxyType(self._reasons)

    @property
    def levels(self) -> tuple[tuple[str, ...], ...]:
        """The task ids by level, in plan order."""
        return self._levels

    @property
    def has_external(self) -> bool:
        """Whether tasks are set aside because another run holds their locks."""
        return bool(self._elsewhere)

    def locks(self, task: str) -> tuple[Lock, ...]:
        """Return the locks that `task` holds while it runs."""
        return self._locks[task]

    def waiting(self) -> dict[str, Conflict]:
        """Return the ready tasks that a running task's lock holds up, in plan order.

        A task that was not tried yet because all capacity is taken waits for no lock. Costs a look
        at everything that waits; `refused` is what to report from.
        """
        found: dict[str, Conflict] = {}
        for lock, positions in self._queue.lines():
            conflict = self._table.conflict("", (lock,))
            if conflict is not None:
                found.update((self._order[position], conflict) for position in positions)
        for task in self._fresh:
            conflict = self._table.conflict(task, self._locks[task])
            if conflict is not None:
                found[task] = conflict
        ready = filter(self._is_ready, found)
        return {task: found[task] for task in sorted(ready, key=self._position.__getitem__)}

    @property
    def refused(self) -> Mapping[str, Conflict]:
        """The tasks that the last `start` tried in vain: those that began to wait, and the first of
        each line that was let down again.
        """
        return MappingProxyType(self._refused)

    # -- what happens

    def start(self) -> tuple[str, ...]:
        """Grant what can run now, in plan order, and mark it running.

        Granted means: its dependencies are done, its wave is open, it holds all of its locks, and
        at most `capacity` tasks run.
        """
        granted: list[str] = []
        self._fresh.clear()
        self._refused = {}
        while self._running < self._capacity:
            position = self._queue.pop()
            if position is None:
                break
            task = self._order[position]
            if not self._is_ready(task):
                self._queue.left()
                continue
            conflict = self._table.try_acquire(task, self._locks[task])
            if conflict is not None:
                self._refused[task] = conflict
                self._queue.refused(position, conflict.node, conflict.wanted)
                continue
            self._queue.left()
            self._states[task] = TaskState.RUNNING
            self._running += 1
            granted.append(task)
        return tuple(granted)

    def widen(self, task: str, locks: Iterable[Lock]) -> Conflict | None:
        """Give a running task more locks if all of them are free; otherwise say what is in the way.

        It never waits, so it cannot deadlock: a caller that is refused requeues the task.
        """
        self._expect(task, TaskState.RUNNING)
        wider = with_intentions((*self._locks[task], *locks))
        conflict = self._table.try_acquire(task, wider)
        if conflict is None:
            self._locks[task] = wider
        return conflict

    def settle(self, task: str) -> None:
        """Take a task's result into its wave and release its locks.

        The task is running; or pending, when an earlier process of the same run had the result.
        """
        self._expect(task, TaskState.RUNNING, TaskState.PENDING)
        self._stop(task, TaskState.SETTLED)
        self._unsettled[self._level_of[task]] -= 1
        self._settled[self._level_of[task]] += 1

    def fail(self, task: str, reason: str) -> tuple[str, ...]:
        """End a task without a result; return the tasks skipped because of it, in plan order.

        It may be pending, running, or settled in a wave that is not committed.
        """
        state = self._expect(task, TaskState.PENDING, TaskState.RUNNING, TaskState.SETTLED)
        level = self._level_of[task]
        if state is TaskState.SETTLED:
            self._settled[level] -= 1
            self._unsettled[level] += 1
        self._stop(task, TaskState.FAILED)
        self._end(task, reason)
        skipped: list[str] = []
        pending = list(self._dependants[task])
        while pending:
            later = pending.pop()
            if self._states[later] in (TaskState.SKIPPED, TaskState.FAILED):
                continue
            self._expect(later, TaskState.PENDING)
            self._states[later] = TaskState.SKIPPED
            self._because[later] = task
            self._end(later, f"depends on {task}, which failed: {reason}")
            skipped.append(later)
            pending.extend(self._dependants[later])
        self._advance()
        return tuple(sorted(skipped, key=self._position.__getitem__))

    def requeue(self, task: str, locks: Iterable[Lock] | None = None) -> None:
        """Put a running or settled task back in line at its place in the plan, with wider locks.

        It gives up what it holds; `locks`, where given, are what it holds from its next start.
        """
        state = self._expect(task, TaskState.RUNNING, TaskState.SETTLED)
        if state is TaskState.SETTLED:
            self._settled[self._level_of[task]] -= 1
            self._unsettled[self._level_of[task]] += 1
        self._stop(task, TaskState.PENDING)
        if locks is not None:
            self._locks[task] = with_intentions(locks)
        self._push(task)

    def external(self, task: str) -> None:
        """Put a running task aside because another run holds one of its locks."""
        self._expect(task, TaskState.RUNNING)
        self._stop(task, TaskState.PENDING)
        self._elsewhere.add(task)

    def retry_external(self) -> None:
        """Put the tasks set aside by `external` back in line."""
        for task in self._elsewhere:
            self._push(task)
        self._elsewhere.clear()

    def wave(self) -> Wave | None:
        """Return the wave that is complete and not committed; None while there is none."""
        if self._level == len(self._levels) or self._unsettled[self._level]:
            return None
        level = self._levels[self._level]
        return Wave(
            self._level,
            tuple(task for task in level if self._states[task] is TaskState.SETTLED),
        )

    def committed(self, number: int) -> None:
        """Mark the complete wave `number` committed, its tasks done, and open the next level."""
        wave = self.wave()
        if wave is None or wave.number != number:
            raise MakBug(f"scheduling: wave {number} was committed, but {wave} is complete")
        for task in wave.tasks:
            self._states[task] = TaskState.DONE
        self._unended -= len(wave.tasks)
        self._settled[self._level] = 0
        self._advance()

    # -- keeping the books

    def _expect(self, task: str, *states: TaskState) -> TaskState:
        state = self._states[task]
        if state not in states:
            raise MakBug(f"scheduling: {task} is {state}, expected {' or '.join(states)}")
        return state

    def _is_ready(self, task: str) -> bool:
        return self._states[task] is TaskState.PENDING and task not in self._elsewhere

    def _push(self, task: str) -> None:
        self._queue.push(self._position[task])
        self._fresh.add(task)

    def _stop(self, task: str, state: TaskState) -> None:
        if self._states[task] is TaskState.RUNNING:
            self._running -= 1
            self._queue.released(self._table.release(task))
        self._elsewhere.discard(task)
        self._states[task] = state

    def _end(self, task: str, reason: str) -> None:
        self._reasons[task] = reason
        self._unsettled[self._level_of[task]] -= 1
        self._unended -= 1

    def _open(self) -> None:
        """Queue the tasks of the lowest level that has something to run or to commit."""
        while self._level < len(self._levels):
            if self._unsettled[self._level] or self._settled[self._level]:
                break
            self._level += 1
        else:
            return
        for task in self._levels[self._level]:
            if self._states[task] is TaskState.PENDING:
                self._push(task)

    def _advance(self) -> None:
        """Go on to the next level when this one is behind us."""
        here = self._level
        if here < len(self._levels) and not self._unsettled[here] and not self._settled[here]:
            self._open()
