"""Git worktrees, really concurrent and really merged: models, one model alone, a command line."""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from pathlib import Path
from typing import Any

from benchmark.simulation.arms.worktrees import Tree, Worktrees
from benchmark.simulation.repository import git
from benchmark.suite.arms.setting import NotRun, Result, Setting
from benchmark.suite.asking import Tally, resolve, work
from benchmark.suite.specification import Task
from mak.agents import Reach, close, open_agents
from mak.model import Usage
from mak.providers import open_client

#: Agentic command lines that are known, and how each is called without a person.
COMMANDS = {
    "claude": (
        "claude",
        "-p",
        "{prompt}",
        "--output-format",
        "json",
        "--permission-mode",
        "acceptEdits",
    ),
    "codex": ("codex", "exec", "--full-auto", "{prompt}"),
}
#: Seconds that a command line may take for one task.
_PATIENCE = 900.0


class _Models(Worktrees[Task]):
    """Models at work in worktrees; conflicts are resolved by one call for each file."""

    def __init__(self, setting: Setting, agents: int) -> None:
        super().__init__(setting.folder, agents)
        self.setting = setting
        self.tally = Tally()
        reach = Reach(setup=setting.setup)
        self.agents = open_agents(setting.models, reach)
        self.client = open_client(setting.models[0], reach.policy, reach.setup, reach.session)

    async def do(self, tree: Tree, job: Task) -> None:
        """Ask the models in turn, as the kernel does."""
        number = self.setting.project.tasks.index(job)
        async with self.calls:
            agent = self.agents[number % len(self.agents)]
            await work(agent, tree.root, self.setting.project, job, self.tally)
        commit(tree.root, job)

    async def resolve(self, root: Path, path: str, name: str) -> None:
        """Have a conflicted file resolved."""
        async with self.calls:
            await resolve(self.client, root, path, self.tally)

    def result(self, began: float) -> Result:
        """Return what it came to."""
        return Result(
            time.perf_counter() - began,
            self.tally.usage,
            self.conflicts,
            self.tally.resolver_calls,
            self.tally.retries,
            self.tally.escalations,
            failed=self.tally.failed,
        )


class _Commands(_Models):
    """An agentic command line at work in worktrees."""

    async def do(self, tree: Tree, job: Task) -> None:
        """Have the command do one task, files and all."""
        async with self.calls:
            await self._call(tree.root, job)
        commit(tree.root, job)

    async def _call(self, root: Path, job: Task) -> None:
        words = [word.replace("{prompt}", job.text) for word in self.setting.command]
        child = await asyncio.create_subprocess_exec(
            *words,
            cwd=root,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            out, _ = await asyncio.wait_for(child.communicate(), _PATIENCE)
        except TimeoutError:
            child.kill()
            await child.wait()
            out = b""
        self.tally.usage += _usage(out)
        if child.returncode:
            self.tally.failed.append(job.id)


def commit(root: Path, job: Task) -> None:
    """Commit whatever a task left in a tree."""
    git(root, "add", "-A")
    git(root, "commit", "-q", "--allow-empty", "-m", job.id)


async def models(setting: Setting) -> Result:
    """Let agents work in a worktree each; merge all when all work is done."""
    return await _merged(_Models(setting, setting.agents))


async def one_agent(setting: Setting) -> Result:
    """Let one agent do one task after the other."""
    return await _merged(_Models(setting, 1))


async def command_line(setting: Setting) -> Result:
    """Let an agentic command line work in worktrees; raise `NotRun` where there is none."""
    if not setting.command:
        raise NotRun(f"none of {', '.join(COMMANDS)} is installed, and --cli names none")
    return await _merged(_Commands(setting, setting.agents))


async def _merged(run: _Models) -> Result:
    began = time.perf_counter()
    try:
        await run.at_the_end(run.setting.project.tasks)
        return run.result(began)
    finally:
        await close()


def installed() -> tuple[str, ...]:
    """Return how the first command line that is installed is called; () for none."""
    return next((words for name, words in COMMANDS.items() if shutil.which(name)), ())


def _usage(out: bytes) -> Usage:
    """Return what a command line says that it has spent; nothing where it does not say."""
    try:
        said: Any = json.loads(out)
    except ValueError:
        return Usage(cost=None, estimated=True)
    usage = said.get("usage", {}) if isinstance(said, dict) else {}
    cached = usage.get("cache_read_input_tokens", 0)
    fresh = usage.get("input_tokens", 0) + usage.get("cache_creation_input_tokens", 0)
    cost = said.get("total_cost_usd") if isinstance(said, dict) else None
    return Usage(fresh + cached, usage.get("output_tokens", 0), cached, 1, cost)
