"""When repairs stop, what counts as the same finding, and what a repair plan keeps."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from mak.model import Finding, Need, NodeId, Obligation, Plan, RepairStop, Task
from mak.repair import Left, kept, live, plan_repairs, state, stop
from mak.source import Sources

USE = NodeId("b.py", "use")
NOTHING = Sources({}, lambda blob: b"")

states = st.lists(st.frozensets(st.sampled_from("abc"), min_size=1), max_size=6)


@given(states, st.frozensets(st.sampled_from("abc"), min_size=1), st.integers(0, 5))
def test_repairs_stop_exactly_when_a_state_returns_or_waves_run_out(history, now, most) -> None:
    why = stop(history, now, len(history), most)
    if history and history[-1] == now:
        assert why is RepairStop.STALLED
    elif now in history:
        assert why is RepairStop.OSCILLATING
    else:
        assert why is (RepairStop.LIMIT if len(history) >= most else None)


@given(st.lists(st.sampled_from("abcdef"), min_size=1))
def test_every_loop_ends(found: list[str]) -> None:
    """Whatever comes next, a state that is not new stops the loop: at most one round for each."""
    history: list[frozenset[str]] = []
    for now in map(frozenset, found * 3):
        if stop(history, now, 0, 99):
            break
        history.append(now)
    assert len(history) <= len({*found})


def finding(check: str, node: NodeId, *behind: NodeId) -> Finding:
    needs = tuple(Need(each, write=True) for each in behind)
    return Finding(check, node, f"{node} is wrong", needs=needs)


def owed(check: str, site: NodeId | None = USE) -> Obligation:
    return Obligation(check, "it was wrong", site)


def test_another_error_of_the_kind_at_the_place_is_the_same() -> None:
    for check in ("unknown-attribute", "unbound-name", "call-signature", "unknown-import"):
        assert [*live([owed("unknown-attribute")], [finding(check, USE)])]
    assert [*live([owed("interface")], [finding("interface", NodeId("a.py", "f"), USE)])]
    assert not [*live([owed("unknown-attribute")], [finding("import-cycle", USE)])]
    assert not [*live([owed("unknown-attribute")], [finding("unbound-name", NodeId("c.py", "g"))])]
    assert [*live([owed("gate:tests", None)], [finding("gate:tests", NodeId("."))])]


def test_a_task_that_comes_back_has_all_its_obligations_and_its_request() -> None:
    first = owed("gate:tests", None)
    task = Task("repair1-t", "do it", (USE,), obligations=(first,), repairs="t", model="m")
    plan = Plan("the request", (task,), ("a decision",), atomic=True)
    later = Task("u", "after it", (USE,), depends_on=("repair1-t", "gone"))
    left = [
        Left(replace(first, subject="another test"), task),
        Left(replace(owed("interface"), landed=False), task),
    ]
    repairs = plan_repairs(2, plan, left, [later], NOTHING)
    back, after = repairs.tasks
    assert (repairs.request, repairs.decisions, repairs.atomic) == (
        "the request",
        plan.decisions,
        False,
    )
    assert (back.id, back.repairs, back.goal, back.model) == (
        "repair2-t",
        "repair1-t",
        "do it",
        "m",
    )
    assert [each.subject for each in back.obligations] == ["another test", "it was wrong"]
    assert (after.id, after.depends_on, after.repairs) == ("repair2-u", ("repair2-t",), "u")


def test_who_drops_a_repair_drops_what_it_owes_and_who_keeps_it_keeps_that() -> None:
    one, two = (Task(name, "g", (USE,), obligations=(owed("interface"),)) for name in "ab")
    planned = Plan("r", (one, two))
    edited = Plan("other", (replace(one, obligations=(), goal="h"), Task("new", "g", (USE,))))
    plan, remarks = kept(planned, edited)
    assert plan.request == "r" and plan.tasks[0].goal == "h"
    assert plan.tasks[0].obligations == one.obligations and plan.tasks[1].obligations == ()
    assert len(remarks) == 1 and remarks[0].startswith("a: ")


def test_what_is_missing_is_created_by_one_repair_and_the_others_wait_for_it() -> None:
    fresh = NodeId("a.py", "fresh")
    left = [
        Left(owed("unknown-attribute", NodeId(path, "use")), creates=(fresh,))
        for path in ("b.py", "c.py")
    ]
    one, two = plan_repairs(1, Plan("r", ()), left, [], NOTHING).tasks
    assert one.creates == (fresh,) and two.creates == ()
    assert two.depends_on == (one.id,)


def test_states_are_told_apart_by_what_is_wrong_and_where() -> None:
    items = [Left(owed("interface")), Left(owed("interface", NodeId("c.py", "g")))]
    assert state(items) == state(reversed(items)) != state(items[:1])
