"""The GitHub that tests talk to holds to what GitHub publishes, and notices what does not."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest

from tests.conftest import git
from tests.github.conftest import Shop
from tests.support.fakegithub import FakeGitHub, contract
from tests.support.fakegithub.filling import fill
from tests.support.fakegithub.rest import ROUTES

VERSION = "2022-11-28"


Connect = Callable[[str], httpx.Client]


@pytest.fixture
def connect(github: FakeGitHub) -> Iterator[Connect]:
    """Return a function from a token to a client."""
    with ExitStack() as clients:

        def client(token: str) -> httpx.Client:
            headers = {
                "authorization": f"Bearer {token}",
                "accept": "application/vnd.github+json",
                "user-agent": "test",
                "x-github-api-version": VERSION,
            }
            return clients.enter_context(httpx.Client(base_url=github.url, headers=headers))

        yield client


@pytest.fixture
def http(github: FakeGitHub, shop: Shop, connect: Connect) -> httpx.Client:
    return connect(github.token(shop.alice))


def speak(shop: Shop, **claims: Any) -> str:
    now = int(time.time())
    whole = {"iat": now - 60, "exp": now + 500, "iss": str(shop.app.id), **claims}
    return jwt.encode(whole, shop.private_key, "RS256")


# ---------------------------------------------------------------------------------- descriptions


def plain(template: str) -> str:
    """Return a path with a number for every parameter."""
    return re.sub(r"\{[^}]+\}", "1", template)


def test_every_endpoint_is_described_by_github() -> None:
    for method, template in ROUTES:
        operation = contract.find(method, plain(template))
        assert operation, (method, template)
        assert (operation.method, operation.template) == (method, template)


HEADERS = {"user-agent": "x", "accept": "x", "x-github-api-version": VERSION}


def examples(described: Any) -> list[Any]:
    found = described.get("content", {}).get("application/json", {}).get("examples", {})
    return [contract.rest().resolve(example).get("value") for example in found.values()]


def test_examples_of_the_description_are_valid() -> None:
    """Of GitHub's own examples all requests are; fourteen answers lack a field of their schema."""
    requests = answers = wrong = 0
    for method, template in ROUTES:
        operation = contract.find(method, plain(template))
        assert operation
        for example in examples(operation.described.get("requestBody", {})):
            requests += 1
            assert list(contract.wrong_request(operation, {}, HEADERS, example)) == []
        for status, response in operation.described["responses"].items():
            for example in examples(contract.rest().resolve(response)):
                answers += 1
                wrong += bool(list(contract.wrong_response(operation, int(status), example)))
    assert (requests, answers, wrong) == (20, 54, 14)


ONE = {"path": "a.py", "start_line": 1, "end_line": 1, "annotation_level": "failure"}


@pytest.mark.parametrize(
    ("method", "path", "body", "says"),
    [
        ("POST", "/repos/o/r/issues/1/comments", None, "body is missing"),
        ("POST", "/repos/o/r/issues/1/comments", {"body": None}, "not of type 'string'"),
        ("POST", "/repos/o/r/issues/x/comments", {"body": "a"}, "'x' is not of type 'integer'"),
        ("POST", "/repos/o/r/issues/comments/1/reactions", {"content": "eye"}, "'eye' is not one"),
        ("POST", "/repos/o/r/pulls/1/reviews", {"event": "APPROVED"}, "'APPROVED' is not one of"),
        (
            "POST",
            "/repos/o/r/pulls",
            {"title": "a", "head": "a", "base": "b", "drfat": True},
            "drf",
        ),
        (
            "POST",
            "/app/installations/1/access_tokens",
            {"permissions": {"contents": "admin"}},
            "'admin' is not one of",
        ),
        (
            "PATCH",
            "/repos/o/r/check-runs/1",
            {"output": {"summary": "s", "annotations": [{**ONE, "message": "m"}] * 51}},
            "is too long",
        ),
        ("PATCH", "/repos/o/r/check-runs/1", {"output": {"summary": "s" * 65_536}}, "is too long"),
    ],
)
def test_a_wrong_request_is_caught(method: str, path: str, body: Any, says: str) -> None:
    operation = contract.find(method, path)
    assert operation
    found = list(contract.wrong_request(operation, {}, HEADERS, body))
    assert any(says in error for error in found), found


def test_headers_and_parameters_that_are_wrong_are_caught() -> None:
    operation = contract.find("GET", "/repos/o/r/issues")
    assert operation
    found = list(contract.wrong_request(operation, {"labls": "a", "per_page": "x"}, {}, None))
    assert len(found) == 5, found


def test_an_answer_that_github_would_not_give_is_caught() -> None:
    operation = contract.find("GET", "/repos/o/r/issues/1")
    assert operation
    assert list(contract.wrong_response(operation, 200, {"id": 1}))
    assert list(contract.wrong_response(operation, 201, {}))


def test_a_query_that_the_schema_does_not_allow_is_caught() -> None:
    query = "mutation($i: ID!) { minimizeComment(input: {subjectId: $i, classifier: %s}) { %s } }"
    assert contract.wrong_query(query % ("OUTDATED", "minimizedComment { isMinimized }")) == []
    assert contract.wrong_query(query % ("OLD", "minimizedComment { isMinimized }"))
    assert contract.wrong_query(query % ("OUTDATED", "minimized"))


def test_a_violation_is_answered_and_remembered(github: FakeGitHub, http: httpx.Client) -> None:
    assert http.post("/repos/octo/shop/issues", json={"titel": "x"}).status_code == 422
    assert http.get("/emojis").status_code == 404
    assert [error.split(": ")[1] for error in github.violations] == [
        "$",
        "$.titel",
        "no such endpoint here",
    ]
    github.violations.clear()


def test_real_webhooks_are_valid_and_so_are_ours(github: FakeGitHub, shop: Shop) -> None:
    """Of GitHub's recorded `issue_comment` payloads one of nine lacks a newer field."""
    recorded = contract.load("@octokit/webhooks-examples", "api.github.com/index.json")
    (payloads,) = [event["examples"] for event in recorded if event["name"] == "issue_comment"]
    place = [f"/components/schemas/webhook-issue-comment-{p['action']}" for p in payloads]
    fine = [not list(contract.hooks().errors(*pair)) for pair in zip(place, payloads, strict=True)]
    assert (len(fine), sum(fine)) == (9, 8)

    repository, alice = shop.repository, shop.alice
    issue = repository.open_issue(alice, "Broken", "It is.")
    remark = repository.comment(issue, alice, "/mak fix it")
    repository.edit(issue, remark, alice, "/mak fix it all")
    repository.delete(issue, remark, alice)
    repository.set_open(issue, alice, False)
    repository.push(alice, {"shop.py": "x = 1\n"}, "fix")
    pull = repository.open_pull(alice, "Fix", "", "fix", "main", draft=True)
    repository.review(pull, alice, "Hm", "COMMENTED", [{"path": "shop.py", "body": "?", "line": 1}])
    repository.push(alice, {"shop.py": "x = 2\n"}, "fix")
    repository.set_open(pull, alice, False)
    told = [f"{delivery.event}.{delivery.action}" for delivery in github.deliveries.made]
    assert told == [
        "issues.opened",
        "issue_comment.created",
        "issue_comment.edited",
        "issue_comment.deleted",
        "issues.closed",
        "pull_request.opened",
        "pull_request_review_comment.created",
        "pull_request_review.submitted",
        "pull_request.synchronize",
        "pull_request.closed",
    ]


def test_what_is_filled_in_is_caught_when_it_lies() -> None:
    """Filling completes; it does not repair what a test states."""
    operation = contract.find("GET", "/repos/o/r/issues/1")
    assert operation
    schema = contract.response_schema(operation, 200)
    whole = fill(contract.rest(), schema, {"id": 1, "number": 1}, "http://x")
    assert list(contract.wrong_response(operation, 200, whole)) == []
    lie = fill(contract.rest(), schema, {"id": "one"}, "http://x")
    assert list(contract.wrong_response(operation, 200, lie))


# ----------------------------------------------------------------------------------- what it does


def test_a_conversation_is_remembered(http: httpx.Client, shop: Shop) -> None:
    made = http.post("/repos/octo/shop/issues", json={"title": "Broken"}).json()
    for number in range(31):
        answer = http.post("/repos/octo/shop/issues/1/comments", json={"body": f"no. {number}"})
    assert answer.status_code == 201
    first = http.get("/repos/octo/shop/issues/1/comments")
    second = http.get(first.links["next"]["url"])
    assert [len(first.json()), len(second.json())] == [30, 1]
    comment = f"/repos/octo/shop/issues/comments/{answer.json()['id']}"
    assert http.patch(comment, json={"body": "edited"}).json()["body"] == "edited"
    reactions = f"{comment}/reactions"
    assert http.post(reactions, json={"content": "eyes"}).status_code == 201
    assert http.post(reactions, json={"content": "eyes"}).status_code == 200
    (reaction,) = http.get(reactions).json()
    assert http.delete(f"{reactions}/{reaction['id']}").status_code == 204
    assert http.put(f"{comment}/pin").status_code == 200
    assert http.delete(comment).status_code == 204
    assert (made["number"], http.get(comment).status_code) == (1, 404)
    labels = "/repos/octo/shop/issues/1/labels"
    assert http.post(labels, json={"labels": ["mak:review"]}).json()[0]["name"] == "mak:review"
    assert http.delete(f"{labels}/mak:review").json() == []
    level = "/repos/octo/shop/collaborators/alice/permission"
    assert http.get(level).json()["permission"] == "write"


def test_a_body_that_is_too_long_is_refused(http: httpx.Client) -> None:
    http.post("/repos/octo/shop/issues", json={"title": "Broken"})
    comments = "/repos/octo/shop/issues/1/comments"
    assert http.post(comments, json={"body": "x" * 65_536}).status_code == 201
    refused = http.post(comments, json={"body": "x" * 65_537})
    assert (refused.status_code, "maximum is 65536" in refused.text) == (422, True)


def test_a_review_with_a_line_outside_of_the_difference_is_lost_whole(
    http: httpx.Client, shop: Shop
) -> None:
    long = "".join(f"line {n}\n" for n in range(40))
    shop.repository.push(shop.alice, {"long.txt": long})
    shop.repository.push(shop.alice, {"long.txt": long.replace("line 20\n", "new\n")}, "fix")
    pull = {"title": "Fix", "head": "fix", "base": "main", "draft": True}
    assert http.post("/repos/octo/shop/pulls", json=pull).json()["draft"] is True
    (file,) = http.get("/repos/octo/shop/pulls/1/files").json()
    assert (file["filename"], file["additions"]) == ("long.txt", 1)
    reviews = "/repos/octo/shop/pulls/1/reviews"
    inside = {"path": "long.txt", "line": 21, "side": "RIGHT", "body": "here"}
    review: dict[str, Any] = {"event": "COMMENT", "body": "Look", "comments": [inside]}
    outside = {**review, "comments": [inside, {**inside, "line": 5}]}
    assert http.post(reviews, json=outside).status_code == 422
    assert http.get(reviews).json() == []
    assert http.post(reviews, json=review).status_code == 200
    (comment,) = http.get("/repos/octo/shop/pulls/1/comments").json()
    assert (comment["line"], len(http.get(reviews).json())) == (21, 1)
    replies = f"/repos/octo/shop/pulls/1/comments/{comment['id']}/replies"
    assert http.post(replies, json={"body": "/mak skip"}).json()["in_reply_to_id"] == comment["id"]


def test_pull_requests_are_refused_as_github_does(
    github: FakeGitHub, http: httpx.Client, shop: Shop, connect: Connect
) -> None:
    pulls, pull = "/repos/octo/shop/pulls", {"title": "Fix", "head": "fix", "base": "main"}
    assert http.post(pulls, json=pull).status_code == 422
    shop.repository.push(shop.alice, {"a.py": "a = 1\n"}, "fix")
    shop.repository.actions_may_create_pulls = False
    job = connect(github.workflow_token(shop.repository, pull_requests="write"))
    forbidden = job.post(pulls, json=pull)
    assert (forbidden.status_code, "not permitted" in forbidden.text) == (403, True)
    assert http.post(pulls, json=pull).status_code == 201
    again = http.post(pulls, json=pull)
    assert (again.status_code, "already exists" in again.text) == (422, True)


def test_a_token_does_what_it_is_for(github: FakeGitHub, shop: Shop, connect: Connect) -> None:
    app = connect(speak(shop))
    place = app.get("/repos/octo/shop/installation").json()
    tokens = f"/app/installations/{place['id']}/access_tokens"
    minted = app.post(tokens, json={"permissions": {"issues": "read"}}).json()
    assert minted["token"].startswith(f"ghs_{shop.app.id}_")
    assert len(minted["token"]) > 400
    narrow = connect(minted["token"])
    assert narrow.get("/repos/octo/shop/issues").status_code == 200
    assert narrow.post("/repos/octo/shop/issues", json={"title": "x"}).status_code == 403
    github.forward(minutes=61)
    assert narrow.get("/repos/octo/shop/issues").status_code == 401
    assert app.post(tokens).status_code == 401, "its own ten minutes are over as well"


@pytest.mark.parametrize(
    "claims", [{"iat": 10**10}, {"exp": 10**10}, {"exp": 1}, {"iss": "7"}], ids=str
)
def test_github_is_strict_about_who_an_app_is(
    connect: Connect, shop: Shop, claims: dict[str, Any]
) -> None:
    assert connect(speak(shop, **claims)).get("/app").status_code == 401


def test_git_wants_a_token_and_a_ref_has_one_first_creator(
    github: FakeGitHub, shop: Shop, tmp_path: Path, connect: Connect
) -> None:
    address = f"{github.url}/octo/shop.git"
    assert httpx.get(f"{address}/info/refs?service=git-upload-pack").status_code == 401
    token = github.workflow_token(shop.repository, contents="write")
    named = address.replace("http://", f"http://x:{token}@")
    git(tmp_path, "clone", "-q", named, "one")
    one = tmp_path / "one"
    assert (one / "shop.py").read_text().startswith("def total")
    ref = "refs/mak/runs/r1"
    git(one, "commit", "-q", "--allow-empty", "-m", "one")
    git(one, "push", "-q", f"--force-with-lease={ref}:", "origin", f"HEAD:{ref}")
    git(one, "commit", "-q", "--allow-empty", "-m", "two")
    with pytest.raises(AssertionError, match="stale info"):
        git(one, "push", "-q", f"--force-with-lease={ref}:", "origin", f"HEAD:{ref}")
    shop.repository.refuse_pushes_to("refs/mak/")
    with pytest.raises(AssertionError, match="refused by a rule"):
        git(one, "push", "-q", "origin", "HEAD:refs/mak/runs/r2")
    http = connect(token)
    (found,) = http.get("/repos/octo/shop/git/matching-refs/mak/").json()
    assert found["ref"] == ref
    reader = github.workflow_token(shop.repository, contents="read")
    git(one, "remote", "set-url", "origin", address.replace("http://", f"http://x:{reader}@"))
    with pytest.raises(AssertionError, match="403"):
        git(one, "push", "-q", "origin", "HEAD:refs/heads/new")


def test_refs_move_forward_by_rest(http: httpx.Client, shop: Shop) -> None:
    refs = "/repos/octo/shop/git/refs"
    old = shop.repository.sha("refs/heads/main")
    new = shop.repository.push(shop.alice, {"a.py": "a = 1\n"}, "fix")
    ref = "refs/mak/runs/r1"
    assert http.post(refs, json={"ref": ref, "sha": old}).status_code == 201
    assert http.post(refs, json={"ref": ref, "sha": new}).status_code == 422
    one = f"{refs}/mak/runs/r1"
    assert http.patch(one, json={"sha": new, "force": False}).status_code == 200
    assert http.patch(one, json={"sha": old, "force": False}).status_code == 422
    assert http.delete(one).status_code == 204
    assert http.get("/repos/octo/shop/git/ref/mak/runs/r1").status_code == 404


QUERY = """
query($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) { pullRequest(number: $number) {
    id isDraft reviewThreads(first: 50) { nodes { id isResolved comments(first: 1) {
      nodes { id databaseId body author { login } } } } pageInfo { hasNextPage endCursor } } } }
}
"""
RESOLVE = """
mutation($id: ID!) { resolveReviewThread(input: {threadId: $id}) { thread { isResolved } } }
"""
READY = """
mutation($id: ID!) {
  markPullRequestReadyForReview(input: {pullRequestId: $id}) { pullRequest { isDraft } } }
"""


def test_threads_are_resolved_by_graphql(http: httpx.Client, shop: Shop) -> None:
    shop.repository.push(shop.alice, {"a.py": "a = 1\n"}, "fix")
    pull = shop.repository.open_pull(shop.alice, "Fix", "", "fix", "main", draft=True)
    shop.repository.line_comment(pull, shop.alice, "?", "a.py", line=1)
    names = {"owner": "octo", "name": "shop", "number": pull.number}

    def ask(query: str, **variables: Any) -> Any:
        return http.post("/graphql", json={"query": query, "variables": variables}).json()

    found = ask(QUERY, **names)["data"]["repository"]["pullRequest"]
    (thread,) = found["reviewThreads"]["nodes"]
    assert (found["isDraft"], thread["comments"]["nodes"][0]["author"]["login"]) == (True, "alice")
    assert ask(RESOLVE, id=thread["id"])["data"]["resolveReviewThread"]["thread"]["isResolved"]
    assert ask(READY, id=found["id"])["data"]["markPullRequestReadyForReview"]
    assert not pull.pull or not pull.pull.draft
    assert "errors" in ask(RESOLVE, id="nobody")


# ------------------------------------------------------------------------------------------ faults


def test_a_lost_answer_has_been_done_all_the_same(
    github: FakeGitHub, http: httpx.Client, shop: Shop
) -> None:
    github.faults.lose_answer(method="POST", path="/issues")
    with pytest.raises(httpx.TransportError):
        http.post("/repos/octo/shop/issues", json={"title": "Broken"})
    assert [issue.title for issue in shop.repository.issues.values()] == ["Broken"]
    assert github.faults.over


def test_limits_are_answered_as_github_does(github: FakeGitHub, http: httpx.Client) -> None:
    github.faults.slow_down(7)
    github.faults.secondary_limit(method="POST")
    github.faults.used_up(reset=1_800_000_000)
    answers = [http.get("/repos/octo/shop"), http.get("/repos/octo/shop")]
    answers += [http.post("/repos/octo/shop/issues", json={"title": "x"})]
    assert [answer.status_code for answer in answers] == [429, 403, 403]
    assert answers[0].headers["retry-after"] == "7"
    assert answers[1].headers["x-ratelimit-remaining"] == "0"
    assert "secondary" in answers[2].json()["message"]


def test_what_has_not_changed_is_not_sent_again(http: httpx.Client, shop: Shop) -> None:
    first = http.get("/repos/octo/shop/issues")
    tag = {"if-none-match": first.headers["etag"]}
    assert http.get("/repos/octo/shop/issues", headers=tag).status_code == 304
    shop.repository.open_issue(shop.alice, "New")
    assert http.get("/repos/octo/shop/issues", headers=tag).status_code == 200
