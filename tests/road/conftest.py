"""The whole road on a small repository, with agents that answer from a script."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
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


def unchanged(node: str, reason: str = "it is so") -> dict[str, str]:
    """Return one slot's result in a reply: nothing to change."""
    return {"node": node, "status": "no_changes_required", "new_source": "", "reason": reason}


def reply(*results: dict[str, str], **parts: Any) -> dict[str, Any]:
    """Return an attempt of a script: results, and `new_nodes`, `imports`, `deletes`, …."""
    empty = {"new_nodes": [], "imports": [], "deletes": [], "needs_locks": [], "notes": ""}
    return {"reply": {"results": list(results), **empty, **parts}}


def task(name: str, *writes: str, **parts: Any) -> dict[str, Any]:
    """Return a task of a plan document."""
    return {"id": name, "goal": f"do {name}", "writes": list(writes), **parts}


def snapshot(root: Path) -> dict[str, bytes]:
    """Return what Git says about everything that is not committed, byte for byte."""
    asked = {
        "status": ("status", "--porcelain", "--ignored"),
        "unstaged": ("diff", "--binary"),
        "staged": ("diff", "--cached", "--binary"),
    }
    return {
        name: subprocess.run(["git", *args], cwd=root, capture_output=True, check=True).stdout
        for name, args in asked.items()
    }


def environment(**more: str) -> dict[str, str]:
    """Return the environment of a process that is to find this checkout's MAK."""
    return {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), **more}


@dataclass
class Moment:
    """What a person does as soon as an event of some kind comes, once."""

    kind: type
    fields: Mapping[str, Any]
    act: Callable[[], object]

    def has_come(self, event: Event) -> bool:
        """Whether this is the event."""
        return isinstance(event, self.kind) and all(
            getattr(event, name) == value for name, value in self.fields.items()
        )


@dataclass
class Road:
    """One repository, and runs on it."""

    root: Path
    #: What its files beside the repository are called.
    name: str = "run"
    events: list[Event] = field(default_factory=list)
    moments: list[Moment] = field(default_factory=list)
    #: Called with every event.
    watchers: list[Callable[[Event], None]] = field(default_factory=list)

    def of(self, kind: type) -> list[Any]:
        """Return the events of one type, in order."""
        return [event for event in self.events if isinstance(event, kind)]

    def text(self, path: str) -> str:
        """Return a file of the working tree."""
        return (self.root / path).read_bytes().decode()

    def when(self, kind: type, act: Callable[[], object], **fields: Any) -> None:
        """Let a person do something during a run: at the first event of a kind, with fields."""
        self.moments.append(Moment(kind, fields, act))

    def run(
        self,
        tasks: Sequence[Mapping[str, Any]],
        script: Mapping[str, Sequence[Mapping[str, Any]]],
        *,
        atomic: bool = False,
        complete: bool = True,
        config: Config | None = None,
        max_agents: int = 4,
        work_dir: Path | None = None,
        branch: str | None = None,
        hooks: bool = False,
    ) -> Outcome:
        """Carry out a plan with scripted agents; `complete`: as it is, no caller is added."""
        plan = parse_plan(
            {
                "request": "the request",
                "tasks": list(tasks),
                "atomic": atomic,
                "complete": complete,
            }
        )
        path = self._script(script)
        options = kernel.Options(
            config=config or Config(),
            models=(f"scripted:{path}",),
            planner="builtin",
            max_agents=max_agents,
            emit=self._emit,
            hooks=hooks,
        )
        return self._carried(
            lambda store: kernel.run(store, plan, options), work_dir or self.root, branch
        )

    def recover(
        self,
        *,
        work_dir: Path | None = None,
        branch: str | None = None,
        config: Config | None = None,
    ) -> Outcome:
        """Go on with the newest run that was cut off or held."""
        config = config or Config()
        options = kernel.Options(config=config, models=(), planner="builtin", emit=self._emit)
        return self._carried(
            lambda store: kernel.recover(store, "", options), work_dir or self.root, branch
        )

    def command(
        self, tasks: Sequence[Mapping[str, Any]], script: Mapping[str, Sequence[Mapping[str, Any]]]
    ) -> list[str]:
        """Return the arguments of a ``mak run`` that carries out a plan with scripted agents."""
        path = self.root.parent / f"{self.name}.plan.json"
        path.write_text(
            json.dumps({"request": "the request", "complete": True, "tasks": list(tasks)})
        )
        answers = f"scripted:{self._script(script)}"
        return ["run", "--plan", str(path), "--no-review", "--models", answers]

    def killed(
        self,
        phase: str,
        tasks: Sequence[Mapping[str, Any]],
        script: Mapping[str, Sequence[Mapping[str, Any]]],
    ) -> int:
        """Carry out a plan in a process that kills itself at a phase; return its exit code."""
        driver = Path(__file__).with_name("killed.py")
        return subprocess.run(
            [sys.executable, str(driver), phase, "1", *self.command(tasks, script)],
            cwd=self.root,
            capture_output=True,
            env=environment(),
        ).returncode

    def _script(self, script: Mapping[str, Sequence[Mapping[str, Any]]]) -> Path:
        path = self.root.parent / f"{self.name}.script.json"
        path.write_text(json.dumps({"tasks": {k: list(v) for k, v in script.items()}}))
        return path

    def _carried(
        self, start: Callable[[Store], Awaitable[Outcome]], where: Path, branch: str | None
    ) -> Outcome:
        async def main() -> Outcome:
            with Store.open(where, branch=branch) as store:
                return await start(store)

        return anyio.run(main)

    def _emit(self, event: Event) -> None:
        self.events.append(event)
        for moment in [moment for moment in self.moments if moment.has_come(event)]:
            self.moments.remove(moment)
            moment.act()
        for watcher in self.watchers:
            watcher(event)


@pytest.fixture
def make_road(make_repo: Callable[..., Path]) -> Callable[..., Road]:
    """Return a function that makes a repository to run on."""
    return lambda files: Road(make_repo(files))
