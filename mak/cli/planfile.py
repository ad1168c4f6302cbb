"""Plan files: what ``mak plan`` prints, ``mak run --plan`` reads and a review edits."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from mak.config import dump_yaml, parse_document, read_document
from mak.model import Plan
from mak.plan import parse_plan, plan_document

#: Keys that a reader misses when they are empty; other empty ones are left out.
ALWAYS = ("request", "tasks", "id", "goal", "writes")


def read(path: Path) -> Plan:
    """Read a plan file; ``-`` is stdin. Raises `UsageError` that says where it is wrong."""
    if str(path) == "-":
        return parse(sys.stdin.read(), "stdin")
    return parse_plan(read_document(path))


def parse(text: str, name: str) -> Plan:
    """Read the text of a plan file."""
    return parse_plan(parse_document(text, name))


def write(plan: Plan) -> str:
    """Return a plan as YAML for people."""
    document = plan_document(plan)
    tasks = [_filled(task) for task in document["tasks"]]
    return dump_yaml(_filled({**document, "tasks": tasks}))


def _filled(part: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in part.items() if value or key in ALWAYS}
