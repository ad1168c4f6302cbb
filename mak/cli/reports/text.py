"""Findings for a person, by file."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from mak.cli.lines import count
from mak.cli.reports.report import NOTHING, Report, one_line, page
from mak.cli.terminal import fitting
from mak.model import Finding, Place

_RESET = "\x1b[0m"
_BOLD, _RED, _DIM, _GREEN = "\x1b[1m", "\x1b[31m", "\x1b[2m", "\x1b[32m"


def write(report: Report) -> str:
    """Return findings by file, each with the definition it is about, and a line that sums up."""
    return "\n".join(_lines(report))


def _lines(report: Report) -> Iterator[str]:
    for path, group in groupby(report.findings, key=lambda finding: finding.node.path):
        yield _styled(_shown(path, report.root), _BOLD)
        for finding in group:
            yield from _finding(finding, report.root)
        yield ""
    yield summary(report)
    checks = list(dict.fromkeys(finding.check for finding in report.findings))
    for check in checks:
        yield _styled(f"{check}: {page(check)}", _DIM)
    # In what does not compile there is no telling what a comment is.
    from mak.checks import syntax

    for check in [check for check in checks if check != syntax.CHECK.id][:1]:
        yield _styled(f"to keep a line as it is, end it with: # mak: ignore[{check}]", _DIM)
    if syntax.CHECK.id in checks:
        yield _styled("to leave out a file that is broken on purpose: --exclude PATH", _DIM)


def _finding(finding: Finding, root: Path | None) -> Iterator[str]:
    at = f"{finding.line}:{finding.column}" if finding.column else str(finding.line or "-")
    first, *rest = _wrapped(one_line(finding.message), 10)
    yield f"  {at:<7} {_styled(finding.check, _RED)}"
    yield from (f"          {line}" for line in (first, *rest))
    for place in finding.related:
        (line,) = fitting([f"          -> {_place(place, root)}"])
        yield _styled(line, _DIM)


def _place(place: Place, root: Path | None) -> str:
    text = f"  {one_line(place.text)}" if place.text not in ("", place.path) else ""
    return f"{_shown(place.path, root)}:{place.line}{text}"


def summary(report: Report) -> str:
    """Return the line that sums up."""
    files = len({finding.node.path for finding in report.findings})
    compared = f"{report.subject} against {report.base}"
    if report.changed:
        compared = f"{count(report.changed, 'changed file')}, {compared}"
    ignored = f"; {report.ignored} ignored by comments" if report.ignored else ""
    if report.base == NOTHING:
        compared = f"all of {report.subject}, {count(report.changed, 'file')}"
    if not report.changed and report.base == NOTHING:
        return _styled(f"Nothing to check: {report.subject} has no files", _GREEN)
    if not report.changed:
        return _styled(f"Nothing to check: {report.subject} is as {report.base}", _GREEN)
    if not report.findings:
        return _styled(f"No findings{ignored} ({compared})", _GREEN)
    found = f"{count(len(report.findings), 'finding')} in {count(files, 'file')}"
    return f"{_styled(found, _RED)}{ignored} ({compared})"


def _shown(path: str, root: Path | None) -> str:
    """Return a path as it is typed from here."""
    return one_line(os.path.relpath(root / path) if root is not None else path)


def _wrapped(text: str, indent: int) -> list[str]:
    if not sys.stdout.isatty():
        return [text]
    width = max(shutil.get_terminal_size().columns - indent, 40)
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]


def _styled(text: str, style: str) -> str:
    wanted = sys.stdout.isatty() and os.environ.get("TERM", "") not in ("", "dumb")
    return f"{style}{text}{_RESET}" if wanted and not os.environ.get("NO_COLOR") else text
