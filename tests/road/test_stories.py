"""Ways in which tasks that are each right break something together: never silent.

Ten shapes, each carried out end to end by scripted agents: what would break is prevented (asked
again before the commit), repaired or reported. Beside each stands a wave that looks alike and is
right: it passes without a word.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from mak.config import Checks, Config, Gate, Repair
from mak.events import RepairPlanned, ReplyRejected, TaskTakenOut, TaskWidened
from mak.model import Outcome, RunState
from tests.road.conftest import Road, edited, reply, task

UNITTEST = f"{shlex.quote(sys.executable)} -m unittest -q"

Script = Mapping[str, Sequence[Mapping[str, Any]]]


@dataclass(frozen=True)
class Story:
    """A wave of tasks and their answers; `last` are texts that files hold in the end."""

    name: str
    files: Mapping[str, str]
    tasks: Sequence[Mapping[str, Any]]
    script: Script
    #: What speaks up: the id of a check or a gate, or that a task was given more. Empty: nothing.
    check: str = ""
    holds: Mapping[str, str] = field(default_factory=dict)
    gates: Sequence[Gate] = ()


def new(parent: str, source: str) -> dict[str, Any]:
    node = {"parent": parent, "after": "", "kind": "function", "source": source}
    return {"new_nodes": [node]}


# ------------------------------------------------------------------------------- 1: a signature

PRICE = "def price(x):\n    return x\n\n\ndef pay():\n    return price(1)\n"
PRICE_2 = "def price(x, rate):\n    return x * rate\n"
SIGNATURE = [
    task("change", "shop.py::price#api", "shop.py::pay"),
    task("caller", "new.py::run"),
]
SIGNATURE_FILES = {"shop.py": PRICE, "new.py": "import shop\n\n\ndef run():\n    return 0\n"}
CHANGED = reply(edited("n1", PRICE_2), edited("n2", "def pay():\n    return price(1, 2)\n"))


def run_of(call: str) -> dict[str, Any]:
    return reply(edited("n1", f"def run():\n    return {call}\n"))


# --------------------------------------------------------------------------------- 2: two modules

MODULES = [task("a", creates=["a.py"]), task("b", creates=["b.py"])]


def file(text: str) -> dict[str, Any]:
    return reply(edited("n1", text))


# ---------------------------------------------------------------------------------- 3: behaviour

TESTED = {
    "shop.py": "def total(xs):\n    return sum(xs)\n\n\ndef count(xs):\n    return len(xs)\n",
    "test_shop.py": (
        "import unittest\nimport shop\n\n\nclass T(unittest.TestCase):\n"
        "    def test_total(self):\n        self.assertEqual(shop.total([1, 2]), 3)\n"
    ),
}
BEHAVIOUR = [task("total", "shop.py::total"), task("count", "shop.py::count")]
COUNTED = reply(edited("n1", "def count(xs):\n    return len(list(xs))\n"))


def total(value: str) -> dict[str, Any]:
    return reply(edited("n1", f"def total(xs):\n    return {value}\n"))


# ------------------------------------------------------------------------------------- 4: rename

RENAME = {"a.py": "def old():\n    return 1\n", "b.py": "def use():\n    return 0\n"}
RENAMED = reply(edited("n1", "def new():\n    return 1\n"))
RENAMING = [task("rename", "a.py::old#api"), task("user", "b.py::use")]


def importing(name: str) -> dict[str, Any]:
    return reply(
        edited("n1", f"def use():\n    return {name}()\n"),
        imports=[{"module_of": "n1", "statement": f"from a import {name}"}],
    )


# --------------------------------------------------------------------------------- 5: a registry

REGISTRY = 'HANDLERS = {\n    "zero": 0,\n}\n'
REGISTERING = [task("one", "reg.py::@body"), task("two", "reg.py::@body")]


def table(*entries: str) -> dict[str, Any]:
    lines = "".join(f"    {entry},\n" for entry in ('"zero": 0', *entries))
    return reply(edited("n1", f"HANDLERS = {{\n{lines}}}\n"))


# ---------------------------------------------------------------------------------- 6: dataclass

DATA = (
    "from dataclasses import dataclass\n\n\n@dataclass\nclass Item:\n    name: str\n\n\n"
    'def first():\n    return Item("a")\n'
)
DATA_FILES = {"item.py": DATA, "make.py": "from item import Item\n\n\ndef make():\n    return 0\n"}
DATA_TASKS = [task("field", "item.py::Item#all", "item.py::first"), task("make", "make.py::make")]


def item(fields: str, call: str) -> dict[str, Any]:
    return reply(
        edited("n1", f"@dataclass\nclass Item:\n    name: str\n    {fields}\n"),
        edited("n2", f"def first():\n    return {call}\n"),
    )


def made(call: str) -> dict[str, Any]:
    return reply(edited("n1", f"def make():\n    return {call}\n"))


# ----------------------------------------------------------------------------------- 7: override

BASE = (
    "class Base:\n    def run(self, x):\n        return x\n\n    def go(self):\n        return 1\n"
)
DERIVED = "from base import Base\n\n\nclass Child(Base):\n    pass\n"
OVERRIDE = [task("base", "base.py::Base.run#api"), task("child", creates=["child.py::Child.run"])]


def method(text: str) -> dict[str, Any]:
    return reply(edited("n1", text))


# -------------------------------------------------------------------------------------- 8: cycle

CYCLE = {"a.py": "A = 1\n", "b.py": "B = 1\n"}
CYCLING = [task("a", "a.py"), task("b", "b.py")]

# ----------------------------------------------------------------------------- 9: the same helper

TWICE = {"u.py": "def one():\n    return 1\n\n\ndef two():\n    return 2\n"}
HELPING = [task("one", "u.py::one"), task("two", "u.py::two")]


def helped(name: str, helper: str) -> dict[str, Any]:
    return reply(
        edited("n1", f"def {name}():\n    return {helper}()\n"),
        **new("n1", f'def {helper}():\n    return "{name}"\n'),
    )


# ------------------------------------------------------------------------------ 10: a text file

SETTINGS = {
    "app.py": 'NAMES = ["red"]\n\n\ndef names():\n    return [*NAMES]\n',
    "settings.txt": "red\n",
    "agree.py": (
        'import sys\nimport app\n\nwanted = open("settings.txt").read().split()\n'
        "sys.exit(sorted(wanted) != sorted(app.names()))\n"
    ),
}
SETTING = [task("code", "app.py::names"), task("text", "settings.txt")]
AGREE = [Gate(name="agree", command=f"{shlex.quote(sys.executable)} agree.py")]


def names(extra: str) -> dict[str, Any]:
    return reply(edited("n1", f"def names():\n    return [*NAMES{extra}]\n"))


BREAKING = [
    Story(
        "a signature changes beside a new caller",
        SIGNATURE_FILES,
        SIGNATURE,
        {"change": [CHANGED], "caller": [run_of("shop.price(5)"), run_of("shop.price(5, 1)")]},
        "call-signature",
        holds={"new.py": "shop.price(5, 1)", "shop.py": "def price(x, rate)"},
    ),
    Story(
        "two new modules disagree",
        {"c.py": "C = 1\n"},
        MODULES,
        {
            "a": [file("from b import load\n\n\ndef go():\n    return load()\n")],
            "b": [
                file("def read():\n    return 1\n"),
                reply(
                    edited("a.py::@header", "from b import read as load\n"),
                    edited("b.py", "def read():\n    return 1\n"),
                ),
            ],
        },
        "widened",
        holds={"a.py": "from b import read as load"},
    ),
    Story(
        "a behaviour changes that only a test sees",
        TESTED,
        BEHAVIOUR,
        {
            "total": [total("sum(xs) + 1")],
            "count": [COUNTED],
            "repair1-total": [total("sum(list(xs))")],
        },
        "gate:tests",
        holds={"shop.py": "sum(list(xs))"},
        gates=[Gate(name="tests", command=UNITTEST)],
    ),
    Story(
        "a rename beside an import of the old name",
        RENAME,
        RENAMING,
        {"rename": [RENAMED], "user": [importing("old"), importing("new")]},
        "unknown-import",
        holds={"b.py": "from a import new", "a.py": "def new()"},
    ),
    Story(
        "the same key twice",
        {"reg.py": REGISTRY},
        REGISTERING,
        {
            "one": [table('"a": 1')],
            "two": [table('"a": 2'), table('"b": 2')],
        },
        "merge",
        holds={"reg.py": '"a": 1,\n    "b": 2'},
    ),
    Story(
        "a required field beside a construction",
        DATA_FILES,
        DATA_TASKS,
        {
            "field": [item("size: int", 'Item("a", 1)')],
            "make": [made('Item("b")'), made('Item("b", 2)')],
        },
        "missing-field",
        holds={"make.py": 'Item("b", 2)'},
    ),
    Story(
        "an override drifts from its base",
        {"base.py": BASE, "child.py": DERIVED},
        OVERRIDE,
        {
            "base": [method("    def run(self, x, y):\n        return x + y\n")],
            "child": [
                method("    def run(self, x):\n        return -x\n"),
                method("    def run(self, x, y):\n        return -x\n"),
            ],
        },
        "override",
        holds={"child.py": "def run(self, x, y)"},
    ),
    Story(
        "two innocent imports close a circle",
        CYCLE,
        CYCLING,
        {
            "a": [file("from b import B\n\nA = B\n")] * 2,
            "b": [file("from a import A\n\nB = A\n"), file("B = 1\nC = 2\n")],
        },
        "import-cycle",
        holds={"a.py": "from b import B"},
    ),
    Story(
        "two tasks define the same helper",
        TWICE,
        HELPING,
        {
            "one": [helped("one", "_help")],
            "two": [helped("two", "_help"), helped("two", "_help_two")],
        },
        "name-taken",
        holds={"u.py": "def _help_two()"},
    ),
    Story(
        "a text file that no longer matches the code",
        SETTINGS,
        SETTING,
        {
            "code": [names(', "green"')],
            "text": [file("red\nblue\n")],
            "repair1-code": [names(', "green"')] * 3,
            "repair1-text": [file("red\ngreen\n")],
        },
        "gate:agree",
        holds={"settings.txt": "red\ngreen\n"},
        gates=AGREE,
    ),
]


QUIET = [
    Story(
        "a signature grows by a default beside a new caller",
        SIGNATURE_FILES,
        [task("change", "shop.py::price#api"), SIGNATURE[1]],
        {
            "change": [reply(edited("n1", "def price(x, rate=1):\n    return x * rate\n"))],
            "caller": [run_of("shop.price(5)")],
        },
        holds={"new.py": "shop.price(5)", "shop.py": "rate=1"},
    ),
    Story(
        "two new modules agree",
        {"c.py": "C = 1\n"},
        MODULES,
        {
            "a": [file("from b import load\n\n\ndef go():\n    return load()\n")],
            "b": [file("def load():\n    return 1\n")],
        },
        holds={"a.py": "from b import load", "b.py": "def load()"},
    ),
    Story(
        "code changes and its tests still pass",
        TESTED,
        BEHAVIOUR,
        {"total": [total("sum(list(xs))")], "count": [COUNTED]},
        holds={"shop.py": "sum(list(xs))"},
        gates=[Gate(name="tests", command=UNITTEST)],
    ),
    Story(
        "a rename beside an import of the new name",
        RENAME,
        RENAMING,
        {"rename": [RENAMED], "user": [importing("new")]},
        holds={"b.py": "from a import new", "a.py": "def new()"},
    ),
    Story(
        "two keys of one registry",
        {"reg.py": REGISTRY},
        REGISTERING,
        {"one": [table('"a": 1')], "two": [table('"b": 1')]},
        holds={"reg.py": '"a": 1,\n    "b": 1'},
    ),
    Story(
        "a field with a default beside a construction",
        DATA_FILES,
        DATA_TASKS,
        {"field": [item("size: int = 0", 'Item("a", 1)')], "make": [made('Item("b")')]},
        holds={"make.py": 'Item("b")', "item.py": "size: int = 0"},
    ),
    Story(
        "an override that takes what its base takes",
        {"base.py": BASE, "child.py": DERIVED},
        OVERRIDE,
        {
            "base": [method("    def run(self, x, y=0):\n        return x + y\n")],
            "child": [method("    def run(self, x, *rest, **named):\n        return -x\n")],
        },
        holds={"child.py": "def run(self, x, *rest, **named)"},
    ),
    Story(
        "imports in one direction, and back only when called",
        CYCLE,
        CYCLING,
        {
            "a": [file("from b import B\n\nA = B\n")],
            "b": [file("B = 1\n\n\ndef late():\n    from a import A\n\n    return A\n")],
        },
        holds={"a.py": "from b import B", "b.py": "    from a import A"},
    ),
    Story(
        "helpers of one name in two places",
        {**TWICE, "v.py": "def three():\n    return 3\n"},
        [HELPING[0], task("three", "v.py::three")],
        {"one": [helped("one", "_help")], "three": [helped("three", "_help")]},
        holds={"u.py": "def _help()", "v.py": "def _help()"},
    ),
    Story(
        "a text file that changes with the code",
        SETTINGS,
        SETTING,
        {"code": [names(', "green"')], "text": [file("red\ngreen\n")]},
        holds={"settings.txt": "red\ngreen\n", "app.py": '"green"'},
        gates=AGREE,
    ),
]


def carried(road: Road, story: Story) -> Outcome:
    config = Config(checks=Checks(commands=tuple(story.gates)), repair=Repair(max_waves=3))
    return road.run(story.tasks, story.script, config=config)


def spoken(road: Road) -> list[str]:
    return [
        *(event.check for event in road.of(ReplyRejected)),
        *(event.check for event in road.of(TaskTakenOut)),
        *("widened" for event in road.of(TaskWidened)),
        *("repaired" for event in road.of(RepairPlanned)),
    ]


@pytest.mark.parametrize("story", BREAKING, ids=lambda story: story.name)
def test_what_breaks_together_is_never_silent(make_road, story: Story) -> None:
    road = make_road(dict(story.files))
    outcome = carried(road, story)
    assert story.check in spoken(road)
    assert outcome.state is RunState.DONE, outcome.reason
    for path, text in story.holds.items():
        assert text in road.text(path)


@pytest.mark.parametrize("story", QUIET, ids=lambda story: story.name)
def test_what_is_right_passes_without_a_word(make_road, story: Story) -> None:
    road = make_road(dict(story.files))
    outcome = carried(road, story)
    assert spoken(road) == []
    assert outcome.state is RunState.DONE and outcome.findings == (), outcome.reason
    assert len(outcome.waves) == 1
    for path, text in story.holds.items():
        assert text in road.text(path)


# ------------------------------------------------------------------------------- and if it is not


#: Who insists on its text of a table is let write it alone, having seen the other's.
STUBBORN = [story for story in BREAKING if story.check != "merge"]


@pytest.mark.parametrize("story", STUBBORN, ids=lambda story: story.name)
def test_what_nobody_puts_right_is_reported_and_not_on_the_branch(make_road, story: Story) -> None:
    """The same shapes with agents that only ever give their first answer."""
    road = make_road(dict(story.files))
    script = {name: [*answers[:1]] * 9 for name, answers in story.script.items()}
    stubborn = {f"repair{n}-{name}": script[name] for n in (1, 2, 3) for name in script}
    outcome = carried(road, replace(story, script={**script, **stubborn}))
    assert story.check in spoken(road)
    assert outcome.state is RunState.FAILED and outcome.reason
    assert any(task.reason for task in outcome.tasks.values())
