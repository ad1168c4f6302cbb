"""What MAK asks of one repository on GitHub and writes there; GitHub's documents, as they come.

Nothing here decides. Every write can be looked for before it is done again: comments by their
marker, pull requests by their branch, checks by their external id.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from mak.errors import GitHubError
from mak.github.transport import Document, Transport

#: What one request to a check takes; more are added by further ones.
ANNOTATIONS = 50

_MINIMIZE = """
mutation($id: ID!) {
  minimizeComment(input: {subjectId: $id, classifier: OUTDATED}) {
    minimizedComment { isMinimized }
  }
}
"""
_RESOLVE = """
mutation($id: ID!) { resolveReviewThread(input: {threadId: $id}) { thread { isResolved } } }
"""
_READY = """
mutation($id: ID!) {
  markPullRequestReadyForReview(input: {pullRequestId: $id}) { pullRequest { isDraft } }
}
"""
_THREADS = """
query($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      reviewThreads(first: 50, after: $after) {
        nodes {
          id isResolved isOutdated path line
          comments(first: 50) { nodes { id databaseId body author { login } } }
        }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
}
"""


class Api:
    """One repository."""

    def __init__(self, transport: Transport, repository: str) -> None:
        """Take `owner/name`."""
        self.transport, self.repository = transport, repository
        self._base = f"/repos/{repository}"

    # ---------------------------------------------------------------------------------- people

    def permission(self, login: str) -> tuple[str, str]:
        """Return what a person may do: admin, write, read or none, and the name of their role.

        Roles are finer, such as `maintain` and `triage`. A bot's is never asked for.

        Raises `GitHubError` when GitHub does not say, which has to be taken as a no.
        """
        place = f"{self._base}/collaborators/{_part(login)}/permission"
        try:
            found: Document = self.transport.get(place)
        except GitHubError as error:
            if error.status == 404:
                return "none", ""
            raise
        return str(found["permission"]), str(found.get("role_name") or "")

    # ------------------------------------------------------------------------ issues, comments

    def ended(self, number: int) -> str:
        """Return how an issue or pull request came to an end: closed or merged; empty: it is open.

        What has not changed since it was asked last counts against no limit.
        """
        found: Document = self.transport.get(f"{self._base}/issues/{number}")
        if found["state"] != "closed":
            return ""
        return "merged" if (found.get("pull_request") or {}).get("merged_at") else "closed"

    def comments(self, issue: int, since: str = "") -> Iterator[Document]:
        """Yield the comments on an issue or pull request, oldest first."""
        query = {"since": since} if since else {}
        return self.transport.pages(f"{self._base}/issues/{issue}/comments", **query)

    def comment(self, issue: int, body: str) -> Document:
        """Comment."""
        return self._write("POST", f"/issues/{issue}/comments", {"body": body})

    def edit_comment(self, comment: int, body: str) -> Document:
        """Replace what a comment says."""
        return self._write("PATCH", f"/issues/comments/{comment}", {"body": body})

    def minimize(self, node: str) -> None:
        """Hide a comment as outdated, by its node id."""
        self.transport.graphql(_MINIMIZE, id=node)

    def pin(self, comment: int) -> None:
        """Pin a comment to the top of its issue; there is no such thing on pull requests."""
        self._write("PUT", f"/issues/comments/{comment}/pin")

    def react(self, comment: int, content: str, kind: str = "issues") -> int:
        """React to a comment, once however often it is asked for; return the reaction's id.

        `kind` is `pulls` for a comment on a line.
        """
        place = f"/{kind}/comments/{comment}/reactions"
        made = self._write("POST", place, {"content": content}, repeatable=True)
        return int(made["id"])

    def take_reaction(self, comment: int, reaction: int, kind: str = "issues") -> None:
        """Take a reaction back; one that is gone is no error."""
        self._gone("DELETE", f"/{kind}/comments/{comment}/reactions/{reaction}")

    def label(self, issue: int, *names: str) -> None:
        """Add labels."""
        self._write("POST", f"/issues/{issue}/labels", {"labels": list(names)}, repeatable=True)

    def take_label(self, issue: int, name: str) -> None:
        """Take a label off; one that is not there is no error."""
        self._gone("DELETE", f"/issues/{issue}/labels/{_part(name)}")

    # --------------------------------------------------------------------------- pull requests

    def pull_of(self, branch: str) -> Document | None:
        """Return the newest pull request of a branch of this repository, in any state."""
        head = f"{self.repository.split('/')[0]}:{branch}"
        found = self.transport.pages(f"{self._base}/pulls", head=head, state="all")
        return next(found, None)

    def open_pull(
        self, title: str, body: str, head: str, base: str, *, draft: bool = True
    ) -> Document:
        """Open a pull request."""
        fields = {"title": title, "body": body, "head": head, "base": base, "draft": draft}
        return self._write("POST", "/pulls", fields)

    def edit_pull(self, pull: int, **fields: str) -> Document:
        """Change the title, the body or the state of a pull request."""
        return self._write("PATCH", f"/pulls/{pull}", fields)

    def ready(self, node: str) -> None:
        """Make a draft ready for review, by its node id."""
        self.transport.graphql(_READY, id=node)

    def request_review(self, pull: int, *logins: str) -> None:
        """Ask people for a review."""
        place = f"/pulls/{pull}/requested_reviewers"
        self._write("POST", place, {"reviewers": list(logins)}, repeatable=True)

    def files(self, pull: int) -> Iterator[Document]:
        """Yield the files of a pull request with their hunks."""
        return self.transport.pages(f"{self._base}/pulls/{pull}/files")

    def reviews(self, pull: int) -> Iterator[Document]:
        """Yield the reviews of a pull request, oldest first."""
        return self.transport.pages(f"{self._base}/pulls/{pull}/reviews")

    def review(
        self, pull: int, body: str, commit: str, comments: Sequence[Mapping[str, Any]] = ()
    ) -> Document:
        """Review without a verdict; a comment outside of the hunks loses all of it (422)."""
        fields = {"event": "COMMENT", "body": body, "commit_id": commit}
        lines = [dict(comment) for comment in comments]
        return self._write("POST", f"/pulls/{pull}/reviews", {**fields, "comments": lines})

    def line_comments(self, pull: int) -> Iterator[Document]:
        """Yield the comments on lines, oldest first."""
        return self.transport.pages(f"{self._base}/pulls/{pull}/comments")

    def reply(self, pull: int, comment: int, body: str) -> Document:
        """Answer a comment on a line."""
        return self._write("POST", f"/pulls/{pull}/comments/{comment}/replies", {"body": body})

    def threads(self, pull: int) -> Iterator[Document]:
        """Yield the threads of a pull request: their id, whether they are resolved, comments."""
        owner, name = self.repository.split("/")
        after = None
        while True:
            data = self.transport.graphql(
                _THREADS, writes=False, owner=owner, name=name, number=pull, after=after
            )
            found = data["repository"]["pullRequest"]["reviewThreads"]
            yield from found["nodes"]
            if not found["pageInfo"]["hasNextPage"]:
                return
            after = found["pageInfo"]["endCursor"]

    def resolve(self, thread: str) -> None:
        """Resolve a thread, by its node id."""
        self.transport.graphql(_RESOLVE, id=thread)

    # ---------------------------------------------------------------------------------- checks

    def checks(self, commit: str) -> Iterator[Document]:
        """Yield the checks of a commit."""
        return self.transport.pages(f"{self._base}/commits/{commit}/check-runs", "check_runs")

    def check(
        self, fields: Mapping[str, Any], annotations: Sequence[Mapping[str, Any]] = ()
    ) -> Document:
        """Report on a commit; `fields` are GitHub's, `output` among them when there are notes."""
        first, *rest = _batches(annotations)
        made = self._write("POST", "/check-runs", _with(fields, first))
        for batch in rest:
            self.edit_check(made["id"], fields, batch)
        return made

    def edit_check(
        self, check: int, fields: Mapping[str, Any], annotations: Sequence[Mapping[str, Any]] = ()
    ) -> Document:
        """Report more: GitHub adds annotations to those that are there."""
        known = {key: value for key, value in fields.items() if key != "head_sha"}
        batches = _batches(annotations)
        for batch in batches:
            made = self._write("PATCH", f"/check-runs/{check}", _with(known, batch))
        return made

    # ---------------------------------------------------------------------------- refs, content

    def refs(self, prefix: str) -> dict[str, str]:
        """Return the refs that begin with `refs/…`, and what they point at."""
        place = f"{self._base}/git/matching-refs/{quote(prefix.removeprefix('refs/'))}"
        return {found["ref"]: found["object"]["sha"] for found in self.transport.get(place)}

    def content(self, path: str, ref: str) -> bytes | None:
        """Return a file at a commit or branch, or None when there is none."""
        try:
            found = self.transport.get(f"{self._base}/contents/{quote(path)}", ref=ref)
        except GitHubError as error:
            if error.status == 404:
                return None
            raise
        if not isinstance(found, dict) or found.get("encoding") != "base64":
            raise GitHubError(f"reading {path} of {self.repository}: it is no file")
        try:
            return base64.b64decode(found["content"])
        except binascii.Error as error:
            raise GitHubError(f"reading {path} of {self.repository}: not base64") from error

    # ------------------------------------------------------------------------------------ runs

    def dispatch(self, event: str, payload: Mapping[str, Any]) -> None:
        """Start the workflows that listen to `repository_dispatch`."""
        fields = {"event_type": event, "client_payload": dict(payload)}
        self._write("POST", "/dispatches", fields)

    def dispatch_workflow(self, workflow: str, ref: str, inputs: Mapping[str, str]) -> None:
        """Start one workflow."""
        place = f"/actions/workflows/{_part(workflow)}/dispatches"
        self._write("POST", place, {"ref": ref, "inputs": dict(inputs)})

    def _write(
        self, method: str, place: str, body: Any = None, *, repeatable: bool = False
    ) -> Document:
        path = f"{self._base}{place}"
        made: Document = self.transport.write(method, path, body, repeatable=repeatable)
        return made

    def _gone(self, method: str, place: str) -> None:
        try:
            self._write(method, place)
        except GitHubError as error:
            if error.status != 404:
                raise


def installed(transport: Transport) -> Iterator[Document]:
    """Yield the repositories of an installation, whose token the transport has."""
    return transport.pages("/installation/repositories", "repositories")


def account(transport: Transport, login: str) -> Document:
    """Return a person, or a bot such as `github-actions[bot]`, as everybody sees them."""
    found: Document = transport.get(f"/users/{_part(login)}")
    return found


class AppApi:
    """What an App asks for itself: where it is installed, tokens, and the webhooks it missed."""

    def __init__(self, transport: Transport) -> None:
        """Take a transport whose tokens are the App's own."""
        self.transport = transport

    def app(self) -> Document:
        """Return the App itself."""
        found: Document = self.transport.get("/app")
        return found

    def installation(self, repository: str) -> Document:
        """Return the installation in a repository."""
        found: Document = self.transport.get(f"/repos/{repository}/installation")
        return found

    def installations(self) -> Iterator[Document]:
        """Yield all installations."""
        return self.transport.pages("/app/installations")

    def mint(self, installation: int, narrowing: Mapping[str, Any]) -> Document:
        """Return a new token of an installation, with its end; one too many does no harm."""
        place = f"/app/installations/{installation}/access_tokens"
        made: Document = self.transport.write("POST", place, dict(narrowing), repeatable=True)
        return made

    def deliveries(self) -> Iterator[Document]:
        """Yield the deliveries of the App's webhooks, newest first."""
        return self.transport.pages("/app/hook/deliveries")

    def redeliver(self, delivery: int) -> None:
        """Have a webhook sent again, under the id that it had."""
        self.transport.write("POST", f"/app/hook/deliveries/{delivery}/attempts", repeatable=True)


def _batches(annotations: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """Return them in what one request takes; no annotations are one empty batch."""
    starts = range(0, max(len(annotations), 1), ANNOTATIONS)
    return [list(annotations[start : start + ANNOTATIONS]) for start in starts]


def _with(fields: Mapping[str, Any], annotations: Sequence[Any]) -> Document:
    if not annotations:
        return dict(fields)
    return {**fields, "output": {**fields["output"], "annotations": list(annotations)}}


def _part(text: str) -> str:
    """Return a text as one part of a path."""
    return quote(text, safe="")
