"""Plans that a person cuts down: what is left lands whole, or nothing does and a person is told."""

from __future__ import annotations

from dataclasses import replace

import anyio
import pytest

from mak import events, kernel
from mak.config import Config
from mak.model import Outcome, Plan, RunState
from mak.runlog import read_plan
from mak.store import Store
from tests.road.conftest import Road

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


def test_a_goal_that_was_edited_in_one_task_only_does_not_land(make_road):
    road = make_road(FILES)
    goal = "rename p/types.py::STRING to WORDS, in p/__init__.py"
    outcome = cut(road, "p/__init__.py", goal)
    assert outcome.state is RunState.FAILED
    assert {name: road.text(name) for name in FILES} == FILES
    assert "imports WORDS from p/types.py" in outcome.tasks["t1"].reason
