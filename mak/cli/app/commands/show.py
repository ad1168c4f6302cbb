"""``/show``: one run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from mak.cli.app.slash import Choice, Slash, Typed

if TYPE_CHECKING:
    from mak.cli.app.session import Session


def run(session: Session, typed: Typed) -> None:
    """Show a run."""
    session.mak("show", *typed.words)


def complete(session: Session, before: Sequence[str], begun: str) -> Iterable[Choice]:
    """Complete runs, and tasks of one."""
    from mak.cli.app import completion

    if before and before[-1] == "--task":
        return completion.tasks(session, before[0] if before[0] != "--task" else "")
    return completion.runs(session)


SLASH = Slash(
    "show", "show what a run did and what its agents said", run, "[run]", complete, like="show"
)
