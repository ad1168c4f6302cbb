"""What two commits differ in, as GitHub shows it, and which lines of it can be commented."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tests.support.fakegithub.calls import Call, Refused
from tests.support.fakegithub.shapes import commits
from tests.support.fakegithub.world import (
    Repository,
)


def compared(call: Call) -> str:
    """Return the two ends of a pull request, for git."""
    pull = call.issue.pull
    assert pull
    commits(call.repository, pull)  # A fork's commits are brought here.
    head = pull.source.sha(f"refs/heads/{pull.head}")
    return f"refs/heads/{pull.base}...{head}"


def changed_files(repository: Repository, between: str) -> list[dict[str, Any]]:
    """Return the files that differ, with their hunks."""
    words = {"A": "added", "D": "removed", "M": "modified", "T": "changed"}
    found = []
    status = repository.git("diff", "--no-renames", "--name-status", between)
    for line in status.splitlines():
        letter, path = line.split("\t")
        text = repository.git("diff", "--no-renames", between, "--", path)
        patch = text[text.index("@@") :] if "@@" in text else ""
        added = len(re.findall(r"^\+", patch, re.MULTILINE))
        removed = len(re.findall(r"^-", patch, re.MULTILINE))
        counts = {"additions": added, "deletions": removed, "changes": added + removed}
        plain = {"filename": path, "status": words[letter], "patch": patch, "sha": "0" * 40}
        found.append({**plain, **counts})
    return found


def inside(call: Call, comment: Mapping[str, Any]) -> None:
    """Refuse a comment whose lines are not in a hunk of the pull request."""
    for file in changed_files(call.repository, compared(call)):
        if file["filename"] == comment["path"]:
            lines = _lines(file["patch"], comment.get("side", "RIGHT"))
            if {comment.get("start_line", comment["line"]), comment["line"]} <= lines:
                return
    raise Refused(422, "Unprocessable Entity", "Line could not be resolved")


def _lines(patch: str, side: str) -> set[int]:
    """Return the lines of one side that a patch shows."""
    found: set[int] = set()
    number = 0
    for line in patch.splitlines():
        hunk = re.match(r"@@ -(\d+)(?:,\d+)? \+(\d+)", line)
        if hunk:
            number = int(hunk[2 if side == "RIGHT" else 1])
        elif line[:1] in (" ", "", "+" if side == "RIGHT" else "-"):
            found.add(number)
            number += 1
    return found
