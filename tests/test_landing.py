from __future__ import annotations

from mak.landing import wave_message
from mak.model import NodeId, Plan, Task

RENAME = "rename src/shop/pricing.py::total to order_total"
MOVE = "replace calls of a/__init__.py::f with b.py::C.g"


def subject(goals: list[str], *, wave: int | None = None, atomic: bool = True) -> str:
    tasks = tuple(Task(f"t{n}", goal, (NodeId("a.py"),)) for n, goal in enumerate(goals))
    plan = Plan("do this; and that", tasks, atomic=atomic)
    return wave_message("r1", 0, plan, [task.id for task in tasks][:wave]).split("\n")[0]


def test_subject_is_the_sentence_that_all_tasks_of_a_wave_share() -> None:
    goals = [f"{RENAME}, in a.py", f"{RENAME}, in b.py", f"{MOVE}, in a.py"]
    assert subject(goals, wave=2) == "rename shop.pricing.total to order_total"
    assert subject([f"{MOVE}, in a.py"]) == "replace calls of a.f with b.C.g"


def test_subject_is_the_request_when_a_wave_is_all_of_it() -> None:
    assert subject([f"{RENAME}, in a.py", f"{MOVE}, in a.py"]) == "do this; and that"


def test_subject_names_the_first_goal_and_counts_the_others() -> None:
    goals = [f"{RENAME}, in a.py", f"{MOVE}, in a.py", "something later"]
    assert subject(goals, wave=2) == "rename shop.pricing.total to order_total (+1 more)"
    assert subject(["first", "second", "third"], atomic=False) == "first (+2 more)"
    assert len(subject(["x" * 300, "second"], atomic=False)) == 72
