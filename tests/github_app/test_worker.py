"""What is taken is worked off, tried again, or given back."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable

import anyio
import pytest

from app.queue import Counts, Queue
from app.worker import Work, Worker
from mak.errors import GitHubError
from mak.github.events import Wake
from tests.github_app.conftest import Clock, arrival


@pytest.fixture
def queue(file_url: str, clock: Clock) -> Queue:
    return Queue(file_url, now=clock)


def run(
    queue: Queue,
    work: Work,
    until: Callable[[anyio.Event], Awaitable[None]],
    slots: int = 4,
    grace: float = 30.0,
) -> Worker:
    """Have a worker work until something that a test waits for."""
    worker = Worker(queue, work, slots=slots, grace=grace)

    async def both() -> None:
        stop = anyio.Event()
        with anyio.fail_after(30):
            async with anyio.create_task_group() as group:
                group.start_soon(worker.run, stop)
                await until(stop)
                stop.set()

    anyio.run(both)
    queue.close()
    return worker


async def emptied(queue: Queue) -> None:
    while queue.counts() != Counts(0, 0, 0):
        await anyio.sleep(0.01)


@pytest.mark.parametrize("kind", ["blocking", "coroutine", "object", "future"])
def test_every_kind_of_callable_works_off_each_wake_once(queue: Queue, kind: str) -> None:
    queue.put([arrival(f"{n}", n % 3, repository=n % 2) for n in range(12)])
    done: list[str] = []

    def blocking(wake: Wake) -> None:
        done.append(wake.delivery)

    async def coroutine(wake: Wake) -> None:
        done.append(wake.delivery)

    class Called:
        async def __call__(self, wake: Wake) -> None:
            done.append(wake.delivery)

    def future(wake: Wake) -> Awaitable[None]:
        return coroutine(wake)

    works: dict[str, Work] = {
        "blocking": blocking,
        "coroutine": coroutine,
        "object": Called(),
        "future": future,
    }
    run(queue, works[kind], lambda stop: emptied(queue))
    assert sorted(done, key=int) == [f"{n}" for n in range(12)]
    for place in range(6):
        mine = [name for name in done if int(name) % 6 == place]
        assert mine == sorted(mine, key=int)


def test_places_are_worked_on_side_by_side_and_one_place_is_not(queue: Queue) -> None:
    queue.put([arrival("a1", 1), arrival("a2", 1), arrival("b1", 2), arrival("c1", 3)])
    meeting = threading.Barrier(3, timeout=20)
    inside: set[int] = set()

    def work(wake: Wake) -> None:
        assert wake.number not in inside
        inside.add(wake.number)
        if wake.delivery != "a2":
            meeting.wait()
        inside.discard(wake.number)

    run(queue, work, lambda stop: emptied(queue))


@pytest.mark.parametrize("error", [GitHubError("GitHub is away"), ValueError("a bug")])
def test_an_error_is_tried_again_and_harms_nobody_else(
    queue: Queue, clock: Clock, error: Exception
) -> None:
    queue.put([arrival("bad", 1), arrival("good", 2)])
    seen: list[str] = []

    def work(wake: Wake) -> None:
        seen.append(wake.delivery)
        if wake.delivery == "bad" and seen.count("bad") == 1:
            raise error

    async def until(stop: anyio.Event) -> None:
        while seen.count("good") < 1 or queue.counts() != Counts(1, 0, 0):
            await anyio.sleep(0.01)
        clock.time += 60
        await emptied(queue)

    run(queue, work, until)
    assert sorted(seen) == ["bad", "bad", "good"]


def test_a_stop_lets_what_is_in_hand_end_and_takes_nothing_more(queue: Queue) -> None:
    queue.put([arrival("a", 1), arrival("b", 1)])
    done: list[str] = []

    async def until(stop: anyio.Event) -> None:
        while not started.is_set():
            await anyio.sleep(0.01)
        stop.set()
        await anyio.sleep(0.05)
        go_on.set()

    started, go_on = threading.Event(), threading.Event()

    def work(wake: Wake) -> None:
        started.set()
        assert go_on.wait(20)
        done.append(wake.delivery)

    run(queue, work, until)
    assert done == ["a"]
    (left,) = queue.take("w", 5)
    assert (left.wake.delivery, left.attempt) == ("b", 1)


@pytest.mark.parametrize("blocking", [False, True])
def test_what_does_not_end_in_time_is_given_back(queue: Queue, blocking: bool) -> None:
    queue.put([arrival("a")])
    let_go = threading.Event()

    async def forever(wake: Wake) -> None:
        await anyio.sleep_forever()

    def blocked(wake: Wake) -> None:
        let_go.wait(20)

    async def until(stop: anyio.Event) -> None:
        while queue.counts().running == 0:
            await anyio.sleep(0.01)

    run(queue, blocked if blocking else forever, until, grace=0.05)
    let_go.set()
    (left,) = queue.take("w")
    assert (left.wake.delivery, left.attempt) == ("a", 1)
