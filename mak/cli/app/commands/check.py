"""``/check``: what a change of one's own breaks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from mak.cli.app.slash import Choice, Slash, Typed

if TYPE_CHECKING:
    from mak.cli.app.session import Session


def run(session: Session, typed: Typed) -> None:
    """Check it."""
    session.mak("check", *typed.words)


def complete(session: Session, before: Sequence[str], begun: str) -> Iterable[Choice]:
    """Complete paths."""
    from mak.cli.app import completion

    return completion.paths(begun, session.said.work_dir)


SLASH = Slash(
    "check", "find what your own uncommitted change breaks", run, "[path]…", complete, like="check"
)
