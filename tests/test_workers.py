from __future__ import annotations

import math
import os
import resource
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from mak.workers import WorkerDied, call, forked


def test_a_call_returns_what_the_function_returns() -> None:
    assert call(math.factorial, 20) == math.factorial(20)


def test_calls_share_one_worker() -> None:
    assert call(os.getpid) == call(os.getpid) != os.getpid()


def test_an_exception_of_the_function_passes_through() -> None:
    with pytest.raises(ValueError, match="factorial"):
        call(math.factorial, -1)


def test_a_worker_does_not_outlive_a_parent_that_is_killed() -> None:
    script = "import os; from mak.workers import call; print(call(os.getpid), flush=True); input()"
    parent = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    worker = int(parent.stdout.readline())
    parent.kill()
    parent.communicate()
    for _ in range(1000):
        try:
            os.kill(worker, 0)
        except ProcessLookupError:
            return
        if Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
            return
        time.sleep(0.02)
    pytest.fail("the worker is still there")


def test_a_worker_in_a_worker_ends_with_it() -> None:
    """``mak nodes --verify`` over a tree with newer syntax never ended."""
    script = (
        "import math\nfrom concurrent.futures import ProcessPoolExecutor\n"
        "from mak.workers import call\n"
        "with ProcessPoolExecutor(1) as pool: print(pool.submit(call, math.factorial, 5).result())"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "120\n"


# I19
def test_a_crash_costs_one_call_only() -> None:
    with pytest.raises(WorkerDied, match="the process died"):
        call(os.abort)
    assert call(math.factorial, 5) == 120


# I19
def test_a_call_that_hangs_is_given_up_and_the_next_one_works() -> None:
    begin = time.monotonic()
    with pytest.raises(WorkerDied, match=r"no result within 3 s"):
        call(time.sleep, 60, timeout=3)
    assert time.monotonic() - begin < 40
    assert call(math.factorial, 5) == 120


# I19
def test_memory_is_limited_call_by_call() -> None:
    with pytest.raises(WorkerDied, match="more than 512 MiB"):
        call(bytearray, 1 << 30, memory=512 << 20)
    assert call(resource.getrlimit, resource.RLIMIT_AS, memory=2 << 30)[0] == 2 << 30


ALONE = """
import os, signal
from mak.workers import forked

here = os.getpid()

def where(part):
    return part * 2, os.getpid()

def dies(part):
    if os.getpid() != here:
        os.kill(os.getpid(), signal.SIGKILL)
    return part + 1

found = forked(where, [1, 2, 3])
assert [double for double, _ in found] == [2, 4, 6]
assert found[0][1] == here and len({pid for _, pid in found}) == 3
assert forked(dies, [1, 2]) == [2, 3]
try:
    forked(lambda part: 1 // part, [1, 0])
except ZeroDivisionError:
    print("met here")
try:
    os.waitpid(-1, os.WNOHANG)
except ChildProcessError:
    print("nobody left")
"""


def test_parts_are_done_in_copies_of_this_process_and_come_back_in_order() -> None:
    """In a process of one thread: whose copy dies or raises has its part done here."""
    done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True)
    assert done.stdout.split("\n")[:2] == ["met here", "nobody left"], done.stderr


def test_no_copy_is_made_of_a_process_with_several_threads() -> None:
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    try:
        assert forked(lambda part: os.getpid(), [1, 2]) == [os.getpid()] * 2
    finally:
        done.set()
        other.join()


def test_nothing_is_nothing() -> None:
    assert forked(str, []) == []
