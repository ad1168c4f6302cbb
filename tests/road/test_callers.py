"""A signature that a task declares to change takes its callers along."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from mak import kernel
from mak.config import Config
from mak.events import TaskStarted, WaveCommitted
from mak.model import RunState, TaskState
from mak.plan import parse_plan
from mak.store import Store
from tests.road.conftest import Road, edited, reply, task

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
