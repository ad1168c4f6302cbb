"""Whatever dies wherever: one run, one plan comment, one branch, one pull request, no lost word."""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest

from mak.github import marks
from mak.github.engine import reconcile
from mak.github.state import LEASE, Phase, RunState
from tests.github_runs.conftest import Died, Scripted, Talk
from tests.github_runs.test_conversation import GOOD, LOST, begun

#: Whole conversations, many times over: `make test-slow` runs them.
pytestmark = pytest.mark.slow

#: How often a worker may be started again for one thing that was said.
PATIENCE = 80


@dataclass
class Reaper:
    """Kills the worker the first time that it comes to each boundary of the kind given."""

    when: str
    met: set[str] = field(default_factory=set)
    last: str = ""

    def __call__(self, boundary: str) -> None:
        if boundary.startswith(self.when) and boundary not in self.met:
            self.met.add(boundary)
            self.last = boundary
            raise Died(boundary)


def until_it_waits(talk: Talk) -> RunState:
    """Start workers, each after the death of the one before, until one comes to its end."""
    for _ in range(PATIENCE):
        try:
            state = talk.wake()
        except Died as died:
            talk.notes.append(str(died))
            continue
        assert state
        return state
    raise AssertionError("it dies for ever")


def what_is_there(talk: Talk) -> dict[str, Any]:
    """Return what a person sees of a run, without what differs from run to run."""
    texts = [remark.body for remark in talk.issue.comments]
    kinds = Counter(mark["kind"] for body in texts if (mark := marks.read(body)))
    state = talk.held().state
    branches = talk.repository.refs("refs/heads/mak/")
    commits = talk.repository.git(
        "log", "--format=%s %(trailers:key=MAK-Wave,valueonly)", f"main..{state.branch}"
    )
    pulls = [each for each in talk.repository.issues.values() if each.pull]
    (pull,) = pulls
    assert pull.pull
    runs = talk.repository.refs("refs/mak/runs/")
    return {
        "comments": dict(kinds),
        "all": len(texts),
        "reviews": len(pull.pull.reviews),
        "draft": pull.pull.draft,
        "branches": list(branches),
        "commits": [line for line in commits.splitlines() if line],
        "runs": list(runs),
        "phase": state.phase,
        "waves": [(wave.number, wave.tasks, wave.repair) for wave in state.waves],
        "offers": [(offer.rev, offer.digest, offer.repair) for offer in state.offers],
        "handled": state.handled,
        "owed": state.answers,
        "files": (talk.branch("a.py"), talk.branch("b.py")),
        "labels": sorted(talk.issue.labels),
    }


def conversation(talk: Talk) -> None:
    """Plan, change the plan, approve it, repair what is left, until it is done."""
    talk.say("/mak use better names")
    assert until_it_waits(talk).phase is Phase.REVIEW
    talk.say("/mak edit T2: use the new name, everywhere")
    talk.say("/mak status")
    state = until_it_waits(talk)
    assert state.phase is Phase.REVIEW, state.why
    talk.say(f"/mak approve {talk.digest()}")
    state = until_it_waits(talk)
    assert state.phase is Phase.REPAIR_REVIEW, state.why
    talk.say(f"/mak approve {talk.digest()}", pull=True)
    state = until_it_waits(talk)
    assert state.phase is Phase.DONE, state.why


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_worker_dies_wherever_it_writes(talk: Talk, scripted: Scripted, when: str) -> None:
    talk.wishes = scripted(LOST, {"attempts": 1})
    talk.boundary = reaper = Reaper(when)
    conversation(talk)
    there = what_is_there(talk)
    assert there["comments"] == {"track": 1, "plan": 2, "answer": 1, "done": 1}, there
    assert there["reviews"] == 1 and not there["draft"] and there["owed"] == ()
    assert len(there["branches"]) == 1 and len(there["runs"]) == 1
    assert there["waves"] == [(1, ("T1",), 0), (2, ("R1",), 1)]
    assert len(there["commits"]) == 2
    assert "def new" in there["files"][0] and "a.new()" in there["files"][1]
    # As many as there are kinds of writes in this conversation.
    assert len(reaper.met) >= 28, sorted(reaper.met)


def test_a_process_is_killed_in_the_middle_of_a_wave(talk: Talk, scripted: Scripted) -> None:
    """A real one, with what it started; whoever takes over waits for the end of its lease."""
    talk.wishes = scripted(GOOD)
    begun(talk)
    talk.say(f"/mak approve {talk.digest()}")
    site = talk.site("first")
    talk.boundary = lambda each: (
        os.kill(os.getpid(), signal.SIGKILL) if each.startswith("after push heads/mak") else None
    )
    if not (child := os.fork()):
        try:
            reconcile(site, talk.issue.number)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    talk.boundary = lambda each: None
    state = talk.wake(owner="second")
    assert state and state.phase is Phase.RUNNING and not state.waves
    talk.hub.forward(seconds=LEASE + 1)
    state = talk.wake(owner="second")
    assert state and state.phase is Phase.DONE, state and state.why
    there = what_is_there(talk)
    assert there["comments"] == {"track": 1, "plan": 1, "done": 1}
    assert there["waves"] == [(1, ("T1",), 0), (2, ("T2",), 0)] and len(there["commits"]) == 2


def test_two_look_at_once(talk: Talk, scripted: Scripted) -> None:
    """App and Action, both woken by each word: one run, and each text once."""
    talk.wishes = scripted(GOOD)
    for word in ("/mak use better names", "/mak approve"):
        talk.say(word)
        sites = [talk.site(owner) for owner in ("app", "action")]
        both = [
            threading.Thread(target=reconcile, args=(site, talk.issue.number)) for site in sites
        ]
        for each in both:
            each.start()
        for each in both:
            each.join()
    state = talk.wake(owner="app")
    assert state and state.phase is Phase.DONE, state and state.why
    there = what_is_there(talk)
    assert there["comments"] == {"track": 1, "plan": 1, "done": 1}
    assert len(there["runs"]) == len(there["branches"]) == 1 and len(there["commits"]) == 2
