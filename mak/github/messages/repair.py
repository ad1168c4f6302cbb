"""What a wave left broken, for people to decide on: a review, and annotations of a check (M7)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from mak.github.messages.links import Links
from mak.github.messages.plan import changed, takes_a_word
from mak.github.messages.steps import last_wave, next_wave
from mak.github.messages.words import (
    LONGEST,
    approve,
    bold,
    code,
    counted,
    ended,
    inert,
    plain,
    prose,
    short,
    some,
    whole,
)
from mak.github.redaction import redact
from mak.github.state import Offer, Proposal, RunState, Spot
from mak.plan.untrusted import clean

#: Comments by line in one review; the check run has every one.
_COMMENTS = 40
_SAYS = 1_000
#: GitHub takes 64 KiB of a message, and 255 characters of a title.
_MESSAGE = 8_000


def repairs(
    state: RunState,
    offer: Offer,
    proposal: Proposal,
    links: Links,
    lines: Collection[tuple[str, int]] = frozenset(),
    plan: Proposal | None = None,
) -> tuple[str, list[dict[str, Any]]]:
    """Return the body of a review and its comments by line.

    `lines` are paths and 1-based lines at the head that are in a hunk of the diff: GitHub refuses
    the whole review for a comment anywhere else. `plan` is the plan whose waves these repair.
    """
    ids: dict[str, str | int] = {"run": state.run, "rev": offer.rev, "digest": offer.digest}
    tasks = [str(task.get("id", "")) for task in proposal.plan.get("tasks", ())]
    goals = {str(task.get("id", "")): str(task["goal"]) for task in proposal.plan.get("tasks", ())}
    spots = {task: [s for s in proposal.spots if s.task == task] for task in tasks}
    inline = [s for task in tasks for s in spots[task] if (s.path, s.line) in lines][:_COMMENTS]
    wave = last_wave(state, plan)
    left = f"{wave[:1].upper()}{wave[1:]} left" if wave else "There are"
    head = f"**{left} {counted(len(tasks), 'thing')} broken** (repair plan {offer.repair},"
    head += f" `{short(state, offer.digest)}`)"
    changes = [f"Changes: {some(map(changed, offer.changes), 10)}."] if offer.changes else []
    protected = offer.protected or proposal.protected
    if protected:
        changes.append(takes_a_word(protected))
    below = ["", *changes, _how(state, offer, tasks), _waits(state, plan, wave)]
    items = [_item(task, goals.get(task, ""), spots[task], inline, state, links) for task in tasks]
    room = LONGEST - len("\n".join([head, *below])) - 500
    shown: list[str] = []
    for item in items:
        room -= len(item) + 1
        if room < 0:
            shown.append(f"- and {len(items) - len(shown)} more; {whole(state, offer.rev)}")
            break
        shown.append(item)
    body = ended([head, "", *shown, *below], kind="repair", **ids)
    return body, [_comment(spot, ids) for spot in inline]


def check_annotations(spots: Sequence[Spot]) -> list[dict[str, Any]]:
    """Return what a check run says beside lines, as GitHub has it; it is text, not Markdown."""
    return [
        {
            "path": spot.path,
            "start_line": max(spot.line, 1),
            "end_line": max(spot.line, 1),
            "annotation_level": "failure",
            "title": plain(f"MAK {spot.task}", 100),
            "message": redact(clean(spot.says, comments=False).text)[:_MESSAGE] or "broken",
        }
        for spot in spots
    ]


def _item(
    task: str,
    goal: str,
    spots: Sequence[Spot],
    inline: Sequence[Spot],
    state: RunState,
    links: Links,
) -> str:
    shown = f"- {bold(task)}"
    if not spots:
        return f"{shown} {prose(goal, _SAYS)}"
    spot = spots[0]
    place = code(f"{spot.path}:{spot.line}" if spot.line else spot.path, 300)
    more = len(spots) - 1
    others = f" (and {counted(more, 'more place')})" if more else ""
    beside = "inline below" if spot in inline else "not in this diff, see check annotation"
    return f"{shown} {place} {prose(spot.says, _SAYS)}{others} — {beside}"


def _comment(spot: Spot, ids: Mapping[str, str | int]) -> dict[str, Any]:
    lines = [
        f"{bold(spot.task)} {prose(spot.says, 4_000)}",
        "",
        "A reply that begins with `/mak` is a command; any other is a remark for `/mak replan`.",
    ]
    return {"path": spot.path, "line": spot.line, "body": ended(lines, kind="spot", **ids)}


def _how(state: RunState, offer: Offer, tasks: Sequence[str]) -> str:
    yes = f"`{approve(state, offer)}`"
    first, last = (inert(tasks[0], 64), inert(tasks[-1], 64)) if tasks else ("R1", "R1")
    if len(tasks) <= 1:
        run = f"Run it: {yes}"
    else:
        every = "both" if len(tasks) == 2 else f"all {len(tasks)}"
        run = f"Run {every}: {yes} · not all: `/mak drop {first}` then approve"
    return f"{run} · accept as is: `/mak skip all` · change: `/mak edit {last}: …`"


def _waits(state: RunState, plan: Proposal | None, wave: str) -> str:
    if plan is not None and not next_wave(state, plan):
        return "The run ends with this decision."
    number = wave.removeprefix("wave ")
    what = f"Waves after {number} wait" if number.isdigit() else "The run waits"
    return f"{what} for this decision."
