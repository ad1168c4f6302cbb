"""A run as its record in Git tells it, for the commands that look back."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mak.cli.lines import money
from mak.cli.progress import Progress
from mak.cli.runs import REFUSED, state_of, undoings, when
from mak.errors import StoreError
from mak.events import Event, Spent, WaveCommitted
from mak.model import Outcome, Plan, Reply, RunState, Spend, Task, TaskState, branch_name
from mak.runlog import (
    Meta,
    outcome_from_json,
    outcome_json,
    read_events,
    read_meta,
    read_outcome,
    read_plan,
    read_repairs,
    read_replies,
    spent_json,
)

if TYPE_CHECKING:
    from mak.store import Store


@dataclass(frozen=True, slots=True)
class Record:
    """What is kept of one run. `outcome` is None while it has not ended."""

    meta: Meta
    #: As it was approved; without tasks while it was not.
    plan: Plan
    outcome: Outcome | None
    #: With their times, Unix seconds; empty when the record was read without its details.
    events: tuple[tuple[float, Event], ...] = ()
    #: By task and attempt.
    replies: dict[tuple[str, int], Reply] = field(default_factory=dict)
    #: The commit on this branch that takes it back; empty: there is none.
    undone: str = ""
    #: What was left broken, plan after plan, as it was approved.
    repairs: tuple[Plan, ...] = ()

    @property
    def run(self) -> str:
        """The run's id."""
        return self.meta.run

    @property
    def state(self) -> str:
        """How it ended, or that it did not."""
        return state_of(self.outcome)

    @property
    def is_refused(self) -> bool:
        """Whether it failed before it had a plan to carry out."""
        failed = self.outcome is not None and self.outcome.state is RunState.FAILED
        return failed and not self.plan.tasks

    @property
    def standing(self) -> str:
        """What became of it, for people."""
        if self.undone:
            return "undone"
        return REFUSED if self.is_refused else self.state

    @property
    def waves(self) -> tuple[WaveCommitted, ...]:
        """The commits it made."""
        return tuple(event for _, event in self.events if isinstance(event, WaveCommitted))

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The tasks of all its plans."""
        return tuple(task for plan in (self.plan, *self.repairs) for task in plan.tasks)

    def task(self, task_id: str) -> Task:
        """Return a task of any of its plans; raise KeyError."""
        return {task.id: task for task in self.tasks}[task_id]

    def task_state(self, task: str) -> TaskState:
        """Where a task stands, as far as the record knows."""
        if self.outcome and task in self.outcome.tasks:
            return self.outcome.tasks[task].state
        progress = self.progress()
        if task in progress.active:
            return progress.active[task].state
        return progress.ended.get(task, TaskState.PENDING)

    def progress(self) -> Progress:
        """Replay the events."""
        progress = Progress()
        for at, event in self.events:
            progress.update(event, at)
        return progress

    @property
    def spent(self) -> tuple[Spend, ...]:
        """What its questions took, as far as the record knows."""
        if self.outcome:
            return self.outcome.spent
        told = (event for _, event in self.events if isinstance(event, Spent))
        return tuple(Spend(each.task, each.wave, each.model, each.usage) for each in told)

    def summary(self) -> dict[str, Any]:
        """Return what ``mak log --json`` says of it."""
        return {
            "run": self.run,
            "state": self.state,
            "undone": self.undone,
            "reason": self.outcome.reason if self.outcome else "",
            "request": self.meta.request,
            "branch": self.meta.branch,
            "base": self.meta.base,
            "started": self.meta.started,
            "models": list(self.meta.models),
            "planner": self.meta.planner,
            "tasks": len(self.plan.tasks),
            "done": self._done(),
            "cost": self._usage().cost,
        }

    def document(self) -> dict[str, Any]:
        """Return what ``mak show --json`` says of it."""
        from mak.agents import reply_to_json
        from mak.plan import plan_document

        return {
            **self.summary(),
            "plan": plan_document(self.plan),
            "repairs": [plan_document(plan) for plan in self.repairs],
            "waves": [
                {"commit": w.commit, "subject": w.subject, "tasks": list(w.tasks)}
                for w in self.waves
            ],
            "replies": [
                {"task": task, "attempt": attempt, "reply": reply_to_json(reply)}
                for (task, attempt), reply in sorted(self.replies.items())
            ],
            "usage": dataclasses.asdict(self._usage()),
            "spent": spent_json(self.spent),
            "outcome": outcome_json(self.outcome) if self.outcome else None,
        }

    def row(self, width: int) -> tuple[str, ...]:
        """Return what ``mak log`` says of it, in the last column at most `width` characters."""
        request = " ".join(self.meta.request.split())
        return (
            self.run,
            when(self.meta.started),
            f"{self.standing} on {branch_name(self.meta.branch)}",
            "-" if self.is_refused else f"{self._done()}/{len(self.plan.tasks)}",
            money(self._usage().cost),
            request if len(request) <= width else request[: width - 1] + "…",
        )

    def _done(self) -> int:
        states = [self.task_state(task.id) for task in self.plan.tasks]
        return sum(state in (TaskState.DONE, TaskState.SETTLED) for state in states)

    def _usage(self) -> Any:
        return self.outcome.usage if self.outcome else self.progress().usage


def read_record(
    store: Store, run: str, *, details: bool = False, undone: Mapping[str, str] | None = None
) -> Record:
    """Read the record of a run: with `details` its events and replies too.

    `undone` are the runs that were taken back; None: find out. Raises `StoreError` when there is
    no record that can be read.
    """
    meta = read_meta(store, run)
    if meta is None:
        raise StoreError(f"reading run {run}: its record holds no meta.json")
    if undone is None:
        undone = undoings(store, meta.base)
    data = read_outcome(store, run)
    wanted = details or data is None
    return Record(
        meta=meta,
        plan=read_plan(store, run) or Plan(meta.request, ()),
        outcome=None if data is None else outcome_from_json(data),
        undone=undone.get(run, ""),
        repairs=tuple(plan for plan, _ in read_repairs(store, run)) if wanted else (),
        events=tuple(read_events(store, run)) if wanted else (),
        replies=(
            {key: parked.reply for key, parked in read_replies(store, run).items()}
            if details
            else {}
        ),
    )
