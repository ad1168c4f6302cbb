"""What stands around a task's own nodes is picked by the graph, within the budget."""

from __future__ import annotations

import pytest

from mak.agents import context
from mak.errors import MakBug
from mak.model import NodeId
from tests.agents.conftest import task, tree

FILES = {
    "core.py": (
        "def load(name, *, fresh=False):\n    return name\n\n\n"
        "def parse(text):\n    return load(text)\n"
    ),
    "shapes.py": (
        "class Shape:\n    def __init__(self, name):\n        self.name = name\n\n"
        "    def area(self):\n        return 0\n"
    ),
    "app.py": (
        "import core\nfrom shapes import Shape\n\n\n"
        "def main():\n    core.load('a')\n    return Shape('b').area()\n\n\n"
        "def other():\n    return main()\n"
    ),
}
SOURCES = tree(FILES)


def shown(*writes, built=(), budget=24_000, **more):
    """Return what is shown besides the slots, by id, and each layer's share."""
    nodes = tuple(map(NodeId.parse, built))
    seen = context(task(*writes, **more), SOURCES, budget=budget, built=nodes)
    return {str(node): text for node, text in seen.reads}, dict(seen.shares)


def test_the_interfaces_that_a_node_uses_are_shown_as_signatures():
    reads, shares = shown("app.py::main")
    assert reads["core.py::load#api"] == "def load(name, *, fresh=False)"
    assert reads["shapes.py::Shape#api"].splitlines() == [
        "class Shape",
        "def __init__(self, name)",
        "def area(self)",
    ]
    assert [*shares] == ["own", "reads", "built", "callers", "interfaces", "outline"]
    assert shares["interfaces"] == sum(len(text) for text in reads.values())
    assert shares["callers"] == shares["built"] == 0


def test_callers_are_shown_when_the_interface_may_change_and_only_then():
    reads, shares = shown("core.py::load#api")
    assert reads["core.py::parse"] == "def parse(text):\n    return load(text)\n"
    assert "def main" in reads["app.py::main"]
    assert shares["callers"] == sum(len(text) for text in reads.values())
    assert shown("core.py::load")[0] == {}


def test_what_dependencies_built_is_shown_as_it_is_now():
    reads, shares = shown(
        "app.py::other", built=["core.py::load", "gone.py::f", "app.py::other"], depends_on=("t0",)
    )
    assert reads["core.py::load"] == "def load(name, *, fresh=False):\n    return name\n"
    assert reads["gone.py::f#api"] == "# is not there any more"
    assert shares["built"] > 0
    assert "app.py::other" not in reads


def test_signatures_stand_for_sources_that_do_not_fit():
    reads, _ = shown("app.py::other", built=["core.py::load"], budget=30, depends_on=("t0",))
    assert reads == {"core.py::load#api": "def load(name, *, fresh=False)"}


def test_nothing_is_shown_twice():
    reads, _ = shown("core.py::load#api", reads=("core.py::parse",), built=["core.py::parse"])
    assert sorted(reads) == ["app.py::main", "core.py::parse"]
    assert shown("app.py", built=["app.py::main"])[0].keys() == {
        "core.py::load#api",
        "shapes.py::Shape#api",
    }


def test_a_task_that_builds_on_others_and_is_shown_nothing_is_a_bug():
    fresh = task(creates=("new.py",), depends_on=("t0",))
    with pytest.raises(MakBug, match="depends on t0, and its agent would be shown nothing"):
        context(fresh, SOURCES)
    assert context(fresh, SOURCES, built=[NodeId("core.py", "gone")]).reads
    assert context(task(creates=("new.py",)), SOURCES).reads == ()


def test_an_empty_file_that_was_built_is_shown():
    """A run ended as a bug at a task that follows one which made an empty file."""
    sources = tree({"pkg/.gitkeep": "", "pkg/py.typed": ""})
    fresh = task(creates=("new.py",), depends_on=("t0",))
    made = NodeId("pkg/.gitkeep")
    assert context(fresh, sources, built=[made]).reads == ((made, ""),)
    written = context(task("pkg/py.typed", depends_on=("t0",)), sources)
    assert [(slot.node.path, slot.source) for slot in written.slots] == [("pkg/py.typed", "")]
