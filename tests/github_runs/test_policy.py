"""What a repository's policy asks holds on the way from a comment to a commit."""

from __future__ import annotations

from mak.config import Policy
from mak.github.state import Phase
from tests.github_runs.conftest import Scripted, Talk
from tests.github_runs.test_conversation import GOOD, TWO, approved, begun, planned, task

YES = "/mak run --yes use better names"
SAID = planned(task("only", "README.md", "say what the shop is for"))


def test_a_run_without_a_review_waits_where_it_would_change_what_is_protected(
    talk: Talk, scripted: Scripted
) -> None:
    """`--yes` went past the word that protected files take, since it goes past all reviews."""
    talk.repository.allow("alice", "maintain")
    talk.wishes = scripted(GOOD)
    talk.changes = {"policy": Policy(allow_unreviewed=True, protected=("b.py",))}
    begun(talk, YES)
    assert approved(talk) is Phase.REVIEW
    (refused,) = talk.written("answer")
    assert "b.py" in refused and "--allow-protected" in refused
    talk.say(f"/mak approve {talk.digest()} --allow-protected")
    state = talk.wake()
    assert state and state.phase is Phase.DONE and "a.new()" in talk.branch("b.py")


def test_a_run_without_a_review_goes_on_where_that_is_allowed(
    talk: Talk, scripted: Scripted
) -> None:
    talk.repository.allow("alice", "maintain")
    talk.wishes = scripted(GOOD)
    talk.changes = {"policy": Policy(allow_unreviewed=True)}
    talk.say(YES)
    state = talk.wake()
    assert state and state.phase is Phase.DONE and "a.new()" in talk.branch("b.py")


def test_an_id_never_comes_to_mean_another_task(talk: Talk, scripted: Scripted) -> None:
    """Neither in a plan that is made anew without it, nor for a task that is added to that."""
    talk.wishes = scripted({**GOOD, "plan": [TWO, SAID, SAID]})
    begun(talk)
    talk.say("/mak drop T2")
    talk.say("/mak replan: only say what it is for")
    talk.wake()
    assert "**T3**" in talk.written("plan")[-1]
    talk.say("/mak drop T3")
    talk.say("/mak add --files=b.py: use other names")
    talk.say("/mak drop T3")
    talk.wake()
    last = talk.written("plan")[-1]
    assert "**T4**" in last and "~~**T3**" in last


def test_a_plan_of_more_waves_than_were_asked_for_is_not_offered(
    talk: Talk, scripted: Scripted
) -> None:
    talk.wishes = scripted(GOOD)
    talk.say("/mak run --max-waves=1 use better names")
    state = talk.wake()
    assert state and state.phase is Phase.FAILED and not state.offers
    assert state.why == "the plan has 2 waves; `--max-waves` is 1"
