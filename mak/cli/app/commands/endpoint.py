"""``/endpoint``: endpoints of a person's own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from mak.cli.app.slash import Choice, Slash, Typed

if TYPE_CHECKING:
    from mak.cli.app.session import Session


def run(session: Session, typed: Typed) -> None:
    """Carry out an action; without one, list what can be asked."""
    session.mak("endpoint", *(typed.words or ("list",)))


def complete(session: Session, before: Sequence[str], begun: str) -> Iterable[Choice]:
    """Complete endpoints."""
    from mak.cli.app import completion

    return completion.endpoints(session) if len(before) == 1 else ()


SLASH = Slash(
    "endpoint",
    "keep endpoints of your own; add, edit and remove write your endpoints file",
    run,
    "[action] …",
    complete,
    like="endpoint",
)
