"""What a repository's policy asks holds on the way from a comment to a commit."""

from __future__ import annotations

from mak.config import Policy
from mak.github.state import Phase
from tests.github_runs.conftest import Scripted, Talk
from tests.github_runs.test_conversation import GOOD, approved, begun

YES = "/mak run --yes use better names"


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
