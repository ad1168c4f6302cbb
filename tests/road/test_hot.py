"""Nodes that everyone must touch: tasks append to them side by side, and nothing is lost."""

from __future__ import annotations

import pytest

from mak.events import ReplyRejected, TaskStarted, WaveCommitted
from mak.model import RunState
from tests.conftest import git
from tests.road.conftest import edited, reply, task

COUNT = 60

PACKAGE = '''"""A package."""

from shop import registry

__all__ = [
    "registry",
]
'''
REGISTRY = '''"""Who does what."""

from shop.kinds import Kind


def register_all(registry):
    """Register everything."""
    registry.add("first", Kind())  # stays first
    return registry


# ---- the work


def first():
    return 0
'''
LINE = '    registry.add("first", Kind())  # stays first\n'


def hot(number: int) -> list[dict]:  # type: ignore[type-arg]
    """What task `number` answers, made from the files as they were at the start."""
    name = f"job{number:02}"
    register = REGISTRY[REGISTRY.index("def register") : REGISTRY.index("\n\n# ----")]
    made = register.replace(LINE, f'{LINE}    registry.add("{name}", {name})\n')
    exported = '__all__ = [\n    "registry",\n' + f'    "{name}",\n]\n'
    new = {
        "parent": "n1",
        "after": "",
        "kind": "function",
        "source": f"def {name}():\n    return {number}\n",
    }
    line = {"module_of": "n2", "statement": f"from shop.registry import {name}"}
    answer = reply(edited("n1", made), edited("n2", exported))
    answer["reply"] |= {"new_nodes": [new], "imports": [line]}
    answer["delay_s"] = 0.01 * (number * 7 % 5)
    return [answer]


def tasks() -> list[dict]:  # type: ignore[type-arg]
    return [
        task(f"t{n:02}", "shop/registry.py::register_all", "shop/__init__.py::@body")
        for n in range(COUNT)
    ]


FILES = {
    "shop/__init__.py": PACKAGE,
    "shop/registry.py": REGISTRY,
    "shop/kinds.py": "class Kind:\n    pass\n",
}


def test_sixty_tasks_on_the_same_two_files_are_one_commit_and_nobody_is_asked_twice(make_road):
    road = make_road(FILES)
    outcome = road.run(tasks(), {f"t{n:02}": hot(n) for n in range(COUNT)}, max_agents=8)
    assert not road.of(ReplyRejected)
    assert outcome.state is RunState.DONE
    assert len(outcome.waves) == 1
    assert len(road.of(WaveCommitted)) == 1
    assert not road.of(ReplyRejected)
    assert len(road.of(TaskStarted)) == COUNT
    names = [f"job{n:02}" for n in range(COUNT)]
    made, package = road.text("shop/registry.py"), road.text("shop/__init__.py")
    added = "".join(f'    registry.add("{name}", {name})\n' for name in names)
    assert f"{LINE}{added}    return registry\n" in made
    exported = "".join(f'    "{name}",\n' for name in names)
    assert f'__all__ = [\n    "registry",\n{exported}]\n' in package
    assert all(f"from shop.registry import {n}\n" in package or n in package for n in names)
    space: dict[str, object] = {}
    exec(made.replace("from shop.kinds import Kind", "Kind = object"), space)
    assert [space[name]() for name in names] == list(range(COUNT))  # type: ignore[operator]


@pytest.mark.parametrize("turn", [1, 3, 5])
def test_the_order_of_the_answers_does_not_show(make_road, turn):
    road = make_road(FILES)
    script = {f"t{n:02}": hot(n) for n in range(12)}
    for n in range(12):
        script[f"t{n:02}"][0]["delay_s"] = 0.02 * (n * turn % 7)
    outcome = road.run(tasks()[:12], script, max_agents=12)
    assert outcome.state is RunState.DONE
    names = [f"job{n:02}" for n in range(12)]
    calls = "".join(f'    registry.add("{name}", {name})\n' for name in names)
    works = "".join(f"\n\ndef {name}():\n    return {n}\n" for n, name in enumerate(names))
    assert road.text("shop/registry.py") == REGISTRY.replace(LINE, LINE + calls) + works
    exported = "".join(f'    "{name}",\n' for name in names)
    imported = "".join(f"    {name},\n" for name in names)
    assert road.text("shop/__init__.py") == PACKAGE.replace(
        "registry\n\n", f"registry\nfrom shop.registry import (\n{imported})\n\n"
    ).replace("]", f"{exported}]")


def test_two_values_for_one_key_are_asked_again_with_both_intents(make_road):
    table = 'HANDLERS = {\n    "a": 1,\n}\n'
    road = make_road({"shop.py": table})
    first = table.replace("}", '    "b": 2,\n}')
    other = table.replace("}", '    "b": 3,\n}')
    settled = table.replace("}", '    "b": 2,\n    "c": 3,\n}')
    outcome = road.run(
        [task("one", "shop.py::@body"), task("two", "shop.py::@body")],
        {
            "one": [reply(edited("n1", first))],
            "two": [
                {**reply(edited("n1", other)), "delay_s": 0.1},
                reply(edited("n1", other)),
                reply(edited("n1", settled)),
            ],
        },
    )
    assert outcome.state is RunState.DONE, outcome.reason
    told = road.of(ReplyRejected)
    assert [event.check for event in told] == ["merge", "merge"]
    assert "'b'" in told[0].reason and "do one" in told[0].reason
    assert road.text("shop.py") == settled


def test_a_task_starts_before_the_wave_that_it_does_not_wait_for(make_road):
    stubs = "\n\n".join(f"def {name}():\n    pass\n" for name in "abc")
    road = make_road({"shop.py": stubs})
    outcome = road.run(
        [
            task("slow", "shop.py::a"),
            task("quick", "shop.py::b"),
            task("next", "shop.py::c", depends_on=["quick"]),
        ],
        {
            "slow": [{**reply(edited("n1", "def a():\n    return 1\n")), "delay_s": 0.6}],
            "quick": [reply(edited("n1", "def b():\n    return 2\n"))],
            "next": [reply(edited("n1", "def c():\n    return 3\n"))],
        },
    )
    assert outcome.state is RunState.DONE
    assert [wave.tasks for wave in outcome.waves] == [("slow", "quick"), ("next",)]
    order = [
        event.task if isinstance(event, TaskStarted) else event.tasks
        for event in road.events
        if isinstance(event, TaskStarted | WaveCommitted)
    ]
    assert order.index("next") < order.index(("slow", "quick"))
    first = outcome.waves[0].commit
    assert "return 3" not in git(road.root, "show", f"{first}:shop.py")
    assert "return 3" in road.text("shop.py")
