"""Do what people have said at an issue or its pull request, as far as it goes until one decides."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from action.job import Inputs, Job, event
from action.place import site
from mak.errors import MakError
from mak.github import events, messages
from mak.github.engine import reconcile
from mak.github.hearing import decline
from mak.github.ledger import Held
from mak.github.places import issue_of, under_way
from mak.github.redaction import redact
from mak.github.site import Site
from mak.github.state import Phase, RunState

#: GitHub shows no more of one kind in a step.
_MOST_ANNOTATIONS = 10
_ELSEWHERE = (
    "a run begins at an issue: comment there. On a pull request I only hear what is said of the "
    "run that it came of."
)
#: Of what the kernel tells, what a public log may show: no text of a model, no output of a command.
_SHOWN = ("task", "wave", "attempt", "model", "commit", "gate", "verdict", "number")


def run(inputs: Inputs, job: Job) -> int:
    """Do what there is to do; return 1 when a run failed here.

    Raises `UsageError` for what is wrong in the workflow, policy or configuration, `GitHubError`
    when GitHub does not answer.
    """
    return _work(inputs, job, halts=False)


def stop(inputs: Inputs, job: Job) -> int:
    """Hear only what stops a run, and note it where whoever works on the run finds it; return 0.

    A job of its own, beside the one that works on the run.
    """
    return _work(inputs, job, halts=True)


@dataclass
class _Log:
    """What happens, for the job's log, and how long each task took."""

    begun: dict[str, float] = field(default_factory=dict)
    #: Seconds, by the kernel's ids.
    took: dict[str, float] = field(default_factory=dict)

    def note(self, line: str) -> None:
        print(redact(" ".join(line.split())), flush=True)

    def see(self, told: Mapping[str, Any]) -> None:
        kind, task = str(told["event"]), str(told.get("task", ""))
        if kind == "TaskStarted":
            self.begun.setdefault(task, time.monotonic())
        elif kind in ("TaskSettled", "TaskFailed") and task in self.begun:
            self.took[task] = time.monotonic() - self.begun[task]
        shown = [f"{name}={told[name]}" for name in _SHOWN if told.get(name)]
        if kind != "Spent" and shown:
            self.note(f"{kind} {' '.join(shown)}")


def _work(inputs: Inputs, job: Job, *, halts: bool) -> int:
    environment = dict(os.environ)
    name = environment.get("GITHUB_EVENT_NAME", "")
    numbers = _numbers(name, event(environment), inputs)
    if numbers is None:
        return _nothing(job, "it says nothing to MAK")
    log, began = _Log(), int(time.time())
    states: list[RunState] = []
    problems: list[MakError] = []
    with site(inputs, environment, log.note, log.see) as (place, wrong):
        if wrong is not None:
            with job.quoting():
                for number in numbers:
                    decline(place, number, f"nothing is done: {messages.inert(str(wrong))}")
            raise wrong
        with job.quoting():
            for issue in _issues(place, numbers):
                try:
                    state = reconcile(place, issue, halts=halts)
                except MakError as error:
                    # What is wrong at one issue is no reason to leave the others.
                    problems.append(error)
                    continue
                if state is not None:
                    states.append(state)
        for state in states:
            _tell(place, state, log, job)
    for problem in problems[1:]:
        job.annotate("error", str(problem), title="MAK")
    if problems:
        raise problems[0]
    if not states:
        return _nothing(job, "there is no run")
    failed = [state for state in states if state.phase is Phase.FAILED and state.since >= began]
    for state in failed:
        job.annotate("error", state.why or "the run failed", title=f"MAK {state.run}")
    return 1 if failed and not halts else 0


def _nothing(job: Job, why: str) -> int:
    """Say that there was nothing to do, which is no failure: no check of anybody is red for it."""
    print(f"Nothing to do: {why}.", flush=True)
    job.output(run_id="", state="", pr_number="", branch="", plan_digest="")
    return 0


def _numbers(name: str, payload: Mapping[str, Any], inputs: Inputs) -> tuple[int, ...] | None:
    """Return the issue or pull request that an event is about; nothing in it: all of them.

    None: nobody said anything to MAK.
    """
    if name == "schedule":
        return ()
    found = events.read(name, payload)
    if found is None:
        return None
    if isinstance(found, events.PullPushed) and found.place.sender.id in inputs.accounts:
        return None
    wakes = events.wakes(found, alias=inputs.alias)
    if not wakes:
        return None
    return tuple(wake.number for wake in wakes if wake.number)


def _issues(place: Site, numbers: tuple[int, ...]) -> tuple[int, ...]:
    if not numbers:
        return under_way(place)
    found = []
    for number in numbers:
        issue = issue_of(place, number)
        if issue is None:
            place.note(f"#{number} is no pull request of a run")
            decline(place, number, _ELSEWHERE)
        else:
            found.append(issue)
    return tuple(found)


def _tell(place: Site, state: RunState, log: _Log, job: Job) -> None:
    """Say in the job where a run stands: outputs, summary, and repairs beside their lines."""
    offer = state.offer
    job.output(
        run_id=state.run,
        state=str(state.phase),
        pr_number=str(state.pull.number) if state.pull else "",
        branch=state.branch if state.waves else "",
        plan_digest=offer.digest if offer else "",
    )
    held = place.ledger.of_run(state.run)
    plans = [each for each in state.offers if not each.repair]
    newest = plans[-1] if plans else None
    proposal = place.ledger.proposal(held, newest.rev) if held and newest else None
    took = _shown(place, held, state, log.took) if held else {}
    now = place.moment
    text = messages.summary(state, newest, proposal, place.links, now, took)
    job.summarise(f"{text}\n")
    if held and offer and offer.repair and state.phase is Phase.REPAIR_REVIEW:
        spots = place.ledger.proposal(held, offer.rev).spots
        for note in messages.check_annotations(spots[:_MOST_ANNOTATIONS]):
            line = str(note["start_line"])
            where = {"file": note["path"], "line": line, "title": note["title"]}
            job.annotate("error", note["message"], **where)


def _shown(place: Site, held: Held, state: RunState, took: Mapping[str, float]) -> dict[str, float]:
    """Return how long tasks took, by the ids that people were shown."""
    shown: dict[str, str] = {}
    for offer in state.offers:
        names = place.ledger.proposal(held, offer.rev).names if offer.repair else {}
        shown.update({kernel: name for name, kernel in names.items()})
    return {shown.get(task, task): seconds for task, seconds in took.items()}
