"""Where a run stands: the comment that is edited, what `/mak status` answers, a job's summary."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from mak.github.messages.links import Links, link
from mak.github.messages.plan import full
from mak.github.messages.steps import Step, heard, steps, tasks, waiting_repair
from mak.github.messages.words import (
    LONGEST,
    code,
    counted,
    ended,
    inert,
    lasted,
    mention,
    name,
    prose,
    some,
)
from mak.github.state import Offer, Phase, Posted, Proposal, RunState

#: GitHub drops a summary of more than a MiB.
_SUMMARY = 1_000_000
_ROWS = 250
_SAID = {
    Phase.PLANNING: "planning",
    Phase.REVIEW: "waiting for review",
    Phase.RUNNING: "running",
    Phase.REPAIR_REVIEW: "waiting for a decision on repairs",
    Phase.PAUSED: "paused",
    Phase.DONE: "done",
    Phase.FAILED: "failed",
    Phase.CANCELLED: "cancelled",
    Phase.EXPIRED: "expired",
    Phase.SUPERSEDED: "another run was first",
}
#: What is worth typing, by where the run stands; only what does something is shown.
_TYPED = ("status", "pause", "resume", "retry", "cancel", "help")


def tracking(state: RunState, proposal: Proposal | None, links: Links, now: int) -> str:
    """Return the comment that is edited as the run goes on (M1).

    `proposal` is the plan that was offered last, not one of repairs; `now` is in seconds since
    1970.
    """
    return ended(standing(state, proposal, links, now), kind="track", run=state.run)


def summary(
    state: RunState,
    offer: Offer | None,
    proposal: Proposal | None,
    links: Links,
    now: int,
    timings: Mapping[str, float] | None = None,
) -> str:
    """Return a job's summary (M12): where the run stands, its plan, how long each task took.

    `timings` are seconds by the ids that people were shown. Less than a MiB of UTF-8.
    """
    lines = standing(state, proposal, links, now)
    if timings:
        lines += ["", "| Task | Took |", "|---|---|"]
        lines += [f"| {inert(task, 64)} | {lasted(took)} |" for task, took in timings.items()]
    if offer and proposal:
        room = _SUMMARY - len("\n".join(lines).encode()) - 1_000
        lines += ["", *full(state, offer, proposal, links, room)]
    return ended(lines, kind="summary", run=state.run)


def standing(state: RunState, proposal: Proposal | None, links: Links, now: int) -> list[str]:
    """Return where a run stands, line by line: of many waves the first and the last."""
    most = _ROWS
    while True:
        lines = _lines(state, proposal, links, now, most)
        if len("\n".join(lines)) <= LONGEST - 500 or most <= 4:
            return lines
        most //= 2


def _lines(
    state: RunState, proposal: Proposal | None, links: Links, now: int, most: int
) -> list[str]:
    asked = link("this comment", state.trigger.url)
    head = [f"Requested by {mention(state.requester.login)} in {asked}"]
    if state.base:
        at = f" @ `{state.base_commit[:7]}`" if state.base_commit else ""
        head.append(f"base {code(state.base)}{at}")
    head += [link(text, url) for text, url in (("job log", links.job), ("run", links.page)) if url]
    if state.pull:
        head.append(link(f"PR #{state.pull.number}", links.pull(state.pull.number)))
    said = _SAID[state.phase]
    if state.attempt > 1:
        head.append(f"attempt {state.attempt}")
    notes = _notes(state)
    rows = [_plan_row(state, proposal, links), *_review_rows(state, links)]
    every = steps(state, proposal)
    waves = [_row(state, step, links) for step in every]
    half, left = most // 2, len(waves) - most
    rows += waves if left <= 0 else [*waves[:half], ("", f"{left} more", ""), *waves[-half:]]
    money = f"Spent {state.spent:.2f} USD"
    if state.wanted.budget is not None:
        money = f"Budget {state.spent:.2f} of {state.wanted.budget:.2f} USD"
    agents = [f"{state.tokens:,} tokens"] if state.tokens else []
    agents += [f"agents ≤ {state.wanted.agents}"] if state.wanted.agents else []
    typed = [verb for verb in _TYPED if heard(state, verb)]
    return [
        f"### MAK · run `{state.run}` · **{said}**",
        " · ".join(head),
        "",
        *([*notes, ""] if notes else []),
        "| | Step | State |",
        "|---|---|---|",
        *(f"| {sign} | {what} | {how} |" for sign, what, how in rows),
        "",
        " · ".join([money, *agents, f"updated {_clock(now)} UTC"]),
        f"<sub>{' · '.join(f'`/mak {verb}`' for verb in typed)}</sub>",
    ]


def _notes(state: RunState) -> list[str]:
    """Return what there is to say besides the steps, a line each."""
    notes = [prose(state.why, 1_000)] if state.why else []
    if state.phase is Phase.RUNNING:
        if state.waits:
            notes.append(prose(state.waits, 1_000))
        if state.halt and state.halt.how == "pause":
            notes.append(f"Pauses after the wave that runs, as {name(state.halt.login)} asked.")
        if state.last_wave is not None:
            notes.append(f"Runs up to wave {state.last_wave}, as whoever approved it asked.")
    if state.reverted:
        notes.append(prose(state.reverted, 1_000))
    if state.skipped:
        plans = ", ".join(map(str, state.skipped[-20:]))
        notes.append(f"Left as they are, as somebody decided: repairs of plan {plans}.")
    return notes


def _clock(moment: int) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%H:%M")


def _plan_row(state: RunState, proposal: Proposal | None, links: Links) -> tuple[str, str, str]:
    offer = next((each for each in reversed(state.offers) if not each.repair), None)
    if state.phase is Phase.PLANNING and not waiting_repair(state):
        what = "is being changed" if offer else "is being made"
        return "⏳", f"Plan rev {offer.rev}" if offer else "Plan", what
    if offer is None:
        return "▫️", "Plan", "there is none"
    size = ""
    if proposal:
        count = len(proposal.plan.get("tasks", ()))
        size = f" · {counted(count, 'task')} in {counted(len(proposal.waves), 'wave')}"
    posted = state.posted.get(f"plan:{offer.rev}", Posted(0))
    return (
        "✅",
        f"Plan rev {offer.rev}{size}",
        link("open plan", links.comment(state.issue, posted.id)) if posted.id else "",
    )


def _review_rows(state: RunState, links: Links) -> list[tuple[str, str, str]]:
    offer = state.offer
    yes = [each for each in state.approvals if offer and each.digest == offer.digest]
    by = some([link(name(each.person.login), each.url) for each in yes], 5)
    if state.plan_only:
        return [("▫️", "Review", "none: this run is a plan only")]
    if state.phase is Phase.REVIEW:
        so_far = f"; approved by {by} so far" if by else ""
        who = "a maintainer" if offer and offer.protected else "someone with write access"
        waits = f"waiting for `/mak approve` from {who}"
        return [("👉", "**Review**", waits + so_far)]
    if state.phase is Phase.PLANNING and (number := waiting_repair(state)):
        return [("⏳", f"Repair plan {number}", "is being changed")]
    if state.phase is Phase.REPAIR_REVIEW and offer:
        review = state.posted.get(f"repair:{offer.repair}", Posted(0))
        shown = link(f"repair plan {offer.repair}", _review(state, links, review.id))
        waits = f"{shown} waits for `/mak approve` or `/mak skip all`"
        return [("👉", "**Review of repairs**", waits)]
    if state.approved and by:
        return [("✅", "Review", f"approved by {by}")]
    if state.approved and state.wanted.unreviewed:
        return [("✅", "Review", f"left out, as {name(state.requester.login)} asked")]
    return [("▫️", "Review", "")] if not state.approved and not state.waves else []


def _review(state: RunState, links: Links, review: int) -> str:
    return links.review(state.pull.number, review) if state.pull else ""


def _row(state: RunState, step: Step, links: Links) -> tuple[str, str, str]:
    shown = tasks(step.tasks)
    commits = " ".join(
        link(f"`{each.commit[:7]}`", links.commit(each.commit)) for each in step.landed
    )
    how = " · ".join(part for part in (shown, commits) if part)
    if step.runs:
        return "⏳", f"**{step.label}**", how
    if step.open:
        return "▫️", step.label, how
    waits = waiting_repair(state)
    is_last = waits and step.landed and step.landed[-1] is state.waves[-1]
    if not step.landed:
        return "–", step.label, f"{shown} · nothing committed"
    return ("⚠️" if is_last else "✅"), step.label, how
