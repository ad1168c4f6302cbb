"""What an arm is given, and what it comes to."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from benchmark.suite.specification import Project
from mak.model import Usage
from mak.providers import Setup


@dataclass(frozen=True)
class Setting:
    """One run of one arm: the project lies in ``main`` below `folder`, committed."""

    folder: Path
    project: Project
    models: tuple[str, ...]
    planner: str
    agents: int
    setup: Setup
    #: What an agentic command line is called with; ``{prompt}`` stands for the prompt.
    command: tuple[str, ...] = ()


@dataclass
class Result:
    """Measures of one run; `seconds` are those of the wall clock."""

    seconds: float = 0.0
    usage: Usage = field(default_factory=Usage)
    #: Merges that conflicted; of MAK, replies that did not go together with another's.
    conflicts: int = 0
    resolver_calls: int = 0
    retries: int = 0
    escalations: int = 0
    #: Targets that the planner left out; None: nobody planned.
    missing: int | None = None
    planner_usage: Usage = field(default_factory=Usage)
    failed: list[str] = field(default_factory=list)
    #: How it ended, where something stopped it short.
    reason: str = ""


class NotRun(Exception):
    """Why an arm cannot be run here."""
