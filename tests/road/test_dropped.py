"""Plans that a person cuts down: what is left lands whole, or nothing does and a person is told."""

from __future__ import annotations

from dataclasses import replace

import anyio
import pytest

from mak import events, kernel
from mak.config import Config
from mak.model import NodeId, Outcome, Plan, RunState
from mak.plan import barred, parse_plan, plan_document, without
from mak.runlog import read_plan
from mak.store import Store
from tests.road.conftest import Road, edited, reply
from tests.road.conftest import task as a_task

FILES = {
    "p/__init__.py": "from .types import STRING\n",
    "p/types.py": "STRING = 1\n",
    "p/use.py": "from . import types\n\n\ndef f():\n    return types.STRING\n",
}
REQUEST = "rename constant p.types.STRING to TEXT"


def cut(road: Road, path: str, goal: str = "") -> Outcome:
    """Carry out the rename, without the task of a file or with another goal for it."""

    shown: list[Plan] = []

    async def review(seen: kernel.Review) -> kernel.Decision:
        shown.append(seen.plan)
        return kernel.Decision(True, changed(seen.plan) if len(shown) == 1 else None)

    def changed(plan: Plan) -> Plan:
        tasks = []
        for task in plan.tasks:
            if not task.goal.endswith(f", in {path}"):
                tasks.append(task)
            elif goal:
                tasks.append(replace(task, goal=goal))
        return replace(plan, tasks=tuple(tasks))

    async def main() -> Outcome:
        options = kernel.Options(Config(), ("builtin",), "builtin", 4, review, road.events.append)
        with Store.open(road.root) as store:
            return await kernel.run(store, REQUEST, options)

    return anyio.run(main)


@pytest.mark.parametrize("path", sorted(FILES))
def test_a_rename_without_one_of_its_files_never_lands_in_part(make_road, path):
    """The importers asked for a name that nothing defined, or kept one that was gone."""
    road = make_road(FILES)
    outcome = cut(road, path)
    assert outcome.state is RunState.FAILED
    assert {name: road.text(name) for name in FILES} == FILES
    remarks = [event.text for event in road.of(events.Remark)]
    assert "this plan lands as a whole; 1 of its 3 tasks was dropped" in remarks


def test_what_a_person_took_out_is_granted_to_nobody(make_road):
    """A task that needed the node of a dropped one was widened to it, as if nobody had decided."""
    road = make_road(FILES)
    outcome = cut(road, "p/use.py")
    (failed,) = (task for task in outcome.tasks.values() if "p/use.py" in task.reason)
    assert "do without p/use.py::f, whose task was taken out at review" in failed.reason
    assert road.of(events.TaskWidened) == []
    with Store.open(road.root, write=False) as store:
        plan = read_plan(store, outcome.run)
    assert [str(node) for node in plan.dropped] == ["p/use.py::f"]


def test_a_rename_whose_definition_is_dropped_says_what_is_missing(make_road):
    outcome = cut(make_road(FILES), "p/types.py")
    assert outcome.state is RunState.FAILED
    assert "imports TEXT from p/types.py, which does not bind it" in outcome.tasks["t1"].reason


PRICES = """def net(price):
    return price


def gross(price):
    return net(price) * 2
"""
NET = "def net(price, rate):\n    return price * rate\n"
GROSS = "def gross(price):\n    return net(price, 1) * 2\n"


def dropping(road: Road, script: dict, *, atomic: bool = False) -> Outcome:
    """Carry out a plan of two tasks of which the person drops the second."""
    tasks = [a_task("net", "prices.py::net#api"), a_task("gross", "prices.py::gross")]
    plan = parse_plan({"request": "rates", "atomic": atomic, "complete": True, "tasks": tasks})

    async def review(seen: kernel.Review) -> kernel.Decision:
        if len(seen.plan.tasks) == 1:
            return kernel.Decision(True)
        return kernel.Decision(True, replace(seen.plan, tasks=seen.plan.tasks[:1]))

    async def main() -> Outcome:
        models = (f"scripted:{road._script(script)}",)
        options = kernel.Options(Config(), models, "builtin", 4, review, road.events.append)
        with Store.open(road.root) as store:
            return await kernel.run(store, plan, options)

    return anyio.run(main)


@pytest.mark.parametrize("atomic", [False, True])
def test_nothing_is_widened_to_what_a_person_dropped(make_road, atomic):
    """What a dropped task was to write came back with the needs of a task that was kept."""
    road = make_road({"prices.py": PRICES})
    asked = [{"symbol": "prices.py::gross", "mode": "write", "why": "it calls net"}]
    needs = {"node": "n1", "status": "needs_locks", "new_source": "", "reason": "it calls net"}
    script = {
        "net": [
            reply(needs, needs_locks=asked),
            reply(edited("n1", NET)),
            reply(edited("n1", "def net(price, rate=1):\n    return price * rate\n")),
        ]
    }
    outcome = dropping(road, script, atomic=atomic)
    assert outcome.state is RunState.DONE
    assert road.of(events.TaskWidened) == []
    refused = road.of(events.ReplyRejected)
    assert [event.check for event in refused] == ["dropped", "dropped"]
    assert all(
        "do without prices.py::gross, whose task was taken out at review" in event.reason
        for event in refused
    )
    assert "net(price) * 2" in road.text("prices.py")


def test_a_plan_that_cannot_do_without_what_was_dropped_says_so(make_road):
    road = make_road({"prices.py": PRICES})
    outcome = dropping(road, {"net": [reply(edited("n1", NET))] * 3}, atomic=True)
    assert outcome.state is RunState.FAILED and road.text("prices.py") == PRICES
    reason = outcome.tasks["net"].reason
    assert "prices.py::gross" in reason and "taken out at review" in reason


def test_what_was_dropped_is_still_so_after_a_kill(make_road):
    """It is part of the plan that the run's record keeps."""
    road = make_road({"prices.py": PRICES})
    outcome = dropping(road, {"net": [reply(edited("n1", NET))] * 3})
    with Store.open(road.root) as store:
        plan = read_plan(store, outcome.run)
    assert plan is not None and list(map(str, plan.dropped)) == ["prices.py::gross"]
    assert parse_plan(plan_document(plan)) == plan


def test_a_goal_that_was_edited_in_one_task_only_does_not_land(make_road):
    road = make_road(FILES)
    goal = "rename p/types.py::STRING to WORDS, in p/__init__.py"
    outcome = cut(road, "p/__init__.py", goal)
    assert outcome.state is RunState.FAILED
    assert {name: road.text(name) for name in FILES} == FILES
    assert "imports WORDS from p/types.py" in outcome.tasks["t1"].reason


def test_what_was_dropped_stays_so_in_the_repairs_that_follow():
    """A repair plan is reviewed too, and forgot what had been taken out of the first plan."""
    plan = parse_plan({"dropped": ["a.py::f", "b.py"], "tasks": [a_task("t", "a.py::f#api")]})
    assert list(map(str, without(plan, ()).dropped)) == ["b.py"]
    (barring,) = barred(without(plan, ()), map(NodeId.parse, ["a.py::f", "b.py::g"]))
    assert str(barring) == "b.py::g"
