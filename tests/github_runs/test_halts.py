"""Stopping what runs, taking back what was committed, and going on after either."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import pytest

from mak.config import OnOverlap, Policy
from mak.github.engine import reconcile
from mak.github.state import Phase
from tests.github_runs.conftest import RENAME, Scripted, Talk
from tests.github_runs.test_conversation import GOOD, approved, begun
from tests.road.test_repair import RENAMED

#: Whole conversations, many times over: `make test-slow` runs them.
pytestmark = pytest.mark.slow

SLOW = {**GOOD, "tasks": {**GOOD["tasks"], "T1": [{**RENAMED, "delay_s": 8}]}}


def until(talk: Talk, what: str) -> None:
    """Wait until MAK has noted something."""
    for _ in range(600):
        if what in talk.notes:
            return
        time.sleep(0.1)
    raise AssertionError(talk.notes)


@pytest.mark.parametrize("word", ["cancel", "pause"])
def test_another_job_stops_what_runs(talk: Talk, scripted: Scripted, word: str) -> None:
    """A worker is in the middle of a wave when a job of its own hears what stops it."""
    talk.wishes = scripted(SLOW)
    begun(talk)
    talk.say(f"/mak approve {talk.digest()}")
    worker = threading.Thread(target=talk.wake, kwargs={"owner": "worker"})
    worker.start()
    until(talk, f"run {talk.held().state.run}: asked to run")
    talk.say(f"/mak {word}")
    told = reconcile(talk.site("halts"), talk.issue.number, halts=True)
    assert told and told.halt and told.halt.how == word
    worker.join()
    state = talk.wake()
    assert state and state.lease is None
    if word == "cancel":
        assert state.phase is Phase.CANCELLED and state.waves == ()
        assert len(talk.written("cancelled")) == 1 and talk.written("failed") == []
    else:
        assert state.phase is Phase.PAUSED and [w.tasks for w in state.waves] == [("T1",)]
    talk.wishes = scripted(GOOD)
    talk.say("/mak resume")
    state = talk.wake()
    assert state and state.phase is Phase.DONE, state and state.why
    assert [wave.tasks for wave in state.waves] == [("T1",), ("T2",)]
    assert len(talk.written("track")) == len(talk.written("done")) == 1


def test_what_is_committed_is_taken_back(talk: Talk, scripted: Scripted) -> None:
    talk.wishes = scripted(GOOD)
    begun(talk)
    talk.say(f"/mak approve {talk.digest()} --waves=1")
    talk.wake()
    assert "def new" in talk.branch("a.py")
    talk.say("/mak cancel --revert")
    state = talk.wake()
    assert state and state.phase is Phase.CANCELLED and state.waves == ()
    assert "def old" in talk.branch("a.py")
    (said,) = talk.written("cancelled")
    assert "Taken back" in said and "wave 1" in said
    log = talk.repository.git("log", "-1", "--format=%B", f"refs/heads/{state.branch}")
    assert "MAK-Kind: revert" in log and "MAK-Wave: 1" in log
    talk.say("/mak resume")
    state = talk.wake()
    assert state and state.phase is Phase.DONE, state and state.why
    assert "def new" in talk.branch("a.py") and "a.new()" in talk.branch("b.py")


def test_what_does_not_revert_cleanly_stays_and_is_said(talk: Talk, scripted: Scripted) -> None:
    talk.wishes = scripted(GOOD)
    begun(talk)
    talk.say(f"/mak approve {talk.digest()} --waves=1")
    state = talk.wake()
    assert state
    theirs = "def new(more):\n    return more\n"
    talk.repository.push(talk.alice, {"a.py": theirs}, state.branch)
    talk.say("/mak cancel --revert")
    state = talk.wake()
    assert state and state.phase is Phase.CANCELLED and len(state.waves) == 1
    assert talk.branch("a.py") == theirs
    (said,) = talk.written("cancelled")
    assert "does not revert cleanly" in said


def test_runs_that_write_the_same_wait_for_each_other(talk: Talk, scripted: Scripted) -> None:
    talk.wishes = scripted(GOOD)
    talk.changes = {"policy": Policy(on_overlap=OnOverlap.WAIT)}
    begun(talk)
    talk.say(f"/mak approve {talk.digest()} --waves=1")
    state = talk.wake()
    assert state and state.phase is Phase.PAUSED
    first, talk.issue = talk.issue, talk.repository.open_issue(talk.alice, "The same", "")
    begun(talk)
    assert approved(talk) is Phase.RUNNING
    state = talk.held().state
    assert state.run and f"#{first.number}" in state.waits and not state.waves
    assert "Waits until" in talk.written("track")[0]
    second, talk.issue = talk.issue, first
    talk.say("/mak cancel")
    talk.wake()
    talk.issue = second
    state = talk.held().state
    assert state.phase is Phase.DONE and not state.waits, state.why
    assert "Waits until" not in talk.written("track")[0]


def test_as_many_runs_are_carried_out_as_the_policy_says(talk: Talk, scripted: Scripted) -> None:
    talk.wishes = scripted(SLOW)
    talk.changes = {"policy": Policy(runs_per_repository=1)}
    begun(talk)
    talk.say(f"/mak approve {talk.digest()}")
    first, second = talk.issue, talk.repository.open_issue(talk.alice, "Another", "")
    talk.issue = second
    begun(talk, f"/mak {RENAME}")
    digest = talk.digest()
    talk.issue = first
    worker = threading.Thread(target=talk.wake, kwargs={"owner": "worker"})
    worker.start()
    until(talk, f"run {talk.held().state.run}: asked to run")
    talk.issue = second
    talk.say(f"/mak approve {digest}")
    state = reconcile(talk.site("other"), second.number)
    assert state and state.phase is Phase.RUNNING and "Waits for its turn" in state.waits
    worker.join()
    state = talk.held().state
    assert state.phase is Phase.DONE, state.why


def test_nobody_spends_more_in_a_day_than_the_policy_says(talk: Talk, scripted: Scripted) -> None:
    talk.wishes = scripted(GOOD)
    talk.changes = {"policy": Policy(daily_usd_per_user=0.01)}
    begun(talk)
    site = talk.site()
    held = site.ledger.of_issue(talk.issue.number)
    assert held
    site.ledger.write(held, replace(held.state, spent=0.5))
    talk.say("/mak cancel")
    talk.say("/mak once more")
    state = talk.wake()
    assert state and state.phase is Phase.CANCELLED
    assert "daily_usd_per_user" in talk.written("answer")[-1]
    talk.hub.forward(hours=25)
    begun(talk, "/mak on the next day")


def test_what_agents_answered_is_not_used_again_after_a_rebase(
    talk: Talk, scripted: Scripted
) -> None:
    """Both tasks are answered before the pause; only with `--rebase` is the second one asked."""
    talk.wishes = scripted(GOOD)
    begun(talk)
    talk.say(f"/mak approve {talk.digest()} --waves=1")
    state = talk.wake()
    assert state and state.phase is Phase.PAUSED and state.attempt == 1
    talk.repository.push(talk.alice, {"README.md": "# The shop\n"}, state.branch)
    talk.say("/mak resume --rebase")
    state = talk.wake()
    assert state and state.phase is Phase.PAUSED and len(talk.written("moved")) == 1
    talk.say("/mak resume --rebase")
    state = talk.wake()
    assert state and state.phase is Phase.DONE, state and state.why
    assert state.attempt == 2 and not state.afresh
    assert [wave.tasks for wave in state.waves] == [("T1",), ("T2",)]
    assert talk.branch("README.md") == "# The shop\n" and "a.new()" in talk.branch("b.py")
