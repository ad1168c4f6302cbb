"""What a person and MAK say to each other, from a comment to a pull request that is ready."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mak.github.state import PATIENCE, Phase
from tests.github_runs.conftest import RENAME, Scripted, Talk
from tests.road.conftest import edited, reply
from tests.road.test_repair import RENAMED, uses

NEW = reply(edited("n1", "def other():\n    return 20\n"))


def planned(*tasks: dict[str, Any]) -> dict[str, Any]:
    """Return what a scripted planner answers."""
    return {"reply": {"tasks": list(tasks)}, "usage": {"input": 100, "output": 10}}


def task(id: str, node: str, goal: str, **more: Any) -> dict[str, Any]:
    return {"id": id, "goal": goal, "writes": [node], **more}


TWO = planned(
    task("first", "a.py::old#api", "rename old to new"),
    task("second", "b.py::use", "use the new name", depends_on=["first"]),
)
GOOD = {"plan": [TWO], "tasks": {"T1": [RENAMED], "T2": [uses("new")]}}


def begun(talk: Talk, text: str = "/mak use better names") -> None:
    talk.say(text)
    state = talk.wake()
    assert state and state.phase is Phase.REVIEW, state and state.why


def approved(talk: Talk) -> Phase:
    talk.say(f"/mak approve {talk.digest()}")
    state = talk.wake()
    assert state
    return state.phase


def test_from_a_comment_to_a_pull_request(talk: Talk) -> None:
    begun(talk, f"/mak {RENAME}")
    (plan,) = talk.written("plan")
    assert "**T1**" in plan and f"/mak approve {talk.digest()}" in plan
    assert len(talk.written("track")) == 1 and talk.repository.refs("refs/heads/mak/") == {}
    assert approved(talk) is Phase.DONE
    state = talk.held().state
    assert "def new" in talk.branch("a.py") and "a.new()" in talk.branch("b.py")
    assert not talk.pull.pull.draft and "Closes #" in talk.pull.body
    assert len(talk.written("done")) == 1 and len(talk.written("track")) == 1
    trailers = talk.repository.git(
        "log", "-1", "--format=%(trailers:only,unfold)", f"refs/heads/{state.branch}"
    )
    assert f"MAK-Run: {state.run}" in trailers and "MAK-Tasks: T1, T2" in trailers
    assert "Refs: #1" in trailers and "Co-authored-by: alice <" in trailers


def test_a_plan_is_edited_and_what_was_approved_before_is_stale(
    talk: Talk, scripted: Scripted
) -> None:
    talk.wishes = scripted(GOOD)
    begun(talk)
    first = talk.digest()
    talk.say("/mak edit T2: use the new name, everywhere")
    talk.say("/mak approve")
    state = talk.wake()
    assert state and state.phase is Phase.REVIEW
    old, new = talk.written("plan")
    assert "everywhere" in new and "T2 edited by @alice" in new and "everywhere" not in old
    (stale,) = talk.written("answer")
    assert f"rev 1 (`{first}`)" in stale and "Nothing was started" in stale
    assert talk.issue.comments[1].minimized or any(c.minimized for c in talk.issue.comments)
    talk.say(f"/mak approve {first}")
    state = talk.wake()
    assert state and state.phase is Phase.REVIEW and len(talk.written("answer")) == 2
    assert approved(talk) is Phase.DONE
    assert len(talk.held().state.waves) == 2 and len(talk.written("plan")) == 2


def test_tasks_are_dropped_and_kept_and_added(talk: Talk, scripted: Scripted) -> None:
    talk.wishes = scripted(GOOD)
    begun(talk)
    talk.say("/mak drop T1")
    talk.wake()
    (refused,) = talk.written("answer")
    assert "T2" in refused and "--cascade" in refused
    talk.say("/mak drop T2")
    talk.wake()
    assert "~~" in talk.written("plan")[-1]
    talk.say("/mak keep T2")
    talk.wake()
    assert "~~" not in talk.written("plan")[-1]
    assert approved(talk) is Phase.DONE


def test_a_change_that_does_not_fit_leaves_the_others(talk: Talk, scripted: Scripted) -> None:
    talk.wishes = scripted(GOOD)
    begun(talk)
    talk.say("/mak edit T2 --after=T2\n\n/mak edit T1: rename it\n\n/mak drop T9")
    state = talk.wake()
    assert state and state.phase is Phase.REVIEW
    assert "T1 edited by @alice" in talk.written("plan")[-1] and len(talk.written("plan")) == 2
    assert len(talk.written("answer")) == 2


def test_a_task_is_added_by_the_planner_and_keeps_the_ids(talk: Talk, scripted: Scripted) -> None:
    three = json.loads(json.dumps(TWO))
    three["reply"]["tasks"].append(task("third", "a.py::other", "count on"))
    talk.wishes = scripted(GOOD)
    begun(talk)
    talk.wishes = scripted({"plan": [three], "tasks": {**GOOD["tasks"], "T3": [NEW]}})
    talk.say("/mak add: count on in other")
    state = talk.wake()
    assert state and state.phase is Phase.REVIEW, state and state.why
    assert "**T3**" in talk.written("plan")[-1]
    assert approved(talk) is Phase.DONE
    assert "return 20" in talk.branch("a.py")


def test_a_new_file_may_be_named(talk: Talk, scripted: Scripted) -> None:
    made = reply(edited("n1", "def fresh():\n    return 3\n"))
    talk.wishes = scripted({**GOOD, "tasks": {**GOOD["tasks"], "T3": [made]}})
    begun(talk)
    talk.say("/mak add --files=fresh.py: write fresh")
    state = talk.wake()
    assert state and state.phase is Phase.REVIEW, state and state.why
    assert approved(talk) is Phase.DONE, talk.held().state.why
    assert "def fresh" in talk.branch("fresh.py")


LOST = {
    "plan": [TWO],
    "tasks": {"T1": [RENAMED], "T2": [{"status": "refused"}], "repair1-T2": [uses("new")]},
}


def test_what_a_wave_left_broken_is_reviewed_on_the_pull_request(
    talk: Talk, scripted: Scripted
) -> None:
    talk.wishes = scripted(LOST, {"attempts": 1})
    begun(talk)
    assert approved(talk) is Phase.REPAIR_REVIEW
    (review,) = talk.pull.pull.reviews
    assert "R1" in review.body and f"/mak approve {talk.digest()}" in review.body
    assert talk.pull.pull.draft
    talk.say(f"/mak approve {talk.digest()}", pull=True)
    state = talk.wake()
    assert state and state.phase is Phase.DONE, state and state.why
    assert "a.new()" in talk.branch("b.py") and not talk.pull.pull.draft
    assert [wave.repair for wave in state.waves] == [0, 1]
    assert len(talk.pull.pull.reviews) == 1


def test_repairs_are_edited_before_they_run(talk: Talk, scripted: Scripted) -> None:
    talk.wishes = scripted(LOST, {"attempts": 1})
    begun(talk)
    approved(talk)
    first = talk.digest()
    talk.say("/mak edit R1: use the new name, and nothing else", pull=True)
    state = talk.wake()
    assert state and state.phase is Phase.REPAIR_REVIEW and talk.digest() != first
    talk.say(f"/mak approve {talk.digest()}", pull=True)
    state = talk.wake()
    assert state and state.phase is Phase.DONE, state and state.why
    log = talk.repository.git("log", "-1", "--format=%B", f"refs/heads/{state.branch}")
    assert "nothing else" in log


def test_repairs_are_done_without(talk: Talk, scripted: Scripted) -> None:
    talk.wishes = scripted(LOST, {"attempts": 1})
    begun(talk)
    approved(talk)
    talk.say("/mak skip all", pull=True)
    state = talk.wake()
    assert state and state.phase is Phase.DONE and "a.old()" in talk.branch("b.py")


def test_what_failed_is_tried_again_from_the_last_good_wave(talk: Talk, scripted: Scripted) -> None:
    talk.wishes = scripted(LOST, {"attempts": 1, "repair": {"max_waves": 0}})
    begun(talk)
    assert approved(talk) is Phase.FAILED
    (failed,) = talk.written("failed")
    assert "/mak retry" in failed
    talk.wishes = scripted(GOOD, {"attempts": 1})
    talk.say("/mak retry")
    state = talk.wake()
    assert state and state.phase is Phase.DONE, state and state.why
    assert [wave.tasks for wave in state.waves] == [("T1",), ("T2",)]
    assert len(talk.written("done")) == 1


def test_only_the_first_wave_is_approved(talk: Talk, scripted: Scripted) -> None:
    talk.wishes = scripted(GOOD)
    begun(talk)
    talk.say(f"/mak approve {talk.digest()} --waves=1")
    state = talk.wake()
    assert state and state.phase is Phase.PAUSED and len(state.waves) == 1
    talk.say("/mak resume")
    state = talk.wake()
    assert state and state.phase is Phase.DONE and len(state.waves) == 2


def test_a_person_pushes_and_nothing_is_overwritten(talk: Talk, scripted: Scripted) -> None:
    talk.wishes = scripted(GOOD)
    begun(talk)
    talk.say(f"/mak approve {talk.digest()} --waves=1")
    state = talk.wake()
    assert state
    theirs = talk.repository.push(talk.alice, {"README.md": "# The shop\n"}, state.branch)
    talk.say("/mak resume")
    state = talk.wake()
    assert state and state.phase is Phase.PAUSED, state
    (moved,) = talk.written("moved")
    assert str(theirs)[:7] in moved and "never overwrite" in moved
    talk.say("/mak resume")
    state = talk.wake()
    assert state and state.phase is Phase.DONE, state and state.why
    assert talk.branch("README.md") == "# The shop\n" and "a.new()" in talk.branch("b.py")
    for call in talk.hub.seen:
        assert "force" not in json.dumps(call.body)


@pytest.mark.parametrize("what", ["issue", "pull"])
def test_what_is_closed_is_cancelled(talk: Talk, scripted: Scripted, what: str) -> None:
    talk.wishes = scripted(GOOD)
    begun(talk)
    if what == "pull":
        talk.say(f"/mak approve {talk.digest()} --waves=1")
        talk.wake()
    talk.repository.set_open(talk.issue if what == "issue" else talk.pull, talk.alice, False)
    state = talk.wake()
    assert state and state.phase is Phase.CANCELLED
    (cancelled,) = talk.written("cancelled")
    assert "closed" in cancelled


def test_what_nobody_decides_on_expires(talk: Talk, scripted: Scripted) -> None:
    talk.wishes = scripted(GOOD)
    begun(talk)
    talk.hub.forward(seconds=PATIENCE + 60)
    state = talk.wake()
    assert state and state.phase is Phase.EXPIRED and len(talk.written("expired")) == 1
    begun(talk, "/mak once more")


def test_a_run_is_cancelled_and_what_is_committed_stays(talk: Talk, scripted: Scripted) -> None:
    talk.wishes = scripted(GOOD)
    begun(talk)
    talk.say(f"/mak approve {talk.digest()} --waves=1")
    talk.wake()
    talk.say("/mak cancel")
    state = talk.wake()
    assert state and state.phase is Phase.CANCELLED and "def new" in talk.branch("a.py")
    (cancelled,) = talk.written("cancelled")
    assert "@alice" in cancelled


def test_a_plan_that_is_only_a_plan(talk: Talk, scripted: Scripted) -> None:
    talk.wishes = scripted(GOOD)
    begun(talk, "/mak plan use better names")
    talk.say(f"/mak approve {talk.digest()}")
    state = talk.wake()
    assert state and state.phase is Phase.REVIEW and "plan only" in talk.written("answer")[0]


def test_strangers_get_a_sign_and_no_word(talk: Talk, scripted: Scripted) -> None:
    talk.wishes = scripted(GOOD)
    mallory = talk.hub.world.user("mallory")
    remark = talk.say("/mak rm -rf", mallory)
    assert talk.wake() is None
    assert talk.written() == [] and [r.content for r in remark.reactions] == ["confused"]
    begun(talk)
    remark = talk.say(f"/mak approve {talk.digest()}", mallory)
    state = talk.wake()
    assert state and state.phase is Phase.REVIEW and talk.written("answer") == []


def test_help_is_said_once(talk: Talk) -> None:
    talk.say("/mak help")
    for _ in range(3):
        assert talk.wake() is None
    (told,) = talk.written("answer")
    assert "approve" in told


def test_a_comment_that_cannot_be_read_runs_nothing(talk: Talk) -> None:
    talk.say("/mak run --agent=3 x\n\n/mak status")
    assert talk.wake() is None
    (told,) = talk.written("answer")
    assert "--agent" in told and "None of the 2 commands" in told


def test_what_was_edited_before_it_was_read_is_refused(talk: Talk) -> None:
    remark = talk.say("/mak do a")
    talk.hub.forward(seconds=5)
    talk.repository.edit(talk.issue, remark, talk.alice, "/mak do b")
    assert talk.wake() is None
    assert "edited before" in talk.written("answer")[0]
