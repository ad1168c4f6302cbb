"""Where the tasks of one plan stand, and the moves that change that: ask again, fail, build anew.

A wave's tasks build one draft. `Board` holds the tables; what to do next is for those above it
to decide (`mak.admission`, `mak.waves`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from mak import events, repair
from mak.agents import Agent, open_agents
from mak.asking import Desk, Turn
from mak.assembly import Settled, assemble
from mak.claims import Claims
from mak.judge import (
    MERGE,
    Planned,
)
from mak.landing import sources_at
from mak.locking import locker
from mak.model import (
    NodeId,
    Obligation,
    Plan,
    Reply,
    RunState,
    Spend,
    Task,
    TaskOutcome,
    TaskState,
    Usage,
)
from mak.plan import due
from mak.repair import Left
from mak.run import Run, Stop
from mak.schedule import Scheduler, locks_for
from mak.source import Draft

#: Why an answer is turned down that another one may follow though the task is the same: what it
#: was given has changed.
MOVES = frozenset((MERGE, "moved", "stale"))


class Board:
    """One plan and its tasks; `first` is the number of its first wave in the run."""

    def __init__(self, run: Run, plan: Plan, *, first: int, kind: str) -> None:
        self.run = run
        self.store, self.log, self.config = run.store, run.log, run.config
        self.plan = plan
        self.first = first
        run.goals.update((task.id, task.goal) for task in plan.tasks)
        self.kind = kind
        #: Why no more tasks are started; empty: they are.
        self.halted = ""
        self.tip = self.store.tip()
        self.draft = Draft(sources_at(self.store, self.tip))
        self.locks = locker(plan.tasks, self.draft.base, run.locking)
        self.scheduler = Scheduler(plan, capacity=run.max_agents, locks=self.locks)
        #: The place of each task among those whose edits meet: no later level below an earlier.
        order = [task for level in self.scheduler.levels for task in level]
        self.ranks = {task: rank for rank, task in enumerate(order)}
        specs = sorted({task.model for task in plan.tasks if task.model})
        opened = open_agents(specs, run.reach) if specs else ()
        pinned = dict(zip(specs, opened, strict=True))
        dues = due(plan, run.before)
        self.turns = {
            task.id: self._turn(
                task,
                pinned.get(task.model) or run.agents[i % len(run.agents)],
                (*task.obligations, *dues.get(task.id, ())),
            )
            for i, task in enumerate(plan.tasks)
        }
        self.desk = Desk(
            run.log, run.group, run.parked, self.turns, run.config.timeouts.task, self._spend
        )
        #: The same for every task, so that endpoints can cache what begins a prompt.
        self.peers = tuple(task.goal for task in plan.tasks)
        self.settled: dict[str, Settled] = {}
        #: Those of later levels, while an earlier one is being committed.
        self.ahead: dict[str, Settled] = {}
        #: Accepted answers that change nothing, of tasks whose wave is not over.
        self.unchanged: dict[str, Reply] = {}
        #: What each task has changed, as its accepted reply says.
        self.made: dict[str, tuple[NodeId, ...]] = {}
        #: Tasks that ended because of what they would break.
        self.left: dict[str, list[Left]] = {}
        self.planned = Planned(plan.tasks)
        self.claims = Claims(self.store, self.log, self.scheduler)
        #: Tasks that another process was in the way of.
        self.set_aside: set[str] = set()
        #: Tasks whose model cannot be asked until a person has done something about it.
        self.held: list[str] = []

    def _turn(self, task: Task, agent: Agent, owes: tuple[Obligation, ...]) -> Turn:
        """Return the first turn of a task; a repair goes on from what was turned down."""
        turn = Turn(task, agent, owes)
        if any(not each.landed for each in task.obligations):
            parked = self.run.parked
            last = max((n for name, n in parked if name == task.repairs), default=0)
            if last:
                turn.draft = parked[task.repairs, last].reply
                turn.retry = "; ".join(f"{o.check}: {o.subject}" for o in task.obligations)
        return turn

    def _spend(self, turn: Turn, usage: Usage, model: str) -> None:
        turn.usage += usage
        if usage.calls:
            task = turn.task.id
            wave = self.first + self.scheduler.level_of(task) + 1
            self.run.spent.append(Spend(task, wave, model, usage))
            self.log.emit(events.Spent(task, wave, model, usage))

    # ------------------------------------------------------------------------ moves

    def _again(self, task: str, reply: Reply, check: str, reason: str) -> None:
        turn = self.turns[task]
        turn.rejected += 1
        self.log.emit(events.ReplyRejected(task, turn.asked, check, reason))
        is_same = turn.agent.is_steady and check not in MOVES
        if turn.rejected >= self.config.attempts or is_same:
            self._leave(task, [(check, reason, "")])
            times = f" (asked {turn.rejected} times)" if turn.rejected > 1 else ""
            self._fail(task, f"{reason}{times}")
            return
        turn.retry, turn.draft = reason, reply
        self.planned.put(turn.task)
        locks = locks_for(turn.task) if turn.alone else None
        for other in self.scheduler.requeue(task, locks):
            self._undo(other, task)

    def _undo(self, task: str, below: str) -> None:
        """Ask a settled task again, since one that it builds on is asked again."""
        turn = self.turns[task]
        entry = self.settled.pop(task, None) or self.ahead.pop(task, None)
        turn.draft = entry.reply if entry else self.unchanged.pop(task)
        turn.retry = f"{below}, on which this builds, is being changed; here it is as it is now"
        self.log.emit(events.ReplyRejected(task, turn.asked, "built-on", turn.retry))
        self.planned.put(turn.task)

    def _fail(self, task: str, reason: str) -> None:
        self.turns[task].reason = reason
        self.settled.pop(task, None)
        self.unchanged.pop(task, None)
        self.planned.drop(task)
        skipped = self.scheduler.fail(task, reason)
        self.log.emit(events.TaskFailed(task, reason))
        for other in skipped:
            self.settled.pop(other, None)
            self.unchanged.pop(other, None)
            self.claims.drop(other)
            self.planned.drop(other)
            self.turns[other].reason = skipped_for(task)
            self.log.emit(events.TaskSkipped(other, task))
        self.claims.drop(task)
        if self.plan.atomic:
            raise Stop(
                RunState.FAILED,
                f"{task} failed, and this plan lands as a whole or not at all",
            )

    def _leave(
        self,
        task_id: str,
        told: Sequence[tuple[str, str, str]],
        obligation: Obligation | None = None,
    ) -> None:
        """Note what a task is left out for: all of it, or of a repair what it was to put right."""
        task, attempt = self.turns[task_id].task, self.turns[task_id].asked
        found = []
        for check, subject, evidence in told:
            debts = [obligation] if obligation else self._owing(task, check)
            for each in debts:
                new = replace(each, subject=subject, evidence=evidence or each.evidence)
                found.append(Left(new, task))
            if debts:
                self.log.emit(events.TaskTakenOut(task_id, attempt, check, subject, evidence))
        if found:
            self.left[task_id] = found

    def _owing(self, task: Task, check: str) -> list[Obligation]:
        """Return what a task owes that a check has found something again."""
        if not task.obligations and check.startswith("gate:"):
            return [Obligation(check, "", None, task.creates, landed=False)]
        return [e for e in self.turns[task.id].owes if repair.is_alike(e.check, check)]

    def _rebuild(self) -> bool:
        """Apply the accepted replies to the branch as it is; False: some are asked again."""
        self.tip = self.store.tip()
        base, fits = sources_at(self.store, self.tip), True
        while True:
            self.draft, misfits = assemble(base, self.settled)
            if not misfits:
                return fits
            fits = False
            for task, why in misfits.items():
                if task in self.settled:
                    reply = self.settled.pop(task).reply
                    self._again(task, reply, "moved", f"the branch moved under the edit: {why}")

    # ------------------------------------------------------------------------ how it stands

    def outcomes(self, ended: bool, reason: str) -> dict[str, TaskOutcome]:
        """Return how the plan's tasks stand; `reason` is why those that are not done did not."""
        states = self.scheduler.states
        return {
            task: TaskOutcome(
                _final(states[task], ended),
                turn.asked,
                turn.reason or (reason if _final(states[task], ended) is TaskState.FAILED else ""),
                turn.usage,
            )
            for task, turn in self.turns.items()
        }

    def used(self) -> Iterator[tuple[str, int]]:
        """Yield the answers, by task and attempt, that are in a commit or needed none."""
        for task, state in self.scheduler.states.items():
            if state is TaskState.DONE:
                yield task, self.turns[task].asked

    def release(self) -> None:
        """Give up all claims."""
        self.claims.release()


def skipped_for(because: str) -> str:
    """Return the reason of a task that was not begun, or not kept, because another one failed."""
    return f"{because}, on which it depends, failed"


def _final(state: TaskState, ended: bool) -> TaskState:
    """Return how a task ended when its run did; an unfinished run keeps states as they are."""
    if ended and state not in (TaskState.DONE, TaskState.SKIPPED):
        return TaskState.FAILED
    return state
