"""A real ``mak run`` that kills itself: ``killed.py PHASE NTH ARGUMENTS…``.

PHASE is a phase of the wave commit, ``parked`` (a reply is in Git, not yet judged), ``flushed``
(something was written to the record, whatever it is), or ``never``.
"""

from __future__ import annotations

import functools
import os
import signal
import sys

from mak import runlog, waves
from mak.cli.main import main
from mak.store import WaveWrite


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _arm(phase: str, nth: int) -> None:
    seen = 0

    def fault(name: str) -> None:
        nonlocal seen
        if name == phase:
            seen += 1
            if seen == nth:
                _die()

    waves.WaveWrite = functools.partial(WaveWrite, fault=fault)  # type: ignore[misc]
    park, flush = runlog.RunLog.park, runlog.RunLog.flush
    waiting: list[str] = []

    def parked(log: runlog.RunLog, task: str, attempt: int, reply: runlog.Parked) -> None:
        park(log, task, attempt, reply)
        waiting.append(task)

    def flushed(log: runlog.RunLog) -> None:
        flush(log)
        fault("flushed")
        if waiting:
            waiting.clear()
            fault("parked")

    runlog.RunLog.park = parked  # type: ignore[method-assign]
    runlog.RunLog.flush = flushed  # type: ignore[method-assign]


if __name__ == "__main__":
    _arm(sys.argv[1], int(sys.argv[2]))
    sys.exit(main(sys.argv[3:]))
