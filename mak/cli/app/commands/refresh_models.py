"""``/refresh-models``: lists of models, fetched."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from mak.cli.app.slash import Choice, Slash, Typed

if TYPE_CHECKING:
    from mak.cli.app.session import Session


def run(session: Session, typed: Typed) -> None:
    """Fetch them."""
    session.mak("models", "--refresh", *typed.words)


def complete(session: Session, before: Sequence[str], begun: str) -> Iterable[Choice]:
    """Complete endpoints."""
    from mak.cli.app import completion

    return completion.endpoints(session)


SLASH = Slash(
    "refresh-models",
    "fetch the lists of models that there are keys for; writes your cache",
    run,
    "[endpoint]…",
    complete,
    like="models",
    instead_of=("models --refresh",),
)
