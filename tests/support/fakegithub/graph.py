"""The GraphQL that MAK needs, run by graphql-core on GitHub's own schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import graphql

from tests.support.fakegithub import contract
from tests.support.fakegithub.calls import Call, Refused
from tests.support.fakegithub.world import Issue, Remark, Repository, Thread


def run(call: Call) -> dict[str, Any]:
    """Answer a query or carry a mutation out."""
    root = _Root(call)
    result = graphql.graphql_sync(
        contract.graphql_schema(),
        call.body["query"],
        root_value=root,
        variable_values=call.body.get("variables"),
        operation_name=call.body.get("operationName"),
    )
    return dict(result.formatted)


class _Root:
    """The fields of Query and Mutation, as graphql-core calls them."""

    def __init__(self, call: Call) -> None:
        self._call = call

    def repository(self, _: Any, owner: str, name: str, **__: Any) -> Any:
        """Return a repository."""
        found = self._call.world.repositories.get(f"{owner}/{name}")
        if found is None:
            return None

        def pull(_: Any, number: int) -> Any:
            issue = found.issues.get(number)
            return self._pull(found, issue) if issue and issue.pull else None

        return {"id": f"R_{found.id}", "name": found.name, "pullRequest": pull}

    def minimizeComment(self, _: Any, input: dict[str, Any]) -> Any:
        """Hide a comment, and say why."""
        repository, issue, remark = self._remark(input["subjectId"])
        self._may("pull_requests:write" if issue.pull else "issues:write", repository)
        remark.minimized = input["classifier"]
        return {"minimizedComment": self._comment(remark)}

    def unminimizeComment(self, _: Any, input: dict[str, Any]) -> Any:
        """Show a comment again."""
        repository, issue, remark = self._remark(input["subjectId"])
        self._may("pull_requests:write" if issue.pull else "issues:write", repository)
        remark.minimized = None
        return {"unminimizedComment": self._comment(remark)}

    def resolveReviewThread(self, _: Any, input: dict[str, Any]) -> Any:
        """Resolve a thread."""
        for repository, issue in self._issues():
            for thread in issue.pull.threads if issue.pull else ():
                if thread.node_id == input["threadId"]:
                    self._may("pull_requests:write", repository)
                    thread.resolved = True
                    return {"thread": self._thread(thread)}
        raise _unresolved(input["threadId"])

    def markPullRequestReadyForReview(self, _: Any, input: dict[str, Any]) -> Any:
        """Make a draft ready; REST cannot."""
        for repository, issue in self._issues():
            if issue.pull and issue.node_id == input["pullRequestId"]:
                self._may("pull_requests:write", repository)
                issue.pull.draft = False
                return {"pullRequest": self._pull(repository, issue)}
        raise _unresolved(input["pullRequestId"])

    def node(self, _: Any, id: str) -> Any:
        """Return anything that has an id."""
        for repository, issue in self._issues():
            if issue.node_id == id and issue.pull:
                return self._pull(repository, issue)
        return self._comment(self._remark(id)[2])

    def _issues(self) -> Iterator[tuple[Repository, Issue]]:
        for repository in self._call.world.repositories.values():
            reach = self._call.grant.repositories
            if reach is None or repository in reach:
                yield from ((repository, issue) for issue in repository.issues.values())

    def _remark(self, identifier: str) -> tuple[Repository, Issue, Remark]:
        for repository, issue in self._issues():
            pull = issue.pull
            for remark in (
                *issue.comments,
                *(pull.remarks if pull else ()),
                *(pull.reviews if pull else ()),
            ):
                if remark.node_id == identifier:
                    return repository, issue, remark
        raise _unresolved(identifier)

    def _may(self, needs: str, repository: Repository) -> None:
        owner, name = repository.full_name.split("/")
        self._call.arguments = {"owner": owner, "repo": name}
        try:
            self._call.may(needs)
        except Refused as refused:
            raise graphql.GraphQLError(refused.message) from None

    def _comment(self, remark: Remark) -> dict[str, Any]:
        return {
            "__typename": "IssueComment",
            "id": remark.node_id,
            "databaseId": remark.id,
            "body": remark.body,
            "author": {"__typename": remark.user.type, "login": remark.user.login},
            "isMinimized": remark.minimized is not None,
            "minimizedReason": remark.minimized and remark.minimized.lower(),
        }

    def _thread(self, thread: Thread) -> dict[str, Any]:
        first = thread.remarks[0]
        return {
            "id": thread.node_id,
            "isResolved": thread.resolved,
            "isOutdated": False,
            "path": first.path,
            "line": first.line,
            "comments": _connection([self._comment(remark) for remark in thread.remarks]),
        }

    def _pull(self, repository: Repository, issue: Issue) -> dict[str, Any]:
        assert issue.pull
        return {
            "__typename": "PullRequest",
            "id": issue.node_id,
            "number": issue.number,
            "title": issue.title,
            "isDraft": issue.pull.draft,
            "reviewThreads": _connection([self._thread(thread) for thread in issue.pull.threads]),
        }


def _connection(nodes: list[dict[str, Any]]) -> Any:
    def page(_: Any, first: int | None = None, after: str | None = None, **__: Any) -> Any:
        begin = int(after or 0)
        end = begin + (first or len(nodes))
        info = {"hasNextPage": end < len(nodes), "endCursor": str(end)}
        return {"nodes": nodes[begin:end], "totalCount": len(nodes), "pageInfo": info}

    return page


def _unresolved(identifier: str) -> graphql.GraphQLError:
    return graphql.GraphQLError(
        f"Could not resolve to a node with the global id of '{identifier}'",
        extensions={"type": "NOT_FOUND"},
    )
