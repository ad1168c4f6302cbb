"""The arms of the suite, by name: each carries the same tasks out in its own way."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from benchmark.suite.arms import kernel, worktrees
from benchmark.suite.arms.setting import Result, Setting

Arm = Callable[[Setting], Awaitable[Result]]

ARMS: dict[str, Arm] = {
    "mak": kernel.own_planner,
    "mak-oracle-plan": kernel.oracle_plan,
    "worktrees": worktrees.models,
    "sequential": worktrees.one_agent,
    "cli-worktrees": worktrees.command_line,
}
