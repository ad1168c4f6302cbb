"""Runs one shell command and ends everything it started: when it is over, or when stdin closes.

Whoever starts this holds the other end of stdin, which the system closes when that process dies,
however it dies. Run as a script; imports nothing but the standard library.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading


def _end(group: int) -> None:
    with contextlib.suppress(OSError):
        os.killpg(group, signal.SIGKILL)


def _outlive(group: int) -> None:
    while os.read(0, 4096):
        pass
    _end(group)
    os._exit(1)


def _main(command: str) -> None:
    child = subprocess.Popen(
        ["/bin/sh", "-c", command], stdin=subprocess.DEVNULL, start_new_session=True
    )
    threading.Thread(target=_outlive, args=(child.pid,), daemon=True).start()
    code = child.wait()
    _end(child.pid)
    os._exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    _main(sys.argv[1])
