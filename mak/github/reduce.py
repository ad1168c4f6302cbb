"""What a command makes of a run: pure, so that every state and command can be tried."""

from __future__ import annotations

from dataclasses import replace

from mak.github.commands import Command
from mak.github.state import (
    ACTIVE,
    Effect,
    Facts,
    Offer,
    Phase,
    Plan,
    Refuse,
    RunState,
    Stale,
    Start,
    Stop,
    Tell,
)
from mak.github.verbs import Level, verb_of

_WRITERS = frozenset({"admin", "write"})
_REVIEWS = frozenset({Phase.REVIEW, Phase.REPAIR_REVIEW})
_ALL = frozenset(Phase)
#: Where a command has a meaning; `approve` also while a plan is changed, to be told of it.
ALLOWED: dict[str, frozenset[Phase]] = {
    "run": _ALL - ACTIVE,
    "plan": _ALL - ACTIVE,
    "approve": _REVIEWS | {Phase.PLANNING},
    **dict.fromkeys(("edit", "drop", "keep"), _REVIEWS),
    "add": frozenset({Phase.REVIEW}),
    "replan": frozenset({Phase.REVIEW, Phase.FAILED}),
    "repair": frozenset({Phase.DONE, Phase.FAILED}),
    "skip": frozenset({Phase.REPAIR_REVIEW}),
    "retry": frozenset({Phase.FAILED, Phase.PAUSED}),
    "pause": frozenset({Phase.RUNNING}),
    "resume": frozenset({Phase.PAUSED, Phase.CANCELLED}),
    "cancel": ACTIVE,
    "status": _ALL,
    "help": _ALL,
}

Step = tuple[RunState, tuple[Effect, ...]]


def reduce(state: RunState, command: Command, facts: Facts) -> Step:
    """Return the run after a command, and what is to be done."""
    if not _may(state, command, facts):
        return state, (Refuse(),)
    if state.phase not in ALLOWED[command.verb]:
        return state, (Refuse(f"`{command.verb}` does nothing while the run is {state.phase}."),)
    match command.verb:
        case "status" | "help":
            return state, (Tell(command),)
        case "approve":
            return _approve(state, command, facts)
        case "pause":
            return replace(state, phase=Phase.PAUSED), (Stop(command),)
        case "cancel":
            return replace(state, phase=Phase.CANCELLED), (Stop(command),)
        case "resume" | "retry":
            return _go_on(state, command)
        case "run" | "plan":
            fresh = RunState(Phase.PLANNING, facts.actor, plan_only=command.verb == "plan")
            return fresh, (Plan(command),)
        case _:
            return replace(state, phase=Phase.PLANNING, approved=""), (Plan(command),)


def offered(state: RunState, offer: Offer, phase: Phase) -> RunState:
    """Return the run when a plan has been shown; whatever was approved before is so no more."""
    return replace(state, phase=phase, offers=(*state.offers, offer), approved="")


def _may(state: RunState, command: Command, facts: Facts) -> bool:
    verb = verb_of(command.verb)
    assert verb
    if facts.permission in _WRITERS:
        return True
    if command.verb == "cancel":
        return facts.actor == state.requester
    return verb.level is Level.READ and facts.permission == "read"


def _approve(state: RunState, command: Command, facts: Facts) -> Step:
    if state.plan_only:
        return state, (
            Refuse("This run was asked for as a plan only: `/mak run` carries one out."),
        )
    current = state.offers[-1] if state.offers and state.phase is not Phase.PLANNING else None
    if command.word:
        named = [offer for offer in state.offers if offer.digest.startswith(command.word)]
    else:
        # Times are whole seconds: what came in the same one may not have been seen.
        named = [offer for offer in state.offers if offer.shown < facts.written]
    meant = named[-1] if named else None
    if current is None or meant is None or meant.digest != current.digest:
        return state, (Stale(meant, current),)
    if command.word and len({offer.digest for offer in named}) > 1:
        return state, (Refuse(f"`{command.word}` begins more than one digest."),)
    running = replace(state, phase=Phase.RUNNING, approved=current.digest)
    return running, (Start(current.digest, command),)


def _go_on(state: RunState, command: Command) -> Step:
    if not state.approved:
        return state, (Refuse(f"`{command.verb}` has nothing to go on with: no plan is approved."),)
    return replace(state, phase=Phase.RUNNING), (Start(state.approved, command),)
