"""One agent, one task after the other, a commit each."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from benchmark.simulation import clock
from benchmark.simulation.arms.worktrees import critical
from benchmark.simulation.model import Model
from benchmark.simulation.repository import create, git, read, write
from benchmark.simulation.result import Result
from benchmark.simulation.workload import Workload


async def one_agent(folder: Path, workload: Workload, model: Model, agents: int) -> Result:
    """Do all jobs in their order; `agents` is not used."""
    root = folder / "main"
    create(root, workload.files)
    result = Result(critical=critical(workload.jobs, model))
    began = clock.now()
    for job in workload.jobs:
        shown = read(root, job.paths)
        seconds = model.seconds(job.id)
        await asyncio.sleep(seconds)
        made = workload.edit(shown, job, correct=model.correct(job.id))
        result.calls.append((job.id, seconds))
        result.tokens += model.tokens(
            sum(map(len, shown.values())), sum(len(made[p]) - len(shown[p]) for p in made)
        )
        write(root, made)
        started = time.monotonic()
        git(root, "commit", "-q", "-a", "-m", job.id)
        result.commits.append(time.monotonic() - started)
    result.makespan = clock.now() - began
    result.files = read(root, workload.files)
    return result
