"""``/planner``: who plans."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from mak.cli.app.slash import Choice, Slash, Typed

if TYPE_CHECKING:
    from mak.cli.app.session import Session


def run(session: Session, typed: Typed) -> None:
    """Choose the planner for this session, or say who it is."""
    from mak.cli.caveats import said
    from mak.cli.launch import planner

    settings = session.change(planner=typed.text) if typed.text else session.settings()
    session.say(f"Plans are made by {planner(settings)}")
    if typed.text:
        for line in said([planner(settings)], settings.setup):
            session.say(line, "yellow")


def complete(session: Session, before: Sequence[str], begun: str) -> Iterable[Choice]:
    """Complete a model spec."""
    from mak.cli.app import completion

    return () if before else completion.models(session)


SLASH = Slash("planner", "choose who plans", run, "<spec>", complete, instead_of=("run --planner",))
