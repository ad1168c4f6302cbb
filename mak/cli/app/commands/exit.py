"""``/exit``: the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mak.cli.app.slash import Slash, Typed

if TYPE_CHECKING:
    from mak.cli.app.session import Session


def run(session: Session, typed: Typed) -> None:
    """Leave the app."""
    session.is_over = True


SLASH = Slash("exit", "leave", run, aliases=("quit",))
