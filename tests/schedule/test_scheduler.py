import time
from functools import partial
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mak.errors import MakBug
from mak.model import Lock, Mode, NodeId, TaskState
from mak.schedule import PATIENCE, Conflict, Scheduler, Wave, locks_for
from tests.schedule.plans import plan, task

F = NodeId("a.py", "f")


def test_tasks_of_a_level_run_at_once_up_to_the_capacity() -> None:
    s = Scheduler(plan(*(task(f"t{i}", f"a.py::f{i}") for i in range(5))), capacity=3)
    assert s.start() == ("t0", "t1", "t2")
    assert s.start() == ()
    s.settle("t1")
    assert s.start() == ("t3",)


def test_a_task_starts_when_what_it_depends_on_is_settled_and_lands_with_its_own_level() -> None:
    s = Scheduler(
        plan(task("a", "a.py::f"), task("b", "a.py::g"), task("c", "a.py::h", after="a")),
        capacity=4,
    )
    assert s.start() == ("a", "b")
    assert not s.stands("c")
    s.settle("a")
    assert s.start() == ("c",)
    s.settle("c")
    assert s.wave() is None
    s.settle("b")
    assert s.wave() == Wave(0, ("a", "b"))
    s.committed(0)
    assert s.states["a"] is TaskState.DONE
    assert s.wave() == Wave(1, ("c",))
    assert not s.done
    s.committed(1)
    assert s.done


def test_no_later_level_gets_in_the_way_of_an_earlier_one() -> None:
    s = Scheduler(
        plan(
            task("a", "a.py::f"),
            task("b", "a.py::g"),
            task("wide", "a.py", after="a"),
            task("other", "b.py", after="a"),
        ),
        capacity=2,
    )
    assert s.start() == ("a", "b")
    s.settle("a")
    assert s.start() == ("other",)
    s.requeue("b")
    assert s.waiting() == {"wide": Conflict(NodeId("a.py"), "b", Mode.X, Mode.IX)}
    s.fail("b", "no")
    assert s.start() == ("wide",)


def test_what_others_wait_for_longest_starts_first() -> None:
    s = Scheduler(
        plan(
            task("alone", "a.py::f"),
            task("hot1", "b.py::hot"),
            task("hot2", "b.py::hot"),
            task("first", "c.py::f"),
            task("second", "c.py::g", after="first"),
            task("third", "c.py::h", after="second"),
        ),
        capacity=2,
    )
    assert s.start() == ("first", "hot1")
    s.settle("first")
    s.settle("hot1")
    assert s.start() == ("hot2", "second")


def test_what_was_settled_on_top_of_a_task_is_pending_when_that_is_asked_again() -> None:
    s = Scheduler(
        plan(
            task("a", "a.py::f"),
            task("x", "b.py::f"),
            task("b", "a.py::g", after="a"),
            task("c", "a.py::h", after="b"),
            task("d", "a.py::k", after="a"),
        ),
        capacity=4,
    )
    s.start()
    s.settle("a")
    assert s.start() == ("b", "d")
    s.settle("b")
    assert s.start() == ("c",)
    s.settle("c")
    assert s.requeue("a") == ("b", "c")
    assert not s.stands("d")
    with pytest.raises(MakBug):
        s.settle("d")
    assert s.requeue("d") == ()
    assert s.start() == ("a",)
    s.settle("a")
    assert s.start() == ("b", "d")


def test_failure_takes_what_ran_or_settled_on_top_of_it() -> None:
    s = Scheduler(
        plan(
            task("a", "a.py::f"),
            task("x", "b.py::f"),
            task("b", "a.py::g", after="a"),
            task("c", "a.py::h", after="b"),
        ),
        capacity=4,
    )
    s.start()
    s.settle("a")
    s.start()
    s.settle("b")
    assert s.start() == ("c",)
    assert s.fail("a", "breaks the build") == ("b", "c")
    s.settle("x")
    assert s.wave() == Wave(0, ("x",))
    s.committed(0)
    assert s.done


def test_a_whole_file_writer_gets_its_turn_beside_an_endless_stream() -> None:
    stream = [task(f"t{i}", f"a.py::f{i}") for i in range(100)]
    s = Scheduler(plan(stream[0], task("file", "a.py"), *stream[1:]), capacity=3)
    running = list(s.start())
    passed = 0
    while s.states["file"] is TaskState.PENDING:
        s.settle(running.pop(0))
        granted = s.start()
        passed += len(granted)
        running.extend(granted)
    assert passed <= (PATIENCE + 2) * 3
    assert running[-1] == "file"
    s.settle("file")
    assert len(s.start()) == 3


@settings(max_examples=200, deadline=None)
@given(
    capacity=st.integers(2, 6),
    files=st.lists(st.sampled_from(["a.py", "b.py"]), min_size=1, max_size=3),
    random=st.randoms(use_true_random=False),
)
def test_nobody_is_passed_over_without_end(capacity: int, files: list[str], random: Random) -> None:
    """Whole-file writers among node writers, which end in any order."""
    stream = [task(f"t{i}", f"{random.choice('ab')}.py::f{i}") for i in range(150)]
    whole = [task(f"file{i}", file) for i, file in enumerate(files)]
    tasks = [*stream[:10], *whole, *stream[10:]]
    s = Scheduler(plan(*tasks), capacity=capacity)
    wants = {t.id: t.writes[0].path for t in tasks}
    begun: set[str] = set()
    passed = dict.fromkeys((t.id for t in whole), 0)
    running: list[str] = []
    while not s.done and (waiting := [w for w in passed if s.states[w] is TaskState.PENDING]):
        granted = s.start()
        for w in waiting:
            if w in begun:
                passed[w] += sum(wants[g] == wants[w] for g in granted if g != w)
        begun |= {w for w in waiting if w in s.refused}
        running += granted
        s.settle(running.pop(random.randrange(len(running))))
    assert all(s.states[w] in (TaskState.RUNNING, TaskState.SETTLED) for w in passed)
    # before each pass all agents may have been given something; each other such writer goes first
    rivals = {w: sum(wants[o] == wants[w] for o in passed) for w in passed}
    assert all(passed[w] <= (PATIENCE + 1) * capacity * rivals[w] for w in passed)


def test_a_reservation_takes_nothing_from_holders_and_ends_with_its_task() -> None:
    stream = [task(f"t{i}", f"a.py::f{i}") for i in range(20)]
    s = Scheduler(
        plan(task("t", "a.py::f"), task("file", "a.py"), *stream),
        capacity=2,
    )
    running = list(s.start())
    while not (refused := dict(s.refused)) or "file" not in {c.owner for c in refused.values()}:
        s.settle(running.pop(0))
        running.extend(s.start())
    held = [t for t in s.states if s.states[t] is TaskState.RUNNING]
    assert held == running
    s.fail("file", "a person dropped it")
    s.settle(running.pop(0))
    assert len(s.start()) + len(running) == 2


def test_two_writers_of_one_node_run_one_after_the_other_in_one_wave() -> None:
    s = Scheduler(plan(task("a", "a.py::f"), task("b", "a.py::f")), capacity=4)
    assert s.start() == ("a",)
    assert s.waiting() == {"b": Conflict(F, "a", Mode.X, Mode.X)}
    s.settle("a")
    assert s.waiting() == {}
    assert s.start() == ("b",)
    s.settle("b")
    assert s.wave() == Wave(0, ("a", "b"))


def test_a_task_behind_a_busy_node_does_not_hold_up_the_ones_after_it() -> None:
    s = Scheduler(
        plan(task("a", "a.py::f"), task("b", "a.py"), task("c", "a.py::g"), task("d", "b.py")),
        capacity=2,
    )
    assert s.start() == ("a", "c")
    assert s.waiting() == {"b": Conflict(NodeId("a.py"), "a", Mode.X, Mode.IX)}
    s.settle("a")
    assert s.start() == ("d",)
    assert s.waiting() == {"b": Conflict(NodeId("a.py"), "c", Mode.X, Mode.IX)}
    s.settle("c")
    assert s.start() == ("b",)


def test_failure_skips_all_that_depends_on_it_and_says_because_of_which() -> None:
    s = Scheduler(
        plan(
            task("d", after="c"),
            task("a", "a.py::f"),
            task("b", "a.py::g"),
            task("c", after="a b"),
            task("e", after="b"),
        ),
        capacity=4,
    )
    s.start()
    assert s.fail("a", "it will not") == ("d", "c")
    assert s.because == {"c": "a", "d": "a"}
    assert s.reasons == {
        "a": "it will not",
        "c": "depends on a, which failed: it will not",
        "d": "depends on a, which failed: it will not",
    }
    s.settle("b")
    assert s.wave() == Wave(0, ("b",))
    s.committed(0)
    assert s.start() == ("e",)
    assert s.fail("e", "no") == ()
    assert s.done
    assert s.wave() is None


def test_a_task_is_skipped_because_of_the_first_that_failed() -> None:
    s = Scheduler(plan(task("a"), task("b"), task("c", after="a b")), capacity=2)
    s.start()
    assert s.fail("b", "first") == ("c",)
    assert s.fail("a", "second") == ()
    assert s.because == {"c": "b"}


def test_a_wave_in_which_nothing_settled_is_passed_over() -> None:
    s = Scheduler(plan(task("a", "a.py::f"), task("b", "a.py::g", after="a")), capacity=1)
    s.start()
    s.fail("a", "no")
    assert s.done
    assert s.wave() is None


def test_tasks_that_only_append_to_a_node_run_side_by_side() -> None:
    made = plan(*(task(f"t{i}", "a.py::register") for i in range(3)), task("r", reads="a.py"))
    s = Scheduler(made, capacity=4, locks=partial(locks_for, appends={NodeId("a.py", "register")}))
    assert s.start() == ("t0", "t1", "t2")
    assert s.waiting() == {"r": Conflict(NodeId("a.py"), "t0", Mode.S, Mode.IX)}


def test_a_settled_task_can_still_fail_before_its_wave_is_committed() -> None:
    s = Scheduler(
        plan(task("a", "a.py::f"), task("b", "a.py::g"), task("c", after="a")), capacity=2
    )
    s.start()
    s.settle("a")
    s.settle("b")
    assert s.fail("a", "breaks the build") == ("c",)
    assert s.wave() == Wave(0, ("b",))
    s.committed(0)
    assert s.done


def test_requeue_gives_up_the_locks_and_asks_for_wider_ones() -> None:
    wide = task("a", "a.py::f a.py::g")
    s = Scheduler(plan(task("a", "a.py::f"), task("b", "a.py::g")), capacity=2)
    assert s.start() == ("a", "b")
    s.requeue("a", locks_for(wide))
    assert s.states["a"] is TaskState.PENDING
    assert s.waiting() == {"a": Conflict(NodeId("a.py", "g"), "b", Mode.X, Mode.X)}
    assert s.start() == ()
    s.settle("b")
    assert s.start() == ("a",)
    assert s.locks("a") == locks_for(wide)


def test_requeue_adds_the_intentions_that_wider_locks_need() -> None:
    s = Scheduler(plan(task("a", "a.py::f"), task("b", "b.py")), capacity=2)
    s.start()
    s.requeue("a", [Lock(NodeId("b.py", "g"), Mode.X)])
    assert s.start() == ()
    assert s.waiting() == {"a": Conflict(NodeId("b.py"), "b", Mode.IX, Mode.X)}


def test_a_settled_task_is_asked_again_when_the_branch_moved_under_it() -> None:
    s = Scheduler(plan(task("a", "a.py::f"), task("b", "a.py::g")), capacity=2)
    s.start()
    s.settle("a")
    s.settle("b")
    s.requeue("b")
    assert s.wave() is None
    assert s.start() == ("b",)
    s.settle("b")
    assert s.wave() == Wave(0, ("a", "b"))


def test_widen_takes_what_is_free_and_leaves_all_as_it_was_when_it_is_not() -> None:
    s = Scheduler(plan(task("a", "a.py::f"), task("b", "a.py::g")), capacity=2)
    s.start()
    before = s.locks("a")
    busy = s.widen("a", [Lock(NodeId("b.py", "k"), Mode.X), Lock(NodeId("a.py", "g"), Mode.X)])
    assert busy == Conflict(NodeId("a.py", "g"), "b", Mode.X, Mode.X)
    assert s.locks("a") == before
    assert s.widen("a", [Lock(NodeId("b.py", "k"), Mode.X)]) is None
    assert Lock(NodeId("b.py"), Mode.IX) in s.locks("a")
    s.settle("a")
    assert s.widen("b", [Lock(NodeId("b.py"), Mode.X)]) is None


def test_a_task_held_elsewhere_is_left_alone_until_it_is_retried() -> None:
    s = Scheduler(plan(task("a", "a.py::f"), task("b", "a.py::f")), capacity=2)
    assert s.start() == ("a",)
    s.external("a")
    assert s.has_external
    assert s.start() == ("b",)
    s.settle("b")
    assert s.start() == ()
    assert s.wave() is None
    s.retry_external()
    assert not s.has_external
    assert s.start() == ("a",)


def test_a_task_that_is_held_lets_the_others_go_on_and_then_they_are_stuck() -> None:
    made = plan(task("a", "a.py::f"), task("b", "a.py::f"), task("c", "c.py::f", after="a"))
    s = Scheduler(made, capacity=2)
    assert s.start() == ("a",)
    s.hold("a")
    assert not s.is_stuck or s.start() == ("b",)
    assert s.states["b"] is TaskState.RUNNING
    assert not s.is_stuck
    s.settle("b")
    s.retry_external()
    assert s.start() == ()
    assert s.wave() is None
    assert s.is_stuck
    assert s.states["c"] is TaskState.PENDING


def test_what_an_earlier_process_did_is_taken_up() -> None:
    s = Scheduler(
        plan(
            task("a", "a.py::f"),
            task("b", "a.py::g"),
            task("c", "a.py::f", after="a"),
            task("d", after="b"),
        ),
        capacity=4,
    )
    s.settle("a")
    s.fail("b", "said no")
    s.committed(0)
    assert s.states["d"] is TaskState.SKIPPED
    assert s.start() == ("c",)


# I9
def test_a_chain_of_1100_tasks_ends() -> None:
    chain = [task(f"t{i}", "a.py::f", after=f"t{i - 1}" if i else "") for i in range(1100)]
    s = Scheduler(plan(*reversed(chain)), capacity=4)
    numbers = []
    while not s.done:
        (started,) = s.start()
        s.settle(started)
        wave = s.wave()
        assert wave is not None
        numbers.append(wave.number)
        s.committed(wave.number)
    assert numbers == list(range(1100))


def test_the_failure_of_the_first_of_1100_skips_the_rest() -> None:
    chain = [task(f"t{i}", "a.py::f", after=f"t{i - 1}" if i else "") for i in range(1100)]
    s = Scheduler(plan(*chain), capacity=4)
    s.start()
    assert len(s.fail("t0", "no")) == 1099
    assert s.done


@pytest.mark.parametrize(
    "misuse",
    [
        lambda s: s.settle("c"),
        lambda s: s.external("b"),
        lambda s: s.requeue("b"),
        lambda s: s.widen("b", ()),
        lambda s: s.fail("c", "twice"),
        lambda s: s.committed(0),
    ],
)
def test_what_cannot_happen_is_a_bug(misuse) -> None:  # type: ignore[no-untyped-def]
    s = Scheduler(plan(task("a", "a.py::f"), task("b", "a.py::f"), task("c")), capacity=4)
    s.start()
    s.fail("c", "no")
    with pytest.raises(MakBug):
        misuse(s)


def drive(s: Scheduler) -> None:
    """Run everything, one task settling at a time, as the kernel does."""
    running: list[str] = []
    while not s.done:
        running.extend(s.start())
        if (wave := s.wave()) is not None:
            s.committed(wave.number)
        else:
            s.settle(running.pop(0))


@pytest.mark.parametrize(
    "nodes",
    [
        pytest.param(lambda i: f"a{i % 50}.py::f{i}", id="spread"),
        pytest.param(lambda i: f"a.py::f{i}", id="one-file"),
        pytest.param(lambda i: "a.py::f", id="one-node"),
        pytest.param(lambda i: f"a.py::@header a{i}.py::f", id="own-and-shared"),
        pytest.param(lambda i: "a.py" if i % 10 == 0 else f"a.py::f{i}", id="whole-file-mixed"),
    ],
)
def test_cost_per_task_stays_small_at_1000_tasks(nodes) -> None:  # type: ignore[no-untyped-def]
    made = plan(*(task(f"t{i}", nodes(i)) for i in range(1000)))
    best = min(_seconds(made) for _ in range(5))
    assert best / 1000 < 0.0002


def _seconds(made) -> float:  # type: ignore[no-untyped-def]
    started = time.process_time()
    drive(Scheduler(made, capacity=8))
    return time.process_time() - started
