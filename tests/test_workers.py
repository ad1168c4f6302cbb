from __future__ import annotations

import math
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mak.workers import WorkerDied, call


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
