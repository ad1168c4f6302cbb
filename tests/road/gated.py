"""A real ``mak run`` that stands still at an event: ``gated.py EVENT NTH GATE ARGUMENTS…``.

When the NTH event of that type has come, the file GATE.reached is made; the run goes on once
there is a file GATE.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from mak import runlog
from mak.cli.main import main
from mak.events import Event

#: Seconds after which it goes on by itself, so that a test that fails ends.
PATIENCE = 120.0


def _arm(kind: str, nth: int, gate: Path) -> None:
    emit = runlog.RunLog.emit
    reached = gate.with_suffix(".reached")
    seen = 0

    def emitted(log: runlog.RunLog, event: Event) -> None:
        nonlocal seen
        emit(log, event)
        seen += type(event).__name__ == kind
        if seen < nth or reached.exists():
            return
        reached.touch()
        deadline = time.monotonic() + PATIENCE
        while not gate.exists() and time.monotonic() < deadline:
            time.sleep(0.01)

    runlog.RunLog.emit = emitted  # type: ignore[method-assign]


if __name__ == "__main__":
    _arm(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
    sys.exit(main(sys.argv[4:]))
