"""``/recover``: go on with a run that was cut off."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from mak.cli.app.slash import Choice, Slash, Typed

if TYPE_CHECKING:
    from mak.cli.app.session import Session


def run(session: Session, typed: Typed) -> None:
    """Go on with a run; without a name, the last one that was cut off or held."""
    from mak.cli.app.work import recover

    recover(session, typed.text)


def complete(session: Session, before: Sequence[str], begun: str) -> Iterable[Choice]:
    """Complete runs."""
    from mak.cli.app import completion

    return completion.runs(session)


SLASH = Slash(
    "recover",
    "go on with a run that was stopped, killed or held",
    run,
    "[run]",
    complete,
    instead_of=("run --recover",),
)
