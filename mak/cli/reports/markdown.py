"""Findings as Markdown, for the summary of a job or a comment."""

from __future__ import annotations

import re

from mak.cli.reports import text
from mak.cli.reports.report import Report, one_line, page


def write(report: Report) -> str:
    """Return a sum and every finding.

    What the repository wrote stands in a block of code: nobody is mentioned by it, nothing linked.
    """
    lines = []
    for finding in report.findings:
        at = f":{finding.line}" if finding.line else ""
        lines.append(one_line(f"{finding.node.path}{at}: {finding.check}: {finding.message}"))
        lines += (one_line(f"    -> {place.path}:{place.line}") for place in finding.related)
    head = ["### mak check", "", fenced([one_line(text.summary(report))])]
    if not lines:
        return "\n".join(head)
    checks = dict.fromkeys(finding.check for finding in report.findings)
    pages = ", ".join(f"[{check}]({page(check)})" for check in checks)
    return "\n".join([*head, "", fenced(lines), "", f"What to do: {pages}"])


def fenced(lines: list[str], language: str = "text") -> str:
    """Return lines in a fence that is longer than any in them."""
    runs = [len(run) for line in lines for run in re.findall("`+", line)]
    fence = "`" * max([3, *(length + 1 for length in runs)])
    return "\n".join([f"{fence}{language}", *lines, fence])
