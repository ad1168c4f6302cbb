"""``/no-review``: whether plans are carried out without asking."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from mak.cli.app.slash import Choice, Slash, Typed
from mak.errors import UsageError

if TYPE_CHECKING:
    from mak.cli.app.session import Session

WORDS = {"true": True, "": True, "false": False}


def run(session: Session, typed: Typed) -> None:
    """Choose for this session."""
    if typed.text not in WORDS:
        raise UsageError(f"/no-review {typed.text}: write true or false")
    session.change(no_review=WORDS[typed.text])
    asks = not session.said.no_review
    session.say("Plans are reviewed" if asks else "Plans are carried out without a review")


def complete(session: Session, before: Sequence[str], begun: str) -> Iterable[Choice]:
    """Complete true and false."""
    return () if before else (Choice("true", "do not ask"), Choice("false", "review every plan"))


SLASH = Slash(
    "no-review",
    "carry plans out without asking",
    run,
    "[true|false]",
    complete,
    instead_of=("run --no-review",),
)
