"""What the calls of one run share: a budget, checked before each, and who is not asked again.

Invariant: tokens and money that calls have spent or may still spend never exceed the budget by more
than our estimate of a prompt was off; a call that does not fit is not made.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import anyio

from mak.errors import AgentErrorKind as Kind
from mak.errors import UsageError
from mak.model import Usage
from mak.providers.request import NoAnswer

#: Whatever else is asked there, and with whatever model, meets the same.
_FOR_ALL = frozenset({Kind.AUTH, Kind.BILLING})
#: The key is good, but not for everything.
_FORBIDDEN = 403


class Stopped(NoAnswer):
    """Nobody was asked: a call before met what this one would meet, too."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may spend; None: as much as it takes."""

    tokens: int | None = None
    usd: float | None = None


@dataclass(frozen=True, slots=True)
class Cost:
    """What one call may take at most."""

    tokens: int = 0
    #: US dollars; None: no price is known.
    usd: float | None = 0.0


@dataclass(slots=True)
class Session:
    """One run's spending so far, over all of its clients."""

    limits: Limits = field(default_factory=Limits)
    spent: Usage = field(default_factory=Usage)
    _tokens: int = 0
    _usd: float = 0.0
    _open: int = 0
    _settled: anyio.Event | None = None
    _stopped: dict[tuple[str, str], NoAnswer] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse a limit in dollars for a run that has spent nobody knows how many."""
        if self.limits.usd is not None and self.spent.cost is None:
            raise UsageError(
                "session.max_usd is set, and what the run has cost so far is not known",
                hint="limit tokens instead (session.max_total_tokens, --max-tokens)",
            )

    async def reserve(self, cost: Cost, what: str) -> None:
        """Set aside what a call may take; wait for calls under way where only they are in the way.

        Raises `NoAnswer` when the budget is spent.
        """
        while excess := self._excess(cost):
            if not self._open:
                raise NoAnswer(
                    f"{what}: {excess}",
                    kind=Kind.BUDGET,
                    hint="raise it (--max-tokens, --max-usd or the configuration); a run that had "
                    "a plan goes on with mak run --recover",
                )
            self._settled = self._settled or anyio.Event()
            await self._settled.wait()
        self._open += 1
        self._tokens += cost.tokens
        self._usd += cost.usd or 0.0

    def settle(self, cost: Cost, usage: Usage) -> None:
        """Replace what was set aside by what the call took."""
        self._open -= 1
        self._tokens -= cost.tokens
        self._usd -= cost.usd or 0.0
        self.spent += usage
        if self._settled is not None:
            self._settled.set()
            self._settled = None

    def _excess(self, cost: Cost) -> str:
        """Return which limit a call would exceed, for people; empty: it fits."""
        spent, most = self.spent, self.limits
        used = spent.input + spent.output
        if most.tokens is not None and used + self._tokens + cost.tokens > most.tokens:
            return (
                f"the run has used {used:,} tokens, and this call may take {cost.tokens:,} more: "
                f"over session.max_total_tokens, {most.tokens:,}"
            )
        if most.usd is None:
            return ""
        if cost.usd is None or spent.cost is None:
            return "its price is not known, so that session.max_usd cannot be kept"
        if spent.cost + self._usd + cost.usd > most.usd:
            return (
                f"the run has cost ${spent.cost:.4f}, and this call may cost ${cost.usd:.4f} more: "
                f"over session.max_usd, ${most.usd:g}"
            )
        return ""

    def stop(self, endpoint: str, model: str, error: NoAnswer) -> None:
        """Note that asking there again is of no use in this run, if that is so."""
        if error.kind in _FOR_ALL and error.status != _FORBIDDEN:
            self._stopped[endpoint, ""] = error
        elif error.kind in (*_FOR_ALL, Kind.NOT_FOUND, Kind.RATE_LIMITED):
            self._stopped[endpoint, model] = error

    def refuse_stopped(self, endpoint: str, model: str) -> None:
        """Raise what the calls before met, where the next one would meet it too."""
        met = self._stopped.get((endpoint, "")) or self._stopped.get((endpoint, model))
        if met is not None:
            raise Stopped(
                str(met),
                kind=met.kind,
                status=met.status,
                retry_after=met.retry_after,
                hint=met.hint,
            )
