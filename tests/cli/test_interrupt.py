from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys

import pytest

CLEAN = """
import anyio, sys
from mak.cli.interrupt import Interrupts

async def work():
    print("ready", flush=True)
    try:
        await anyio.sleep(60)
    except anyio.get_cancelled_exc_class():
        with anyio.CancelScope(shield=True):
            await anyio.sleep(0.01)
        return "tidied up"

interrupts = Interrupts(lambda text: print("said", text, flush=True))
print("result", interrupts.run(work), interrupts.happened)
"""

CUT = """
import anyio
from mak.cli.interrupt import Interrupts

async def work():
    print("ready", flush=True)
    await anyio.sleep(60)

print("result", Interrupts(lambda text: None).run(work))
"""

THREADED = """
import anyio, signal, sys, threading, time
from mak.cli.interrupt import Interrupts

other = threading.Thread(target=time.sleep, args=(60,), daemon=True)
other.start()

async def work():
    def send():
        signal.pthread_kill(other.ident, signal.SIGINT)

    threading.Timer(0.2, send).start()
    print("ready", flush=True)
    await anyio.sleep(60)

print("result", Interrupts(lambda text: None).run(work), flush=True)
sys.stdout.flush()
"""

EDITING = """
import anyio, sys
from mak.cli.interrupt import Interrupts, foreground

async def work():
    print("ended with", foreground(["sh", "-c", "echo ready; exec sleep 60"], 1), flush=True)
    await anyio.sleep(60)

print("result", Interrupts(lambda text: None).run(work))
"""

STUCK = """
import anyio, time
from mak.cli.interrupt import Interrupts

async def work():
    print("ready", flush=True)
    try:
        await anyio.sleep(60)
    finally:
        print("stuck", flush=True)
        time.sleep(60)

Interrupts(lambda text: None).run(work)
"""


def start(script: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_first_signal_lets_the_work_end_by_itself(number: signal.Signals) -> None:
    process = start(CLEAN)
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert out == "said stopping; once more to stop at once\nresult tidied up True\n"
    assert (err, process.returncode) == ("", 0)


def test_work_that_has_no_result_gives_none() -> None:
    process = start(CUT)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (out, err, process.returncode) == ("result None\n", "", 0)


def test_signal_that_another_thread_receives_is_not_left_lying() -> None:
    """A Ctrl-C while planning was seen only when the planner's 30 seconds were over."""
    process = start(THREADED)
    out, err = process.communicate(timeout=30)
    assert (out, err, process.returncode) == ("result None\n", "", 0)


def test_second_signal_ends_the_process_even_when_it_is_busy() -> None:
    process = start(STUCK)
    assert process.stdout is not None
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "stuck\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "mak run --recover" in err


QUESTION = """
import sys
from mak.cli.interrupt import Interrupts, read_line

async def work():
    print("ready", flush=True)
    return [await read_line(), await read_line()]

print("result", Interrupts(lambda text: None).run(work), flush=True)
"""


@pytest.mark.parametrize(
    ("typed", "result"),
    [
        (b"a\nd t1 t2\n", "['a', 'd t1 t2']"),
        (b"a\n\x04", "['a', None]"),
        (b"gr\xc3\xbc\xc3\x9fe\n\n", "['grüße', '']"),
        (b"a\n\x03", "None"),
    ],
    ids=["two lines pasted at once", "end of input", "not ASCII, empty", "Ctrl-C"],
)
def test_lines_are_read_from_a_terminal(typed: bytes, result: str) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", QUESTION],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A session of its own whose terminal this is, so that Ctrl-C reaches it.
        preexec_fn=_own_terminal,
    )
    os.close(theirs)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    os.write(ours, typed)
    out, err = process.communicate(timeout=30)
    os.close(ours)
    assert (out, err) == (f"result {result}\n", "")


def _own_terminal() -> None:
    import fcntl
    import termios

    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def test_sigterm_while_an_editor_is_open_ends_the_editor_and_the_work() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", EDITING], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=20)
    assert out == "ended with -15\nresult None\n"
