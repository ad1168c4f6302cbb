"""Issues, comments, reactions and labels."""

from __future__ import annotations

from tests.support.fakegithub.calls import (
    REPO,
    Answer,
    Call,
    Refused,
    route,
    short,
)
from tests.support.fakegithub.shapes import time
from tests.support.fakegithub.world import (
    Reaction,
)


@route("GET", f"{REPO}/issues", "issues:read")
def list_issues(call: Call) -> Answer:
    """Return issues and pull requests, newest first."""
    wanted = call.query.get("state", "open")
    labels = {name for name in call.query.get("labels", "").split(",") if name}
    found = [
        issue
        for issue in reversed(call.repository.issues.values())
        if wanted in ("all", "open" if issue.open else "closed") and labels <= {*issue.labels}
    ]
    return 200, [call.shapes.issue(call.repository, issue) for issue in found]


@route("POST", f"{REPO}/issues", "issues:write")
def create_issue(call: Call) -> Answer:
    """Open an issue."""
    text = short(call.body.get("body"))
    issue = call.repository.open_issue(call.user, call.body["title"], text, call.grant.app)
    return 201, call.shapes.issue(call.repository, issue)


@route("GET", f"{REPO}/issues/{{issue_number}}", "issues:read")
def get_issue(call: Call) -> Answer:
    """Return an issue."""
    return 200, call.shapes.issue(call.repository, call.issue)


@route("GET", f"{REPO}/issues/{{issue_number}}/comments", "issues:read")
def list_comments(call: Call) -> Answer:
    """Return comments, oldest first."""
    since = call.query.get("since", "")
    found = [remark for remark in call.issue.comments if (time(remark.updated_at) or "") >= since]
    return 200, [call.shapes.comment(call.repository, call.issue, remark) for remark in found]


@route("POST", f"{REPO}/issues/{{issue_number}}/comments", "issues:write")
def create_comment(call: Call) -> Answer:
    """Comment on an issue or pull request."""
    text = short(call.body["body"])
    remark = call.repository.comment(call.issue, call.user, text, call.grant.app)
    return 201, call.shapes.comment(call.repository, call.issue, remark)


@route("GET", f"{REPO}/issues/comments/{{comment_id}}", "issues:read")
def get_comment(call: Call) -> Answer:
    """Return a comment."""
    return 200, call.shapes.comment(call.repository, *call.remark())


@route("PATCH", f"{REPO}/issues/comments/{{comment_id}}", "issues:write")
def update_comment(call: Call) -> Answer:
    """Change a comment."""
    issue, remark = call.remark()
    call.repository.edit(issue, remark, call.user, short(call.body["body"]))
    return 200, call.shapes.comment(call.repository, issue, remark)


@route("DELETE", f"{REPO}/issues/comments/{{comment_id}}", "issues:write")
def delete_comment(call: Call) -> Answer:
    """Take a comment away."""
    call.repository.delete(*call.remark(), call.user)
    return 204, None


@route("PUT", f"{REPO}/issues/comments/{{comment_id}}/pin", "issues:write")
def pin_comment(call: Call) -> Answer:
    """Pin a comment to the top of its issue."""
    issue, remark = call.remark()
    if issue.pull:
        raise Refused(422, "Validation Failed", "Pull requests have no pinned comments")
    issue.pinned = remark.id
    return 200, call.shapes.comment(call.repository, issue, remark)


def _list_reactions(call: Call) -> Answer:
    """Return the reactions to a comment."""
    wanted = call.query.get("content")
    found = [r for r in call.remark()[1].reactions if wanted in (None, r.content)]
    return 200, [call.shapes.reaction(reaction) for reaction in found]


def _react(call: Call) -> Answer:
    """React to a comment: once, however often it is asked for."""
    _, remark = call.remark()
    for known in remark.reactions:
        if (known.user, known.content) == (call.user, call.body["content"]):
            return 200, call.shapes.reaction(known)
    content = call.body["content"]
    made = Reaction(call.world.next_id(), call.user, content, call.world.now())
    remark.reactions.append(made)
    return 201, call.shapes.reaction(made)


def _take_reaction(call: Call) -> Answer:
    """Take one's reaction back."""
    _, remark = call.remark()
    for reaction in remark.reactions:
        if reaction.id == int(call.arguments["reaction_id"]):
            remark.reactions.remove(reaction)
            return 204, None
    raise Refused(404, "Not Found")


for kind, permission in (("issues", "issues"), ("pulls", "pull_requests")):
    of_comment = f"{REPO}/{kind}/comments/{{comment_id}}/reactions"
    route("GET", of_comment, f"{permission}:read")(_list_reactions)
    route("POST", of_comment, f"{permission}:write")(_react)
    route("DELETE", f"{of_comment}/{{reaction_id}}", f"{permission}:write")(_take_reaction)


@route("GET", f"{REPO}/issues/{{issue_number}}/labels", "issues:read")
def list_labels(call: Call) -> Answer:
    """Return an issue's labels."""
    return 200, [call.shapes.label(call.repository, name) for name in call.issue.labels]


@route("POST", f"{REPO}/issues/{{issue_number}}/labels", "issues:write")
def add_labels(call: Call) -> Answer:
    """Label an issue."""
    new = [name for name in call.body["labels"] if name not in call.issue.labels]
    call.issue.labels.extend(new)
    return list_labels(call)


@route("DELETE", f"{REPO}/issues/{{issue_number}}/labels/{{name}}", "issues:write")
def remove_label(call: Call) -> Answer:
    """Take a label off."""
    if call.arguments["name"] not in call.issue.labels:
        raise Refused(404, "Label does not exist")
    call.issue.labels.remove(call.arguments["name"])
    return list_labels(call)
