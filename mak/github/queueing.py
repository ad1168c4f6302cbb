"""What an approved run waits for: others that write the same, or as many as are carried out.

Who waits for whom is decided by when they were approved, so that two never wait for each other.
"""

from __future__ import annotations

from dataclasses import replace

from mak.config import OnOverlap
from mak.github.ledger import Held
from mak.github.overlap import overlaps, touched
from mak.github.site import Site
from mak.github.state import ACTIVE, Phase, RunState
from mak.model import NodeId
from mak.plan import parse_plan

#: Those of a run that has been approved and has not ended.
_GOING = frozenset({Phase.RUNNING, Phase.REPAIR_REVIEW, Phase.PAUSED})


def queued(site: Site, held: Held) -> RunState:
    """Return a run that is to be carried out, with what it has to wait for first, if anything."""
    return replace(held.state, waits=_waits(site, held))


def wakes(site: Site, state: RunState) -> list[int]:
    """Return the issues of those runs that wait and may not have to any more.

    `state` is where another run of the repository stands now.
    """
    if state.phase is Phase.RUNNING and state.waits:
        return []
    waiting = [held for held in site.ledger.runs() if _is_waiting(held.state)]
    waiting.sort(key=lambda held: _turn(held.state))
    return [held.state.issue for held in waiting if held.state.run != state.run]


def _waits(site: Site, held: Held) -> str:
    state = held.state
    if state.waves or "plan.json" in site.ledger.kernel(held):
        # It has begun: what it does now others have waited for, or have been told of.
        return ""
    others = [each for each in site.ledger.runs() if each.state.run != state.run]
    return _for_overlap(site, held, others) or _for_room(site, state, others)


def _for_overlap(site: Site, held: Held, others: list[Held]) -> str:
    state = held.state
    if site.policy.on_overlap is not OnOverlap.WAIT:
        return ""
    before = [
        each
        for each in others
        if each.state.phase in _GOING and each.state.base == state.base
        if not _is_waiting(each.state) or _turn(each.state) < _turn(state)
    ]
    offered = [
        (each.state, site.ledger.proposal(each, offer.rev))
        for each in before
        for offer in each.state.offers
    ]
    shared = overlaps(_nodes(site, held), offered)
    if not shared:
        return ""
    named = ", ".join(f"run `{each.run}` of #{each.issue}" for each in shared)
    return f"Waits until {named} has ended, which writes the same: `on_overlap` is `wait`."


def _for_room(site: Site, state: RunState, others: list[Held]) -> str:
    most = site.policy.runs_per_repository
    going = [
        each
        for each in others
        if each.state.phase is Phase.RUNNING
        if not _is_waiting(each.state) or _turn(each.state) < _turn(state)
    ]
    if len(going) < most:
        return ""
    return (
        f"Waits for its turn: {len(going)} runs are carried out, `runs_per_repository` is {most}."
    )


def _is_waiting(state: RunState) -> bool:
    return state.phase is Phase.RUNNING and bool(state.waits)


def _turn(state: RunState) -> tuple[int, str]:
    approved = max((each.moment for each in state.approvals), default=state.since)
    return approved, state.run


def _nodes(site: Site, held: Held) -> list[NodeId]:
    plans = [offer for offer in held.state.offers if not offer.repair]
    if not plans:
        return []
    return list(touched(parse_plan(site.ledger.proposal(held, plans[-1].rev).plan)))


def spent_today(site: Site, person: int, *, but: str = "") -> float:
    """Return the US dollars that the runs of a person have spent in the last 24 hours."""
    since = site.moment - 24 * 3600
    runs = (held.state for held in site.ledger.runs())
    return sum(
        state.spent
        for state in runs
        if state.requester.id == person and state.run != but
        if state.created >= since or state.since >= since or state.phase in ACTIVE
    )
