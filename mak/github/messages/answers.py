"""What a command is answered with: short, to whoever gave it, with what to type next."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from mak.github.commands import Asked
from mak.github.messages.links import Links
from mak.github.messages.plan import changed
from mak.github.messages.progress import standing
from mak.github.messages.words import approve, code, ended, inert, lasted, mention, short
from mak.github.reduce import Facts, Stale
from mak.github.state import Offer, Proposal, RunState
from mak.github.verbs import VERBS, Verb, verb_of

#: Of what was done to a plan, the last ones.
_LAST = 3


def answer(says: str | Sequence[str], key: str = "", run: str = "") -> str:
    """Return a text of ours as the body of an answer.

    Its mark says to which command: `digest` is made from `key`, such as `c81:1`.
    """
    ids: dict[str, str | int] = {"run": run} if run else {}
    if key:
        ids["digest"] = hashlib.sha256(key.encode()).hexdigest()[:16]
    return ended([says] if isinstance(says, str) else says, kind="answer", **ids)


def stale(state: RunState, effect: Stale, facts: Facts) -> str:
    """Say that what was approved is not what there is (M3), and who changed it."""
    approved, current = effect.approved, effect.current
    who = mention(facts.actor.login)
    meant = f"rev {approved.rev} (`{short(state, approved.digest)}`)" if approved else ""
    if current is None:
        wanted = [f"`{todo.command.verb}` by {mention(todo.person.login)}" for todo in state.todo]
        why = f" ({', '.join(wanted[-_LAST:])})" if wanted else ""
        lines = [
            f"{who} {f'you approved {meant}, and ' if meant else ''}a new plan is being made{why}.",
            "Nothing was started. Approve that plan when it is here.",
        ]
        return answer(lines, facts.key, state.run)
    digest = short(state, current.digest)
    changes = _changes(state, approved, current, facts.written)
    there = f"the current one is rev {current.rev} (`{digest}`{changes})."
    lines = [
        f"{who} the plan changed after your comment was written: you approved {meant}, {there}"
        if meant
        else f"{who} you approved a plan that this run does not have; {there}",
        f"Nothing was started. To run rev {current.rev}: `{approve(state, current)}`",
    ]
    return answer(lines, facts.key, state.run)


def _changes(state: RunState, approved: Offer | None, current: Offer, written: int) -> str:
    since = approved.rev if approved else current.rev - 1
    every = [
        change
        for offer in (*(o for o in state.offers if o.rev < current.rev), current)
        if offer.rev > since
        for change in offer.changes
    ]
    told = []
    for change in every[-_LAST:]:
        apart = written - change.moment
        when = f"{lasted(abs(apart))} {'earlier' if apart >= 0 else 'later'}"
        told.append(f", {changed(change)} {when}")
    return "".join(told)


def status(
    state: RunState, proposal: Proposal | None, links: Links, now: int, key: str = ""
) -> str:
    """Say where the run stands, as its own comment does; `now` is in seconds since 1970."""
    return answer(standing(state, proposal, links, now), key, state.run)


def misread(asked: Asked, key: str = "") -> str:
    """Say why nothing of a comment was done, and what could be typed instead (M4)."""
    problem = asked.problem
    if problem is None:
        raise ValueError("nothing of it is misread")
    none = (
        "The command in this comment was not run."
        if asked.count == 1
        else f"None of the {asked.count} commands in this comment was run."
    )
    lines = [f"I could not read line {problem.line}: {inert(problem.says)}. {none}"]
    if problem.instead:
        lines += ["", *(f"- {code(reading)}" for reading in problem.instead)]
    return answer(lines, key)


def help_text(verb: str = "", key: str = "") -> str:
    """Say what there is, or how a verb is used."""
    known = verb_of(verb) if verb else None
    if known is None:
        rows = [f"| {_usage(each)} | {each.does} |" for each in VERBS]
        lines = [
            "A line that begins with `/mak` is a command; what stands in code, quotes and lists is"
            " not.",
            "",
            "| Command | Does |",
            "|---|---|",
            "| `/mak TASK` | as `/mak run TASK` |",
            *rows,
            "",
            "`/mak help VERB` tells more of one.",
        ]
        return answer(lines, key)
    needs = "may write to" if known.level == "write" else "may read"
    lines = [f"{_usage(known)}: {known.does}. For those who {needs} the repository."]
    if known.flags:
        lines += ["", *(f"- `{flag.shown}`" for flag in known.flags)]
    if known.payload:
        lines += ["", "A fenced block right below may stand for the text."]
    return answer(lines, key)


def _usage(verb: Verb) -> str:
    return " or ".join(f"`/mak {usage}`" for usage in verb.usage.split(" | "))
