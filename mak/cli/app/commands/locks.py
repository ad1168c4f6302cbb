"""``/locks``: who holds what on the branch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mak.cli.app.slash import Slash, Typed

if TYPE_CHECKING:
    from mak.cli.app.session import Session


def run(session: Session, typed: Typed) -> None:
    """List the locks."""
    session.mak("locks", *typed.words)


SLASH = Slash("locks", "list the locks that are held on the branch", run, like="locks")
