"""Callers come after, and along with, the signature that a plan changes."""

from __future__ import annotations

from dataclasses import replace

from mak.errors import UsageError
from mak.model import NodeId, Plan, Task
from mak.plan import Grounded, ground, parse_plan, plan_document
from mak.plan.dag import circle
from tests.plan.repos import sources

TREE = {
    "core.py": "def load(name):\n    return name\n\n\ndef save(name):\n    return load(name)\n",
    "app.py": (
        "import core\n\n\n"
        "def main():\n    return core.load('a')\n\n\n"
        "def other():\n    return main\n\n\n"
        "TABLE = {'load': core.load}\n"
    ),
    "shapes.py": (
        "from dataclasses import dataclass\n\n\n"
        "class Base:\n    def area(self):\n        return 0\n\n\n"
        "class Square(Base):\n    def area(self):\n        return 1\n\n\n"
        "@dataclass\nclass Point:\n    x: int\n    y: int\n\n\n"
        "def origin():\n    return Point(0, 0)\n"
    ),
}


def task(id: str, writes: str = "", **more: object) -> Task:
    nodes = tuple(map(NodeId.parse, writes.split()))
    read = {
        key: tuple(map(NodeId.parse, str(value).split())) if key != "depends_on" else value
        for key, value in more.items()
    }
    return Task(id, f"do {id}", nodes, **read)  # type: ignore[arg-type]


def grounded(*tasks: Task, files: dict[str, str] = TREE, **more: bool) -> Grounded:
    result = ground(Plan("r", tasks, **more), sources(files))  # type: ignore[arg-type]
    assert isinstance(result, Grounded), result
    assert not circle({task.id: task.depends_on for task in result.plan.tasks})
    again = ground(result.plan, sources(files))
    assert again == Grounded(result.plan), "grounding it again changes nothing"
    return result


def test_every_caller_of_a_changed_signature_gets_a_task() -> None:
    result = grounded(task("t1", "core.py::load#api"))
    first, *added = result.plan.tasks
    assert first == task("t1", "core.py::load#api")
    assert [(t.id, t.writes, t.depends_on) for t in added] == [
        (f"t1-{name}", (NodeId(path, name),), ("t1",))
        for path, name in (("app.py", "main"), ("core.py", "save"))
    ]
    assert all("`core.py::load`" in t.goal and "- do t1" in t.goal for t in added)
    assert added[0].added == "relies on core.py::load, whose signature changes"
    assert any("t1-main: added by MAK" in remark for remark in result.remarks)


def test_a_body_that_changes_moves_nobody() -> None:
    result = grounded(task("t1", "core.py::load"), task("t2", "app.py::main"))
    assert result == Grounded(result.plan)
    assert result.plan.tasks == (task("t1", "core.py::load"), task("t2", "app.py::main"))


def test_a_caller_that_another_task_writes_comes_after() -> None:
    plan = grounded(
        task("t1", "app.py::main"),
        task("t2", "core.py::load#api core.py::save"),
    ).plan
    assert [t.id for t in plan.tasks] == ["t1", "t2"]
    assert plan.task("t1").depends_on == ("t2",)


def test_who_reads_a_changed_interface_comes_after() -> None:
    plan = grounded(
        task("t1", "shapes.py::Base.area", reads="core.py::load"),
        task("t2", "core.py::load#api core.py::save app.py::main"),
    ).plan
    assert plan.task("t1").depends_on == ("t2",)


def test_who_reads_what_another_creates_comes_after() -> None:
    plan = grounded(
        task("t1", "app.py::main", reads="core.py::fresh"),
        task("t2", creates="core.py::fresh"),
    ).plan
    assert plan.task("t1").depends_on == ("t2",)


def test_a_caller_in_a_file_that_a_task_writes_whole_has_its_task() -> None:
    plan = grounded(task("t1", "core.py::load#api core.py::save"), task("t2", "app.py")).plan
    assert [t.id for t in plan.tasks] == ["t1", "t2"]


def test_methods_that_override_and_constructions_follow() -> None:
    plan = grounded(task("t1", "shapes.py::Base.area#api"), task("t2", "shapes.py::Point#api")).plan
    assert {t.id: str(t.writes[0]) for t in plan.tasks if t.added} == {
        "t1-Square.area": "shapes.py::Square.area",
        "t2-origin": "shapes.py::origin",
    }
    plan = grounded(task("t1", "shapes.py::Point.@body#api")).plan
    assert [str(t.writes[0]) for t in plan.tasks if t.added] == ["shapes.py::origin"]


def test_two_changes_that_call_each_other_close_no_circle() -> None:
    files = {
        "a.py": "import b\n\ndef f():\n    b.g()\n",
        "b.py": "import a\n\ndef g():\n    a.f()\n",
    }
    result = grounded(task("t1", "a.py::f#api"), task("t2", "b.py::g#api"), files=files)
    orders = {t.id: t.depends_on for t in result.plan.tasks}
    assert orders == {"t1": (), "t2": ("t1",)} or orders == {"t1": ("t2",), "t2": ()}
    assert sum("comes before" in remark for remark in result.remarks) == 1


def test_the_order_that_a_plan_declares_wins() -> None:
    result = grounded(
        task("t1", "core.py::load#api core.py::save", depends_on=("t2",)),
        task("t2", "app.py::main"),
    )
    assert result.plan.task("t1").depends_on == ("t2",)
    assert result.plan.task("t2").depends_on == ()


def test_a_registry_that_names_what_200_tasks_edit_makes_no_chain_of_them() -> None:
    names = [f"handler_{i}" for i in range(200)]
    handlers = "\n\n".join(f"def {name}(event):\n    return event\n" for name in names)
    table = "".join(f"    '{name}': handlers.{name},\n" for name in names)
    files = {"handlers.py": handlers, "table.py": f"import handlers\n\nTABLE = {{\n{table}}}\n"}
    tasks = [task(f"t{i}", f"handlers.py::{name}#api") for i, name in enumerate(names)]
    tasks.append(task("registry", "table.py::@body", reads="handlers.py::handler_0#api"))
    plan = grounded(*tasks, files=files).plan
    assert {t.depends_on for t in plan.tasks if t.id != "registry"} == {()}
    assert plan.task("registry").depends_on == ("t0",)
    bodies = [task(f"t{i}", f"handlers.py::{name}") for i, name in enumerate(names)]
    plan = grounded(*bodies, tasks[-1], files=files).plan
    assert {t.depends_on for t in plan.tasks} == {()}


def test_a_declared_order_that_nothing_shows_is_kept_and_remarked_on() -> None:
    result = grounded(
        task("t1", "core.py::load"),
        task("t2", "shapes.py::origin", depends_on=("t1",)),
        task("t3", "app.py::main", depends_on=("t1",)),
    )
    assert result.plan.task("t2").depends_on == ("t1",)
    assert result.remarks == (
        "t2: kept after t1, as the plan says, though nothing shows that it relies on it",
    )


def test_a_task_that_was_dropped_stays_dropped() -> None:
    result = grounded(task("t1", "core.py::load#api"))
    kept = replace(result.plan, tasks=result.plan.tasks[:1])
    assert ground(kept, sources(TREE)) == Grounded(kept)
    assert parse_plan(plan_document(result.plan)) == result.plan
    assert parse_plan(plan_document(kept)) == kept


def test_a_caller_that_is_out_of_reach_is_left_to_a_person() -> None:
    def check_path(path: str) -> str:
        if path == "app.py":
            raise UsageError("app.py is not yours")
        return path

    plan = Plan("r", (task("t1", "core.py::load#api core.py::save"),))
    result = ground(plan, sources(TREE), check_path=check_path)
    assert isinstance(result, Grounded)
    assert [t.id for t in result.plan.tasks] == ["t1"]
    assert "app.py::main uses core.py::load, whose signature changes" in result.remarks[0]
