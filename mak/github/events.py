"""What GitHub tells: webhooks, and the events that start jobs, read into what MAK knows of them.

People, repositories and installations are numbers here; names change hands. An event that means
nothing to MAK is None. A payload of a known event without what that event always has is an error.

https://docs.github.com/webhooks/webhook-events-and-payloads
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from pydantic import ValidationError

from mak.errors import GitHubError
from mak.github import payloads


@dataclass(frozen=True, slots=True)
class Press:
    """Somebody pressed a button of a check, which GitHub lists nowhere: a wake brings it along."""

    person: int
    login: str
    #: Not a person: an App, an organization, a placeholder.
    is_bot: bool
    #: The App whose check it is; 0: GitHub does not say.
    app: int
    #: The check's external id.
    check: str
    #: The identifier of the button; empty: the check is to run again.
    wants: str


@dataclass(frozen=True, slots=True)
class Wake:
    """Something happened at an issue or pull request: look at it. All else is read from GitHub.

    Two wakes of one place may be worked off as one, unless a button was pressed.
    """

    #: 0 where there is none: a job of an Action has its own token.
    installation: int
    repository: int
    #: `owner/name`, as it was then.
    full_name: str
    #: An issue or a pull request; 0: all that goes on in the repository.
    number: int
    #: Event and action, as `issue_comment.created`.
    kind: str
    #: The id that a delivery keeps however often it is sent; empty without one.
    delivery: str = ""
    press: Press | None = None


@dataclass(frozen=True, slots=True)
class Person:
    """Whoever does something on GitHub."""

    id: int
    login: str
    #: Not a person: an App, an organization, a placeholder.
    is_bot: bool


@dataclass(frozen=True, slots=True)
class Place:
    """A repository, and how it was reached."""

    repository: int
    full_name: str
    #: 0 where there is none.
    installation: int
    default_branch: str
    sender: Person


@dataclass(frozen=True, slots=True)
class Text:
    """What somebody wrote; times are seconds since 1970, 0 where GitHub does not say."""

    id: int
    #: None when the account is gone.
    author: Person | None
    body: str
    created: int
    #: Equal to `created` until it is edited.
    updated: int
    #: The id of the App that wrote in the author's name, or None.
    via_app: int | None


@dataclass(frozen=True, slots=True)
class Head:
    """The newest commit of a pull request, and where it is from."""

    sha: str
    branch: str
    #: None when the fork is gone.
    repository: int | None


class End(StrEnum):
    """How an issue stopped being one that MAK may work on."""

    CLOSED = "closed"
    TRANSFERRED = "transferred"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class CommentCreated:
    """Somebody commented on an issue or a pull request."""

    place: Place
    number: int
    on_pull: bool
    comment: Text


@dataclass(frozen=True, slots=True)
class IssueOpened:
    """Somebody opened an issue."""

    place: Place
    number: int
    title: str
    text: Text


@dataclass(frozen=True, slots=True)
class IssueEnded:
    """An issue was closed, moved to another repository or deleted."""

    place: Place
    number: int
    how: End


@dataclass(frozen=True, slots=True)
class PullClosed:
    """A pull request was closed, merged or not."""

    place: Place
    number: int
    head: Head
    merged: bool


@dataclass(frozen=True, slots=True)
class PullPushed:
    """A pull request's branch got other commits."""

    place: Place
    number: int
    head: Head
    before: str


@dataclass(frozen=True, slots=True)
class ReviewSubmitted:
    """Somebody reviewed a pull request; `state` is approved, changes_requested or commented."""

    place: Place
    number: int
    state: str
    review: Text


@dataclass(frozen=True, slots=True)
class LineCommented:
    """Somebody commented on a line of a pull request, or answered such a comment."""

    place: Place
    number: int
    comment: Text
    #: The first comment of the thread, or None when this is it.
    answers: int | None
    review: int | None


@dataclass(frozen=True, slots=True)
class CheckAsked:
    """Somebody pressed a check's button, or wants it run again."""

    place: Place
    check: int
    #: The App whose check it is.
    app: int | None
    external_id: str
    sha: str
    #: The identifier of the button.
    wants: str
    again: bool
    #: Pull requests within the repository whose newest commit the check is on.
    pulls: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class InstallationChanged:
    """The App was installed, taken away, suspended or given other repositories."""

    installation: int
    sender: Person
    #: Event and action.
    kind: str
    #: Those that the change is about: id and full name.
    repositories: tuple[tuple[int, str], ...]
    #: Whether MAK may do nothing there any more.
    ended: bool


@dataclass(frozen=True, slots=True)
class Pinged:
    """GitHub tries out the webhook."""

    hook: int


@dataclass(frozen=True, slots=True)
class Dispatched:
    """The App, or a person, started the repository's workflow to look at one place."""

    place: Place
    number: int
    kind: str
    delivery: str


Event = (
    CommentCreated
    | IssueOpened
    | IssueEnded
    | PullClosed
    | PullPushed
    | ReviewSubmitted
    | LineCommented
    | CheckAsked
    | InstallationChanged
    | Pinged
    | Dispatched
)
#: Those with something that a person wrote.
Written = CommentCreated | IssueOpened | ReviewSubmitted | LineCommented


# ------------------------------------------------------------------------------------------ reading


def _person(user: payloads.User) -> Person:
    return Person(user.id, user.login, user.type != "User")


def _place(header: payloads.Header) -> Place:
    return Place(
        repository=header.repository.id,
        full_name=header.repository.full_name,
        installation=header.installation.id if header.installation else 0,
        default_branch=header.repository.default_branch,
        sender=_person(header.sender),
    )


def _text(written: payloads.Text) -> Text:
    created = written.created_at or written.submitted_at
    app = written.performed_via_github_app
    return Text(
        id=written.id,
        author=_person(written.user) if written.user else None,
        body=written.body or "",
        created=_seconds(created),
        updated=_seconds(written.updated_at or created),
        via_app=app.id if app else None,
    )


def _seconds(time: datetime | None) -> int:
    return int(time.timestamp()) if time else 0


def _head(pull: payloads.Pull) -> Head:
    repository = pull.head.repo.id if pull.head.repo else None
    return Head(pull.head.sha, pull.head.ref, repository)


def _comment(payload: Any) -> Event:
    found = payloads.OnComment.model_validate(payload)
    on_pull = found.issue.pull_request is not None
    return CommentCreated(_place(found), found.issue.number, on_pull, _text(found.comment))


def _opened(payload: Any) -> Event:
    found = payloads.OnIssue.model_validate(payload)
    return IssueOpened(_place(found), found.issue.number, found.issue.title, _text(found.issue))


def _ended(payload: Any) -> Event:
    found = payloads.OnIssue.model_validate(payload)
    return IssueEnded(_place(found), found.issue.number, End(found.action))


def _pull_closed(payload: Any) -> Event:
    found = payloads.OnPull.model_validate(payload)
    pull = found.pull_request
    return PullClosed(_place(found), pull.number, _head(pull), pull.merged)


def _pull_pushed(payload: Any) -> Event:
    found = payloads.OnPull.model_validate(payload)
    pull = found.pull_request
    return PullPushed(_place(found), pull.number, _head(pull), found.before)


def _reviewed(payload: Any) -> Event:
    found = payloads.OnReview.model_validate(payload)
    review = found.review
    return ReviewSubmitted(
        _place(found), found.pull_request.number, review.state.lower(), _text(review)
    )


def _line_commented(payload: Any) -> Event:
    found = payloads.OnLine.model_validate(payload)
    comment = found.comment
    return LineCommented(
        _place(found),
        found.pull_request.number,
        _text(comment),
        comment.in_reply_to_id,
        comment.pull_request_review_id,
    )


def _check(payload: Any) -> Event:
    found = payloads.OnCheck.model_validate(payload)
    check = found.check_run
    return CheckAsked(
        place=_place(found),
        check=check.id,
        app=check.app.id if check.app else None,
        external_id=check.external_id or "",
        sha=check.head_sha,
        wants=found.requested_action.identifier if found.requested_action else "",
        again=found.action == "rerequested",
        # A fork's pull request may have the same number in another repository.
        pulls=tuple(
            pull.number
            for pull in check.pull_requests
            if not pull.base or not pull.base.repo or pull.base.repo.id == found.repository.id
        ),
    )


def _installation(name: str) -> Callable[[Any], Event]:
    def reader(payload: Any) -> Event:
        found = payloads.OnInstallation.model_validate(payload)
        repositories = found.repositories or found.repositories_added or found.repositories_removed
        return InstallationChanged(
            installation=found.installation.id,
            sender=_person(found.sender),
            kind=f"{name}.{found.action}",
            repositories=tuple((one.id, one.full_name) for one in repositories),
            ended=found.action in ("deleted", "suspend", "removed"),
        )

    return reader


def _ping(payload: Any) -> Event:
    return Pinged(payloads.Ping.model_validate(payload).hook_id)


def _dispatched(payload: Any) -> Event | None:
    found = payloads.OnDispatch.model_validate(payload)
    asked = found.inputs or found.client_payload
    if asked is None or asked.number is None:
        return None
    return Dispatched(_place(found), asked.number, asked.kind or "dispatch", asked.delivery)


#: By event and action; the empty action stands for any. Those that webhooks bring.
WEBHOOKS: Mapping[str, Mapping[str, Callable[[Any], Event | None]]] = {
    "check_run": {"requested_action": _check, "rerequested": _check},
    "installation": {
        action: _installation("installation")
        for action in ("created", "deleted", "new_permissions_accepted", "suspend", "unsuspend")
    },
    "installation_repositories": {
        action: _installation("installation_repositories") for action in ("added", "removed")
    },
    "issue_comment": {"created": _comment},
    "issues": {"opened": _opened, "closed": _ended, "transferred": _ended, "deleted": _ended},
    "ping": {"": _ping},
    "pull_request": {"closed": _pull_closed, "synchronize": _pull_pushed},
    "pull_request_review": {"submitted": _reviewed},
    "pull_request_review_comment": {"created": _line_commented},
}
#: Those that start jobs besides.
JOBS: Mapping[str, Mapping[str, Callable[[Any], Event | None]]] = {
    **WEBHOOKS,
    "repository_dispatch": {"": _dispatched},
    "workflow_dispatch": {"": _dispatched},
}


def read(name: str, payload: Mapping[str, Any]) -> Event | None:
    """Return what an event says, or None for one that means nothing to MAK.

    Raises `GitHubError` when a payload is not what GitHub describes for its event.
    """
    readers = JOBS.get(name, {})
    action = payload.get("action")
    reader = readers.get(action if isinstance(action, str) else "") or readers.get("")
    if reader is None:
        return None
    try:
        return reader(payload)
    except (ValidationError, OverflowError, ValueError) as error:
        raise GitHubError(f"reading an event: {name}: {_first(error)}") from error


def _first(error: Exception) -> str:
    """Say where a payload is wrong, without what stands there."""
    if not isinstance(error, ValidationError):
        return type(error).__name__
    first = error.errors(include_input=False, include_url=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


def wakes(event: Event, delivery: str = "", alias: str = "") -> tuple[Wake, ...]:
    """Return which places are to be looked at because of an event.

    A text without `/mak`, or `alias`, holds no command and wakes nobody; neither does what a bot
    wrote. Who may command what is decided later, by what GitHub then says of them.
    """
    press = None
    match event:
        case InstallationChanged(installation, _, kind, repositories, ended):
            if not ended:
                return ()
            return tuple(
                Wake(installation, repository, full_name, 0, kind, delivery)
                for repository, full_name in repositories
            )
        case Pinged():
            return ()
        case CheckAsked(pulls=pulls):
            # A commit may be the newest one of several; what runs there is found by the check.
            number = pulls[0] if len(pulls) == 1 else 0
            press = _press(event)
        case _:
            number = event.number
    if isinstance(event, Written) and not _calls(event, alias):
        return ()
    place, kind = event.place, kind_of(event)
    ids = (place.installation, place.repository, place.full_name)
    return (Wake(*ids, number, kind, delivery, press),)


def _press(event: CheckAsked) -> Press:
    sender = event.place.sender
    who = (sender.id, sender.login, sender.is_bot)
    return Press(*who, event.app or 0, event.external_id, "" if event.again else event.wants)


def kind_of(event: Event) -> str:
    """Return event and action as one word."""
    match event:
        case CommentCreated():
            return "issue_comment.created"
        case IssueOpened():
            return "issues.opened"
        case IssueEnded(how=how):
            return f"issues.{how}"
        case PullClosed():
            return "pull_request.closed"
        case PullPushed():
            return "pull_request.synchronize"
        case ReviewSubmitted():
            return "pull_request_review.submitted"
        case LineCommented():
            return "pull_request_review_comment.created"
        case CheckAsked(again=again):
            return f"check_run.{'rerequested' if again else 'requested_action'}"
        case InstallationChanged(kind=kind) | Dispatched(kind=kind):
            return kind
        case Pinged():
            return "ping"


def _calls(event: Written, alias: str) -> bool:
    match event:
        case IssueOpened(text=text) | CommentCreated(comment=text) | LineCommented(comment=text):
            written = text
        case ReviewSubmitted(review=text):
            written = text
    if event.place.sender.is_bot or (written.author and written.author.is_bot):
        return False
    body = written.body.casefold()
    return any(name.casefold() in body for name in ("/mak", alias) if name)
