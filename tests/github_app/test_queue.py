"""What the queue has taken is worked off: once, in order, after whatever happens to processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from app.queue import ATTEMPTS, DAY, LEASE, Arrival, Counts, Limits, Put, Queue, Taken
from mak.errors import UsageError
from mak.github.events import Press
from tests.github_app.conftest import Clock, arrival, wake


@pytest.fixture
def queue(url: str, clock: Clock) -> Iterator[Queue]:
    made = Queue(url, now=clock)
    yield made
    made.close()


def names(taken: list[Taken]) -> list[str]:
    return [one.wake.delivery for one in taken]


def test_what_was_put_is_taken_as_it_was_put(queue: Queue) -> None:
    assert queue.put([arrival("a", number=3)]) == [Put.QUEUED]
    (taken,) = queue.take("w")
    assert taken.wake == wake("a", number=3)
    assert queue.take("w") == []
    assert queue.done(taken)
    assert queue.counts() == Counts(0, 0, 0)


def test_a_button_is_taken_as_it_was_put(queue: Queue) -> None:
    pressed = replace(wake("d"), press=Press(5, "alice", False, 7, "r7:r2", "approve"))
    queue.put([Arrival("d", 5, (pressed,))])
    (taken,) = queue.take("w")
    assert taken.wake == pressed


def test_a_delivery_is_kept_once_also_after_it_was_worked_off(queue: Queue) -> None:
    assert queue.put([arrival("a"), arrival("a"), arrival("b")]) == [
        Put.QUEUED,
        Put.DUPLICATE,
        Put.QUEUED,
    ]
    for _ in range(2):
        (taken,) = queue.take("w")
        queue.done(taken)
    assert queue.put([arrival("a"), arrival("c")]) == [Put.DUPLICATE, Put.QUEUED]


def test_deliveries_are_known_for_longer_than_github_can_send_them(
    queue: Queue, clock: Clock
) -> None:
    queue.put([arrival("a")])
    clock.time += 3 * DAY
    queue.prune()
    assert queue.put([arrival("a")]) == [Put.DUPLICATE]
    clock.time += 2 * DAY
    queue.prune()
    assert queue.put([arrival("a")]) == [Put.QUEUED]


def test_one_place_is_worked_on_by_one_at_a_time_and_in_order(queue: Queue) -> None:
    queue.put(
        [arrival("a1", 1), arrival("a2", 1), arrival("b1", 2), arrival("c1", 1, repository=2)]
    )
    taken = queue.take("w", 10)
    assert names(taken) == ["a1", "b1", "c1"]
    assert queue.take("v", 10) == []
    queue.done(taken[0])
    assert names(queue.take("v", 10)) == ["a2"]


def test_what_a_dead_worker_had_is_due_again_when_its_lease_ends(
    queue: Queue, clock: Clock
) -> None:
    queue.put([arrival("a1"), arrival("a2")])
    (first,) = queue.take("dead")
    clock.time += LEASE - 1
    assert queue.take("w") == []
    clock.time += 1
    (second,) = queue.take("w")
    assert (names([second]), second.attempt) == (["a1"], 2)
    assert not queue.done(first), "whoever comes back finds that it is another's"
    assert queue.done(second)


def test_a_lease_that_is_renewed_does_not_end(queue: Queue, clock: Clock) -> None:
    queue.put([arrival("a")])
    queue.take("w")
    for _ in range(10):
        clock.time += LEASE / 3
        assert queue.renew("w") == 1
    assert queue.take("v") == []


def test_a_failure_is_tried_again_later_and_blocks_its_place_only(
    queue: Queue, clock: Clock
) -> None:
    queue.put([arrival("a1", 1), arrival("a2", 1), arrival("b1", 2)])
    (taken,) = queue.take("w")
    assert queue.again(taken, "GitHub is away")
    assert names(queue.take("w", 5)) == ["b1"]
    clock.time += 5
    (again,) = queue.take("w", 5)
    assert (again.wake.delivery, again.attempt) == ("a1", 2)


def test_what_always_fails_is_put_aside(queue: Queue, clock: Clock) -> None:
    queue.put([arrival("bad"), arrival("good")])
    for attempt in range(1, ATTEMPTS + 1):
        clock.time += 1000
        (taken,) = queue.take("w")
        assert taken.wake.delivery == "bad"
        assert queue.again(taken, "no") == (attempt < ATTEMPTS)
    assert queue.counts() == Counts(waiting=1, running=0, failed=1)
    assert names(queue.take("w")) == ["good"]


def test_what_kills_its_workers_is_put_aside(queue: Queue, clock: Clock) -> None:
    queue.put([arrival("bad"), arrival("good")])
    for _ in range(ATTEMPTS):
        assert names(queue.take("w")) == ["bad"]
        clock.time += LEASE
    queue.take("w")
    assert names(queue.take("w")) == ["good"]
    assert queue.counts().failed == 1


def test_what_is_given_back_is_due_at_once_and_no_attempt(queue: Queue) -> None:
    queue.put([arrival("a")])
    queue.take("w")
    assert queue.release("w") == 1
    (taken,) = queue.take("v")
    assert taken.attempt == 1


def test_a_full_queue_takes_no_more_and_keeps_nothing_of_it(url: str, clock: Clock) -> None:
    queue = Queue(url, Limits(all=2), clock)
    assert queue.put([arrival(name) for name in "abc"]) == [Put.QUEUED, Put.QUEUED, Put.FULL]
    (taken,) = queue.take("w")
    queue.done(taken)
    assert queue.put([arrival("c")]) == [Put.QUEUED]
    queue.close()


def test_one_person_or_repository_cannot_fill_it(url: str, clock: Clock) -> None:
    queue = Queue(url, Limits(of_person=2, of_repository=3), clock)
    mine = [arrival(f"a{n}", n, person=1) for n in range(3)]
    assert queue.put(mine) == [Put.QUEUED, Put.QUEUED, Put.LIMITED]
    assert queue.put([arrival("b", person=2), arrival("c", person=3)]) == [Put.QUEUED, Put.LIMITED]
    assert queue.put([arrival("d", repository=2, person=4)]) == [Put.QUEUED]
    queue.close()


def test_one_repository_cannot_have_all_workers(url: str, clock: Clock) -> None:
    queue = Queue(url, Limits(running_of_repository=2, running_of_person=3), clock)
    queue.put([arrival(f"a{n}", n, person=n) for n in range(100)])
    queue.put([arrival("b", repository=2, person=200)])
    assert names(queue.take("w", 10)) == ["a0", "a1"]
    assert names(queue.take("w", 10)) == ["b"]
    queue.put([arrival(f"c{n}", n, repository=10 + n, person=300) for n in range(5)])
    assert names(queue.take("w", 10)) == ["c0", "c1", "c2"]
    queue.close()


def test_workers_side_by_side_share_and_never_both_have_one(url: str) -> None:
    queues = [Queue(url) for _ in range(4)]
    wide = Limits(running_of_repository=1000, running_of_person=1000)
    for queue in queues:
        queue._limits = wide
    queues[0].put([arrival(f"{n}", n) for n in range(60)])

    def work(queue: Queue) -> list[str]:
        mine: list[str] = []
        while taken := queue.take(f"w{id(queue)}", 3):
            mine += names(taken)
        return mine

    with ThreadPoolExecutor(4) as pool:
        found = [name for mine in pool.map(work, queues) for name in mine]
    assert sorted(found, key=int) == [f"{n}" for n in range(60)]
    for queue in queues:
        queue.close()


def test_processes_that_get_the_same_delivery_keep_it_once(url: str) -> None:
    queues = [Queue(url) for _ in range(4)]
    batch = [arrival(f"{n}", n) for n in range(50)]
    with ThreadPoolExecutor(4) as pool:
        puts = list(pool.map(lambda queue: queue.put(batch), queues))
    for of_one in zip(*puts, strict=True):
        assert sorted(of_one) == [Put.DUPLICATE] * 3 + [Put.QUEUED]
    assert queues[0].counts().waiting == 50
    for queue in queues:
        queue.close()


KILLED = """
import sys
from app.queue import Queue
from tests.github_app.conftest import arrival
queue = Queue(sys.argv[1])
number = 0
while True:
    queue.put([arrival(f"{number}", number)])
    print(number, flush=True)
    number += 1
    if number % 3 == 0:
        for taken in queue.take("dead", 2):
            queue.done(taken)
            print("done", taken.wake.delivery, flush=True)
"""


def test_what_was_answered_for_outlives_kill_9(file_url: str) -> None:
    root = Path(__file__).parents[2]
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, file_url], stdout=subprocess.PIPE, text=True, cwd=root
    )
    assert process.stdout
    said = [next(process.stdout).strip() for _ in range(200)]
    os.kill(process.pid, signal.SIGKILL)
    said += process.stdout.read().split("\n")[:-1]
    process.wait()
    process.stdout.close()
    kept = {line for line in said if not line.startswith("done")}
    done = {line.removeprefix("done ") for line in said if line.startswith("done")}
    clock = Clock()
    clock.time = 1e12
    queue = Queue(file_url, now=clock)
    left: set[str] = set()
    while taken := queue.take("w", 10):
        left |= set(names(taken))
        for one in taken:
            assert queue.done(one)
    # It may have done one more than it could say.
    assert len(kept - left - done) <= 1
    assert not left & done
    queue.close()


def test_only_databases_that_are_known_to_work_are_taken(tmp_path: Path) -> None:
    for url, says in (
        ("mysql://x/y", "neither sqlite nor postgresql"),
        ("what", "is no URL"),
        (f"sqlite:///{tmp_path}/no/such/folder/q.db", "unable to open"),
    ):
        with pytest.raises(UsageError, match=says):
            Queue(url)


def test_an_error_names_no_password() -> None:
    with pytest.raises(UsageError) as caught:
        Queue("postgresql://mak:hunter2hunter2@127.0.0.1:1/mak")
    assert "hunter2" not in str(caught.value)
