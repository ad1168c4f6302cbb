"""Runs one shell command and ends everything it started: when it is over, or when stdin closes.

Whoever starts this holds the other end of stdin, which the system closes when that process dies,
however it dies. On Linux what left the command's process group or session is ended too: orphans
become children of this process. Run as a script; imports nothing but the standard library.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

#: See prctl(2).
_PR_SET_CHILD_SUBREAPER = 36
#: Seconds to go after processes that start others faster than they are ended.
_PATIENCE = 5.0


def _adopt() -> None:
    """Let orphans among our descendants become our children, where the system can."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _descendants() -> Iterator[int]:
    """Yield our descendants that are not dead yet; none where there is no /proc."""
    parents: dict[int, int] = {}
    with contextlib.suppress(OSError):
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                # The name of the command stands in brackets and may hold anything.
                text = (folder / "stat").read_bytes().rpartition(b")")[2]
                state, parent = text.split()[:2]
                if state not in (b"Z", b"X"):
                    parents[int(folder.name)] = int(parent)
    ours = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in ours} - ours:
        ours |= more
    yield from ours - {os.getpid()}


def _end(group: int) -> None:
    with contextlib.suppress(OSError):
        os.killpg(group, signal.SIGKILL)
    deadline = time.monotonic() + _PATIENCE
    while (left := list(_descendants())) and time.monotonic() < deadline:
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.001)


def _outlive(group: int) -> None:
    while os.read(0, 4096):
        pass
    _end(group)
    os._exit(1)


def _main(command: str) -> None:
    _adopt()
    child = subprocess.Popen(
        ["/bin/sh", "-c", command], stdin=subprocess.DEVNULL, start_new_session=True
    )
    threading.Thread(target=_outlive, args=(child.pid,), daemon=True).start()
    code = child.wait()
    _end(child.pid)
    os._exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    _main(sys.argv[1])
