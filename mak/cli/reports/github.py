"""Findings as workflow commands, which GitHub shows beside the lines of a pull request.

https://docs.github.com/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from mak.cli.reports import text
from mak.cli.reports.report import Report, one_line, title
from mak.model import Finding

#: Errors of one step that GitHub shows.
SHOWN = 10


def write(report: Report) -> str:
    """Return an annotation for each finding that GitHub shows, the others as lines, and a sum."""
    return "\n".join(_lines(report))


def _lines(report: Report) -> Iterator[str]:
    above = _above(report.root)
    for finding in report.findings[:SHOWN]:
        yield _annotation(finding, above)
    others = report.findings[SHOWN:]
    # Lines that begin as a path or a message likes are no commands to the runner.
    end = _unheard() if others else ""
    if others:
        yield f"::stop-commands::{end}"
    for finding in others:
        where = f"{above}{finding.node.path}:{finding.line}"
        yield one_line(f"{where}: {finding.check}: {finding.message}")
    if others:
        yield f"::{end}::"
    more = len(report.findings) - SHOWN
    shown = f"; {SHOWN} are shown as annotations, which is all that GitHub does" if more > 0 else ""
    yield text.summary(report) + shown


def _unheard() -> str:
    """Return a word that no finding can hold."""
    import secrets

    return secrets.token_hex(16)


def _annotation(finding: Finding, above: str) -> str:
    properties = {"file": f"{above}{finding.node.path}"}
    if finding.line:
        properties["line"] = str(finding.line)
    if finding.line and finding.column:
        properties["col"] = str(finding.column)
    properties["title"] = f"{finding.check}: {title(finding.check)}"
    named = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::error {named}::{_data(finding.message)}"


def _above(root: Path | None) -> str:
    """Return where the repository is in the workspace: GitHub's paths begin there."""
    workspace = os.environ.get("GITHUB_WORKSPACE", "")
    if not workspace or root is None:
        return ""
    try:
        inner = root.relative_to(Path(workspace).resolve()).as_posix()
    except ValueError:
        return ""
    return "" if inner == "." else f"{inner}/"


def _data(value: str) -> str:
    return value.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(value: str) -> str:
    return _data(value).replace(":", "%3A").replace(",", "%2C")
