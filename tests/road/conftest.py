"""The whole road on a small repository, with agents that answer from a script."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest

from mak import kernel
from mak.config import Config
from mak.events import Event
from mak.model import Outcome
from mak.plan import parse_plan
from mak.store import Store


def edited(node: str, source: str) -> dict[str, str]:
    """Return one slot's result in a reply: new text."""
    return {"node": node, "status": "edited", "new_source": source, "reason": ""}


def reply(*results: dict[str, str], **parts: Any) -> dict[str, Any]:
    """Return an attempt of a script: results, and `new_nodes`, `imports`, `deletes`, …."""
    empty = {"new_nodes": [], "imports": [], "deletes": [], "needs_locks": [], "notes": ""}
    return {"reply": {"results": list(results), **empty, **parts}}


def task(name: str, *writes: str, **parts: Any) -> dict[str, Any]:
    """Return a task of a plan document."""
    return {"id": name, "goal": f"do {name}", "writes": list(writes), **parts}


@dataclass
class Road:
    """One repository, and runs on it."""

    root: Path
    events: list[Event] = field(default_factory=list)

    def of(self, kind: type) -> list[Any]:
        """Return the events of one type, in order."""
        return [event for event in self.events if isinstance(event, kind)]

    def text(self, path: str) -> str:
        """Return a file of the working tree."""
        return (self.root / path).read_bytes().decode()

    def run(
        self,
        tasks: Sequence[Mapping[str, Any]],
        script: Mapping[str, Sequence[Mapping[str, Any]]],
        *,
        atomic: bool = False,
        config: Config | None = None,
        max_agents: int = 4,
        work_dir: Path | None = None,
        hooks: bool = False,
    ) -> Outcome:
        """Carry out a plan with scripted agents."""
        plan = parse_plan({"request": "the request", "tasks": list(tasks), "atomic": atomic})
        path = self.root.parent / "script.json"
        path.write_text(json.dumps({"tasks": {k: list(v) for k, v in script.items()}}))
        options = kernel.Options(
            config=config or Config(),
            models=(f"scripted:{path}",),
            planner="builtin",
            max_agents=max_agents,
            emit=self.events.append,
            hooks=hooks,
        )

        async def main() -> Outcome:
            with Store.open(work_dir or self.root) as store:
                return await kernel.run(store, plan, options)

        return anyio.run(main)


@pytest.fixture
def make_road(make_repo: Callable[..., Path]) -> Callable[..., Road]:
    """Return a function that makes a repository to run on."""
    return lambda files: Road(make_repo(files))
