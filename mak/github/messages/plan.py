"""A plan for people to decide on: what was asked, what each task does, and how to say yes (M2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mak.github.messages.links import Links, link
from mak.github.messages.steps import tasks as row
from mak.github.messages.words import (
    LONGEST,
    approve,
    bold,
    code,
    counted,
    details,
    ended,
    inert,
    mention,
    money,
    name,
    prose,
    quote,
    some,
    whole,
)
from mak.github.reduce import Rules
from mak.github.state import PATIENCE, Change, Offer, Overlap, Proposal, RunState

#: Characters of a request that are shown.
_REQUEST = 6_000
#: As many of each, at most; a sentence with more is not read.
_CHANGES, _REMARKS, _FILES, _NODES, _OVERLAPS, _ROWS = 20, 25, 40, 40, 10, 250
_CHANGE = (
    "To change it: `/mak edit T3: …` · `/mak drop T3` · `/mak add: …` · `/mak replan: …`"
    " · stop: `/mak cancel`"
)


def plan(
    state: RunState, offer: Offer, proposal: Proposal, links: Links, rules: Rules | None = None
) -> str:
    """Return the comment that offers a plan.

    One that is too long for a comment is shown as a table of its waves, with the place where all
    of it is.
    """
    ids: dict[str, str | int] = {"run": state.run, "kind": "plan", "rev": offer.rev}
    below = _below(state, offer, rules or Rules())
    room = LONGEST - len("\n".join(below)) - 300
    return ended([*full(state, offer, proposal, links, room), *below], **ids, digest=offer.digest)


def full(state: RunState, offer: Offer, proposal: Proposal, links: Links, room: int) -> list[str]:
    """Return what a plan says, without how to approve it, in at most `room` bytes and characters.

    Goals are cut first; then waves are a table with the place where all of it is.
    """
    most = 2_000
    while most >= 250:
        lines, cut = _long(state, offer, proposal, links, most)
        if cut:
            lines += ["", f"Goals are cut; {whole(state, offer.rev)}."]
        if _size(lines) <= room:
            return lines
        most //= 2
    # Whatever escaping makes of it, this many of each fit.
    for share in (1.0, 0.5, 0.25):
        lines = _short(state, offer, proposal, links, share)
        if _size(lines) <= room:
            return lines
    return _short(state, offer, proposal, links, 0.05)


def _size(lines: Sequence[str]) -> int:
    return len("\n".join(lines).encode())


def _long(
    state: RunState, offer: Offer, proposal: Proposal, links: Links, most: int
) -> tuple[list[str], bool]:
    tasks = _tasks(proposal)
    dropped = {str(each.task.get("id", "")): each for each in proposal.dropped}
    lines = _head(state, offer, proposal, _REQUEST)
    shown: set[str] = set()
    wave_of = {task: number for number, wave in enumerate(proposal.waves, 1) for task in wave}
    gone = _placed(dropped, wave_of)
    for number, wave in enumerate(proposal.waves, 1):
        lines += ["", f"**Wave {number}**{_when(tasks, wave)}"]
        for task in (*wave, *gone.pop(number, ())):
            shown.add(task)
            lines.append(_line(task, tasks.get(task), dropped, most))
    left = [task for tasks_of in gone.values() for task in tasks_of]
    if left:
        lines += ["", "**Dropped**", *(_line(task, None, dropped, most) for task in left)]
    cut = any(len(str(task.get("goal", ""))) > most for task in tasks.values())
    return [*lines, *_said(state, offer, proposal, links, 1.0)], cut


def _short(
    state: RunState, offer: Offer, proposal: Proposal, links: Links, share: float
) -> list[str]:
    most = round(_ROWS * share)
    rows = [f"| {number} | {row(wave)} |" for number, wave in enumerate(proposal.waves, 1)]
    if len(rows) > most:
        rows = [*rows[:most], f"| … | {len(rows) - most} more waves |"]
    dropped = [
        f"{inert(str(d.task.get('id', '')), 64)} by {name(d.login)}" for d in proposal.dropped
    ]
    return [
        *_head(state, offer, proposal, round(1_500 * share)),
        "",
        "| Wave | Tasks |",
        "|---|---|",
        *rows,
        "",
        *([f"Dropped: {some(dropped, most)}.", ""] if dropped else []),
        f"{counted(len(_tasks(proposal)), 'task')}, too long to be shown here; "
        f"{whole(state, offer.rev)}"
        + (f", and the {link('job summary', links.page)}." if links.page else "."),
        *_said(state, offer, proposal, links, share),
    ]


def _head(state: RunState, offer: Offer, proposal: Proposal, most: int) -> list[str]:
    first = next((line for line in state.request.splitlines() if line.strip()), "")
    given = proposal.asked or state.request
    asked = quote(given, most)
    if len(given) > most:
        asked += f"\n\nThat is not all of it; {whole(state, offer.rev)}."
    return [
        f'### Plan rev {offer.rev} for "{inert(first, 100)}"',
        details("What I was asked (sanitised)", asked),
    ]


def _tasks(proposal: Proposal) -> dict[str, Mapping[str, Any]]:
    return {str(task.get("id", "")): task for task in proposal.plan.get("tasks", ())}


def _placed(dropped: Mapping[str, Any], wave_of: Mapping[str, int]) -> dict[int, list[str]]:
    """Say below which wave each dropped task stands: the first that it could be in; 0: none."""
    found: dict[int, list[str]] = {}
    waves = max(wave_of.values(), default=0)
    for task, each in dropped.items():
        after = [wave_of.get(str(other), 0) for other in each.task.get("depends_on", ())]
        found.setdefault(min(max(after, default=0) + 1, waves), []).append(task)
    return found


def _when(tasks: Mapping[str, Mapping[str, Any]], wave: Sequence[str]) -> str:
    after = [
        inert(str(other), 64)
        for task in wave
        for other in tasks.get(task, {}).get("depends_on", ())
    ]
    if after:
        return f" (after {some(dict.fromkeys(after), 10)})"
    return " (parallel)" if len(wave) > 1 else ""


def _line(task: str, body: Mapping[str, Any] | None, dropped: Mapping[str, Any], most: int) -> str:
    shown = bold(task)
    if body is None:
        if task not in dropped:
            return f"- {shown}"
        gone = dropped[task]
        goal = prose(str(gone.task.get("goal", "")), 200)
        return f"- ~~{shown} {goal}~~ dropped by {mention(gone.login)}"
    parts = [
        f"{verb} {some([code(str(node), 200) for node in body.get(key, ())], _NODES)}"
        for verb, key in (("edits", "writes"), ("creates", "creates"))
        if body.get(key)
    ]
    does = f" — {' · '.join(parts)}" if parts else ""
    after = [inert(str(other), 64) for other in body.get("depends_on", ())]
    waits = f" · after {some(after, 10)}" if after else ""
    return f"- {shown} {prose(str(body.get('goal', '')), most)}{does}{waits}"


def _said(
    state: RunState, offer: Offer, proposal: Proposal, links: Links, share: float
) -> list[str]:
    """Return what there is to know of a plan besides its tasks, or a share of it."""
    lines = [""]
    before = [each for each in state.offers if each.rev < offer.rev and not each.repair]
    if offer.changes:
        since = f"Changes since rev {before[-1].rev}" if before else "Changes"
        lines.append(f"{since}: {some(map(changed, offer.changes), round(_CHANGES * share))}.")
    remarks, most = proposal.remarks, round(_REMARKS * share)
    if remarks:
        lines += ["Checked against the dependency graph:", ""]
        lines += [f"- {prose(remark, 300)}" for remark in remarks[:most]]
        lines += [f"- and {len(remarks) - most} more"] if len(remarks) > most else []
        lines.append("")
    else:
        lines.append("Checked against the dependency graph: nothing to add.")
    if protected := offer.protected or proposal.protected:
        lines.append(takes_a_word(protected, round(_FILES * share)))
    else:
        lines.append("Touches nothing under `.github/`, lock files or CI.")
    most = max(round(_OVERLAPS * share), 1)
    lines += [_overlap(each, links) for each in proposal.overlaps[:most]]
    more = len(proposal.overlaps) - most
    lines += [f"⚠️ {counted(more, 'more open run')} write the same."] if more > 0 else []
    lines.append(_cost(proposal.cost))
    return lines


def changed(change: Change) -> str:
    """Return what somebody did to a plan, as a part of a sentence."""
    return f"{inert(change.what, 200)} by {mention(change.login)}"


def takes_a_word(files: Sequence[str], most: int = _FILES) -> str:
    """Say that a plan changes files that take a maintainer's explicit word."""
    shown = some([code(path, 200) for path in files], most)
    return f"⚠️ **Touches files that take a maintainer's explicit word:** {shown}."


def _overlap(overlap: Overlap, links: Links) -> str:
    nodes = some([code(node, 200) for node in overlap.nodes], 5)
    where = link(f"issue {overlap.issue}", links.issue(overlap.issue))
    return (
        f"⚠️ Run `{overlap.run}` of {name(overlap.login)} ({where}) is to write the same: {nodes}."
        " Whoever lands second works on what the first left."
    )


def _cost(cost: tuple[float | None, float | None]) -> str:
    low, high = cost
    if low is None and high is None:
        return "What it costs is not known: no price of these models is."
    if low is None or high is None or money(low) == money(high):
        only = low if high is None else high
        assert only is not None
        return f"Estimated {money(only)} USD."
    return f"Estimated {money(low)}–{money(high)} USD."


def _below(state: RunState, offer: Offer, rules: Rules) -> list[str]:
    days = PATIENCE // (24 * 3600)
    if state.plan_only:
        return [
            "",
            "**This is a plan only: it is never carried out**, whoever approves it.",
            "To have it done: `/mak cancel`, then `/mak run …`.",
            _CHANGE,
            f"Expires in {days} days.",
        ]
    yes = sum(each.digest == offer.digest for each in state.approvals)
    return [
        "",
        "**To run exactly this plan, comment**",
        f"```\n{approve(state, offer)}\n```",
        _CHANGE,
        f"Needs {_needed(state, offer, rules)} ({yes} so far). Expires in {days} days.",
    ]


def _needed(state: RunState, offer: Offer, rules: Rules) -> str:
    maintainers = rules.maintainers or bool(offer.protected)
    one = "a maintainer" if maintainers else "a user with write access"
    many = "maintainers" if maintainers else "users with write access"
    who = one if rules.approvals == 1 else f"{rules.approvals} different {many}"
    but = f", not {name(state.requester.login)}, who asked for it" if rules.others else ""
    return f"{counted(rules.approvals, 'approval')} from {who}{but}"
