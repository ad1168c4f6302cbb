from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mak.model import Lock, Mode, NodeId, Task
from mak.schedule import Conflict, LockTable, compatible, locks_for, with_intentions
from mak.schedule.modes import CONFLICTING, strongest
from tests.schedule.plans import NODES, task

MATRIX = """
    IS IX S  X  A
IS  y  y  y  -  y
IX  y  y  -  -  y
S   y  -  y  -  -
X   -  -  -  -  -
A   y  y  -  -  y
"""


def test_modes_go_together_as_in_the_textbook_and_appends_commute() -> None:
    _, head, *rows = MATRIX.splitlines()
    expected = {
        (Mode(name), Mode(other)): mark == "y"
        for name, *marks in map(str.split, rows)
        for other, mark in zip(head.split(), marks, strict=True)
    }
    assert {(a, b): compatible(a, b) for a, b in product(Mode, Mode)} == expected


def test_compatibility_is_symmetric() -> None:
    assert all(compatible(a, b) == compatible(b, a) for a, b in product(Mode, Mode))


@given(st.sets(st.sampled_from(Mode), min_size=1))
def test_the_strongest_modes_exclude_what_all_of_them_exclude(modes: set[Mode]) -> None:
    kept = strongest(modes)
    assert set(kept) <= modes
    assert {m for k in kept for m in CONFLICTING[k]} == {m for k in modes for m in CONFLICTING[k]}


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (task("t", writes="a.py::f"), "IX a.py, X a.py::f, IX a.py::f#all"),
        (task("t", writes="a.py::f#api"), "IX a.py, X a.py::f, IX a.py::f#all, X a.py::f#api"),
        (task("t", writes="a.py"), "X a.py"),
        (task("t", writes="a.py::@header"), "IX a.py, X a.py::@header"),
        (task("t", writes="a.py::C#all"), "IX a.py, X a.py::C#all"),
        (
            task("t", writes="a.py::C.m"),
            "IX a.py, IX a.py::C#all, X a.py::C.m, IX a.py::C.m#all",
        ),
        (task("t", writes="a.py::C.@body:m"), "IX a.py, IX a.py::C#all, X a.py::C.@body:m"),
        (task("t", reads="a.py::f"), "IS a.py, IS a.py::f#all, S a.py::f#api"),
        (task("t", reads="a.py::f#api"), "IS a.py, IS a.py::f#all, S a.py::f#api"),
        (task("t", reads="a.py"), "S a.py"),
        (task("t", creates="a.py::g"), "IX a.py, X a.py::g, IX a.py::g#all, X a.py::g#api"),
        (task("t", creates="new.py"), "X new.py"),
        (
            task("t", writes="a.py::f", reads="a.py"),
            "IX a.py, S a.py, X a.py::f, IX a.py::f#all",
        ),
        (
            task("t", writes="a.py::f", reads="a.py::f"),
            "IX a.py, X a.py::f, IX a.py::f#all, S a.py::f#api",
        ),
        (task("t", writes="a.py", reads="a.py::f"), "X a.py, IS a.py::f#all, S a.py::f#api"),
    ],
)
def test_a_task_locks_what_it_names_and_announces_it_above(made: Task, expected: str) -> None:
    assert ", ".join(map(str, locks_for(made))) == expected


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        # a body changes beside a reader of the signature; a signature does not
        (task("a", writes="a.py::f"), task("b", reads="a.py::f"), True),
        (task("a", writes="a.py::f#api"), task("b", reads="a.py::f"), False),
        (task("a", writes="a.py::f"), task("b", writes="a.py::f#api"), False),
        # neighbours in a file and in a class
        (task("a", writes="a.py::f"), task("b", writes="a.py::g"), True),
        (task("a", writes="a.py::C.m"), task("b", writes="a.py::C.n"), True),
        (task("a", writes="a.py::C"), task("b", writes="a.py::C.m"), True),
        # what encloses excludes what is inside
        (task("a", writes="a.py"), task("b", writes="a.py::f"), False),
        (task("a", writes="a.py"), task("b", reads="a.py::f"), False),
        (task("a", writes="a.py"), task("b", creates="a.py::g"), False),
        (task("a", writes="a.py::C#all"), task("b", writes="a.py::C.m"), False),
        (task("a", writes="a.py::C#all"), task("b", writes="a.py::C"), False),
        (task("a", writes="a.py::C#all"), task("b", reads="a.py::C"), False),
        (task("a", writes="a.py::C#all"), task("b", writes="a.py::f"), True),
        # a reader of the whole file
        (task("a", reads="a.py"), task("b", writes="a.py::f"), False),
        (task("a", reads="a.py"), task("b", reads="a.py"), True),
        (task("a", reads="a.py"), task("b", reads="a.py::f"), True),
        (task("a", reads="a.py", writes="a.py::f"), task("b", reads="a.py::g"), True),
        (task("a", reads="a.py", writes="a.py::f"), task("b", writes="a.py::g"), False),
        # new symbols
        (task("a", creates="a.py::g"), task("b", creates="a.py::h"), True),
        (task("a", creates="a.py::g"), task("b", creates="a.py::g"), False),
        (task("a", creates="a.py::g"), task("b", reads="a.py::g"), False),
    ],
)
def test_two_tasks_run_together_or_not(one: Task, other: Task, together: bool) -> None:
    table = LockTable()
    assert table.try_acquire("a", locks_for(one)) is None
    assert (table.try_acquire("b", locks_for(other)) is None) == together
    table.release("a")
    table.release("b")
    assert table.try_acquire("b", locks_for(other)) is None
    assert (table.try_acquire("a", locks_for(one)) is None) == together


def test_appenders_share_a_node_and_shut_out_its_readers_and_writers() -> None:
    header = NodeId("a.py", "@header")
    table = LockTable()
    assert table.try_acquire("a", with_intentions([Lock(header, Mode.A)])) is None
    assert table.try_acquire("b", with_intentions([Lock(header, Mode.A)])) is None
    assert table.try_acquire("c", with_intentions([Lock(NodeId("a.py", "f"), Mode.X)])) is None
    for mode in (Mode.X, Mode.S):
        conflict = table.try_acquire("d", with_intentions([Lock(header, mode)]))
        assert conflict == Conflict(header, "a", mode, Mode.A)


# I7
def test_a_refused_owner_holds_nothing() -> None:
    table = LockTable()
    f, g = NodeId("a.py", "f"), NodeId("a.py", "g")
    table.try_acquire("a", [Lock(g, Mode.X)])
    conflict = table.try_acquire("b", [Lock(f, Mode.X), Lock(g, Mode.S)])
    assert conflict == Conflict(g, "a", Mode.S, Mode.X)
    assert "b" not in table.holders
    assert table.try_acquire("c", [Lock(f, Mode.X)]) is None


def test_an_owner_does_not_stand_in_its_own_way() -> None:
    table = LockTable()
    f = NodeId("a.py", "f")
    assert table.try_acquire("a", [Lock(f, Mode.S)]) is None
    assert table.try_acquire("a", [Lock(f, Mode.X)]) is None
    assert table.try_acquire("b", [Lock(f, Mode.S)]) is not None
    assert table.release("a") == with_intentions([Lock(f, Mode.X)])
    assert table.try_acquire("b", [Lock(f, Mode.S)]) is None


locks = st.lists(
    st.builds(Lock, st.sampled_from(NODES), st.sampled_from(Mode)), min_size=1, max_size=4
).map(with_intentions)


@given(locks)
def test_intentions_are_complete_after_once(claims: tuple[Lock, ...]) -> None:
    assert with_intentions(claims) == claims


# I7
@given(st.lists(st.tuples(st.sampled_from("abcd"), st.none() | locks), max_size=30))
def test_no_two_owners_ever_hold_what_does_not_go_together(
    steps: list[tuple[str, tuple[Lock, ...] | None]],
) -> None:
    table = LockTable()
    held: dict[str, set[Lock]] = {}
    for owner, claims in steps:
        if claims is None:
            assert set(table.release(owner)) == held.pop(owner, set())
        else:
            clash = any(
                lock.node == other.node and not compatible(lock.mode, other.mode)
                for lock in claims
                for name, theirs in held.items()
                if name != owner
                for other in theirs
            )
            assert (table.try_acquire(owner, claims) is not None) == clash
            if not clash:
                held[owner] = set(with_intentions((*held.get(owner, ()), *claims)))
        assert {name: set(locks) for name, locks in table.holders.items()} == held
