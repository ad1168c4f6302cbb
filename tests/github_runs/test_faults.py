"""What GitHub does not answer, refuses or limits, on the way of a whole run."""

from __future__ import annotations

import pytest

from mak.errors import GitHubError
from mak.github.engine import reconcile
from mak.github.state import Phase
from tests.github_runs.conftest import Scripted, Talk
from tests.github_runs.test_conversation import GOOD, LOST, approved, begun
from tests.support.fakegithub.faults import Fault

#: Whole conversations, many times over: `make test-slow` runs them.
pytestmark = pytest.mark.slow


def whole(talk: Talk) -> None:
    """Say what leads from an issue to a pull request, with no word twice."""
    begun(talk)
    assert approved(talk) is Phase.DONE, talk.held().state.why
    assert len(talk.written("track")) == len(talk.written("plan")) == 1
    assert len(talk.written("done")) == 1 and talk.pull.pull


def test_answers_are_lost_after_what_was_asked_is_done(talk: Talk, scripted: Scripted) -> None:
    talk.wishes = scripted(GOOD)
    for path in ("/comments", "/comments", "/pulls", "/check-runs", "/labels"):
        talk.hub.faults.lose_answer(method="POST", path=path)
    talk.hub.faults.lose_answer(method="PATCH")
    talk.hub.faults.lose_answer(method="POST", path="/git-receive-pack", times=2)
    whole(talk)
    assert talk.hub.faults.over


def test_github_limits_and_fails_for_a_while(talk: Talk, scripted: Scripted) -> None:
    talk.wishes = scripted(GOOD)
    talk.hub.faults.secondary_limit(method="POST", path="/comments")
    talk.hub.faults.fail(502, method="GET", path="/comments")
    talk.hub.faults.fail(503, method="POST", path="/pulls")
    talk.hub.faults.fail(502, method="POST", path="/git-receive-pack")
    talk.hub.faults.fail(502, path="/info/refs")
    whole(talk)
    assert talk.hub.faults.over and talk.slept > 60


def test_a_job_may_not_open_pull_requests(talk: Talk, scripted: Scripted) -> None:
    talk.repository.actions_may_create_pulls = False
    talk.wishes = scripted(GOOD)
    begun(talk)
    assert approved(talk) is Phase.DONE
    (told,) = talk.written("nopull")
    branch = talk.held().state.branch
    assert f"/compare/main...{branch}" in told and "create and approve pull requests" in told
    assert not [each for each in talk.repository.issues.values() if each.pull]


def test_refs_of_ours_are_refused_and_branches_serve(talk: Talk, scripted: Scripted) -> None:
    talk.repository.refuse_pushes_to("refs/mak/")
    talk.wishes = scripted(GOOD)
    begun(talk)
    assert approved(talk) is Phase.DONE
    assert talk.repository.refs("refs/mak/") == {}
    assert len(talk.repository.refs("refs/heads/mak/state/")) == 2


def test_github_takes_no_line_of_a_review(talk: Talk, scripted: Scripted) -> None:
    """It sees another difference than we do: what was for lines is in the text then."""
    talk.wishes = scripted(LOST, {"attempts": 1})
    begun(talk)
    talk.hub.faults.add(Fault(422, "line must be part of the diff", method="POST", path="/reviews"))
    assert approved(talk) is Phase.REPAIR_REVIEW
    (review,) = talk.pull.pull.reviews
    assert "R1" in review.body and f"/mak approve {talk.digest()}" in review.body


def test_nobody_may_do_anything_while_github_does_not_say_so(talk: Talk) -> None:
    talk.hub.faults.add(Fault(500, "Server Error", method="GET", path="/permission", times=5))
    remark = talk.say("/mak use better names")
    assert talk.wake() is None and talk.written() == []
    assert [reaction.content for reaction in remark.reactions] == ["confused"]


def test_a_token_is_not_taken_any_more(talk: Talk, scripted: Scripted) -> None:
    """What is known is kept where it was: another job goes on with it."""
    talk.wishes = scripted(GOOD)
    begun(talk)
    talk.say(f"/mak approve {talk.digest()}")
    site = talk.site()
    talk.hub.tokens.clear()
    with pytest.raises(GitHubError, match="Username"):
        reconcile(site, talk.issue.number)
    state = talk.wake()
    assert state and state.phase is Phase.DONE, state and state.why
