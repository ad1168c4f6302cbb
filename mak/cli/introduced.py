"""What a comparison finds: what the change introduces, and no comment says to ignore."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from mak.checks import CHECKS, Change, run_checks
from mak.cli import ignores
from mak.cli.comparison import Comparison
from mak.model import Finding
from mak.source import Sources
from mak.source.lacking import lacking, takers
from mak.source.names import references


def introduced(comparison: Comparison, wanted: Collection[str]) -> Iterator[Finding]:
    """Yield what the change introduces; in a merge, what neither side has."""
    found = _between(comparison.before, comparison.after, wanted)
    for other in comparison.others if found else ():
        new = {(f.check, f.node, f.message) for f in _between(other, comparison.after, wanted)}
        found = [f for f in found if (f.check, f.node, f.message) in new]
    for finding in found:
        yield replace(finding, line=finding.line or _line(comparison.after, finding))


def _between(before: Sources | None, after: Sources, wanted: Collection[str]) -> list[Finding]:
    old = before if before is not None else Sources({}, lambda blob: b"")
    paths = {*old.paths, *after.paths}
    changed = [
        p
        for p in sorted(paths)
        if (p in old) != (p in after) or (p in old and old.blob(p) != after.blob(p))
    ]
    change = Change(
        before={p: old.file(p) if p in old else None for p in changed},
        after={p: after.file(p) if p in after else None for p in changed},
        references=lambda node, files: references(after if files else old, node),
        takers=lambda module, name: takers(old, module, name),
        lacking=lambda path, files: lacking(after if files is change.after else old, path),
    )
    return [finding for finding in run_checks(change) if finding.check in wanted]


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
    known = [check.id for check in CHECKS]
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
        f"{path}:{line}: {remark}" for path in sorted(read) for line, remark in read[path].remarks
    ]
    return left, remarks
