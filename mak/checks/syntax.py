"""The whole file compiles.

Only the running interpreter can judge that, and of syntax that is newer than itself not even that:
such a file is right as far as anybody can tell. One that it could not read before, because it is no
Python at all, is judged by whether it got worse.
"""

from __future__ import annotations

from collections.abc import Iterator

from mak.checks.change import Change, Check, is_cut
from mak.model import Finding, NodeId
from mak.source import SourceFile, complaint, still_compiles

_SUFFIXES = (".py", ".pyi")
_FOR_AGENTS = "send text that leaves the whole file valid"
_FOR_PEOPLE = "correct it"


def _is_no_worse(before: SourceFile | None, after: SourceFile) -> bool:
    if after.newer:
        return True
    if before is None or complaint(before.data) is None:
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
        if _is_no_worse(before, after):
            continue
        reason, line = problem
        where = next((node.id for node in after.nodes if node.line <= line <= node.end_line), None)
        at = f", line {line}" if line else ""
        still = " any more" if before is not None else ""
        yield Finding(
            CHECK.id,
            where or NodeId(path),
            f"{path} does not compile{still}: {reason}{at}; "
            + (_FOR_PEOPLE if change.by_person else _FOR_AGENTS),
            line,
        )


CHECK = Check("syntax", "a file does not compile", _findings, for_people=True)
