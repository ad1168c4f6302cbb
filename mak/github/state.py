"""Where a run stands that was asked for on GitHub: the document that every decision is made from.

It is `state.json` in the run's record (`refs/mak/runs/<run>`), beside the plans as they were
offered; comments, labels and checks are only made from it. Whoever may read the repository may read
it, so it holds no token, no prompt and nothing that a model wrote but plans.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from mak.errors import GitHubError
from mak.github.commands import Command

_Document = TypeVar("_Document", "RunState", "Proposal")

#: Seconds that a plan waits for somebody to decide.
PATIENCE = 14 * 24 * 3600
#: Seconds without a sign of whoever works on a run after which another may go on.
LEASE = 600


class Phase(StrEnum):
    """Where a run stands."""

    PLANNING = "planning"
    REVIEW = "review"
    RUNNING = "running"
    REPAIR_REVIEW = "repair-review"
    PAUSED = "paused"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    #: Another run of the same issue was first.
    SUPERSEDED = "superseded"


#: Those of a run that has not ended.
ACTIVE = frozenset({Phase.PLANNING, Phase.REVIEW, Phase.RUNNING, Phase.REPAIR_REVIEW, Phase.PAUSED})
#: Those in which a person decides.
REVIEWS = frozenset({Phase.REVIEW, Phase.REPAIR_REVIEW})


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody at GitHub: by number, since names change hands."""

    id: int
    login: str


@dataclass(frozen=True, slots=True)
class Trigger:
    """The comment that a run came of."""

    comment: int
    url: str
    line: int
    #: When it was written, in seconds since 1970.
    written: int
    #: Of its text as it was read.
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What whoever asked for the run wants of it; None or empty: as it is configured."""

    agents: int | None = None
    waves: int | None = None
    #: US dollars.
    budget: float | None = None
    #: Whether it goes on without a review, where that is allowed.
    unreviewed: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """What somebody did to a plan."""

    #: As a sentence has it: `T3 edited`, `T4 dropped`.
    what: str
    login: str
    moment: int


@dataclass(frozen=True, slots=True)
class Offer:
    """A plan, or a plan of repairs, as it was shown to people."""

    #: From 1, over all plans of the run.
    rev: int
    #: SHA-256 of the plan, in hex.
    digest: str
    #: Seconds since 1970, when its comment was there; 0: it is not there yet.
    shown: int = 0
    #: Of which plan of repairs; 0: of the plan.
    repair: int = 0
    #: Since the offer before.
    changes: tuple[Change, ...] = ()
    #: Files of the plan that take a maintainer's explicit word: workflows, lock files, ….
    protected: tuple[str, ...] = ()
    #: The digest under which the kernel knows these repairs, whatever became of them here.
    origin: str = ""


@dataclass(frozen=True, slots=True)
class Approval:
    """Somebody's yes to an offer."""

    person: Person
    digest: str
    url: str
    moment: int


@dataclass(frozen=True, slots=True)
class Todo:
    """A command that has to do with a plan, and is still to be carried out."""

    command: Command
    person: Person
    #: Of its comment, such as `c81:1`.
    key: str
    moment: int


@dataclass(frozen=True, slots=True)
class Halt:
    """Who said that the run is to stop, and how."""

    #: `pause`: after the wave that runs; `cancel`: now.
    how: str
    login: str
    #: Whether what it committed is taken back.
    revert: bool = False


@dataclass(frozen=True, slots=True)
class Landed:
    """A wave on the branch."""

    #: From 1, repairs counted too.
    number: int
    commit: str
    tasks: tuple[str, ...]
    #: One line.
    subject: str = ""
    #: Of which plan of repairs; 0: of the plan.
    repair: int = 0


@dataclass(frozen=True, slots=True)
class Pull:
    """The run's pull request."""

    number: int
    node: str
    draft: bool = True


@dataclass(frozen=True, slots=True)
class Posted:
    """A text that is on GitHub: where, and what it says."""

    id: int
    node: str = ""
    #: Of its body.
    sha256: str = ""
    #: Whether it was hidden as outdated.
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command is answered with, until it is there."""

    #: Of the command, such as `c81:1`.
    key: str
    #: Where it is said: the number of an issue or pull request.
    issue: int
    body: str


@dataclass(frozen=True, slots=True)
class Lease:
    """Who works on the run; another may take over after `until`, in seconds since 1970."""

    owner: str
    nonce: str
    until: int


@dataclass(frozen=True, slots=True)
class RunState:
    """One run."""

    phase: Phase
    requester: Person
    run: str = ""
    issue: int = 0
    trigger: Trigger = Trigger(0, "", 0, 0)
    #: As the planner is given it.
    request: str = ""
    #: What the issue says beside it, for planners that are models.
    context: str = ""
    wanted: Wanted = Wanted()
    #: The branch that the pull request is for, and its commit when the run began.
    base: str = ""
    base_commit: str = ""
    #: What may be approved, the newest last.
    offers: tuple[Offer, ...] = ()
    #: The digest that was approved; what runs is this and nothing else.
    approved: str = ""
    #: Those of the newest offer, and of all that ran.
    approvals: tuple[Approval, ...] = ()
    #: Never to be carried out.
    plan_only: bool = False
    #: The last wave that is begun; None: all are.
    last_wave: int | None = None
    todo: tuple[Todo, ...] = ()
    halt: Halt | None = None
    waves: tuple[Landed, ...] = ()
    #: A wave that is committed and may not be on the branch yet.
    committing: Landed | None = None
    #: Repairs that somebody decided to do without, by the number of their plan.
    skipped: tuple[int, ...] = ()
    #: The newest commit of the branch that is known to be the run's, or taken up by it.
    head: str = ""
    #: Which record of the kernel the run is in; a retry begins another one.
    attempt: int = 1
    #: The record whose end has been taken note of; one that ended and is not this was cut off then.
    over: str = ""
    #: How many waves had landed when that record was begun: the kernel counts from there.
    begun_after: int = 0
    #: Whether the next record is a new one, so that no answer of the old one is used again.
    afresh: bool = False
    #: What an approved run waits for, as a sentence has it; empty: nothing.
    waits: str = ""
    #: What became of the waves that were to be taken back; empty: nothing yet.
    reverted: str = ""
    #: US dollars and tokens, planning included.
    spent: float = 0.0
    tokens: int = 0
    #: Why it is not going on, in one line.
    why: str = ""
    #: What was done last, for the end: `14 tests`, findings, ….
    facts: Mapping[str, str] = field(default_factory=dict)
    #: Commands that have been dealt with: `c81:1` is line 1 of comment 81.
    handled: tuple[str, ...] = ()
    answers: tuple[Answer, ...] = ()
    #: What is on GitHub, by what it is: `track`, `plan:2`, `repair:1`, ….
    posted: Mapping[str, Posted] = field(default_factory=dict)
    pull: Pull | None = None
    lease: Lease | None = None
    created: int = 0
    #: When the phase was entered.
    since: int = 0

    @property
    def branch(self) -> str:
        """Return the branch that the run works on."""
        return f"mak/{self.issue}-{self.run}"

    @property
    def record(self) -> str:
        """Return the run's id in the kernel."""
        return self.run if self.attempt == 1 else f"{self.run}-{self.attempt}"

    @property
    def offer(self) -> Offer | None:
        """Return the newest offer."""
        return self.offers[-1] if self.offers else None

    @property
    def takes_back(self) -> bool:
        """Whether its waves are still to be taken back, as whoever cancelled it asked."""
        asked = self.halt is not None and self.halt.revert
        return self.phase is Phase.CANCELLED and asked and bool(self.waves) and not self.reverted

    def into(self, phase: Phase, moment: int, why: str = "") -> RunState:
        """Return the run in another phase."""
        return replace(self, phase=phase, since=moment, why=why)


@dataclass(frozen=True, slots=True)
class Overlap:
    """An open run of the same base that is to write the same nodes."""

    run: str
    issue: int
    login: str
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Dropped:
    """A task that somebody took out of a plan, to be kept again."""

    #: As in a plan file.
    task: Mapping[str, Any]
    login: str


@dataclass(frozen=True, slots=True)
class Spot:
    """What a repair puts right: a line of a file at the head of the branch."""

    task: str
    path: str
    #: 1-based; 0: the file as a whole.
    line: int
    says: str


@dataclass(frozen=True, slots=True)
class Proposal:
    """A plan as it is offered, with what people want to know of it: `plan/<rev>.json`."""

    #: As in a plan file; ids are T1, T2, … in a plan and R1, R2, … in repairs.
    plan: Mapping[str, Any]
    waves: tuple[tuple[str, ...], ...]
    remarks: tuple[str, ...] = ()
    #: US dollars, at least and at most; None: no price is known.
    cost: tuple[float | None, float | None] = (None, None)
    #: As in the offer: files that take a maintainer's explicit word.
    protected: tuple[str, ...] = ()
    overlaps: tuple[Overlap, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    spots: tuple[Spot, ...] = ()
    #: What the planner was given; empty: the run's request.
    asked: str = ""
    #: How tasks are called in the kernel, by the ids shown.
    names: Mapping[str, str] = field(default_factory=dict)


def dump(document: RunState | Proposal) -> bytes:
    """Return a document as JSON that `load` reads back."""
    return _adapter(type(document).__name__).dump_json(document, indent=1)


def load(kind: type[_Document], data: bytes) -> _Document:
    """Read what `dump` wrote; raises `GitHubError` for anything else."""
    try:
        found: _Document = _adapter(kind.__name__).validate_json(data)
    except ValidationError as error:
        raise GitHubError(f"reading a run's state: {error.errors()[0]['msg']}") from error
    return found


@cache
def _adapter(kind: str) -> TypeAdapter[Any]:
    return TypeAdapter({"RunState": RunState, "Proposal": Proposal}[kind])
