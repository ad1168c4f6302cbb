"""The line below the prompt: who works, where, under which conditions, and what it took."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mak.cli import terminal
from mak.cli.lines import count, money, short

if TYPE_CHECKING:
    from mak.cli.app.session import Session


def parts(session: Session) -> list[str]:
    """Return what the line says, what matters most first."""
    watch, said = session.watch, session.said
    usage = session.spent
    taken = usage.input + usage.output
    return [
        *_who(session),
        _where(session),
        "no review" if said.no_review else "review",
        f"{'about ' if usage.estimated else ''}{short(taken)} tokens",
        money(usage.cost),
        *(["settings: see /status"] if watch.problem else []),
    ]


def _who(session: Session) -> list[str]:
    chosen = session.watch.chosen
    if chosen is None:
        return []
    more = f" +{len(chosen.models) - 1}" if len(chosen.models) > 1 else ""
    same = chosen.planner == chosen.models[0]
    return [
        f"{_short(chosen.models[0])}{more}",
        f"planner {'same' if same else _short(chosen.planner)}",
        count(chosen.max_agents, "agent"),
    ]


def _where(session: Session) -> str:
    place = session.watch.place
    if place is None:
        return ""
    if not place.branch:
        return "no repository"
    return f"{place.branch}, {place.changed} changed" if place.changed else f"{place.branch}, clean"


def _short(spec: str) -> str:
    """Return a model spec as it fits: without the folder of a file, or the host of a server."""
    name, colon, rest = spec.partition(":")
    if name in ("scripted", "replay"):
        rest = rest.rpartition("/")[2]
    return f"{name}{colon}{rest.partition('@')[0]}"


def line(session: Session, width: int) -> str:
    """Return the line, cut to a width: long names give way first."""
    every = [terminal.clean(part) for part in parts(session) if part]
    longest = width
    joint = terminal.clean(" · ")
    while len(text := joint.join(every)) > width - 2 and longest > 8:
        longest = max(map(len, every)) - 1
        every = [_cut(part, longest) for part in every]
    return f" {text}"[:width]


def _cut(text: str, width: int) -> str:
    end = terminal.clean("…")
    return text if len(text) <= width else f"{text[: width - len(end)]}{end}"
