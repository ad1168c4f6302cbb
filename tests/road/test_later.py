"""Who cannot decide yet, or wants to go as far as a wave, has the run held, and goes on later."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import anyio
import pytest

from mak import kernel
from mak.config import Config
from mak.errors import StoreError
from mak.events import TaskStarted, WaveCommitted
from mak.kernel import Decision, Review
from mak.model import Outcome, Plan, RunState, TaskState
from mak.plan import parse_plan, plan_digest
from mak.store import Store
from tests.conftest import git
from tests.road.conftest import Road, edited, reply, task
from tests.road.test_repair import FILES, TASKS, failing, uses

CHAIN = {"a.py": "def f():\n    return 1\n\n\ndef g():\n    return 2\n\n\ndef h():\n    return 3\n"}
STEPS = [
    task("t1", "a.py::f"),
    task("t2", "a.py::g", depends_on=["t1"]),
    task("t3", "a.py::h", depends_on=["t2"]),
]
ANSWERS = {
    name: [reply(edited("n1", f"def {f}():\n    return 10\n"))]
    for name, f in (("t1", "f"), ("t2", "g"), ("t3", "h"))
}
LATER = Decision(approved=False, later=True)


def options(road: Road, script: Mapping[str, Any], **more: Any) -> kernel.Options:
    given = {"config": Config(attempts=1), "planner": "builtin", "emit": road._emit, **more}
    return kernel.Options(models=(f"scripted:{road._script(script)}",), **given)


def carried_out(road: Road, tasks: list[dict[str, Any]], chosen: kernel.Options) -> Outcome:
    plan = parse_plan({"request": "the request", "tasks": tasks})
    with Store.open(road.root) as store:
        return anyio.run(kernel.run, store, plan, chosen)


def recovered(road: Road, run: str, chosen: kernel.Options) -> Outcome:
    with Store.open(road.root) as store:
        return anyio.run(kernel.recover, store, run, chosen)


def deciding(*decisions: Decision) -> tuple[Callable[[Review], Any], list[Plan]]:
    left, seen = list(decisions), list[Plan]()

    async def review(found: Review) -> Decision:
        seen.append(found.plan)
        return left.pop(0)

    return review, seen


def test_repairs_that_are_put_off_are_the_same_ones_later(make_road) -> None:
    road = make_road(FILES)
    script = failing(repair1_t2=[uses("new")])
    review, seen = deciding(Decision(approved=True), LATER)
    outcome = carried_out(road, TASKS, options(road, script, review=review))
    assert outcome.state is RunState.HELD and "wait to be reviewed" in outcome.reason
    assert [wave.tasks for wave in outcome.waves] == [("t1",)]
    again, seen_again = deciding(LATER)
    assert recovered(road, outcome.run, options(road, script, review=again)).state is RunState.HELD
    approve, seen_at_last = deciding(Decision(approved=True))
    done = recovered(road, outcome.run, options(road, script, review=approve))
    assert done.state is RunState.DONE and "a.new()" in road.text("b.py")
    offered = {plan_digest(seen[-1]), plan_digest(seen_again[0]), plan_digest(seen_at_last[0])}
    assert len(offered) == 1


def test_a_first_plan_that_is_put_off_is_not_begun(make_road) -> None:
    road = make_road(CHAIN)
    review, _ = deciding(LATER)
    outcome = carried_out(road, STEPS, options(road, ANSWERS, review=review))
    assert outcome.state is RunState.DECLINED and outcome.head == outcome.base


@pytest.mark.parametrize("last", [0, 1, 2])
def test_a_run_goes_as_far_as_a_wave_and_on_from_there(make_road, last: int) -> None:
    road = make_road(CHAIN)
    held = carried_out(road, STEPS, options(road, ANSWERS, last_wave=lambda: last))
    assert held.state is RunState.HELD and held.reason.startswith("paused")
    assert len(held.waves) == last and len(road.of(TaskStarted)) == last
    assert held.tasks["t3"].state is TaskState.PENDING
    done = recovered(road, held.run, options(road, ANSWERS))
    assert done.state is RunState.DONE and len(done.waves) == 3
    assert len(road.of(TaskStarted)) == 3


def test_a_run_that_is_paused_finishes_the_wave_it_is_in(make_road) -> None:
    road = make_road(CHAIN)
    paused: list[int] = []
    base = options(road, ANSWERS, last_wave=lambda: paused[0] if paused else None)

    def emit(event: object) -> None:
        road._emit(event)
        if isinstance(event, TaskStarted) and event.task == "t2":
            paused.append(2)

    outcome = carried_out(road, STEPS, replace(base, emit=emit))
    assert outcome.state is RunState.HELD and outcome.reason == "paused after wave 2"
    assert len(road.of(WaveCommitted)) == 2


def test_repairs_count_as_waves_of_the_run(make_road) -> None:
    road = make_road(FILES)
    script = failing(repair1_t2=[uses("new")])
    outcome = carried_out(road, TASKS, options(road, script, last_wave=lambda: 2))
    assert outcome.state is RunState.HELD and [w.tasks for w in outcome.waves] == [("t1",)]
    assert recovered(road, outcome.run, options(road, script)).state is RunState.DONE


def test_whoever_starts_a_run_may_name_it_and_add_trailers(make_road) -> None:
    road = make_road(CHAIN)
    named = {"run": "r7f3k2", "trailers": (("Refs", "#42"),)}
    outcome = carried_out(road, STEPS[:1], options(road, ANSWERS, **named))
    assert outcome.run == "r7f3k2"
    trailers = git(road.root, "log", "-1", "--format=%(trailers:only,unfold)").splitlines()
    assert "MAK-Run: r7f3k2" in trailers and "Refs: #42" in trailers
    with pytest.raises(StoreError, match="r7f3k2"):
        carried_out(road, STEPS[1:2], options(road, ANSWERS, **named))


def test_tasks_of_the_last_wave_that_wait_for_one_another_are_begun(make_road) -> None:
    road = make_road(CHAIN)
    tasks = [STEPS[0], task("t2", "a.py::g"), task("t3", "a.py::h", depends_on=["t2"])]
    chosen = options(road, ANSWERS, last_wave=lambda: 1, max_agents=1)
    outcome = carried_out(road, tasks, chosen)
    assert outcome.state is RunState.HELD
    assert [wave.tasks for wave in outcome.waves] == [("t1", "t2")]
