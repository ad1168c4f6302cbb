"""One task, one reply: what an agent is shown, how it answers, and who can be one."""

from typing import Any

from mak.agents.assignment import Agent, Ask, Asked, Assignment, Slot
from mak.agents.record import reply_from_json, reply_to_json
from mak.agents.registry import AGENTS, Reach, close, open_agents, open_planner
from mak.agents.shown import Context, context
from mak.providers.request import NoAnswer

__all__ = [
    "AGENTS",
    "Agent",
    "Ask",
    "Asked",
    "Assignment",
    "Context",
    "NoAnswer",
    "Reach",
    "Slot",
    "close",
    "context",
    "open_agents",
    "open_planner",
    "reply_from_json",
    "reply_schema",
    "reply_to_json",
]


def reply_schema() -> dict[str, Any]:
    """Return the JSON schema of a reply; the same for every agent."""
    from mak.agents.document import reply_schema

    return reply_schema()
