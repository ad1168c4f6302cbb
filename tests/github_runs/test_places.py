"""Which run an issue or a pull request is about, and what is said where there is none."""

from __future__ import annotations

from mak.github.hearing import decline
from mak.github.places import issue_of, under_way
from mak.github.state import Phase
from tests.github_runs.conftest import RENAME, Talk


def finished(talk: Talk) -> None:
    talk.say(f"/mak {RENAME}")
    assert talk.wake()
    talk.say("/mak approve")
    state = talk.wake()
    assert state and state.phase is Phase.DONE


def test_a_pull_request_is_about_the_issue_that_it_came_of(talk: Talk) -> None:
    finished(talk)
    site = talk.site()
    assert issue_of(site, talk.issue.number) == talk.issue.number
    assert issue_of(site, talk.pull.number) == talk.issue.number


def test_a_fork_may_call_its_branch_as_it_likes(talk: Talk) -> None:
    finished(talk)
    branch, mallory = talk.held().state.branch, talk.hub.world.user("mallory")
    fork = talk.repository.fork("mallory")
    fork.push(mallory, {"x.py": "x = 1\n"}, branch)
    theirs = talk.repository.open_pull(mallory, "Mine", "", f"mallory:{branch}", "main")
    assert issue_of(talk.site(), theirs.number) is None


def test_a_branch_of_a_persons_own_is_no_runs(talk: Talk) -> None:
    for branch in ("fix", "mak/1-rnone", "mak/fix"):
        talk.repository.push(talk.alice, {"x.py": "x = 1\n"}, branch)
        pull = talk.repository.open_pull(talk.alice, "Fix", "", branch, "main")
        assert issue_of(talk.site(), pull.number) is None


def test_another_number_in_a_branch_is_not_believed(talk: Talk) -> None:
    finished(talk)
    run = talk.held().state.run
    branch = f"mak/77-{run}"
    talk.repository.push(talk.alice, {"x.py": "x = 1\n"}, branch)
    pull = talk.repository.open_pull(talk.alice, "Fix", "", branch, "main")
    assert issue_of(talk.site(), pull.number) is None


def test_who_commands_where_nothing_can_be_done_is_told_once(talk: Talk) -> None:
    talk.repository.push(talk.alice, {"x.py": "x = 1\n"}, "fix")
    pull = talk.repository.open_pull(talk.alice, "Fix", "", "fix", "main")
    talk.repository.comment(pull, talk.alice, "/mak tidy up")
    talk.repository.comment(pull, talk.hub.world.user("mallory"), "/mak tidy up")
    talk.repository.comment(pull, talk.alice, "I like `/mak`.")
    for _ in range(2):
        decline(talk.site(), pull.number, "a run begins at an issue.")
    (told,) = talk.written("answer", pull)
    assert "@alice a run begins at an issue." in told
    signs = [[each.content for each in said.reactions] for said in pull.comments[:3]]
    assert signs == [["confused"], ["confused"], []]


def test_runs_that_have_not_ended_are_known(talk: Talk) -> None:
    finished(talk)
    assert under_way(talk.site()) == ()
    other = talk.repository.open_issue(talk.alice, "More", "")
    talk.hub.forward(seconds=2)
    talk.repository.comment(other, talk.alice, "/mak rename function a.old to newer")
    talk.issue = other
    state = talk.wake()
    assert state and state.phase is Phase.REVIEW
    assert under_way(talk.site()) == (other.number,)
