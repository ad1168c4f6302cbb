"""Pull requests and their reviews."""

from __future__ import annotations

from tests.support.fakegithub.calls import (
    REPO,
    Answer,
    Call,
    Refused,
    route,
    short,
)
from tests.support.fakegithub.hunks import changed_files, compared, inside
from tests.support.fakegithub.world import (
    LineRemark,
)


@route("GET", f"{REPO}/pulls", "pull_requests:read")
def list_pulls(call: Call) -> Answer:
    """Return pull requests, newest first."""
    state, head = call.query.get("state", "open"), call.query.get("head")
    found = []
    for issue in reversed(call.repository.issues.values()):
        if issue.pull and state in ("all", "open" if issue.open else "closed"):
            label = f"{issue.pull.source.owner.login}:{issue.pull.head}"
            if head in (None, label) and call.query.get("base") in (None, issue.pull.base):
                found.append(call.shapes.pull(call.repository, issue))
    return 200, found


@route("POST", f"{REPO}/pulls", "pull_requests:write")
def create_pull(call: Call) -> Answer:
    """Open a pull request; GitHub refuses a second one of a branch, and one without commits."""
    body, repository = call.body, call.repository
    if call.grant.of_workflow and not repository.actions_may_create_pulls:
        message = "GitHub Actions is not permitted to create or approve pull requests."
        raise Refused(403, message)
    if body.get("draft") and not repository.allows_drafts:
        message = "Draft pull requests are not supported in this repository."
        raise Refused(422, "Validation Failed", message)
    head, base = body["head"].removeprefix(f"{repository.owner.login}:"), body["base"]
    for issue in repository.issues.values():
        if issue.pull and issue.open and issue.pull.head == head:
            named = f"A pull request already exists for {repository.owner.login}:{head}."
            error = {"resource": "PullRequest", "code": "custom", "message": named}
            raise Refused(422, "Validation Failed", error)
    if ":" not in head:
        for name, branch in (("head", head), ("base", base)):
            if not repository.sha(f"refs/heads/{branch}"):
                error = {"resource": "PullRequest", "code": "invalid", "field": name}
                raise Refused(422, "Validation Failed", error)
        if repository.git("rev-list", "--count", f"{base}..{head}") == "0":
            named = f"No commits between {base} and {head}"
            error = {"resource": "PullRequest", "code": "custom", "message": named}
            raise Refused(422, "Validation Failed", error)
    text = short(body.get("body"))
    draft = body.get("draft", False)
    issue = repository.open_pull(call.user, body["title"], text, head, base, draft=draft)
    return 201, call.shapes.pull(repository, issue)


@route("GET", f"{REPO}/pulls/{{pull_number}}", "pull_requests:read")
def get_pull(call: Call) -> Answer:
    """Return a pull request."""
    return 200, call.shapes.pull(call.repository, call.issue)


@route("PATCH", f"{REPO}/pulls/{{pull_number}}", "pull_requests:write")
def update_pull(call: Call) -> Answer:
    """Change the title, text or state of a pull request; draft or not is GraphQL's."""
    issue = call.issue
    issue.title = call.body.get("title", issue.title)
    issue.body = short(call.body.get("body", issue.body))
    issue.updated_at = call.world.now()
    if "state" in call.body:
        call.repository.set_open(issue, call.user, call.body["state"] == "open")
    return 200, call.shapes.pull(call.repository, issue)


@route("GET", f"{REPO}/pulls/{{pull_number}}/files", "pull_requests:read")
def listchanged_files(call: Call) -> Answer:
    """Return the files that a pull request changes, with their hunks."""
    return 200, changed_files(call.repository, compared(call))


@route("POST", f"{REPO}/pulls/{{pull_number}}/requested_reviewers", "pull_requests:write")
def request_reviewers(call: Call) -> Answer:
    """Ask people for a review."""
    pull = call.issue.pull
    assert pull
    for login in call.body.get("reviewers", ()):
        user = call.world.users.get(login)
        if user is None or call.repository.role(user) == "none":
            raise Refused(
                422, "Reviews may only be requested from collaborators.", f"not one: {login}"
            )
        pull.reviewers.append(user)
    return 201, call.shapes.pull(call.repository, call.issue)


@route("GET", f"{REPO}/pulls/{{pull_number}}/reviews", "pull_requests:read")
def list_reviews(call: Call) -> Answer:
    """Return reviews, oldest first."""
    assert call.issue.pull
    reviews = call.issue.pull.reviews
    return 200, [call.shapes.review(call.repository, call.issue, review) for review in reviews]


@route("POST", f"{REPO}/pulls/{{pull_number}}/reviews", "pull_requests:write")
def create_review(call: Call) -> Answer:
    """Review a pull request: all of it, or nothing when a line is outside of the difference."""
    body = call.body
    if body.get("event") in ("COMMENT", "REQUEST_CHANGES") and not body.get("body"):
        raise Refused(422, "Validation Failed", "Body is required for this event")
    text = short(body.get("body"))
    comments = [dict(comment) for comment in body.get("comments", ())]
    for comment in comments:
        short(comment["body"])
        inside(call, comment)
    state = {"APPROVE": "APPROVED", "REQUEST_CHANGES": "CHANGES_REQUESTED"}
    how = state.get(body.get("event"), "COMMENTED")
    review = call.repository.review(call.issue, call.user, text, how, comments)
    review.commit = body.get("commit_id", review.commit)
    return 200, call.shapes.review(call.repository, call.issue, review)


@route("GET", f"{REPO}/pulls/{{pull_number}}/comments", "pull_requests:read")
def list_line_comments(call: Call) -> Answer:
    """Return the comments on lines, oldest first."""
    assert call.issue.pull
    shown = call.shapes.line_comment
    return 200, [shown(call.repository, call.issue, remark) for remark in call.issue.pull.remarks]


@route("POST", f"{REPO}/pulls/{{pull_number}}/comments", "pull_requests:write")
def create_line_comment(call: Call) -> Answer:
    """Comment on a line, or on a file as a whole."""
    body = dict(call.body)
    text = short(body.pop("body"))
    if body.pop("subject_type", "line") != "file":
        inside(call, body)
    remark = call.repository.line_comment(call.issue, call.user, text, **body)
    return 201, call.shapes.line_comment(call.repository, call.issue, remark)


@route(
    "POST",
    f"{REPO}/pulls/{{pull_number}}/comments/{{comment_id}}/replies",
    "pull_requests:write",
)
def reply(call: Call) -> Answer:
    """Answer a comment on a line."""
    issue, parent = call.remark()
    assert isinstance(parent, LineRemark)
    text = short(call.body["body"])
    remark = call.repository.line_comment(issue, call.user, text, reply_to=parent)
    return 201, call.shapes.line_comment(call.repository, issue, remark)
