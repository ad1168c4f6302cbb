"""``/undo``: take back a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from mak.cli.app.slash import Choice, Slash, Typed

if TYPE_CHECKING:
    from mak.cli.app.session import Session


def run(session: Session, typed: Typed) -> None:
    """Undo a run."""
    session.mak("undo", *typed.words)


def complete(session: Session, before: Sequence[str], begun: str) -> Iterable[Choice]:
    """Complete runs."""
    from mak.cli.app import completion

    return completion.runs(session)


SLASH = Slash("undo", "take back a run with a new commit", run, "[run]", complete, like="undo")
