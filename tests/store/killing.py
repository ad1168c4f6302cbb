"""Kill processes as the system does, at any moment, with or without the commands they started."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path


def forked(work: Callable[[], None]) -> int:
    """Do something in a process of its own; return its pid. Its exit code is 0 when all is well."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return pid


def ended(pid: int) -> int:
    """Wait for a process and return its exit code, or the signal as a negative number."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def kill(pid: int, *, children: bool) -> None:
    """SIGKILL a process, and what it started, or leave that orphaned."""
    below = _below(pid) if children else []
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    for child in below:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)


def kill_at_random(pid: int, chance: random.Random, longest: float) -> int:
    """Kill a child of ours after at most so many seconds; return how it ended."""
    time.sleep(chance.uniform(0, longest))
    kill(pid, children=chance.random() < 0.5)
    return ended(pid)


def _below(pid: int) -> list[int]:
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return []
    children = [int(word) for word in text.split()]
    return children + [deeper for child in children for deeper in _below(child)]
