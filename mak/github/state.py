"""Where a run stands that was asked for on GitHub, and what is to be done next."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from mak.github.commands import Command


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


#: Those of a run that has not ended.
ACTIVE = frozenset({Phase.PLANNING, Phase.REVIEW, Phase.RUNNING, Phase.REPAIR_REVIEW, Phase.PAUSED})


@dataclass(frozen=True, slots=True)
class Offer:
    """A plan, or a plan of repairs, as it was shown to people."""

    rev: int
    digest: str
    #: Seconds since 1970, when its comment was there.
    shown: int


@dataclass(frozen=True, slots=True)
class RunState:
    """One run."""

    phase: Phase
    #: The number of whoever asked for it: names change hands.
    requester: int
    #: What may be approved, the newest last.
    offers: tuple[Offer, ...] = ()
    #: The digest that somebody approved; what runs is this and nothing else.
    approved: str = ""
    #: Never to be carried out.
    plan_only: bool = False


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a command besides its words."""

    actor: int
    #: What the actor may do now.
    permission: str
    #: When the comment was written, in seconds since 1970.
    written: int


@dataclass(frozen=True, slots=True)
class Refuse:
    """Nothing is done; without a text the sign alone is given."""

    says: str = ""


@dataclass(frozen=True, slots=True)
class Stale:
    """What was approved is not what there is now; None: not known, or not made yet."""

    approved: Offer | None
    current: Offer | None


@dataclass(frozen=True, slots=True)
class Plan:
    """Plan anew, or change the plan, as a command says."""

    command: Command


@dataclass(frozen=True, slots=True)
class Start:
    """Run what has this digest; `command` says how far, or on top of what."""

    digest: str
    command: Command


@dataclass(frozen=True, slots=True)
class Stop:
    """Stop: after the wave that runs, or at once where it was cancelled."""

    command: Command


@dataclass(frozen=True, slots=True)
class Tell:
    """Say where the run stands, or what there is to say."""

    command: Command


Effect = Refuse | Stale | Plan | Start | Stop | Tell
