"""The arms, by name: each carries the same jobs out in its own way."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from benchmark.simulation.arms import kernel, sequential, worktrees
from benchmark.simulation.model import Model
from benchmark.simulation.result import Result
from benchmark.simulation.workload import Workload

Arm = Callable[[Path, Workload, Model, int], Awaitable[Result]]

ARMS: dict[str, Arm] = {
    "mak": kernel.appending,
    "mak-node-locks": kernel.node_locks,
    "mak-file-locks": kernel.file_locks,
    "worktrees-end": worktrees.merged_at_the_end,
    "worktrees-often": worktrees.merged_often,
    "worktrees-assigned": worktrees.assigned,
    "sequential": sequential.one_agent,
}
