"""``/status``: what holds in this session, and what it has taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mak.cli import terminal
from mak.cli.app.slash import Slash, Typed

if TYPE_CHECKING:
    from mak.cli.app.session import Session


def run(session: Session, typed: Typed) -> None:
    """Say who works, where, and under which conditions."""
    from mak.cli.launch import planner
    from mak.cli.lines import count
    from mak.cli.story import used

    said = session.said
    settings = session.settings()
    session.watch.look()
    place = session.watch.place
    branch = place.branch if place else ""
    dirty = count(place.changed, "uncommitted file") if place and place.changed else "clean"
    rows = [
        ("models", ", ".join(settings.config.models.agents)),
        ("planner", planner(settings)),
        ("agents", f"at most {settings.config.max_agents} at once"),
        ("mode", str(settings.config.mode or "anywhere")),
        ("work dir", str(said.work_dir)),
        ("branch", f"{branch}, {dirty}" if branch else "none: this is no repository"),
        ("config", str(settings.file or "built in: there is no file")),
        ("approval", "no review" if said.no_review else "every plan is reviewed"),
        ("used", used(session.spent)),
    ]
    for line in terminal.columns(rows):
        session.say(line)


SLASH = Slash(
    "status", "show models, planner, agents, work dir, branch, approval, tokens and cost", run
)
