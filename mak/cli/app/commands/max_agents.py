"""``/max-agents``: how many agents work at once."""

from __future__ import annotations

from argparse import ArgumentTypeError
from typing import TYPE_CHECKING

from mak.cli.app.slash import Slash, Typed
from mak.errors import UsageError

if TYPE_CHECKING:
    from mak.cli.app.session import Session


def run(session: Session, typed: Typed) -> None:
    """Choose for this session, or say what holds."""
    from mak.cli.lines import count
    from mak.cli.options import positive

    if typed.text:
        try:
            session.change(max_agents=positive(typed.text))
        except ArgumentTypeError as error:
            raise UsageError(f"/max-agents: {error}") from error
    session.say(f"{count(session.settings().config.max_agents, 'agent')} at most at once")


SLASH = Slash(
    "max-agents",
    "choose how many agents work at once",
    run,
    "<n>",
    instead_of=("run --max-agents",),
)
