"""Which run an event is about: an issue has one, and so has the pull request that came of it."""

from __future__ import annotations

import re

from mak.github.site import Site
from mak.github.state import ACTIVE

_BRANCH = re.compile(r"mak/[1-9][0-9]*-(r[0-9a-z]+)", re.ASCII)


def issue_of(site: Site, number: int) -> int | None:
    """Return the issue whose run an issue or a pull request is about; None: there is none.

    A pull request is a run's when its branch is, in the repository itself: whoever has a fork may
    call a branch there as they like. That the run names this branch is read from its record.
    """
    if not site.reader.issue(number).get("pull_request"):
        return number
    pull = site.reader.pull(number)
    head, base = pull.get("head") or {}, pull.get("base") or {}
    theirs, ours = (head.get("repo") or {}).get("id"), (base.get("repo") or {}).get("id")
    branch = str(head.get("ref") or "")
    match = _BRANCH.fullmatch(branch)
    if match is None or theirs is None or theirs != ours:
        return None
    held = site.ledger.of_run(match[1])
    return held.state.issue if held and held.state.branch == branch else None


def under_way(site: Site) -> tuple[int, ...]:
    """Return the issues of a repository whose runs have not ended."""
    return tuple(
        sorted({held.state.issue for held in site.ledger.runs() if held.state.phase in ACTIVE})
    )
