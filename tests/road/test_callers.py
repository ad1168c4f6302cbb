"""A signature that a task declares to change takes its callers along."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from mak import kernel
from mak.config import Config
from mak.events import RepairPlanned, ReplyRejected, TaskStarted, WaveCommitted
from mak.model import RunState, TaskState
from mak.plan import parse_plan
from mak.store import Store
from tests.road.conftest import Road, edited, reply, task, unchanged

CORE = "def net(x):\n    return x\n"
USERS = "import core\n\n\ndef gross(x):\n    return core.net(x) * 2\n"
TWICE = "def net(x, rate):\n    return x * rate\n"
GROSS = "def gross(x):\n    return core.net(x, 3) * 2\n"


@pytest.fixture
def shop(make_road: Callable[..., Road]) -> Road:
    return make_road({"core.py": CORE, "users.py": USERS})


def test_a_caller_that_no_task_writes_is_adapted_in_the_next_wave(shop: Road) -> None:
    outcome = shop.run(
        [task("t1", "core.py::net#api")],
        {"t1": [reply(edited("n1", TWICE))], "t1-gross": [reply(edited("n1", GROSS))]},
        complete=False,
    )
    assert outcome.state is RunState.DONE
    assert {name: found.state for name, found in outcome.tasks.items()} == {
        "t1": TaskState.DONE,
        "t1-gross": TaskState.DONE,
    }
    assert [wave.tasks for wave in shop.of(WaveCommitted)] == [("t1",), ("t1-gross",)]
    assert "net(x, 3)" in shop.text("users.py")
    first, second = shop.of(TaskStarted)
    # The caller for the one, the new signature for the other; each share is in the run log.
    assert dict(first.context)["callers"] > 0
    assert dict(second.context)["built"] == len(TWICE)


def test_a_person_may_drop_what_was_added(shop: Road) -> None:
    shown: list[list[tuple[str, str]]] = []

    async def review(asked: kernel.Review) -> kernel.Decision:
        shown.append([(t.id, t.added) for t in asked.plan.tasks])
        if len(shown) > 1:
            return kernel.Decision(approved=False)
        kept = tuple(t for t in asked.plan.tasks if not t.added)
        return kernel.Decision(True, replace(asked.plan, tasks=kept))

    options = kernel.Options(Config(), ("builtin",), "builtin", review=review)
    plan = parse_plan({"tasks": [task("t1", "core.py::net#api")]})
    with Store.open(shop.root) as store:
        asyncio.run(kernel.run(store, plan, options))
    why = "relies on core.py::net, whose signature changes"
    assert shown == [[("t1", ""), ("t1-gross", why)], [("t1", "")]]


def test_a_caller_that_is_left_broken_is_asked_again_at_once(shop: Road) -> None:
    """What was broken by the wave before was no finding of this one: a repair had to see to it."""
    left = "def gross(x):\n    return core.net(x) * 3\n"
    outcome = shop.run(
        [task("t1", "core.py::net#api")],
        {
            "t1": [reply(edited("n1", TWICE))],
            "t1-gross": [
                reply(unchanged("n1", "it fits")),
                reply(edited("n1", left)),
                reply(edited("n1", GROSS)),
            ],
        },
        complete=False,
    )
    assert outcome.state is RunState.DONE, outcome.reason
    assert outcome.tasks["t1-gross"].attempts == 3
    assert shop.of(RepairPlanned) == []
    refused = shop.of(ReplyRejected)
    assert [event.task for event in refused] == ["t1-gross", "t1-gross"]
    assert all("no longer takes the calls that users.py::gross makes" in e.reason for e in refused)
    assert "net(x, 3)" in shop.text("users.py")


def test_so_is_one_that_the_plan_itself_names(shop: Road) -> None:
    """The last task that writes a caller has to see to it; those before it need not."""
    outcome = shop.run(
        [
            task("t1", "core.py::net#api"),
            task("t2", "users.py::gross", depends_on=["t1"]),
            task("t3", "users.py::gross", depends_on=["t2"]),
        ],
        {
            "t1": [reply(edited("n1", TWICE))],
            "t2": [reply(edited("n1", "def gross(x):\n    return core.net(x) * 4\n"))],
            "t3": [
                reply(unchanged("n1", "it fits")),
                reply(edited("n1", "def gross(x):\n    return core.net(x, 3) * 4\n")),
            ],
        },
    )
    assert outcome.state is RunState.DONE, outcome.reason
    assert [event.task for event in shop.of(ReplyRejected)] == ["t3"]
    assert shop.of(RepairPlanned) == []


def test_a_caller_that_stays_broken_comes_back_as_a_repair(shop: Road) -> None:
    lazy = reply(unchanged("n1", "it fits"))
    outcome = shop.run(
        [task("t1", "core.py::net#api")],
        {
            "t1": [reply(edited("n1", TWICE))],
            "t1-gross": [lazy] * 3,
            "repair1-t1-gross": [reply(edited("n1", GROSS))],
        },
        complete=False,
    )
    assert outcome.state is RunState.DONE, outcome.reason
    assert [event.number for event in shop.of(RepairPlanned)] == [1]
    assert outcome.tasks["t1-gross"].reason == "done by repair1-t1-gross"
