"""MAK over HTTP with a GitHub that has limits, loses answers and expires tokens."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from mak.errors import AnswerLost, GitHubError, MakError, UsageError
from mak.github.api import Api, AppApi
from mak.github.reading import Reader
from mak.github.tokens import PLANNING, PUBLISHING, AppToken, GivenToken, InstallationToken, Tokens
from mak.github.transport import Clock, Transport
from tests.github.conftest import Shop
from tests.support.fakegithub import FakeGitHub


class Waiting:
    """A clock that notes how long was waited, and has waited at once."""

    def __init__(self, github: FakeGitHub) -> None:
        self.github = github
        self.waited: list[float] = []
        self.passed = 0.0

    def sleep(self, seconds: float) -> None:
        self.waited.append(round(seconds, 3))
        self.passed += seconds
        self.github.forward(seconds=seconds)

    @property
    def clock(self) -> Clock:
        now = lambda: self.github.now().timestamp()  # noqa: E731
        return Clock(lambda: self.passed, now, self.sleep)


@pytest.fixture
def waiting(github: FakeGitHub) -> Waiting:
    return Waiting(github)


Connect = Callable[..., Transport]


@pytest.fixture
def connect(github: FakeGitHub, waiting: Waiting) -> Iterator[Connect]:
    with ExitStack() as stack:

        def transport(tokens: Tokens, pace: float = 0) -> Transport:
            made = Transport(tokens, github.url, pace=pace, clock=waiting.clock)
            return stack.enter_context(made)

        yield transport


def own(github: FakeGitHub, shop: Shop, connect: Connect, permissions: Any = PUBLISHING) -> Tokens:
    now = lambda: github.now().timestamp()  # noqa: E731
    app = AppApi(connect(AppToken(shop.app.id, shop.private_key, now)))
    place = app.installation("octo/shop")["id"]
    return InstallationToken(place, shop.repository.id, permissions, app.mint, now)


@pytest.fixture
def api(github: FakeGitHub, shop: Shop, connect: Connect) -> Api:
    """MAK as the App that is installed."""
    return Api(connect(own(github, shop, connect)), "octo/shop")


# ---------------------------------------------------------------------------------- what it writes


def test_a_conversation_on_an_issue(api: Api, shop: Shop) -> None:
    issue = shop.repository.open_issue(shop.alice, "Broken")
    command = shop.repository.comment(issue, shop.alice, "/mak fix it")
    eyes = api.react(command.id, "eyes")
    assert api.react(command.id, "eyes") == eyes
    api.react(command.id, "rocket")
    api.take_reaction(command.id, eyes)
    api.take_reaction(command.id, eyes)
    plan = api.comment(issue.number, "the plan")
    api.edit_comment(plan["id"], "the plan, changed")
    api.minimize(plan["node_id"])
    api.pin(plan["id"])
    api.label(issue.number, "mak:review", "mak:running")
    api.take_label(issue.number, "mak:review")
    api.take_label(issue.number, "mak:review")
    assert [r.content for r in command.reactions] == ["rocket"]
    assert [remark.body for remark in issue.comments] == ["/mak fix it", "the plan, changed"]
    assert issue.comments[1].minimized == "OUTDATED"
    assert (issue.pinned, issue.labels) == (plan["id"], ["mak:running"])
    assert [found["id"] for found in api.comments(issue.number)] == [command.id, plan["id"]]


def test_all_pages_are_read(api: Api, shop: Shop) -> None:
    issue = shop.repository.open_issue(shop.alice, "Broken")
    for number in range(120):
        shop.repository.comment(issue, shop.alice, str(number))
    assert [found["body"] for found in api.comments(1)] == [str(n) for n in range(120)]


def test_a_pull_request_from_draft_to_ready(api: Api, shop: Shop) -> None:
    repository, alice = shop.repository, shop.alice
    head = repository.push(alice, {"shop.py": "def total(items):\n    return 0\n"}, "mak/1-r1")
    assert api.pull_of("mak/1-r1") is None
    made = api.open_pull("Fix", "Closes #1", "mak/1-r1", "main")
    found = api.pull_of("mak/1-r1")
    assert (made["draft"], found and found["number"]) == (True, made["number"])
    assert [file["filename"] for file in api.files(1)] == ["shop.py"]
    line = {"path": "shop.py", "line": 2, "side": "RIGHT", "body": "zero?"}
    api.review(1, "one thing", head, [line])
    with pytest.raises(GitHubError) as refused:
        api.review(1, "another", head, [{**line, "line": 40}])
    assert refused.value.status == 422
    assert [review["body"] for review in api.reviews(1)] == ["one thing"]
    (remark,) = api.line_comments(1)
    api.reply(1, remark["id"], "yes")
    (thread,) = api.threads(1)
    assert [c["body"] for c in thread["comments"]["nodes"]] == ["zero?", "yes"]
    api.resolve(thread["id"])
    api.edit_pull(1, body="Closes #1, done")
    api.request_review(1, "alice")
    api.ready(made["node_id"])
    issue = repository.issues[1]
    assert issue.pull
    assert (issue.body, issue.pull.draft) == ("Closes #1, done", False)
    assert issue.pull.threads[0].resolved
    assert issue.pull.reviewers == [alice]


def test_checks_take_any_number_of_annotations(api: Api, shop: Shop) -> None:
    sha = shop.repository.sha("refs/heads/main")
    note = {"path": "shop.py", "start_line": 1, "end_line": 1, "annotation_level": "failure"}
    notes = [{**note, "message": f"no. {n}"} for n in range(51)]
    output = {"title": "MAK", "summary": "one finding"}
    fields = {"name": "MAK / wave 1", "head_sha": sha, "external_id": "r1:1", "output": output}
    made = api.check(fields, notes)
    api.edit_check(made["id"], {"conclusion": "failure", "output": output}, notes)
    (found,) = api.checks(sha)
    assert (found["external_id"], found["conclusion"]) == ("r1:1", "failure")
    assert found["output"]["annotations_count"] == 102


def test_refs_files_and_permissions_are_read(api: Api, shop: Shop) -> None:
    sha = shop.repository.sha("refs/heads/main")
    shop.repository.git("update-ref", "refs/mak/runs/r1", sha)
    assert api.refs("refs/mak/") == {"refs/mak/runs/r1": sha}
    assert api.content("README.md", "main") == b"# Shop\n"
    assert api.content(".github/mak.yml", "main") is None
    for login, role in (("alice", "write"), ("octo", "admin"), ("bob", "none"), ("tri", "read")):
        shop.repository.allow(login, {"tri": "triage"}.get(login, role))
        assert api.permission(login)[0] == role
    assert api.permission("nobody/../../x") == ("none", "")


def test_workflows_are_started(api: Api, github: FakeGitHub, shop: Shop, connect: Connect) -> None:
    api.dispatch("mak", {"issue": 1})
    everything = own(github, shop, connect, {"actions": "write"})
    workflows = Api(connect(everything), "octo/shop")
    workflows.dispatch_workflow("mak.yml", "main", {"issue": "1"})
    assert len(shop.repository.dispatches) == 2


# I18
def test_a_token_of_one_phase_does_no_more(
    github: FakeGitHub, shop: Shop, connect: Connect
) -> None:
    planning = Api(connect(own(github, shop, connect, PLANNING)), "octo/shop")
    shop.repository.open_issue(shop.alice, "Broken")
    planning.comment(1, "the plan")
    with pytest.raises(GitHubError, match="not accessible") as refused:
        planning.check({"name": "x", "head_sha": "0" * 40})
    assert "permission" in refused.value.hint


# ------------------------------------------------------------------------------ what goes wrong


def test_writes_are_a_second_apart(
    github: FakeGitHub, shop: Shop, connect: Connect, waiting: Waiting
) -> None:
    shop.repository.open_issue(shop.alice, "Broken")
    transport = connect(GivenToken(github.token(shop.alice)), pace=1)
    api = Api(transport, "octo/shop")
    threads = [threading.Thread(target=api.comment, args=(1, str(n))) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    list(api.comments(1))
    assert waiting.waited == [1, 1]


@pytest.mark.parametrize(
    ("switch", "waits"),
    [
        ({"slow_down": {"seconds": 7}}, [7]),
        ({"secondary_limit": {}}, [60]),
        ({"secondary_limit": {"times": 2}}, [60, 120]),
        ({"fail": {"status": 502, "times": 2, "method": "GET"}}, [2, 4]),
    ],
    ids=str,
)
def test_limits_and_breakdowns_are_waited_for(
    github: FakeGitHub, shop: Shop, connect: Connect, waiting: Waiting, switch: Any, waits: Any
) -> None:
    api = Api(connect(GivenToken(github.token(shop.alice))), "octo/shop")
    ((name, arguments),) = switch.items()
    getattr(github.faults, name)(**arguments)
    assert list(api.comments(shop.repository.open_issue(shop.alice, "Broken").number)) == []
    assert waiting.waited == waits
    assert github.faults.over


def test_the_hours_requests_are_waited_for_until_their_reset(
    github: FakeGitHub, shop: Shop, connect: Connect, waiting: Waiting
) -> None:
    api = Api(connect(GivenToken(github.token(shop.alice))), "octo/shop")
    github.faults.used_up(int(github.now().timestamp()) + 100)
    assert api.refs("refs/mak/") == {}
    assert [90 < seconds <= 101 for seconds in waiting.waited] == [True]
    github.faults.used_up(int(github.now().timestamp()) + 3000)
    with pytest.raises(GitHubError, match="rate limit") as refused:
        api.refs("refs/mak/")
    assert (refused.value.status, len(waiting.waited)) == (403, 1)


def test_it_gives_up_in_the_end(
    github: FakeGitHub, shop: Shop, connect: Connect, waiting: Waiting
) -> None:
    api = Api(connect(GivenToken(github.token(shop.alice))), "octo/shop")
    github.faults.fail(503, times=5)
    with pytest.raises(GitHubError, match=r"GET /repos/octo/shop/git/.*: 503 Server Error"):
        api.refs("refs/mak/")
    assert waiting.waited == [2, 4, 8, 16]


@pytest.mark.parametrize("how", ["lose_answer", "fail"])
def test_a_comment_is_never_written_twice_unseen(
    github: FakeGitHub, shop: Shop, connect: Connect, how: str
) -> None:
    issue = shop.repository.open_issue(shop.alice, "Broken")
    api = Api(connect(GivenToken(github.token(shop.alice))), "octo/shop")
    arguments = {"status": 502} if how == "fail" else {}
    getattr(github.faults, how)(method="POST", path="/comments", **arguments)
    with pytest.raises(AnswerLost, match="POST /repos/octo/shop/issues/1/comments"):
        api.comment(1, "the plan")
    assert len(issue.comments) == (how == "lose_answer")


def test_what_may_be_done_twice_is(github: FakeGitHub, shop: Shop, connect: Connect) -> None:
    issue = shop.repository.open_issue(shop.alice, "Broken")
    remark = shop.repository.comment(issue, shop.alice, "plan")
    api = Api(connect(GivenToken(github.token(shop.alice))), "octo/shop")
    for method, path in (("PATCH", ""), ("POST", "/labels"), ("POST", "/reactions")):
        github.faults.lose_answer(method=method, path=path)
    api.edit_comment(remark.id, "plan, changed")
    api.label(1, "mak:review")
    api.react(remark.id, "eyes")
    assert (remark.body, issue.labels) == ("plan, changed", ["mak:review"])
    assert len(remark.reactions) == 1
    assert github.faults.over


def test_a_token_that_ends_is_renewed(github: FakeGitHub, shop: Shop, api: Api) -> None:
    shop.repository.open_issue(shop.alice, "Broken")
    api.comment(1, "one")
    github.forward(minutes=49)
    api.comment(1, "two")
    github.forward(minutes=2)
    api.comment(1, "three")
    for grant in github.tokens.values():
        grant.expires = github.now()
    api.comment(1, "four: it was taken away early")
    minted = [seen for seen in github.seen if seen.path.endswith("/access_tokens")]
    assert [len(minted), [seen.status for seen in github.seen].count(401)] == [3, 1]
    assert all(seen.body["repository_ids"] == [shop.repository.id] for seen in minted)


def test_a_given_token_that_is_not_valid_is_said_once(
    github: FakeGitHub, shop: Shop, connect: Connect
) -> None:
    api = Api(connect(GivenToken("ghs_this_one_is_of_no_use")), "octo/shop")
    with pytest.raises(GitHubError, match="401 Bad credentials") as refused:
        api.comment(1, "x")
    assert "not valid" in refused.value.hint
    assert len(github.seen) == 1
    with pytest.raises(UsageError, match="empty"):
        GivenToken(" ")


def test_a_permission_that_cannot_be_known_is_no_permission(
    github: FakeGitHub, shop: Shop, api: Api
) -> None:
    github.faults.fail(500, path="/permission", times=5)
    with pytest.raises(GitHubError):
        api.permission("alice")


def test_unchanged_lists_are_not_sent_again(github: FakeGitHub, shop: Shop, api: Api) -> None:
    issue = shop.repository.open_issue(shop.alice, "Broken")
    shop.repository.comment(issue, shop.alice, "/mak status")
    first, second = list(api.comments(1)), list(api.comments(1))
    shop.repository.comment(issue, shop.alice, "more")
    third = list(api.comments(1))
    assert (first, len(third)) == (second, 2)
    statuses = [seen.status for seen in github.seen if seen.path.endswith("/comments")]
    assert statuses == [200, 304, 200]


# I18
def test_the_token_goes_to_no_other_server(
    github: FakeGitHub, shop: Shop, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.support.fakegithub import server

    away = {"link": '<http://evil.example/next>; rel="next"'}
    monkeypatch.setattr(server, "_page", lambda found, request: (found, away))
    shop.repository.open_issue(shop.alice, "Broken")
    with pytest.raises(GitHubError, match="on another server"):
        list(api.comments(1))


# I18
def test_no_error_holds_a_token(github: FakeGitHub, shop: Shop, connect: Connect) -> None:
    token = github.token(shop.alice)
    api = Api(connect(GivenToken(token)), "octo/shop")
    github.faults.add(_echo(token))
    with pytest.raises(MakError) as refused:
        api.comment(1, "x")
    assert (token in str(refused.value), "[redacted]" in str(refused.value)) == (False, True)


def _echo(token: str) -> Any:
    from tests.support.fakegithub.faults import Fault

    return Fault(422, f"Validation Failed: Bearer {token} said something")


def test_nothing_listens(shop: Shop, waiting: Waiting) -> None:
    nowhere = Transport(
        GivenToken("ghs_nobody_listens_to_this"), "http://127.0.0.1:9", clock=waiting.clock
    )
    with nowhere, pytest.raises(GitHubError, match=r"POST .*ConnectError") as error:
        Api(nowhere, "octo/shop").comment(1, "x")
    assert not isinstance(error.value, AnswerLost)
    assert error.value.hint


# ----------------------------------------------------------------------------- Apps and their key


@pytest.mark.parametrize("key", ["", "not a key", "-----BEGIN PRIVATE KEY-----\nMII\n"])
def test_a_private_key_that_is_none_is_said_at_once(key: str) -> None:
    with pytest.raises(UsageError, match="private key cannot be read"):
        AppToken(1, key)


def test_missed_webhooks_are_asked_for_again(
    github: FakeGitHub, shop: Shop, connect: Connect
) -> None:
    shop.repository.open_issue(shop.alice, "Broken")
    (lost,) = github.deliveries.lose()
    app = AppApi(connect(AppToken(shop.app.id, shop.private_key)))
    assert [place["id"] for place in app.installations()] == [shop.installation.id]
    (found,) = app.deliveries()
    assert (found["guid"], found["status_code"], found["event"]) == (lost.guid, 0, "issues")
    github.deliveries.send_to("http://127.0.0.1:9", "s", shop.app)
    app.redeliver(found["id"])
    assert len(lost.statuses) == 2


# -------------------------------------------------------------------------- read with a library


def test_github3_reads_issues_pulls_and_repositories(
    github: FakeGitHub, shop: Shop, connect: Connect
) -> None:
    tokens = own(github, shop, connect)
    reader = Reader(connect(tokens), "octo/shop")
    shop.repository.open_issue(shop.alice, "Broken", "It is.")
    shop.repository.push(shop.alice, {"a.py": "a = 1\n"}, "fix")
    shop.repository.open_pull(shop.alice, "Fix", "", "fix", "main", draft=True)
    assert reader.repository()["id"] == shop.repository.id
    issue, pull = reader.issue(1), reader.pull(2)
    assert (issue["body"], issue["user"]["login"]) == ("It is.", "alice")
    assert (pull["draft"], pull["head"]["ref"]) == (True, "fix")
    for grant in github.tokens.values():
        grant.expires = github.now()
    assert reader.issue(1)["number"] == 1
    with pytest.raises(GitHubError, match="reading octo/shop issue 7: 404") as refused:
        reader.issue(7)
    assert refused.value.status == 404
    github.faults.fail(500)
    with pytest.raises(GitHubError, match="500"):
        reader.repository()
    reader.close()
