"""Callers that share a quota wait together, in order, and all of them finish."""

from __future__ import annotations

import time
from dataclasses import replace

import anyio
import anyio.lowlevel
import pytest

from benchmark.ratelimit import measure
from mak.providers.connect import close
from mak.providers.endpoints import Wire
from mak.providers.gate import Closed, Gate, backoff, gate
from mak.providers.limits import duration
from mak.providers.request import Request, Stop
from tests.providers.conftest import QUICK
from tests.providers.fake import Turn


async def hold(gate_: Gate, log: list[str], name: str, done: anyio.Event | None = None) -> None:
    async with gate_.admit():
        log.append(name)
        if done:
            await done.wait()


def test_no_more_than_the_limit_are_admitted_and_in_order():
    async def main() -> None:
        shared, log, done = Gate(2), [], anyio.Event()
        async with anyio.create_task_group() as group:
            for name in "abcde":
                group.start_soon(hold, shared, log, name, done)
                await anyio.lowlevel.checkpoint()
            await anyio.wait_all_tasks_blocked()
            assert log == ["a", "b"]
            done.set()
        assert log == ["a", "b", "c", "d", "e"]

    anyio.run(main)


def test_a_pause_holds_for_everybody_and_halves_the_limit():
    async def main() -> float:
        shared, log = Gate(4), []
        shared.pushed_back(0.1)
        assert shared.limit == 2
        start = time.monotonic()
        async with anyio.create_task_group() as group:
            for name in "abc":
                group.start_soon(hold, shared, log, name)
        assert log == ["a", "b", "c"]
        return time.monotonic() - start

    assert 0.1 <= anyio.run(main) < 1


def test_the_limit_recovers_slowly_and_never_falls_below_one():
    shared = Gate(8)
    for _ in range(10):
        shared.pushed_back(0)
    assert shared.limit == 1
    for _ in range(4):
        shared.succeeded()
    assert 1 < shared.limit < 8
    for _ in range(100):
        shared.succeeded()
    assert shared.limit == 8


def test_a_caller_that_is_cancelled_leaves_its_place_to_the_next():
    async def main() -> None:
        shared, log, done = Gate(1), [], anyio.Event()
        async with anyio.create_task_group() as group:
            group.start_soon(hold, shared, log, "holder", done)
            await anyio.wait_all_tasks_blocked()
            with anyio.move_on_after(0.02) as scope:
                await hold(shared, log, "cancelled")
            assert scope.cancelled_caught
            group.start_soon(hold, shared, log, "next")
            await anyio.wait_all_tasks_blocked()
            assert log == ["holder"]
            done.set()
        assert log == ["holder", "next"]

    anyio.run(main)


def test_a_gate_outlives_the_event_loop_that_used_it():
    shared, log = Gate(1), []

    async def main() -> None:
        with anyio.move_on_after(0.02):
            async with shared.admit():
                await hold(shared, log, "never")

    anyio.run(main)
    anyio.run(hold, shared, log, "later")
    assert log == ["later"]


def test_one_gate_per_endpoint_and_model():
    assert gate("http://e", "m", 3) is gate("http://e", "m", 3)
    assert gate("http://e", "m", 3) is not gate("http://e", "n", 3)


def test_pauses_double_up_to_a_cap_and_differ():
    pauses = [backoff(0.5, 8, attempt) for attempt in range(10)]
    for pause, middle in zip(pauses, [0.5, 1, 2, 4, 8, 8, 8, 8, 8, 8], strict=True):
        assert 0.75 * middle <= pause <= 1.25 * middle
    assert len(set(pauses)) > 5


def test_a_pause_longer_than_a_caller_may_wait_is_not_waited_for():
    async def main() -> None:
        shared = Gate(4)
        shared.pushed_back(600)
        with anyio.fail_after(1):
            with pytest.raises(Closed) as caught:
                async with shared.admit(60):
                    raise AssertionError("admitted")
        assert 599 < caught.value.pause <= 600

    anyio.run(main)


ISO = "%Y-%m-%dT%H:%M:%SZ"


@pytest.mark.parametrize(
    ("headers", "limit", "pause"),
    [
        ({}, 8, 0),
        ({"x-ratelimit-remaining-requests": "3"}, 3, 0),
        ({"anthropic-ratelimit-requests-remaining": "30"}, 8, 0),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "6m0s"}, 8, 0),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1.5s"}, 8, 1.5),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "250ms"}, 8, 0.25),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1m30s"}, 8, 0),
        ({"x-ratelimit-remaining-requests": "0"}, 8, 0),
        ({"x-ratelimit-remaining-requests": "soon"}, 8, 0),
        (
            {
                "anthropic-ratelimit-input-tokens-remaining": "0",
                "anthropic-ratelimit-input-tokens-limit": "50000",
                "anthropic-ratelimit-input-tokens-reset": "IN 20",
            },
            8,
            20,
        ),
    ],
)
def test_callers_slow_down_before_they_are_pushed_back(headers, limit, pause):
    shared = Gate(8)
    now = time.time()
    told = {
        name: time.strftime(ISO, time.gmtime(now + 20)) if value == "IN 20" else value
        for name, value in headers.items()
    }
    shared.heed(told, 60)
    assert shared.limit == limit
    left = max(0.0, shared._closed_until - time.monotonic())
    assert left == pytest.approx(pause, abs=1.1 if pause == 20 else 0.05)


def test_what_is_left_is_read_from_real_answers(sse):
    prefix = "anthropic-ratelimit-requests" if sse.name == "anthropic" else "x-ratelimit"
    name = f"{prefix}-remaining" if sse.name == "anthropic" else f"{prefix}-remaining-requests"
    sse.answers(Turn(headers={name: "2"}))
    client = sse.client()
    sse.ask(client)
    assert client.gate.limit == 2


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("7", 7), ("6m0s", 360), ("1h2m3.5s", 3723.5), ("20ms", 0.02), ("", 0), ("soon", 0)],
)
def test_durations_are_read_in_every_form(text, seconds):
    assert duration(text) == pytest.approx(seconds)


def test_points_in_time_are_read_too():
    now = time.time()
    assert duration(f"{now + 30:.0f}") == pytest.approx(30, abs=1.5)
    assert duration(f"{(now + 30) * 1000:.0f}") == pytest.approx(30, abs=1.5)
    assert duration(time.strftime(ISO, time.gmtime(now + 30))) == pytest.approx(30, abs=1.5)
    assert duration("2020-01-01T00:00:00Z") == 0


@pytest.mark.parametrize("name", ["anthropic", "openai", "ollama"])
def test_ten_callers_on_one_quota_all_finish(make_wire, name):
    wire = make_wire(name)
    wire.server.quota = (8, 0.1)

    async def main() -> list[Stop]:
        stops: list[Stop] = []

        async def caller() -> None:
            client = wire.client(replace(QUICK, max_wait=1))
            for _ in range(4):
                stops.append((await client.complete(Request("", "", "x"))).stop)

        try:
            async with anyio.create_task_group() as group:
                for _ in range(10):
                    group.start_soon(caller)
        finally:
            await close()
        return stops

    assert anyio.run(main) == [Stop.DONE] * 40
    assert len(wire.seen) < 80


WIRES = [Wire.ANTHROPIC, Wire.OPENAI]


@pytest.mark.parametrize("wire", WIRES)
def test_forty_calls_on_thirty_a_minute_all_get_through(wire):
    """The benchmark on a fast clock, which the SDKs would win by being slow to start."""
    result = measure("MAK", wire, scale=40)
    assert (result.done, result.lost) == (40, 0)


@pytest.mark.slow
@pytest.mark.parametrize("wire", WIRES)
def test_the_sdks_lose_some_of_them(wire):
    assert measure("SDK as it comes", wire, scale=3).lost > 0
    assert measure("MAK", wire, scale=3).lost == 0
