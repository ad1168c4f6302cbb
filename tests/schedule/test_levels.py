from hypothesis import given

from mak.model import Plan
from mak.schedule import levels
from tests.schedule.plans import plan, plans, task


def test_a_task_is_above_everything_it_depends_on() -> None:
    made = plan(
        task("late", after="middle early"),
        task("early"),
        task("middle", after="early"),
        task("other"),
    )
    assert levels(made) == (("early", "other"), ("middle",), ("late",))


def test_an_empty_plan_has_no_level() -> None:
    assert levels(plan()) == ()


def test_a_chain_of_1100_tasks_has_1100_levels() -> None:
    made = plan(*(task(f"t{i}", after=f"t{i - 1}" if i else "") for i in range(1100)))
    assert levels(made) == tuple((f"t{i}",) for i in range(1100))


@given(plans())
def test_levels_hold_every_task_once_as_low_as_it_can_be(made: Plan) -> None:
    found = levels(made)
    level = {task: n for n, tasks in enumerate(found) for task in tasks}
    assert sorted(t for tasks in found for t in tasks) == sorted(t.id for t in made.tasks)
    for item in made.tasks:
        assert level[item.id] == max((level[d] + 1 for d in item.depends_on), default=0)
