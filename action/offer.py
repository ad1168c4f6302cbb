"""Say on a pull request what it breaks, and how to repair it, in one comment kept current."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from action.job import Job
from mak.cli import planfile
from mak.cli.reports import FORMATS
from mak.cli.reports.markdown import fenced
from mak.cli.reports.report import Report
from mak.cli.terminal import clean
from mak.errors import GitHubError
from mak.github import marks
from mak.github.api import Api
from mak.github.redaction import redact
from mak.model import Finding, Plan, Task

#: Ends the comment, and finds it again; it grants nothing.
MARK = marks.write(kind="check")
#: GitHub takes 65,536 characters.
_LONGEST = 60_000
_FIXED = "### mak check\n\nWhat was broken here is repaired: no findings in the newest commits."


def offer(report: Report, api: Api, event: dict[str, Any], job: Job) -> None:
    """Comment on the event's pull request, or bring the comment up to date.

    Nothing is said where nothing was broken. What GitHub does not allow, as in the pull request of
    a fork, whose token may only read, is noted and no failure of the check.
    """
    pull = event.get("pull_request") or {}
    number = pull.get("number")
    if not isinstance(number, int):
        job.annotate("notice", "There is no pull request to comment on.", title="mak check")
        return
    try:
        said = next((c for c in api.comments(number) if _is_ours(c)), None)
        if said is None and report.findings:
            api.comment(number, body(report))
        elif said is not None:
            text = body(report) if report.findings else f"{_FIXED}\n\n{MARK}"
            if said["body"] != text:
                api.edit_comment(said["id"], text)
    except GitHubError as error:
        if error.status not in (401, 403, 404):
            raise
        job.annotate("notice", f"No repair was offered: {error}", title="mak check")


def body(report: Report) -> str:
    """Return the comment: all findings and the plan, or as many as fit."""
    # More than the first of these never fit: a finding and its task take some hundred characters.
    for most in (150, 75, 30, 10, 3, 1):
        some = report.findings[:most]
        text = _body(report, some)
        if len(text) <= _LONGEST:
            return text
    raise AssertionError("one finding and its task fit")


def _body(report: Report, some: tuple[Finding, ...]) -> str:
    shown = Report(some, report.base, report.subject, report.changed, report.ignored, report.root)
    left = len(report.findings) - len(some)
    more = f"\n\nAnd {left} more; the job's summary has all." if left else ""
    plan = fenced(planfile.write(repairs(some)).rstrip("\n").split("\n"), "yaml")
    return redact(
        f"{FORMATS['markdown'](shown)}{more}\n\n"
        "<details><summary>A plan that repairs it</summary>\n\n"
        "Save it as `repair.yaml` in a checkout of this branch; you see it again before anything"
        " is changed, and each wave becomes one commit.\n\n"
        "```sh\nmak run --plan repair.yaml --models MODEL\n```\n\n"
        f"{plan}\n\n</details>\n\n{MARK}"
    )


def repairs(findings: tuple[Finding, ...]) -> Plan:
    """Return a plan with a task for each node that has findings."""
    tasks = []
    by_node = sorted(findings, key=lambda finding: str(finding.node))
    for number, (node, group) in enumerate(groupby(by_node, lambda f: f.node), 1):
        found = list(group)
        wrong = "; ".join(
            dict.fromkeys(_short(f"line {f.line}: {f.check}: {f.message}") for f in found)
        )
        reads = {place.path for f in found for place in f.related} - {node.path}
        seen = f" See {_short(', '.join(sorted(reads)))}." if reads else ""
        tasks.append(
            Task(f"repair-{number}", f"Put right what does not fit: {wrong}.{seen}", (node,))
        )
    return Plan("Repair what the pull request breaks", tuple(tasks))


def _short(text: str) -> str:
    line = " ".join(clean(text).split())
    return line if len(line) <= 2_000 else f"{line[:2_000]} …"


def _is_ours(comment: dict[str, Any]) -> bool:
    """Tell our comment from a person's who copies it; another bot's mark grants nothing either."""
    by_bot = (comment.get("user") or {}).get("type") == "Bot"
    return by_bot and marks.read(comment.get("body") or "") == marks.read(MARK)
