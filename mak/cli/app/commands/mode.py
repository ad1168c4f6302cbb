"""``/mode``: where models may run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from mak.cli.app.slash import Choice, Slash, Typed

if TYPE_CHECKING:
    from mak.cli.app.session import Session

MODES = (
    Choice("cloud", "models of vendors"),
    Choice("local", "on this machine and in its network; nothing leaves it"),
    Choice("hybrid", "the planner in the cloud, the agents local"),
)


def run(session: Session, typed: Typed) -> None:
    """Choose for this session, or say what holds."""
    settings = session.change(mode=typed.text) if typed.text else session.settings()
    session.say(f"Models may run {settings.config.mode or 'anywhere'}")


def complete(session: Session, before: Sequence[str], begun: str) -> Iterable[Choice]:
    """Complete a mode."""
    return () if before else MODES


SLASH = Slash(
    "mode",
    "choose where models may run",
    run,
    "[cloud|local|hybrid]",
    complete,
    instead_of=("run --mode",),
)
