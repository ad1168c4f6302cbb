"""The lock table: all or nothing, nothing that conflicts, and nothing for the dead."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mak.errors import MakBug, StoreError
from mak.model import Lock, Mode, NodeId
from mak.schedule import compatible as schedule_compatible
from mak.schedule.modes import INTENTION
from mak.store import Store, locks
from mak.store.state import Holder, State
from tests.conftest import git
from tests.store.killing import ended, forked
from tests.store.writers import started, take_and_stay, wait_for

MakeRepo = Callable[..., Path]

F = NodeId("a.py", "f")
G = NodeId("a.py", "g")
METHOD = NodeId("a.py", "C.m")
WHOLE_CLASS = NodeId.parse("a.py::C#all")
FILE = NodeId("a.py")

ABOUT = Holder("r1", 1, "host", 0.0)


def x(*nodes: NodeId) -> tuple[Lock, ...]:
    return tuple(Lock(node, Mode.X) for node in nodes)


def s(*nodes: NodeId) -> tuple[Lock, ...]:
    return tuple(Lock(node, Mode.S) for node in nodes)


# ------------------------------------------------------------------------------ the rules


def test_both_lock_tables_agree_on_one_node() -> None:
    """The scheduler judges inside a process and the store between them, by the same matrix."""
    for a, b in product((Mode.S, Mode.X, Mode.A), repeat=2):
        assert locks.compatible(a, b) == schedule_compatible(a, b)


def test_both_lock_tables_agree_on_what_contains_a_node() -> None:
    for outer, inner in product((Mode.S, Mode.X, Mode.A), repeat=2):
        expected = schedule_compatible(outer, INTENTION[inner])
        assert locks.compatible_inside(outer, inner) == expected


nodes = st.sampled_from(
    [
        *(F, F.api, METHOD, WHOLE_CLASS, FILE, NodeId("b.py", "f"), NodeId("b.py")),
        *(NodeId("a.py", symbol) for symbol in ("C", "C.@body", "C.D.m")),
        NodeId.parse("a.py::C.D#all"),
    ]
)
wanted = st.lists(
    st.builds(Lock, nodes, st.sampled_from([Mode.S, Mode.X, Mode.A])), min_size=1, max_size=3
)


def _with_intentions(lock: Lock) -> dict[NodeId, list[Mode]]:
    held = {lock.node: [lock.mode]}
    for outer in lock.node.containers:
        held.setdefault(outer, []).append(INTENTION[lock.mode])
    return held


# I7
@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["h1", "h2", "h3"]), wanted), max_size=12))
def test_no_two_holders_ever_conflict_and_tasks_get_all_or_nothing(
    asked: list[tuple[str, list[Lock]]],
) -> None:
    state = State()
    for number, (holder, wants) in enumerate(asked):
        task = f"t{number}"
        state, refused = locks.acquire(state, holder, ABOUT, {task: wants})
        mine = [c for claims in state.locks.values() for c in claims if c.task == task]
        assert len(mine) == (0 if refused else len(wants))
    held = [
        (claim.holder, Lock(NodeId.parse(node), claim.mode))
        for node, claims in state.locks.items()
        for claim in claims
    ]
    for (one, a), (other, b) in product(held, repeat=2):
        if one != other:
            mine, theirs = _with_intentions(a), _with_intentions(b)
            for node in mine.keys() & theirs.keys():
                for p, q in product(mine[node], theirs[node]):
                    assert schedule_compatible(p, q), (a, b)


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["h1", "h2"]), wanted), max_size=8))
def test_what_is_released_is_gone_and_what_is_not_stays(
    asked: list[tuple[str, list[Lock]]],
) -> None:
    state = State()
    for number, (holder, wants) in enumerate(asked):
        state, _ = locks.acquire(state, holder, ABOUT, {f"t{number}": wants})
    others = [c for claims in state.locks.values() for c in claims if c.holder != "h1"]
    evens = {f"t{n}" for n in range(0, len(asked), 2)}
    after = locks.release(state, "h1", evens)
    left = [c for claims in after.locks.values() for c in claims]
    assert [c for c in left if c.holder != "h1"] == others
    assert not [c for c in left if c.holder == "h1" and c.task in evens]
    gone = locks.leave(state, ["h1"])
    assert [c for claims in gone.locks.values() for c in claims] == others
    assert gone.fence > state.fence or gone is state


# I8
def test_every_grant_has_a_generation_of_its_own() -> None:
    state, _ = locks.acquire(State(), "h1", ABOUT, {"t1": x(F)})
    state, _ = locks.acquire(state, "h1", ABOUT, {"t2": x(G)})
    assert [c.fence for claims in state.locks.values() for c in claims] == [1, 2]
    assert locks.leave(state, ["h1"]).fence == 3


# ------------------------------------------------------------------------------ in a store


def test_the_second_run_is_told_who_holds_what(make_repo: MakeRepo) -> None:
    root = make_repo({"a.py": ""})
    with Store.open(root) as first, Store.open(root) as second:
        with first.enter("r1"), second.enter("r2"):
            assert first.acquire({"t1": x(F)}) == {}
            refused = second.acquire({"t1": x(G), "t2": s(FILE), "t3": x(F)})
            assert set(refused) == {"t2", "t3"}
            assert refused["t3"].node == "a.py::f"
            assert refused["t3"].run == "r1"
            assert refused["t3"].holder.startswith("run r1 (pid ")
            rows = second.locks()
            assert [(row.node, row.mode, row.run, row.task) for row in rows] == [
                ("a.py::f", "X", "r1", "t1"),
                ("a.py::g", "X", "r2", "t1"),
            ]
            assert all(row.alive for row in rows)
            first.release(["t1"])
            assert second.acquire({"t3": x(F)}) == {}
        assert second.locks() == []


def test_a_batch_of_tasks_is_one_step(make_repo: MakeRepo) -> None:
    root = make_repo({"a.py": ""})
    with Store.open(root) as store, store.enter("r1"):
        before = store.state.read()[1].seq
        store.acquire({f"t{i}": x(NodeId("a.py", f"f{i}")) for i in range(50)})
        assert store.state.read()[1].seq == before + 1
        store.release([f"t{i}" for i in range(50)])
        assert store.state.read()[1].seq == before + 2
        store.release(["t1"])
        assert store.state.read()[1].seq == before + 2


def test_tasks_that_are_done_make_room_in_the_step_that_takes_locks(make_repo: MakeRepo) -> None:
    root = make_repo({"a.py": ""})
    with (
        Store.open(root) as first,
        Store.open(root) as second,
        first.enter("r1"),
        second.enter("r2"),
    ):
        first.acquire({"t1": x(F), "t2": x(G)})
        before = first.state.read()[1].seq
        assert first.acquire({"t3": x(F)}, done=["t1", "t2"]) == {}
        assert first.state.read()[1].seq == before + 1
        assert [row.task for row in first.locks()] == ["t3"]
        assert second.acquire({"t1": x(G)}) == {}
        # Also when nothing is granted.
        assert first.acquire({"t4": x(G)}, done=["t3"]).keys() == {"t4"}
        assert [(row.run, row.node) for row in first.locks()] == [("r2", "a.py::g")]


def test_what_a_killed_run_held_is_free(make_repo: MakeRepo, tmp_path: Path) -> None:
    root = make_repo({"a.py": ""})
    other = started(take_and_stay, root, "r1", "a.py::f", tmp_path / "ready")
    wait_for(tmp_path / "ready")
    with Store.open(root) as store, store.enter("r2"):
        refused = store.acquire({"t1": x(F)})
        assert refused["t1"].holder.startswith(f"run r1 (pid {other.pid} on ")
        fence = store.state.read()[1].fence
        other.kill()
        other.join()
        assert [row.alive for row in store.locks()] == [False]
        assert store.acquire({"t1": x(F)}) == {}
        assert store.state.read()[1].fence > fence
        assert [row.run for row in store.locks()] == ["r2"]


def test_entering_gives_up_what_the_dead_held(make_repo: MakeRepo, tmp_path: Path) -> None:
    root = make_repo({"a.py": ""})
    other = started(take_and_stay, root, "r1", "a.py::f", tmp_path / "ready")
    wait_for(tmp_path / "ready")
    other.kill()
    other.join()
    with Store.open(root) as store, store.enter("r2"):
        assert len(store.recovered) == 1
        assert store.recovered[0].startswith("gave up the locks of run r1 (pid ")
        assert store.locks() == []
        assert len(list((root / ".git/mak/holders").iterdir())) == 1


def test_a_run_is_carried_out_by_one_process_that_need_not_hold_claims(
    make_repo: MakeRepo,
) -> None:
    root = make_repo({"a.py": ""})
    with Store.open(root) as first, Store.open(root) as second:
        with first.enter("r1"):
            assert first.locks() == []
            assert second.at_work("r1") == first.at_work("r1") != ""
            assert second.at_work("r2") == ""
            told = rf"carried out by run r1 \(pid {os.getpid()} "
            with pytest.raises(StoreError, match=told), second.enter("r1"):
                pass
        assert second.at_work("r1") == ""
        with second.enter("r1"):
            pass
    assert list((root / ".git/mak/holders").iterdir()) == []


def test_of_many_that_begin_a_run_at_one_instant_one_does(
    make_repo: MakeRepo, tmp_path: Path
) -> None:
    root = make_repo({"a.py": ""})
    begin, there, stop = os.pipe(), os.pipe(), os.pipe()

    def take_part(number: int) -> None:
        with Store.open(root) as store:
            os.read(begin[0], 1)
            try:
                with store.enter("r1"):
                    (tmp_path / f"in{number}").touch()
                    os.write(there[1], b".")
                    os.read(stop[0], 1)
            except StoreError as error:
                (tmp_path / f"told{number}").write_text(str(error))
                os.write(there[1], b".")

    pids = [forked(partial(take_part, number)) for number in range(8)]
    os.write(begin[1], b"." * len(pids))
    for _ in pids:
        os.read(there[0], 1)
    os.write(stop[1], b".")
    assert [ended(pid) for pid in pids] == [0] * len(pids)
    (winner,) = tmp_path.glob("in*")
    assert len(list(tmp_path.glob("told*"))) == len(pids) - 1
    pid = pids[int(winner.name.removeprefix("in"))]
    assert all(f"run r1 (pid {pid} on " in told.read_text() for told in tmp_path.glob("told*"))


def test_locks_are_listed_from_the_refs_alone(make_repo: MakeRepo, tmp_path: Path) -> None:
    root = make_repo({"a.py": ""})
    with Store.open(root) as store, store.enter("r1"):
        store.acquire({"t1": x(METHOD)})
        git(tmp_path, "clone", "-q", str(root), "copy")
        git(tmp_path / "copy", "fetch", "-q", "origin", "refs/mak/*:refs/mak/*")
        with Store.open(tmp_path / "copy", write=False) as copy:
            assert [(row.node, row.alive) for row in copy.locks()] == [("a.py::C.m", False)]


def test_locking_outside_of_a_run_is_a_bug(make_repo: MakeRepo) -> None:
    with Store.open(make_repo({"a.py": ""})) as store, pytest.raises(MakBug, match="not entered"):
        store.acquire({"t1": x(F)})


def test_two_branches_do_not_know_each_others_locks(make_repo: MakeRepo, tmp_path: Path) -> None:
    root = make_repo({"a.py": ""})
    git(root, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    here, there = Store.open(root), Store.open(tmp_path / "side")
    with here, there, here.enter("r1"), there.enter("r2"):
        assert here.acquire({"t1": x(F)}) == {}
        assert there.acquire({"t1": x(F)}) == {}
