"""``/runs``: the runs that Git remembers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from mak.cli.app.slash import Choice, Slash, Typed

if TYPE_CHECKING:
    from mak.cli.app.session import Session


def run(session: Session, typed: Typed) -> None:
    """List them."""
    session.mak("log", *typed.words)


def complete(session: Session, before: Sequence[str], begun: str) -> Iterable[Choice]:
    """Complete nothing but options."""
    return ()


SLASH = Slash("runs", "list the runs of this repository", run, "[-n N]", complete, like="log")
