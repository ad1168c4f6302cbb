"""What a plan will take, told from a run of the scheduler."""

from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mak.model import NodeId, Plan
from mak.schedule import forecast, locks_for
from tests.schedule.plans import plan, plans, task


def test_disjoint_tasks_take_as_many_rounds_as_agents_need() -> None:
    found = forecast(plan(*(task(f"t{i}", f"a.py::f{i}") for i in range(10))), capacity=4)
    assert (found.rounds, found.makespan, found.work, found.critical) == (3, 3.0, 10.0, 1.0)
    assert found.speedup == pytest.approx(10 / 3)


def test_one_node_is_one_after_the_other_unless_they_only_append() -> None:
    made = plan(*(task(f"t{i}", "a.py::register") for i in range(8)))
    assert forecast(made, capacity=8).speedup == 1.0
    assert forecast(made, capacity=8).line == 8.0
    locks = partial(locks_for, appends={NodeId("a.py", "register")})
    assert forecast(made, capacity=8, locks=locks).rounds == 1


def test_a_later_level_fills_the_gap_that_a_slow_task_leaves() -> None:
    made = plan(
        task("slow", "a.py::f"),
        task("quick", "a.py::g"),
        task("next", "a.py::h", after="quick"),
    )
    took = {"slow": 10.0, "quick": 1.0, "next": 9.0}
    found = forecast(made, capacity=2, duration=took.__getitem__)
    assert (found.makespan, found.critical, found.rounds) == (10.0, 10.0, 2)


def test_nothing_takes_no_time() -> None:
    assert forecast(plan(), capacity=1).speedup == 1.0


@settings(deadline=None)
@given(plans(), st.integers(1, 5), st.randoms(use_true_random=False))
def test_it_is_never_better_than_it_can_be(made: Plan, capacity: int, random) -> None:  # type: ignore[no-untyped-def]
    took = {t.id: random.uniform(0.1, 5.0) for t in made.tasks}
    found = forecast(made, capacity=capacity, duration=took.__getitem__)
    least = max(found.critical, found.work / capacity)
    assert least * 0.999999 <= found.makespan <= found.work * 1.000001
    assert found.speedup <= capacity * 1.000001
