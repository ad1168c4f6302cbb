"""GitHub's documents in events, as much of them as MAK reads; fields come and go around it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Part(BaseModel):
    """A document of which only this much is of interest."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class User(Part):
    """A person, an App or an organization."""

    id: int
    login: str
    type: str = "User"


class App(Part):
    """Anything that is known by its id."""

    id: int


class Repository(Part):
    """A repository."""

    id: int
    full_name: str
    default_branch: str = ""


class Text(Part):
    """What somebody wrote: a review is submitted, all else is created."""

    id: int
    user: User | None = None
    body: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    submitted_at: datetime | None = None
    performed_via_github_app: App | None = None


class Issue(Text):
    """An issue, or a pull request as an issue."""

    number: int
    title: str
    pull_request: dict[str, Any] | None = None


class Comment(Text):
    """A comment, on a line too."""

    in_reply_to_id: int | None = None
    pull_request_review_id: int | None = None


class Review(Text):
    """A review."""

    state: str


class Head(Part):
    """Where a pull request comes from."""

    sha: str
    ref: str
    repo: Repository | None = None


class Pull(Part):
    """A pull request; webhooks about reviews do not say whether it is merged."""

    number: int
    merged: bool = False
    head: Head


class Base(Part):
    """Where a pull request goes to."""

    repo: App | None = None


class Numbered(Part):
    """A pull request of a check."""

    number: int
    base: Base | None = None


class Check(Part):
    """A check run."""

    id: int
    head_sha: str
    external_id: str | None = None
    app: App | None = None
    pull_requests: tuple[Numbered, ...] = ()


class Button(Part):
    """What was pressed at a check."""

    identifier: str = ""


class Dispatch(Part):
    """What a workflow is started with; a form gives texts."""

    number: int | None = Field(None, ge=0)
    #: Empty where a form was left so.
    kind: str = Field("", pattern=r"^[a-z_.]{0,64}$")
    delivery: str = Field("", pattern=r"^[0-9A-Za-z-]{0,64}$")


class Header(Part):
    """What events have in common."""

    action: str = ""
    sender: User
    repository: Repository
    installation: App | None = None


class OnIssue(Header):
    """`issues`."""

    issue: Issue


class OnComment(OnIssue):
    """`issue_comment`."""

    comment: Comment


class OnPull(Header):
    """`pull_request`."""

    pull_request: Pull
    before: str = ""


class OnReview(OnPull):
    """`pull_request_review`."""

    review: Review


class OnLine(OnPull):
    """`pull_request_review_comment`."""

    comment: Comment


class OnCheck(Header):
    """`check_run`."""

    check_run: Check
    requested_action: Button | None = None


class OnInstallation(Part):
    """`installation`, `installation_repositories`."""

    action: str
    sender: User
    installation: App
    repositories: tuple[Repository, ...] = ()
    repositories_added: tuple[Repository, ...] = ()
    repositories_removed: tuple[Repository, ...] = ()


class Ping(Part):
    """`ping`."""

    hook_id: int = 0


class OnDispatch(Header):
    """`workflow_dispatch` has inputs, `repository_dispatch` a payload."""

    inputs: Dispatch | None = None
    client_payload: Dispatch | None = None
