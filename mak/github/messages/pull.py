"""The pull request of a run: what MAK says in it, below what people wrote (M6)."""

from __future__ import annotations

import re

from mak.github import marks
from mak.github.messages.links import Links, link
from mak.github.messages.steps import Step, branch, steps, tasks, waiting_repair
from mak.github.messages.words import LONGEST, ended, inert, mention, short, some
from mak.github.state import Approval, Proposal, RunState

USER_TEXT = "<!-- mak:user-text -->"
_BEGIN, _END = "<!-- mak:begin {run} -->", "<!-- mak:end -->"
_BEGINS = re.compile(r"<!-- mak:begin [a-z0-9]{1,64} -->", re.ASCII)
#: What GitHub takes; more than ours only where people wrote nearly as much.
_MOST = 65_536
#: Rows of the table that are always shown, from its end.
_ROWS = 200
#: Where the owner of a repository allows that a job opens pull requests.
_SETTING = (
    "Settings → Actions → General → Workflow permissions →"
    " **Allow GitHub Actions to create and approve pull requests**"
)


def pull_body(
    state: RunState,
    proposal: Proposal | None,
    links: Links,
    before: str = "",
    *,
    by_job: bool = False,
) -> str:
    """Return the body of the pull request: what people wrote in `before` is kept, ours is anew.

    `before` is the whole body as it is at GitHub; empty: there is none yet. `by_job` says that it
    was opened with a job's own token, whose checks wait for somebody. What people wrote is never
    cut; where it leaves no room ours is shorter, or missing.
    """
    above, below = _kept(before)
    if not before.strip():
        above = f"{USER_TEXT}\nCloses #{state.issue}"
    mark = marks.write(run=state.run, kind="pull")
    rest = "\n".join([*([below] if below else []), mark])
    table = _table(state, steps(state, proposal), links)
    said = _said(state, proposal, links, by_job)
    short_form = [f"Run `{state.run}` on {branch(state)}; the issue says where it stands."]
    rows = len(table)
    while True:
        shown = table if rows >= len(table) else [*table[:2], "| … | | | |", *table[-rows:]]
        block = [_BEGIN.format(run=state.run), *shown, "", *said, _END]
        body = "\n".join([above, *block, rest] if above else [*block, rest])
        if len(body) <= LONGEST or rows <= 1:
            break
        rows //= 2
    if len(body) <= LONGEST:
        return body
    block = [_BEGIN.format(run=state.run), *short_form, _END]
    body = "\n".join([above, *block, rest])
    return body if len(body) <= _MOST else before


def no_pull(state: RunState, links: Links) -> str:
    """Say that no pull request could be opened, and how somebody opens it."""
    url = links.compare(state.base, state.branch)
    opens = link("open it yourself", url)
    lines = [
        f"{mention(state.requester.login)} this repository does not let its jobs open pull"
        f" requests. The work is on {branch(state)}: {opens}.",
        f"To let MAK do it: {_SETTING}, then `/mak retry` where the run has failed.",
    ]
    return ended(lines, run=state.run, kind="nopull")


def _kept(before: str) -> tuple[str, str]:
    """Return what people wrote above and below of what is ours."""
    text = before.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n")
    if marks.read(text) is not None:
        text = text.rpartition("\n")[0].rstrip("\n")
    lines = text.split("\n")
    begins = [number for number, line in enumerate(lines) if _BEGINS.fullmatch(line.strip())]
    if not begins:
        return text, ""
    begin = begins[-1]
    ends = [n for n, line in enumerate(lines) if n > begin and line.strip() == _END]
    end = ends[0] if ends else len(lines)
    return "\n".join(lines[:begin]).rstrip("\n"), "\n".join(lines[end + 1 :]).strip("\n")


def _table(state: RunState, every: list[Step], links: Links) -> list[str]:
    rows = ["| Wave | Commit | Tasks | Check |", "|---|---|---|---|"]
    for step in every:
        commits = " ".join(link(e.commit[:7], links.commit(e.commit)) for e in step.landed)
        label = step.label.removeprefix("Wave ") if not step.repair else step.label
        rows.append(f"| {label} | {commits or '–'} | {tasks(step.tasks)} | {_check(state, step)} |")
    return rows


def _check(state: RunState, step: Step) -> str:
    if not step.landed:
        return "⏳" if step.runs else "▫️" if step.open else "nothing committed"
    newest = step.landed[-1] is state.waves[-1]
    if newest and (waits := waiting_repair(state)):
        return f"⚠️ repair plan {waits} waiting"
    found = state.facts.get("tests", "") if newest else ""
    return f"✅ {inert(found, 100)}".rstrip()


def _said(state: RunState, proposal: Proposal | None, links: Links, by_job: bool) -> list[str]:
    lines = []
    offer = next((each for each in reversed(state.offers) if not each.repair), None)
    if offer:
        yes = [_approval(each, links) for each in state.approvals if each.digest == offer.digest]
        by = f", approved by {some(yes, 10)}" if yes else ""
        lines.append(f"Plan rev {offer.rev} `{short(state, offer.digest)}`{by}.")
    if by_job:
        lines.append(
            "CI: opened with GITHUB_TOKEN, so checks wait for someone to press"
            " **Approve workflows to run**."
        )
    lines.append("Comment `/mak repair` to turn open review threads into a repair plan.")
    return lines


def _approval(approval: Approval, links: Links) -> str:
    where = f" ({link('comment', approval.url)})" if approval.url else ""
    return f"{mention(approval.person.login)}{where}"
