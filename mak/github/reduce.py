"""What a command makes of a run: pure, so that every state and command can be tried."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mak.github.commands import Command
from mak.github.state import (
    ACTIVE,
    PATIENCE,
    REVIEWS,
    Approval,
    Change,
    Halt,
    Offer,
    Person,
    Phase,
    RunState,
    Todo,
)
from mak.github.verbs import Level, verb_of

_WRITERS = frozenset({"admin", "write"})
_KEEPERS = frozenset({"admin", "maintain"})
_ALL = frozenset(Phase)
#: Files that a sentence names.
_FILES = 8
#: Where a command has a meaning; `approve` also while a plan is changed, to be told of it.
ALLOWED: dict[str, frozenset[Phase]] = {
    "run": _ALL - ACTIVE,
    "plan": _ALL - ACTIVE,
    "approve": REVIEWS | {Phase.PLANNING},
    **dict.fromkeys(("edit", "drop", "keep"), REVIEWS | {Phase.PLANNING}),
    "add": frozenset({Phase.REVIEW, Phase.PLANNING}),
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


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a command besides its words."""

    actor: Person
    #: What the actor may do now: admin, write, read or none.
    permission: str
    #: When the comment was written, in seconds since 1970.
    written: int
    #: By name where there are finer ones, such as `maintain`; empty: as `permission`.
    role: str = ""
    #: Of the comment and line, such as `c81:1`.
    key: str = ""
    url: str = ""
    #: When it is dealt with, in seconds since 1970.
    now: int = 0
    #: The digest of what it was said of; empty: of what there was when it was written.
    offer: str = ""


@dataclass(frozen=True, slots=True)
class Rules:
    """What a repository asks of those who decide."""

    approvals: int = 1
    #: Whether whoever approves has to be a maintainer.
    maintainers: bool = False
    #: Whether whoever asked for the run may not approve it.
    others: bool = False
    #: Whether a maintainer may ask for a run that nobody reviews.
    unreviewed: bool = False


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
class Begin:
    """A new run is asked for."""

    command: Command


@dataclass(frozen=True, slots=True)
class Done:
    """The command did what it says; `says` is empty where the run's own texts show it."""

    says: str = ""


@dataclass(frozen=True, slots=True)
class Tell:
    """Say where the run stands, or what there is to say."""

    command: Command


Effect = Refuse | Stale | Begin | Done | Tell
Step = tuple[RunState, Effect]


def reduce(state: RunState, command: Command, facts: Facts, rules: Rules) -> Step:
    """Return the run after a command, and what that was."""
    if not _may(state, command, facts):
        return state, Refuse()
    if state.phase not in ALLOWED[command.verb]:
        return state, Refuse(f"`{command.verb}` does nothing while the run is {state.phase}.")
    match command.verb:
        case "status" | "help":
            return state, Tell(command)
        case "run" | "plan":
            return _begin(state, command, facts, rules)
        case "approve":
            return _approve(state, command, facts, rules)
        case "skip":
            return _skip(state, command, facts)
        case "pause":
            return replace(state, halt=Halt("pause", facts.actor.login)), Done()
        case "cancel":
            halt = Halt("cancel", facts.actor.login, command.flag("revert") is not None)
            why = f"Cancelled by @{facts.actor.login} while the run was {state.phase}."
            stopped = replace(state, halt=halt, todo=(), waits="", reverted="")
            return stopped.into(Phase.CANCELLED, facts.now, why), Done()
        case "resume" | "retry":
            return _go_on(state, command, facts)
        case _:
            return _put(state, command, facts), Done()


def offered(state: RunState, offer: Offer, phase: Phase, moment: int) -> RunState:
    """Return the run when a plan is there; whatever was approved before is so no more."""
    offers = (*state.offers, offer)
    return replace(_undecided(state), offers=offers, approved="").into(phase, moment)


def _undecided(state: RunState) -> RunState:
    """Return the run without approvals of what did not begin; those of what ran are kept."""
    if state.phase not in REVIEWS or state.offer is None:
        return state
    digest = state.offer.digest
    kept = tuple(each for each in state.approvals if each.digest != digest)
    return replace(state, approvals=kept)


def shown(state: RunState, moment: int) -> RunState:
    """Return the run when the comment of its newest offer is there, by GitHub's clock."""
    *before, last = state.offers
    return replace(state, offers=(*before, replace(last, shown=moment)))


def closed(state: RunState, what: str, moment: int) -> RunState:
    """Return the run when its issue or pull request is no longer open; `what` says which."""
    if state.phase not in ACTIVE:
        return state
    stopped = replace(state, halt=Halt("cancel", ""), todo=())
    return stopped.into(Phase.CANCELLED, moment, f"Cancelled: {what}.")


def expired(state: RunState, moment: int) -> RunState:
    """Return the run when nobody has decided on it for as long as it waits."""
    waits = state.phase in REVIEWS or state.phase is Phase.PAUSED
    if not waits or moment - state.since < PATIENCE:
        return state
    days = PATIENCE // (24 * 3600)
    return replace(state, todo=()).into(
        Phase.EXPIRED, moment, f"Nobody decided for {days} days. Nothing more is done."
    )


def moved(state: RunState, login: str, commit: str, moment: int) -> RunState:
    """Return the run when somebody pushed to its branch: it waits for a person."""
    why = f"@{login} pushed {commit[:7]} to `{state.branch}`."
    return replace(state, halt=None, committing=None).into(Phase.PAUSED, moment, why)


def _may(state: RunState, command: Command, facts: Facts) -> bool:
    verb = verb_of(command.verb)
    assert verb
    if facts.permission in _WRITERS:
        return True
    if command.verb == "cancel":
        return facts.actor.id == state.requester.id
    return verb.level is Level.READ and facts.permission == "read"


def _keeps(facts: Facts) -> bool:
    return (facts.role or facts.permission) in _KEEPERS


def _named(files: Sequence[str]) -> str:
    """Return files as a sentence has them, cut to what somebody reads."""
    # A backtick would end the code that keeps a path from being markup.
    shown = [f"`{path.replace('`', chr(39))}`" for path in files[:_FILES]]
    more = len(files) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _begin(state: RunState, command: Command, facts: Facts, rules: Rules) -> Step:
    if command.flag("yes") is not None:
        if not rules.unreviewed:
            return state, Refuse(
                "`--yes` is not allowed here: `allow_unreviewed` in `.github/mak.yml` is not set."
            )
        if not _keeps(facts):
            return state, Refuse("`--yes` is for those who maintain the repository.")
    return state, Begin(command)


def _approve(state: RunState, command: Command, facts: Facts, rules: Rules) -> Step:
    if state.plan_only:
        return state, Refuse("This run was asked for as a plan only: `/mak run` carries one out.")
    current = state.offer if state.phase in REVIEWS else None
    # Nobody can mean what was not there when they wrote, and times are whole seconds.
    seen = [offer for offer in state.offers if offer.shown and offer.shown < facts.written]
    if command.word:
        named = [offer for offer in state.offers if offer.digest.startswith(command.word)]
        if len({offer.digest for offer in named}) > 1:
            return state, Refuse(f"`{command.word}` begins more than one digest.")
    else:
        named = seen
    meant = named[-1] if named else None
    if current is None or meant is None or meant.digest != current.digest:
        return state, Stale(meant, current)
    if rules.maintainers and not _keeps(facts):
        return state, Refuse("This repository has its maintainers approve plans.")
    if current.protected and not _keeps(facts):
        files = _named(current.protected)
        return state, Refuse(f"Only those who maintain the repository may let this change {files}.")
    if current.protected and command.flag("allow-protected") is None:
        word = f"/mak approve {current.digest[:7]} --allow-protected"
        return state, Refuse(f"This plan changes {_named(current.protected)}: `{word}` allows it.")
    if rules.others and facts.actor.id == state.requester.id:
        return state, Refuse("This repository has somebody else approve what you asked for.")
    yes = Approval(facts.actor, current.digest, facts.url, facts.now)
    mine = (facts.actor.id, current.digest)
    others = [each for each in state.approvals if (each.person.id, each.digest) != mine]
    state = replace(state, approvals=(*others, yes))
    given = sum(each.digest == current.digest for each in state.approvals)
    if (missing := rules.approvals - given) > 0:
        more = "1 more approval is" if missing == 1 else f"{missing} more approvals are"
        return state, Done(f"Approved by @{facts.actor.login}; {more} needed.")
    last = command.flag("waves")
    upto = int(last.rpartition("..")[2]) if last else None
    running = replace(state, approved=current.digest, last_wave=upto, halt=None)
    return running.into(Phase.RUNNING, facts.now), Done()


def _skip(state: RunState, command: Command, facts: Facts) -> Step:
    offer = state.offer
    assert offer
    if facts.offer and facts.offer != offer.digest:
        says = f"These repairs are not the newest ones: `{offer.digest[:7]}` are. Nothing was done."
        return state, Refuse(says)
    if command.word != "all":
        return _put(state, command, facts), Done()
    skipped = replace(state, skipped=(*state.skipped, offer.repair), approved="", halt=None)
    return skipped.into(Phase.RUNNING, facts.now), Done()


def _put(state: RunState, command: Command, facts: Facts) -> RunState:
    """Return the run with something to do to its plan; what was approved is so no more."""
    todo = (*state.todo, Todo(command, facts.actor, facts.key, facts.written))
    changed = replace(_undecided(state), todo=todo, approved="", halt=None)
    return changed.into(Phase.PLANNING, facts.now)


def _go_on(state: RunState, command: Command, facts: Facts) -> Step:
    if not state.approved and not state.skipped:
        says = f"`{command.verb}` has nothing to go on with: no plan is approved."
        return state, Refuse(says)
    afresh = state.afresh or command.flag("rebase") is not None
    going = replace(state, halt=None, last_wave=None, afresh=afresh, reverted="")
    return going.into(Phase.RUNNING, facts.now), Done()


def change(todo: Todo, what: str) -> Change:
    """Return what somebody did to a plan, as an offer tells it."""
    return Change(what, todo.person.login, todo.moment)
