"""What a comparison finds: what the change introduces, and no comment says to ignore."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from mak.checks import CHECKS, check_trees
from mak.cli import ignores
from mak.cli.comparison import Comparison
from mak.cli.reports.report import one_line
from mak.model import Finding
from mak.source import Sources
from mak.source.language import Whole
from mak.source.python import SUFFIXES

#: The checks that judge what a person changes.
CHOICE = tuple(check for check in CHECKS if check.for_people)


def introduced(comparison: Comparison, wanted: Collection[str]) -> Iterator[Finding]:
    """Yield what the change introduces; in a merge, what neither side has."""
    after = comparison.after
    found = check_trees(comparison.before, after, select=wanted) if wanted else ()
    for other in comparison.others if found else ():
        new = {_key(finding) for finding in check_trees(other, after, select=wanted)}
        found = tuple(finding for finding in found if _key(finding) in new)
    for finding in found:
        if _is_converted(after, finding.node.path):
            continue
        there = tuple(place for place in finding.related if place.path in after)
        yield replace(finding, line=finding.line or _line(after, finding), related=there)


def _is_converted(after: Sources, path: str) -> bool:
    """Whether Git stores the file as something else than what is read, so that neither is sure."""
    return path.endswith(SUFFIXES) and path in after and after.file(path).language == Whole.name


def _key(finding: Finding) -> tuple[object, ...]:
    return finding.check, finding.node, finding.line, finding.column, finding.message


def _line(after: Sources, finding: Finding) -> int:
    if finding.node.path not in after:
        return 0
    file = after.file(finding.node.path)
    node = file.get(finding.node.node)
    return file.code_line(node) if node is not None else 1


def without_ignored(
    findings: Sequence[Finding], comparison: Comparison
) -> tuple[list[Finding], list[str]]:
    """Return the findings that no comment takes away, and what is wrong with the comments."""
    known = [check.id for check in CHOICE]
    after = comparison.after
    read = {
        path: ignores.read(after.data(path), known)
        for path in {*comparison.changed, *(finding.node.path for finding in findings)}
        if path in after and path.endswith((".py", ".pyi"))
    }
    left = [
        finding
        for finding in findings
        if (comments := read.get(finding.node.path)) is None
        or not comments.covers(finding.check, finding.line)
    ]
    remarks = [
        f"{one_line(path)}:{line}: {remark}"
        for path in sorted(read)
        for line, remark in read[path].remarks
    ]
    return left, remarks
