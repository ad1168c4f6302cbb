"""A command of the project: its limits, and that nothing of it is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import anyio
import pytest

from mak.gates.process import HEAD, TAIL, Ran, run
from tests.road.conftest import environment

ENV = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}


def ran(command: str, folder: Path, timeout: float = 20.0) -> Ran:
    return anyio.run(run, command, folder, ENV, timeout)


def is_gone(pid: int) -> bool:
    """Whether a process is dead, waiting a moment for it: it is nobody's child here."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.01)
    return False


def pid_in(path: Path) -> int:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if path.exists() and path.read_text().strip():
            return int(path.read_text())
        time.sleep(0.01)
    raise AssertionError(f"{path} never came")


@pytest.mark.parametrize(("command", "code"), [("true", 0), ("exit 3", 3), ("kill -9 $$", 137)])
def test_the_exit_code_is_the_commands_own(tmp_path: Path, command: str, code: int) -> None:
    assert ran(command, tmp_path).code == code


def test_both_streams_are_kept_and_stdin_is_empty(tmp_path: Path) -> None:
    done = ran("echo out; echo err >&2; cat; pwd", tmp_path)
    assert done.passed
    assert done.output.split() == ["out", "err", str(tmp_path)]


def test_output_is_capped_and_the_command_goes_on(tmp_path: Path) -> None:
    done = ran("echo begin; head -c 5000000 /dev/zero | tr '\\0' x; echo; echo end", tmp_path)
    assert done.passed
    assert done.output.startswith("begin") and done.output.endswith("end\n")
    assert "bytes left out" in done.output
    assert len(done.output) < HEAD + 2 * TAIL + 100


def test_time_is_limited_for_all_that_was_started(tmp_path: Path) -> None:
    start = time.monotonic()
    done = ran("sleep 300 & echo $! > pid; echo there; wait", tmp_path, timeout=1.0)
    assert time.monotonic() - start < 15
    assert done.code is None and "there" in done.output
    assert is_gone(pid_in(tmp_path / "pid"))


def test_what_a_command_leaves_running_ends_with_it(tmp_path: Path) -> None:
    done = ran("sleep 300 & echo $! > pid", tmp_path)
    assert done.passed and done.seconds < 15
    assert is_gone(pid_in(tmp_path / "pid"))


#: It leaves its group, its session and its parent.
DAEMON = (
    "(setsid sh -c 'echo $$ > pid; sleep 300' >/dev/null 2>&1 &); while [ ! -s pid ]; do :; done"
)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux adopts orphans")
@pytest.mark.parametrize("then", ["true", "sleep 300"])
def test_a_daemon_ends_with_the_command(tmp_path: Path, then: str) -> None:
    ran(f"{DAEMON}; {then}", tmp_path, timeout=20.0 if then == "true" else 2.0)
    assert is_gone(pid_in(tmp_path / "pid"))


def test_cancelling_ends_it(tmp_path: Path) -> None:
    async def main() -> None:
        with anyio.move_on_after(1.0):
            await run("echo $$ > pid; sleep 300", tmp_path, ENV, 300.0)

    anyio.run(main)
    assert is_gone(pid_in(tmp_path / "pid"))


KILLED = """
import anyio, os, sys
from pathlib import Path
from mak.gates.process import run
anyio.run(run, "echo $$ > pid; sleep 300", Path(), dict(os.environ), 300.0)
"""


def test_a_kill_of_mak_ends_it(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", KILLED], cwd=tmp_path, env=environment())
    pid = pid_in(tmp_path / "pid")
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert is_gone(pid)
