from __future__ import annotations

import math
import os
import resource
import time

import anyio
import pytest

from mak.workers import WorkerDied, call, call_blocking


def test_a_call_returns_what_the_function_returns() -> None:
    assert call_blocking(math.factorial, 20) == math.factorial(20)


def test_an_exception_of_the_function_passes_through() -> None:
    with pytest.raises(ValueError, match="factorial"):
        call_blocking(math.factorial, -1)


# I19
def test_a_crash_costs_one_call_only() -> None:
    async def main() -> int:
        with pytest.raises(WorkerDied, match="the process died"):
            await call(os.abort)
        return await call(math.factorial, 5)

    assert anyio.run(main) == 120


# I19
def test_a_call_that_hangs_is_given_up_and_the_next_one_works() -> None:
    async def main() -> int:
        begin = time.monotonic()
        with pytest.raises(WorkerDied, match=r"no result within 0\.5 s"):
            await call(time.sleep, 60, timeout=0.5)
        assert time.monotonic() - begin < 30
        return await call(math.factorial, 5)

    assert anyio.run(main) == 120


# I19
def test_memory_is_limited_call_by_call() -> None:
    async def main() -> int:
        with pytest.raises(WorkerDied, match="more than 512 MiB"):
            await call(bytearray, 1 << 30, memory=512 << 20)
        return (await call(resource.getrlimit, resource.RLIMIT_AS, memory=2 << 30))[0]

    assert anyio.run(main) == 2 << 30
