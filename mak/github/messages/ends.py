"""How a run ended, or why it stands: a comment of its own, since somebody should know (M8-M11).

A run may end more than once, after a retry: `seq` in a mark is when it got where it is.
"""

from __future__ import annotations

from collections.abc import Sequence

from mak.github.messages.links import Links, link
from mak.github.messages.steps import branch, heard, last_wave, next_wave, steps
from mak.github.messages.words import (
    counted,
    details,
    ended,
    fence,
    inert,
    lasted,
    mention,
    prose,
    some,
)
from mak.github.state import PATIENCE, Proposal, RunState

#: Lines of output that are shown of what failed, and characters of each.
_TAIL, _WIDE = 40, 500


def done(state: RunState, links: Links, reviewers: Sequence[str] = ()) -> str:
    """Say that a run is done (M8); `reviewers` are those who were asked for a review."""
    waves = [landed for landed in state.waves if not landed.repair]
    repairs = {landed.repair for landed in state.waves if landed.repair}
    tasks = {task for landed in waves for task in landed.tasks}
    again = f" + {counted(len(repairs), 'repair')}" if repairs else ""
    facts = [
        link(f"PR #{state.pull.number}", links.pull(state.pull.number)) if state.pull else "",
        f"{counted(len(waves), 'wave')}{again}",
        counted(len(tasks), "task"),
        inert(state.facts.get("tests", ""), 100),
        f"{state.spent:.2f} USD",
        lasted(state.since - state.created),
    ]
    asked = f"; requested {some([mention(login) for login in reviewers], 10)}" if reviewers else ""
    ready = f" The PR is ready for review{asked}." if state.pull else ""
    more = [link(text, url) for text, url in (("run", links.page), ("job log", links.job)) if url]
    if state.pull and state.base and links.repository:
        more.insert(0, link("all that changed", f"{links.pull(state.pull.number)}/files"))
    skipped = f"Left as it is: {counted(len(state.skipped), 'repair plan')} that somebody skipped."
    lines = [
        f"Done: {', '.join(fact for fact in facts if fact)}.{ready}",
        *([skipped] if state.skipped else []),
        *([" · ".join(more)] if more else []),
    ]
    return ended(lines, run=state.run, kind="done", seq=state.since)


def failed(state: RunState, proposal: Proposal | None, links: Links, output: str = "") -> str:
    """Say what failed, what is kept and what to type (M9), with the last lines of `output`."""
    wave = next_wave(state, proposal)
    where = f" in {wave}" if wave else ""
    lines = [
        f"**Stopped{where}** — {prose(state.why, 1_000) or 'no reason is known'}",
        f"{_keeps(state, proposal, links)} Not pushed: nothing of {wave or 'what was being done'}.",
        _typed(state, "retry", "replan: …", *(["repair"] if state.pull else [])),
    ]
    if output.strip():
        tail = "\n".join(line[:_WIDE] for line in output.rstrip().splitlines()[-_TAIL:])
        lines.append(details(f"Last {_TAIL} lines (secrets redacted)", fence(tail)))
    return ended(lines, run=state.run, kind="failed", seq=state.since)


def cancelled(state: RunState, proposal: Proposal | None = None, running: str = "") -> str:
    """Say who cancelled a run or what did (M10); `running` is what ran then, such as `wave 2`."""
    halt = state.halt
    by = f"Cancelled by {mention(halt.login)}" if halt and halt.login else ""
    if not by:
        by = inert(state.why, 300).removesuffix(".") or "Cancelled"
    text = f"{by} while {running} ran." if running else f"{by}."
    last = last_wave(state, proposal)
    stays = f"{last[:1].upper()}{last[1:]} stays" if last else ""
    gone = f"{running} was discarded" if running else ""
    if state.reverted:
        stays = f"On {branch(state)}: {inert(state.reverted, 2_000).removesuffix('.')}"
    elif halt and halt.revert and last:
        stays = f"What was committed is taken back on {branch(state)}, one commit per wave"
    kept = "; ".join(part for part in (stays, gone) if part)
    text += f" {kept[:1].upper()}{kept[1:]}." if kept else ""
    follows = next_wave(state, proposal)
    if follows and heard(state, "resume") and not (halt and halt.revert):
        text += f" `/mak resume` continues at {follows}."
    return ended([text], run=state.run, kind="cancelled", seq=state.since)


def branch_moved(state: RunState, login: str, head: str, links: Links | None = None) -> str:
    """Say that somebody pushed to the branch of a run, and what can be done (M11)."""
    commit = link(inert(head[:7]), links.commit(head) if links else "")
    text = (
        f"{mention(login)} pushed {commit} to {branch(state)}. I never overwrite human commits."
        " `/mak resume` = continue on top · `/mak resume --rebase` = replay remaining waves on it"
        " · `/mak cancel`."
    )
    return ended([text], run=state.run, kind="moved", seq=state.since)


def expired(state: RunState) -> str:
    """Say that nobody decided for as long as a run waits."""
    days = PATIENCE // (24 * 3600)
    kept = f" What is committed stays on {branch(state)}." if state.waves else ""
    lines = [
        f"Nobody decided for {days} days, so run `{state.run}` is over; no more is done.{kept}",
        "To begin anew: `/mak run …`",
    ]
    return ended(lines, run=state.run, kind="expired", seq=state.since)


def _keeps(state: RunState, proposal: Proposal | None, links: Links) -> str:
    every = [
        f"{step.label[:1].lower()}{step.label[1:]}"
        f" ({' '.join(link(e.commit[:7], links.commit(e.commit)) for e in step.landed)})"
        for step in steps(state, proposal)
        if step.landed
    ]
    if not every:
        return "Kept: nothing was committed."
    draft = ""
    if state.pull:
        how = "stays draft" if state.pull.draft else "stays open"
        draft = f", {link(f'PR #{state.pull.number}', links.pull(state.pull.number))} {how}"
    return f"Kept: {some(every, 20)} on {branch(state)}{draft}."


def _typed(state: RunState, *commands: str) -> str:
    """Return those commands that do something where the run stands."""
    worth = [each for each in commands if heard(state, each.split(":")[0])]
    return " · ".join(f"`/mak {each}`" for each in worth)
