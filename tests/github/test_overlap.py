"""Two runs that write the same are told of each other, whatever part of it each of them names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mak.github.overlap import overlaps, touched
from mak.github.state import Overlap, Person, Phase, Proposal, RunState
from mak.model import NodeId, Plan, Task
from mak.plan import plan_document

IDS = [
    "a.py",
    "a.py::f",
    "a.py::f#api",
    "a.py::C",
    "a.py::C#api",
    "a.py::C#all",
    "a.py::C.m",
    "a.py::C.m#api",
    "a.py::C.D",
    "a.py::C.D#all",
    "a.py::C.D.x",
    "a.py::C.@body",
    "a.py::@header",
    "b.py",
    "b.py::f",
]


def other(*nodes: str, run: str = "r1", creates: tuple[str, ...] = (), **state: bool):
    task = Task("T1", "x", tuple(map(NodeId.parse, nodes)), (), tuple(map(NodeId.parse, creates)))
    began = RunState(Phase.RUNNING, Person(8, "bob"), run=run, issue=7, base="main", **state)
    return began, Proposal(plan_document(Plan("x", (task,))), (("T1",),))


@pytest.mark.parametrize(
    ("mine", "theirs", "named"),
    [
        ("a.py::f", "a.py::f", "a.py::f"),
        ("a.py::f", "a.py::f#api", "a.py::f"),
        ("a.py::f#api", "a.py::f#api", "a.py::f"),
        ("a.py", "a.py::f#api", "a.py::f"),
        ("a.py", "a.py", "a.py"),
        ("a.py::C#all", "a.py::C.m", "a.py::C.m"),
        ("a.py::C#all", "a.py::C", "a.py::C"),
        ("a.py::C#all", "a.py::C#api", "a.py::C"),
        ("a.py::C#all", "a.py::C.D.x", "a.py::C.D.x"),
        ("a.py::C#all", "a.py::C.D#all", "a.py::C.D#all"),
        ("a.py::C#all", "a.py::C#all", "a.py::C#all"),
        ("a.py", "a.py::C#all", "a.py::C#all"),
        ("a.py::@header", "a.py::@header", "a.py::@header"),
        ("a.py::C", "a.py::C.m", ""),
        ("a.py::f", "a.py::g", ""),
        ("a.py", "b.py::f", ""),
        ("a.py::C#all", "a.py::f", ""),
    ],
)
def test_the_narrower_of_two_nodes_is_named(mine: str, theirs: str, named: str) -> None:
    expected = (Overlap("r1", 7, "bob", (named,)),) if named else ()
    assert overlaps([NodeId.parse(mine)], [other(theirs)]) == expected
    assert overlaps([NodeId.parse(theirs)], [other(mine)]) == expected


def test_what_both_create_is_told() -> None:
    nodes = touched(Plan("x", (Task("a", "x", creates=(NodeId("new.py"),)),)))
    assert overlaps(nodes, [other(creates=("new.py",))])[0].nodes == ("new.py",)
    assert overlaps(nodes, [other("new.py::f")])[0].nodes == ("new.py::f",)


def test_a_run_is_named_once_with_all_that_it_shares() -> None:
    nodes = [NodeId.parse(id) for id in ("b.py", "a.py::f")]
    found = overlaps(
        nodes, [other("a.py::f", run="r2"), other("b.py::g"), other("b.py::g", "a.py::f", run="r2")]
    )
    assert found == (
        Overlap("r1", 7, "bob", ("b.py::g",)),
        Overlap("r2", 7, "bob", ("a.py::f", "b.py::g")),
    )


def test_a_plan_that_never_runs_is_in_nobody_s_way() -> None:
    assert overlaps([NodeId("a.py")], [other("a.py", plan_only=True)]) == ()


@given(st.lists(st.sampled_from(IDS)), st.lists(st.sampled_from(IDS), min_size=1))
def test_overlap_is_the_same_from_both_sides(mine: list[str], theirs: list[str]) -> None:
    def named(ours: list[str], others: list[str]) -> set[str]:
        found = overlaps(map(NodeId.parse, ours), [other(*others)])
        return {node for each in found for node in each.nodes}

    assert named(mine, theirs) == named(theirs, mine)
    if "a.py" in mine:
        assert {str(NodeId.parse(id).node) for id in theirs if id.startswith("a.py::f")} <= named(
            mine, theirs
        )
