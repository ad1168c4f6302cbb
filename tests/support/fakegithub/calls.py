"""One request to the REST interface: who asks, what they may, and which endpoint answers."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tests.support.fakegithub.shapes import Shapes
from tests.support.fakegithub.world import (
    App,
    Issue,
    Remark,
    Repository,
    User,
    World,
)

#: GitHub's limit for a comment, an issue's text and a pull request's; in no description.
LONGEST_BODY = 65_536
Answer = tuple[int, Any]


class Refused(Exception):
    """What GitHub answers instead of doing it."""

    def __init__(self, status: int, message: str, *errors: Mapping[str, str] | str) -> None:
        """Take the status, the message and, for a validation, its errors."""
        super().__init__(message)
        self.status, self.message, self.errors = status, message, errors


@dataclass(eq=False)
class Grant:
    """What a token stands for."""

    token: str
    #: Who acts; None for an App that only says who it is.
    user: User | None
    permissions: Mapping[str, str] = field(default_factory=dict)
    #: The repositories it reaches; None for all that the person may see.
    repositories: tuple[Repository, ...] | None = None
    app: App | None = None
    expires: datetime | None = None
    #: Whether it is a workflow's `GITHUB_TOKEN`.
    of_workflow: bool = False


@dataclass(eq=False)
class Call:
    """One request: who, where, and what they said."""

    world: World
    shapes: Shapes
    grant: Grant
    arguments: Mapping[str, str]
    query: Mapping[str, str]
    body: Any
    #: How the server makes tokens, and the deliveries of its webhooks.
    mint: Callable[..., Grant]
    deliveries: Any

    @property
    def user(self) -> User:
        """Who acts."""
        if self.grant.user is None:
            raise Refused(401, "A JSON web token could not be decoded")
        return self.grant.user

    @property
    def repository(self) -> Repository:
        """The repository of the path."""
        name = f"{self.arguments['owner']}/{self.arguments['repo']}"
        found = self.world.repositories.get(name)
        reach = self.grant.repositories
        if found is None or (reach is not None and found not in reach):
            raise Refused(404, "Not Found")
        return found

    @property
    def issue(self) -> Issue:
        """The issue or pull request of the path."""
        number = self.arguments.get("issue_number") or self.arguments.get("pull_number")
        issue = self.repository.issues.get(int(number or 0))
        if issue is None or ("pull_number" in self.arguments and issue.pull is None):
            raise Refused(404, "Not Found")
        return issue

    def is_about_a_pull(self) -> bool:
        """Whether an endpoint of issues is used for a pull request, which has a permission too."""
        if "comment_id" in self.arguments:
            return self.remark()[0].pull is not None
        return "issue_number" in self.arguments and self.issue.pull is not None

    def remark(self) -> tuple[Issue, Remark]:
        """Return the comment of the path, and what it is on."""
        for issue in self.repository.issues.values():
            lines = issue.pull.remarks if issue.pull else []
            for remark in (*issue.comments, *lines):
                if remark.id == int(self.arguments["comment_id"]):
                    return issue, remark
        raise Refused(404, "Not Found")

    def may(self, needs: str) -> None:
        """Refuse what a token or its person may not do; `needs` is `permission:level`."""
        permission, level = needs.split(":")
        role = self.repository.role(self.user)
        if self.grant.repositories is not None:
            have = {"metadata": "read", **self.grant.permissions}.get(permission, "none")
            allowed = have == level or have in ("write", "admin")
        else:
            allowed = level == "read" or role in ("write", "maintain", "admin")
        if not allowed:
            raise Refused(403, "Resource not accessible by integration")


Route = Callable[[Call], Answer]
ROUTES: dict[tuple[str, str], tuple[str, Route]] = {}


def route(method: str, template: str, needs: str) -> Callable[[Route], Route]:
    """Register an endpoint; `needs` is `permission:level`, `app` or `token`."""

    def register(function: Route) -> Route:
        ROUTES[method, template] = (needs, function)
        return function

    return register


def answer(call: Call, method: str, template: str) -> Answer:
    """Carry a request out; raises `Refused`."""
    needs, function = ROUTES[method, template]
    if needs == "app":
        if call.grant.app is None or call.grant.user is not None:
            raise Refused(401, "A JSON web token could not be decoded")
    elif needs.startswith("issues:") and call.is_about_a_pull():
        try:
            call.may(needs)
        except Refused:
            call.may(needs.replace("issues", "pull_requests"))
    elif needs != "token":
        call.may(needs)
    return function(call)


def short(text: str | None) -> str:
    if text is not None and len(text) > LONGEST_BODY:
        error = {"resource": "IssueComment", "code": "unprocessable", "field": "data"}
        message = f"Body is too long (maximum is {LONGEST_BODY} characters)"
        raise Refused(422, "Validation Failed", {**error, "message": message})
    return text or ""


REPO = "/repos/{owner}/{repo}"


def new_token(kind: str, app: App | None = None) -> str:
    """Return a token as GitHub makes them; an installation's holds a JWT since 2026-04."""
    if app:
        parts = ".".join(secrets.token_urlsafe(length) for length in (27, 240, 64))
        return f"ghs_{app.id}_{parts}"
    return f"{kind}_{secrets.token_hex(18)}"
