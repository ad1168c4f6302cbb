"""The whole file compiles.

Only the running interpreter can judge that. A file that it could not read before, because its
syntax is newer or because it is no Python at all, is judged by whether it got worse.
"""

from __future__ import annotations

from collections.abc import Iterator

from mak.checks.change import Change, Check, is_cut
from mak.model import Finding, NodeId
from mak.source import SourceFile, complaint, still_compiles

_SUFFIXES = (".py", ".pyi")


def _is_no_worse(path: str, before: SourceFile | None, after: SourceFile) -> bool:
    if before is None:
        return after.newer
    if complaint(before.data) is None:
        return False
    return is_cut(after) or not is_cut(before)


def _findings(change: Change) -> Iterator[Finding]:
    for path, before, after in change.files():
        if after is None or not path.endswith(_SUFFIXES):
            continue
        if before is not None and still_compiles(before, after):
            continue
        problem = complaint(after.data)
        if problem is None:
            continue
        if _is_no_worse(path, before, after):
            continue
        reason, line = problem
        where = next((node.id for node in after.nodes if node.line <= line <= node.end_line), None)
        at = f", line {line}" if line else ""
        still = " any more" if before is not None else ""
        yield Finding(
            CHECK.id,
            where or NodeId(path),
            f"{path} does not compile{still}: {reason}{at}; send text that leaves the whole file "
            "valid",
            line,
        )


CHECK = Check("syntax", "a file does not compile", _findings, for_people=True)
