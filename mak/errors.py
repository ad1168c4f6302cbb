"""The exception tree: what a person can meet, and what must never happen.

::

    MakError                 expected; one line and a hint at the launcher, exit 1
    ├── UsageError           the command line, configuration or plan file is wrong; exit 2
    ├── PlanError            a request could not become a plan that can be trusted
    ├── RepositoryRefused    this repository, in this state, cannot be written safely
    ├── StoreError           Git objects, refs, index or working tree did not do as told
    │   └── LockHeld         somebody else holds what is needed (carries node and holder)
    ├── AgentError           an agent gave no answer at all (carries its kind)
    └── GitHubError          GitHub refused, or cannot be reached (carries the status)
        └── AnswerLost       whether a write was done is unknown: look before doing it again
    MakBug                   an invariant does not hold; exit 3, please report

Refusals, findings and rejected edits are data (`mak.model`), never exceptions.
"""

from __future__ import annotations

from enum import StrEnum


class MakError(Exception):
    """Something a person can meet and act on.

    The text says what was being done and to what, outside in; `hint` names the next command.
    """

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(MakError):
    """The command line, the configuration or a plan file cannot be used as given."""

    exit_code = 2


class PlanError(MakError):
    """A request could not be turned into a grounded plan."""


class RepositoryRefused(MakError):
    """The repository's kind or state does not allow a safe write; the hint says what to do."""


class StoreError(MakError):
    """Reading or writing Git went wrong in a way that left everything as it was."""


class LockHeld(StoreError):
    """Another live holder has a lock that conflicts with the one asked for."""

    def __init__(self, node: str, holder: str, *, hint: str = "") -> None:
        super().__init__(f"locking {node}: held by {holder}", hint=hint)
        self.node = node
        self.holder = holder


class AgentErrorKind(StrEnum):
    """Why no answer came. The first group is final; the second may pass."""

    AUTH = "auth"
    BILLING = "billing"
    NOT_FOUND = "not_found"
    BAD_REQUEST = "bad_request"
    UNSUPPORTED_FORMAT = "unsupported_format"
    CONTEXT = "context"
    UNAVAILABLE = "unavailable"
    #: MAK's own limit for a run.
    BUDGET = "budget"

    RATE_LIMITED = "rate_limited"
    OVERLOADED = "overloaded"
    TRANSIENT = "transient"
    UNREACHABLE = "unreachable"
    TIMEOUT = "timeout"
    MALFORMED = "malformed"


class AgentError(MakError):
    """An agent or a planner gave no answer: the endpoint, not the reply, is at fault."""

    def __init__(
        self,
        message: str,
        *,
        kind: AgentErrorKind,
        status: int | None = None,
        retry_after: float | None = None,
        hint: str = "",
    ) -> None:
        super().__init__(message, hint=hint)
        self.kind = kind
        #: HTTP status, when there was one.
        self.status = status
        #: Seconds the endpoint asked us to wait, when it did.
        self.retry_after = retry_after


class GitHubError(MakError):
    """GitHub did not do what was asked, or gave no answer."""

    def __init__(self, message: str, *, status: int = 0, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        #: HTTP status, 0 when there was none.
        self.status = status


class AnswerLost(GitHubError):
    """A write may have been done: its answer did not come."""


class MakBug(Exception):
    """An invariant of MAK does not hold. Never expected; always worth a report."""
