"""How long a command takes: CPU and wall, the lowest of several runs."""

from __future__ import annotations

import resource
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Spent:
    """Seconds."""

    cpu: float
    wall: float


def run(
    command: Sequence[str],
    root: Path | None = None,
    *,
    fresh: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> Spent:
    """Run a command, its children counted; the folder `fresh` is removed before."""
    if fresh is not None:
        shutil.rmtree(fresh, ignore_errors=True)
    used, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, cwd=root, capture_output=True, check=False, env=env)
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
    return Spent(cpu, time.perf_counter() - wall)


def lowest(times: int, once: Callable[[], Spent]) -> Spent:
    """Return the lowest of each figure over several runs."""
    spent = [once() for _ in range(times)]
    return Spent(min(one.cpu for one in spent), min(one.wall for one in spent))
