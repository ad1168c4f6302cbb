"""Events are read from GitHub's own examples and from the least that its descriptions allow."""

from __future__ import annotations

import functools
from datetime import datetime
from typing import Any

import pytest

from mak.errors import GitHubError
from mak.github.events import (
    JOBS,
    WEBHOOKS,
    CheckAsked,
    CommentCreated,
    Dispatched,
    End,
    InstallationChanged,
    IssueEnded,
    IssueOpened,
    LineCommented,
    Person,
    PullClosed,
    PullPushed,
    ReviewSubmitted,
    Wake,
    kind_of,
    read,
    wakes,
)
from tests.support.fakegithub import contract
from tests.support.fakegithub.filling import fill

Payload = dict[str, Any]
NAMED = [(name, action) for name, actions in WEBHOOKS.items() for action in actions]


@functools.cache
def examples() -> list[tuple[str, str, Payload]]:
    """Return event, action and payload of GitHub's examples."""
    events = contract.load("@octokit/webhooks-examples", "api.github.com/index.json")
    return [
        (event["name"], example.get("action", ""), example)
        for event in events
        for example in event["examples"]
    ]


def seconds(time: str) -> float:
    return datetime.fromisoformat(time).timestamp()


def of(name: str, action: str) -> list[Payload]:
    return [payload for event, done, payload in examples() if (event, done) == (name, action)]


def least(name: str, action: str, **given: Any) -> Payload:
    """Return a payload with what GitHub requires and nothing else, which its schema accepts."""
    schema = contract.webhook_schema(name, action or None)
    start = {"action": action, **given} if action else given
    payload: Payload = fill(contract.hooks(), schema, start, "https://api.github.com")
    headers = {
        "Accept": "*/*",
        "Content-Type": "application/json",
        "User-Agent": "GitHub-Hookshot/1",
        "X-GitHub-Delivery": "1",
        "X-GitHub-Event": name,
        "X-GitHub-Hook-ID": "1",
        "X-GitHub-Hook-Installation-Target-ID": "1",
        "X-GitHub-Hook-Installation-Target-Type": "integration",
        "X-Hub-Signature-256": "sha256=0",
    }
    assert list(contract.wrong_webhook(name, action or None, headers, payload)) == []
    return payload


@pytest.mark.parametrize(("name", "action"), NAMED)
def test_the_least_that_github_may_send_is_enough(name: str, action: str) -> None:
    event = read(name, least(name, action))
    assert event is not None
    assert kind_of(event) == (f"{name}.{action}" if action else name)


@pytest.mark.parametrize(("name", "action", "payload"), examples())
def test_every_example_is_read_or_means_nothing(name: str, action: str, payload: Payload) -> None:
    event = read(name, payload)
    listed = action in JOBS.get(name, {}) or "" in JOBS.get(name, {})
    if name.endswith("_dispatch"):
        assert event is None, "it is started for something else than MAK"
    else:
        assert (event is not None) == listed


def test_a_comment_says_who_wrote_what_where_and_when() -> None:
    payload = next(p for p in of("issue_comment", "created") if "pull_request" not in p["issue"])
    event = read("issue_comment", payload)
    assert isinstance(event, CommentCreated)
    assert (event.place.repository, event.place.full_name) == (
        payload["repository"]["id"],
        payload["repository"]["full_name"],
    )
    assert event.number == payload["issue"]["number"]
    assert not event.on_pull
    comment, given = event.comment, payload["comment"]
    assert (comment.id, comment.body) == (given["id"], given["body"])
    assert comment.author == Person(given["user"]["id"], given["user"]["login"], is_bot=False)
    assert comment.created == comment.updated == seconds(given["created_at"])


def test_an_app_that_writes_as_a_person_is_seen() -> None:
    comment = {"body": "/mak plan", "performed_via_github_app": {"id": 99}}
    event = read("issue_comment", least("issue_comment", "created", comment=comment))
    assert isinstance(event, CommentCreated)
    assert event.comment.via_app == 99


def test_an_edited_text_has_another_time() -> None:
    times = {"created_at": "2026-11-30T12:00:00Z", "updated_at": "2026-11-30T12:00:07Z"}
    event = read("issue_comment", least("issue_comment", "created", comment=times))
    assert isinstance(event, CommentCreated)
    assert event.comment.updated - event.comment.created == 7


@pytest.mark.parametrize("kind", ["Bot", "Organization", "Mannequin"])
def test_whatever_is_no_user_is_a_bot_whatever_its_name(kind: str) -> None:
    payload = least("issues", "opened", sender={"login": "alice", "id": 5, "type": kind})
    event = read("issues", payload)
    assert isinstance(event, IssueOpened)
    assert event.place.sender == Person(5, "alice", is_bot=True)


def test_pull_requests_of_forks_are_told_from_others() -> None:
    (payload, *_) = of("pull_request", "closed")
    event = read("pull_request", payload)
    assert isinstance(event, PullClosed)
    assert event.head.repository == payload["pull_request"]["head"]["repo"]["id"]
    payload = least("pull_request", "synchronize")
    payload["pull_request"]["head"]["repo"] = None
    gone = read("pull_request", payload)
    assert isinstance(gone, PullPushed)
    assert gone.head.repository is None


def test_reviews_have_the_time_at_which_they_were_submitted() -> None:
    (payload, *_) = of("pull_request_review", "submitted")
    event = read("pull_request_review", payload)
    assert isinstance(event, ReviewSubmitted)
    submitted = seconds(payload["review"]["submitted_at"])
    assert event.review.created == event.review.updated == submitted
    assert event.state in ("approved", "changes_requested", "commented")


def test_an_answer_on_a_line_names_what_it_answers() -> None:
    given = {"comment": {"in_reply_to_id": 12, "pull_request_review_id": 13}}
    payload = least("pull_request_review_comment", "created", **given)
    event = read("pull_request_review_comment", payload)
    assert isinstance(event, LineCommented)
    assert (event.answers, event.review) == (12, 13)


def test_a_check_of_a_fork_with_the_same_number_is_none_of_ours() -> None:
    payload = least("check_run", "rerequested")
    here = payload["repository"]["id"]
    bases = [{"number": n, "base": {"repo": {"id": i}}} for n, i in [(3, here), (4, here + 1)]]
    payload["check_run"]["pull_requests"] = bases
    event = read("check_run", payload)
    assert isinstance(event, CheckAsked)
    assert event.pulls == (3,)


@pytest.mark.parametrize("how", End)
def test_issues_end_in_three_ways(how: End) -> None:
    event = read("issues", least("issues", how.value))
    assert isinstance(event, IssueEnded)
    assert event.how is how


def test_a_workflow_is_started_for_one_place_and_nothing_else() -> None:
    base = least("issues", "opened")
    common = {key: base[key] for key in ("repository", "sender")}
    inputs = {"number": "12", "kind": "issue_comment.created", "delivery": "a-1"}
    event = read("workflow_dispatch", {**common, "inputs": inputs})
    assert isinstance(event, Dispatched)
    assert (event.number, event.kind, event.delivery) == (12, "issue_comment.created", "a-1")
    sent = {**common, "action": "mak", "client_payload": {"number": 12}}
    assert isinstance(read("repository_dispatch", sent), Dispatched)
    for wrong in ({"number": "-1"}, {"number": "1; id"}, {"number": "1", "kind": "$(id)"}):
        with pytest.raises(GitHubError):
            read("workflow_dispatch", {**common, "inputs": wrong})


def test_a_payload_that_lacks_something_is_an_error_that_repeats_none_of_it() -> None:
    payload = least("issue_comment", "created", comment={"body": "secret"})
    payload["comment"]["id"] = "secret"
    with pytest.raises(GitHubError, match=r"issue_comment: comment\.id: ") as caught:
        read("issue_comment", payload)
    assert "secret" not in str(caught.value)
    for action in (None, 7, ["created"], {}):
        assert read("issue_comment", {**payload, "action": action}) is None


# -------------------------------------------------------------------------------------------- wakes


def commented(body: str, **author: Any) -> Payload:
    user = {"login": "alice", "id": 5, "type": "User", **author}
    given = {"comment": {"body": body, "user": user}, "installation": {"id": 8, "node_id": "x"}}
    return least("issue_comment", "created", sender=user, **given)


def woken(name: str, payload: Payload, alias: str = "") -> tuple[Wake, ...]:
    event = read(name, payload)
    assert event is not None
    return wakes(event, "d-1", alias)


def test_a_command_wakes_its_issue() -> None:
    payload = commented("Please:\n\n/MAK fix it")
    repository = payload["repository"]
    assert woken("issue_comment", payload) == (
        Wake(
            8,
            repository["id"],
            repository["full_name"],
            payload["issue"]["number"],
            "issue_comment.created",
            "d-1",
        ),
    )


def test_a_button_is_told_with_its_wake_since_github_lists_it_nowhere() -> None:
    payload = least("check_run", "requested_action")
    payload["check_run"]["external_id"] = "r7:r2"
    payload["requested_action"] = {"identifier": "approve"}
    payload["sender"] = {**payload["sender"], "id": 5, "login": "alice", "type": "User"}
    (wake,) = woken("check_run", payload)
    assert wake.press
    assert (wake.press.person, wake.press.login, wake.press.is_bot) == (5, "alice", False)
    assert (wake.press.check, wake.press.wants) == ("r7:r2", "approve")
    again = least("check_run", "rerequested")
    (wake,) = woken("check_run", again)
    assert wake.press and wake.press.wants == ""


def test_talk_and_bots_wake_nobody() -> None:
    assert woken("issue_comment", commented("Thanks!")) == ()
    assert woken("issue_comment", commented("/mak fix", type="Bot")) == ()
    assert woken("issue_comment", commented("@mak-app fix")) == ()
    assert len(woken("issue_comment", commented("@Mak-App fix"), "@mak-app")) == 1


def test_an_end_and_a_push_wake_whoever_does_it() -> None:
    bot = {"login": "mak[bot]", "id": 6, "type": "Bot"}
    for name, action in (
        ("issues", "closed"),
        ("pull_request", "closed"),
        ("pull_request", "synchronize"),
    ):
        what = "issue" if name == "issues" else name
        (wake,) = woken(name, least(name, action, sender=bot, **{what: {"number": 3}}))
        assert wake.number == 3


def test_an_app_that_is_taken_away_wakes_all_its_repositories() -> None:
    repositories = [{"id": n, "full_name": f"octo/{n}"} for n in (1, 2)]
    payload = least("installation", "deleted")
    payload["repositories"] = repositories
    event = read("installation", payload)
    assert isinstance(event, InstallationChanged)
    assert event.ended
    assert [(w.repository, w.number) for w in wakes(event)] == [(1, 0), (2, 0)]
    assert woken("installation", least("installation", "created")) == ()
    assert woken("ping", least("ping", "")) == ()


def test_a_check_on_several_pull_requests_wakes_the_repository() -> None:
    payload = least("check_run", "requested_action", requested_action={"identifier": "approve"})
    pulls = [{"number": n, "base": {"repo": {"id": payload["repository"]["id"]}}} for n in (3, 4)]
    for given, number in ((pulls[:1], 3), (pulls, 0), ([], 0)):
        payload["check_run"]["pull_requests"] = given
        (wake,) = woken("check_run", payload)
        assert (wake.number, wake.kind) == (number, "check_run.requested_action")
