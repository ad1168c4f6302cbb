"""What is known of a run from its events so far: who works, who waits, what it used."""

from __future__ import annotations

from dataclasses import dataclass, field

from mak.cli.lines import judging, spec
from mak.events import (
    Event,
    GateRan,
    GateStarted,
    PlanAsked,
    Planned,
    RepairPlanned,
    ReplyParked,
    ReplyRejected,
    Reviewed,
    RunFinished,
    RunStarted,
    Spent,
    TaskFailed,
    TaskHeld,
    TaskSettled,
    TaskSkipped,
    TaskStarted,
    TaskTakenOut,
    TaskWaiting,
    TaskWidened,
    WaveCommitted,
)
from mak.model import TaskState, Usage


@dataclass(slots=True)
class Row:
    """One task that works or waits."""

    task: str
    state: TaskState
    #: What it does, or waits for, in a few words.
    phase: str
    #: When it got into this state, by the caller's clock.
    since: float
    attempt: int = 0
    model: str = ""
    #: The node it works on, or which it waits for; how many more in a task.
    node: str = ""
    #: Which of the agents at work has it, from 1; 0: none.
    agent: int = 0
    usage: Usage = field(default_factory=Usage)


@dataclass(slots=True)
class Progress:
    """Plain state; `update` is its only way to change."""

    run: str = ""
    total: int = 0
    waves: int = 0
    #: What was asked since this process has taken part, answered or not.
    usage: Usage = field(default_factory=Usage)
    #: Tasks that work or wait, in the order in which they were first heard of.
    active: dict[str, Row] = field(default_factory=dict)
    ended: dict[str, TaskState] = field(default_factory=dict)
    #: Subjects of the commits, by commit.
    subjects: dict[str, str] = field(default_factory=dict)
    #: What was corrected in the plan, or is worth a look.
    remarks: tuple[str, ...] = ()
    branch: str = ""
    #: Whether the plan was approved: from there on the run can be recovered.
    approved: bool = False
    #: Whether tasks were taken out at the review.
    dropped: bool = False
    finished: bool = False
    #: What is done beside the tasks, in a few words, and since when; empty: nothing.
    preparing: str = ""
    since: float = 0.0

    def update(self, event: Event, now: float) -> None:
        """Take in one event that happened at `now`."""
        match event:
            case RunStarted(run, branch, _, recovered):
                self.run, self.branch, self.approved = run, branch, recovered
                self._prepare("" if recovered else "reading the repository", now)
            case PlanAsked(model, attempt, _):
                again = f" (attempt {attempt})" if attempt > 1 else ""
                self._prepare(f"{spec(model)} is planning{again}", now)
            case Planned(levels, remarks):
                self.remarks = remarks
                self.total = sum(len(level) for level in levels)
                self.waves = len(levels)
                self.preparing = ""
            case GateStarted(gate, tasks):
                self._prepare(judging(gate, tasks), now)
            case GateRan():
                self.preparing = ""
            case RepairPlanned(_, levels, _):
                self.total += sum(len(level) for level in levels)
                self.waves += len(levels)
            case Reviewed(approved, dropped):
                self.approved = self.approved or approved
                self.total -= len(dropped)
                self.dropped = self.dropped or bool(dropped)
            case TaskWaiting(task, node, holder):
                row = self._row(task, now)
                row.state, row.phase = TaskState.PENDING, "waits:"
                row.node, row.agent = f"{holder} holds {node}", 0
            case TaskStarted(task, attempt, model, nodes):
                row = self._row(task, now)
                row.state, row.since, row.attempt, row.model = (
                    TaskState.RUNNING,
                    now,
                    attempt,
                    model,
                )
                more = f" +{len(nodes) - 1}" if len(nodes) > 1 else ""
                row.phase, row.node = "works on", f"{nodes[0]}{more}" if nodes else ""
                row.agent = row.agent or self._free()
            case ReplyParked(task, _, status, usage):
                row = self._row(task, now)
                row.usage += usage
                row.phase = f"replied {status}"
            case Spent(_, _, _, usage):
                self.usage += usage
            case ReplyRejected(task, _, check, _):
                self._row(task, now).phase = f"refused: {check}"
            case TaskWidened(task, nodes, queued):
                row = self._row(task, now)
                row.phase = f"{'queued' if queued else 'goes on'} for {len(nodes)} more"
            case TaskTakenOut(task, _, check):
                self._row(task, now).phase = f"left out: {check}"
            case TaskHeld(task):
                row = self._row(task, now)
                row.state, row.phase, row.node, row.agent = TaskState.PENDING, "is held", "", 0
            case TaskSettled(task):
                self._end(task, TaskState.SETTLED)
            case TaskFailed(task):
                self._end(task, TaskState.FAILED)
            case TaskSkipped(task):
                self._end(task, TaskState.SKIPPED)
            case WaveCommitted(_, commit, subject, tasks):
                self.subjects[commit] = subject
                for task in tasks:
                    self._end(task, TaskState.DONE)
            case RunFinished():
                self.finished = True
                self.preparing = ""

    def count(self, *states: TaskState) -> int:
        """Return how many tasks ended in one of `states`."""
        return sum(state in states for state in self.ended.values())

    def _prepare(self, what: str, now: float) -> None:
        self.preparing, self.since = what, now

    def _free(self) -> int:
        """Return the lowest number that no agent at work has."""
        taken = {row.agent for row in self.active.values()}
        return next(number for number in range(1, len(taken) + 2) if number not in taken)

    def _row(self, task: str, now: float) -> Row:
        if task not in self.active:
            self.ended.pop(task, None)
            self.active[task] = Row(task, TaskState.PENDING, "", now)
        return self.active[task]

    def _end(self, task: str, state: TaskState) -> None:
        self.active.pop(task, None)
        self.ended[task] = state
