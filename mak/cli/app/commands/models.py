"""``/models``: who does the tasks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from mak.cli.app.slash import Choice, Slash, Typed

if TYPE_CHECKING:
    from mak.cli.app.session import Session


def run(session: Session, typed: Typed) -> None:
    """Choose models for this session, or say which there are."""
    from mak.cli.caveats import said

    settings = session.change(models=[*typed.words]) if typed.words else session.settings()
    agents = settings.config.models.agents
    session.say(f"Tasks are done by {', '.join(agents)}")
    if typed.words:
        for line in said(agents, settings.setup):
            session.say(line, "yellow")
    else:
        session.say("Next: /models SPEC…; Tab lists models, /refresh-models fetches more")


def complete(session: Session, before: Sequence[str], begun: str) -> Iterable[Choice]:
    """Complete model specs."""
    from mak.cli.app import completion

    return completion.models(session)


SLASH = Slash(
    "models",
    "choose who does the tasks, in turn",
    run,
    "<spec>…",
    complete,
    instead_of=("run --models", 'run --task "…" --models'),
)
