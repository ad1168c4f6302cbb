"""Who runs next: a plan goes in, grants and wave boundaries come out.

The scheduler decides and remembers; it neither runs nor waits for anything. Every task is in one
state at a time, a running task holds all of its locks, and any other task holds none.

A wave is a level of the plan, and a boundary of commits, not a barrier. A task may start as soon as
what it depends on is settled, its locks are free, and no unsettled task of an earlier level wants a
lock that excludes one of its own; so nothing of a later level gets in the way of an earlier one. A
wave is complete when every task up to its level is settled, failed or skipped.

Tasks that hold up most start first (see `mak.schedule.order`). Who is passed over `PATIENCE` times
gets a reservation: it blocks new grants that exclude it, except to earlier levels, and never takes
anything from a holder. Reservations never exclude each other, so that none waits for another.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from mak.errors import MakBug
from mak.model import Lock, Plan, TaskState
from mak.schedule.levels import dependants, levels
from mak.schedule.locks import Conflict, Locker, LockTable, locks_for, with_intentions
from mak.schedule.order import order
from mak.schedule.queue import Queue
from mak.schedule.wants import Wants

#: How often others may be granted what a waiting task wants, before it gets a reservation.
PATIENCE = 5


@dataclass(frozen=True, slots=True)
class Wave:
    """Tasks to be committed together."""

    #: Its level, from 0. Numbers rise; one is left out when nothing of its level settled.
    number: int
    #: In plan order; never empty.
    tasks: tuple[str, ...]


class Scheduler:
    """The state of a plan being carried out, at most `capacity` tasks at a time."""

    def __init__(self, plan: Plan, *, capacity: int, locks: Locker = locks_for) -> None:
        if capacity < 1:
            raise MakBug(f"scheduling: capacity is {capacity}")
        self._capacity = capacity
        self._tasks = tuple(task.id for task in plan.tasks)
        self._place = {task: i for i, task in enumerate(self._tasks)}
        self._levels = levels(plan)
        self._level_of = {task: n for n, level in enumerate(self._levels) for task in level}
        self._dependants = dependants(plan)
        self._needed = {task.id: task.depends_on for task in plan.tasks}
        self._locks = {task.id: locks(task) for task in plan.tasks}
        #: The tasks in the order in which they are tried, and where each is in it.
        self._order = order(self._tasks, self._locks, self._dependants, self._levels)
        self._position = {task: i for i, task in enumerate(self._order)}
        self._table = LockTable()
        self._wants = Wants(self._level_of, self._locks) if len(self._levels) > 1 else None
        #: Who is served next, whatever else would be: each with a table of its locks.
        self._reserved: dict[str, LockTable] = {}
        #: For tasks that were refused: the grants before, and how often they were passed over.
        self._passes: dict[str, tuple[int, int]] = {}
        #: Grants are counted; when each task had its last.
        self._clock = 0
        self._granted_at: dict[str, int] = {}
        self._queue = Queue()
        self._states = dict.fromkeys(self._tasks, TaskState.PENDING)
        self._reasons: dict[str, str] = {}
        self._because: dict[str, str] = {}
        self._running = 0
        self._elsewhere: set[str] = set()
        self._held: set[str] = set()
        #: What the last `start` tried in vain.
        self._refused: dict[str, Conflict] = {}
        #: Queued since the last `start`.
        self._fresh: set[str] = set()
        #: What a task depends on and is not settled, counted.
        self._left = {task: len(set(needed)) for task, needed in self._needed.items()}
        #: Tasks that have not ended yet, over all and by level; settled ones by level.
        self._unended = len(self._tasks)
        self._unsettled = [len(level) for level in self._levels]
        self._settled = [0] * len(self._levels)
        self._level = 0
        for task, left in self._left.items():
            if not left:
                self._push(task)

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

    @property
    def is_stuck(self) -> bool:
        """Whether tasks are held, and nothing else can run or be committed before they are done."""
        return bool(self._held) and not (self._running or self._elsewhere or self.wave())

    @property
    def rests(self) -> bool:
        """Whether nothing runs, here or elsewhere, and no wave can be committed."""
        return not (self._running or self._elsewhere or self.wave())

    def level_of(self, task: str) -> int:
        """Return the level of a task, from 0."""
        return self._level_of[task]

    def locks(self, task: str) -> tuple[Lock, ...]:
        """Return the locks that `task` holds while it runs."""
        return self._locks[task]

    def waiting(self) -> dict[str, Conflict]:
        """Return the ready tasks that something holds up, in plan order.

        That is a running task's lock, a task of an earlier level, or one that is served first.

        A task that was not tried yet because all capacity is taken waits for no lock. Costs a look
        at everything that waits; `refused` is what to report from.
        """
        lined = {self._order[position] for position in self._queue.lined()}
        found = {
            task: conflict
            for task in lined | self._fresh
            if self._is_ready(task) and (conflict := self._conflict(task)) is not None
        }
        return {task: found[task] for task in sorted(found, key=self._place.__getitem__)}

    @property
    def refused(self) -> Mapping[str, Conflict]:
        """The tasks that the last `start` tried in vain: those that began to wait, and the first of
        each line that was let down again.
        """
        return MappingProxyType(self._refused)

    # -- what happens

    def start(self, levels: int | None = None) -> tuple[str, ...]:
        """Grant what can run now, and mark it running; in the order in which it was tried.

        Granted means: its dependencies are settled, it holds all of its locks, nothing of an
        earlier level wants them, and at most `capacity` tasks run. With `levels` only the first so
        many are begun from now on; who says so may say fewer later, never more.
        """
        granted: list[str] = []
        self._fresh.clear()
        self._refused = {}
        while self._running < self._capacity:
            position = self._queue.pop()
            if position is None:
                break
            task = self._order[position]
            late = levels is not None and self._level_of[task] >= levels
            if late or not self._is_ready(task):
                self._queue.left()
                continue
            conflict = self._conflict(task)
            if conflict is not None:
                self._refused[task] = conflict
                held = self._states[conflict.owner] is TaskState.RUNNING
                level = None if held else self._level_of[task]
                self._queue.refused(position, conflict.node, conflict.wanted, level)
                self._passed_over(task, conflict.owner)
                continue
            self._queue.left()
            self._grant(task)
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
            self._lock_as(task, wider)
        return conflict

    def stands(self, task: str) -> bool:
        """Whether everything that `task` depends on is settled or committed."""
        return not self._left[task]

    def settle(self, task: str) -> None:
        """Take a task's result into its wave and release its locks.

        The task is running; or pending, when an earlier process of the same run had the result.
        What it depends on is settled (see `stands`).
        """
        self._expect(task, TaskState.RUNNING, TaskState.PENDING)
        if not self.stands(task):
            raise MakBug(f"scheduling: {task} is settled before what it depends on")
        self._stop(task, TaskState.SETTLED)
        self._unsettled[self._level_of[task]] -= 1
        self._settled[self._level_of[task]] += 1
        self._wants_no_more(task)
        for later in self._dependants[task]:
            self._left[later] -= 1
            if not self._left[later] and self._is_ready(later):
                self._push(later)

    def fail(self, task: str, reason: str) -> tuple[str, ...]:
        """End a task without a result; return the tasks skipped because of it, in plan order.

        It may be pending, running, or settled in a wave that is not committed. What depends on it
        may have been running or settled; its result is then worth nothing.
        """
        self._expect(task, TaskState.PENDING, TaskState.RUNNING, TaskState.SETTLED)
        self._finish(task, TaskState.FAILED, reason)
        skipped: list[str] = []
        pending = list(self._dependants[task])
        while pending:
            later = pending.pop()
            if self._states[later] in (TaskState.SKIPPED, TaskState.FAILED):
                continue
            self._expect(later, TaskState.PENDING, TaskState.RUNNING, TaskState.SETTLED)
            self._because[later] = task
            self._finish(later, TaskState.SKIPPED, f"depends on {task}, which failed: {reason}")
            skipped.append(later)
            pending.extend(self._dependants[later])
        self._advance()
        return tuple(sorted(skipped, key=self._place.__getitem__))

    def requeue(self, task: str, locks: Iterable[Lock] | None = None) -> tuple[str, ...]:
        """Put a running or settled task back in line, with wider locks.

        It gives up what it holds; `locks`, where given, are what it holds from its next start.
        Settled tasks that depend on it are pending again, and returned in plan order; running ones
        go on, but do not stand until it is settled anew.
        """
        self._expect(task, TaskState.RUNNING, TaskState.SETTLED)
        undone = self._undo(task)
        if locks is not None:
            self._lock_as(task, with_intentions(locks))
        if self.stands(task):
            self._push(task)
        return tuple(sorted(undone, key=self._place.__getitem__))

    def external(self, task: str) -> None:
        """Put a running task aside because another run holds one of its locks."""
        self._expect(task, TaskState.RUNNING)
        self._stop(task, TaskState.PENDING)
        self._elsewhere.add(task)

    def retry_external(self) -> None:
        """Put the tasks set aside by `external` back in line."""
        elsewhere, self._elsewhere = self._elsewhere, set()
        for task in elsewhere:
            if self.stands(task):
                self._push(task)

    def hold(self, task: str) -> None:
        """Put a running task aside for good: in this process nobody can do it."""
        self._expect(task, TaskState.RUNNING)
        self._stop(task, TaskState.PENDING)
        self._held.add(task)

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
        """Mark the complete wave `number` committed and its tasks done."""
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
        return (
            self._states[task] is TaskState.PENDING
            and not self._left[task]
            and task not in self._elsewhere
            and task not in self._held
        )

    def _push(self, task: str) -> None:
        self._queue.push(self._position[task])
        self._fresh.add(task)

    def _conflict(self, task: str) -> Conflict | None:
        """Return what keeps a ready task from its locks."""
        locks, level = self._locks[task], self._level_of[task]
        conflict = self._table.conflict(task, locks)
        if conflict is None and self._wants is not None and level > self._level:
            conflict = self._wants.ahead(task, locks)
        for served in self._reserved if conflict is None else ():
            if self._level_of[served] <= level and served != task:
                conflict = conflict or self._reserved[served].conflict(task, locks)
        return conflict

    def _grant(self, task: str) -> None:
        self._table.try_acquire(task, self._locks[task])
        self._reserved.pop(task, None)
        self._passes.pop(task, None)
        self._states[task] = TaskState.RUNNING
        self._running += 1
        self._clock += 1
        self._granted_at[task] = self._clock

    def _passed_over(self, task: str, owner: str) -> None:
        """Count who holds what a waiting task wants and came after it; reserve when it is enough.

        A reservation that excludes an older one has to wait.
        """
        since, count = self._passes.setdefault(task, (self._clock, 0))
        if self._states[owner] is not TaskState.RUNNING or self._granted_at[owner] <= since:
            return
        self._passes[task] = since, count + 1
        locks = self._locks[task]
        if count + 1 < PATIENCE or task in self._reserved:
            return
        if all(table.conflict(task, locks) is None for table in self._reserved.values()):
            self._reserved[task] = LockTable()
            self._reserved[task].try_acquire(task, locks)

    def _stop(self, task: str, state: TaskState) -> None:
        """Let a task hold and reserve nothing."""
        if self._states[task] is TaskState.RUNNING:
            self._running -= 1
            self._queue.released(self._table.release(task))
        if task in self._reserved:
            self._queue.released(self._reserved.pop(task).release(task))
        self._passes.pop(task, None)
        self._elsewhere.discard(task)
        self._held.discard(task)
        self._states[task] = state

    def _undo(self, task: str) -> list[str]:
        """Make a running or settled task pending, and what is settled on top of it; return that."""
        undone: list[str] = []
        if self._states[task] is TaskState.SETTLED:
            self._settled[self._level_of[task]] -= 1
            self._unsettled[self._level_of[task]] += 1
            if self._wants is not None:
                self._wants.add(task, self._locks[task])
            for later in self._dependants[task]:
                self._left[later] += 1
                if self._states[later] is TaskState.SETTLED:
                    undone += (later, *self._undo(later))
        self._stop(task, TaskState.PENDING)
        return undone

    def _finish(self, task: str, state: TaskState, reason: str) -> None:
        """End a task without a result."""
        if self._states[task] is TaskState.SETTLED:
            self._settled[self._level_of[task]] -= 1
        else:
            self._unsettled[self._level_of[task]] -= 1
            self._wants_no_more(task)
        self._stop(task, state)
        self._reasons[task] = reason
        self._unended -= 1

    def _lock_as(self, task: str, locks: tuple[Lock, ...]) -> None:
        if self._wants is not None:
            self._wants.drop(task, self._locks[task])
            self._wants.add(task, locks)
            self._queue.released(self._locks[task])
        self._locks[task] = locks

    def _wants_no_more(self, task: str) -> None:
        """Let go on whom an unsettled task kept waiting, whether or not it held anything."""
        if self._wants is not None:
            self._wants.drop(task, self._locks[task])
            self._queue.released(self._locks[task])

    def _advance(self) -> None:
        """Go on to the lowest level that has something to run or to commit."""
        while self._level < len(self._levels):
            if self._unsettled[self._level] or self._settled[self._level]:
                break
            self._level += 1
