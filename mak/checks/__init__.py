"""Before, after → findings: one rule per file, listed in `CHECKS`.

Precision goes before recall: a false finding costs a retry and trust, a missed one is what tests
are for. A rule that cannot be sure stays silent, and only what the change introduced is found.
"""

from __future__ import annotations

from dataclasses import replace

from mak.checks import (
    duplicate,
    elision,
    granted,
    gutting,
    inert,
    interface,
    lost,
    protected,
    syntax,
    unbound,
)
from mak.checks.change import Change, Check
from mak.checks.protected import protected as protected_reason
from mak.model import Finding

__all__ = ["CHECKS", "Change", "Check", "protected_reason", "run_checks"]

#: Every check. All of them block.
CHECKS: tuple[Check, ...] = (
    protected.CHECK,
    granted.CHECK,
    syntax.CHECK,
    duplicate.CHECK,
    lost.CHECK,
    elision.CHECK,
    gutting.CHECK,
    inert.CHECK,
    interface.CHECK,
    unbound.CHECK,
)


def run_checks(change: Change) -> tuple[Finding, ...]:
    """Return what the checks find, in their order.

    What was `checked` before goes only to those checks that look beyond it.
    """
    before, after = (
        {path: file for path, file in side.items() if path not in change.checked}
        for side in (change.before, change.after)
    )
    rest = replace(change, before=before, after=after) if change.checked else change
    return tuple(
        finding
        for check in CHECKS
        for finding in check.findings(change if check.looks_beyond else rest)
    )
