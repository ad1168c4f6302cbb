"""What people do to a plan under review: said, or refused with what could be done instead."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mak.errors import MakBug
from mak.github.amend import Refused, amend, original, renamed, with_added
from mak.github.commands import parse
from mak.github.state import Dropped
from mak.model import NodeId, Obligation, Plan, Task
from mak.plan import Ungrounded, ground
from mak.schedule import levels
from tests.plan.repos import sources


def task(id: str, *after: str, writes: str = "", creates: str = "", **more) -> Task:
    """Return a task that writes and creates what is named, with commas."""
    nodes = [tuple(map(NodeId.parse, filter(None, each.split(",")))) for each in (writes, creates)]
    return Task(id, f"do {id}", nodes[0], (), nodes[1], after, **more)


#: Waves: T1 T2 · T3 T4 · T5.
PLAN = Plan(
    "the request",
    (
        task("T1", writes="a.py::f"),
        task("T2", writes="b.py::g"),
        task("T3", "T1", writes="c.py::h"),
        task("T4", "T2", creates="new.py"),
        task("T5", "T3", "T4", writes="d.py::i,new.py"),
    ),
    complete=True,
)
REPAIRS = Plan(
    "the request",
    (
        task("R1", writes="a.py::f", obligations=(Obligation("interface", "f()"),), repairs="t1"),
        task("R2", "R1", writes="b.py::g", repairs="t2"),
        task("R3", writes="c.py::h"),
    ),
)


def say(plan: Plan, *lines: str, dropped: tuple[Dropped, ...] = (), files=None):
    """Return what comes of a plan after comments."""
    what = ""
    for line in lines:
        (command,) = parse(f"/mak {line}").commands
        plan, dropped, what = amend(plan, dropped, command, "bob", files=files)
    return plan, dropped, what


def waves(plan: Plan) -> str:
    """Return who is in which wave."""
    return " · ".join(map(" ".join, levels(plan)))


def test_a_text_takes_the_place_of_what_a_task_says() -> None:
    plan, dropped, what = say(PLAN, "edit T3: Use `h` instead.")
    assert (what, dropped) == ("T3 edited", ())
    assert plan.task("T3") == Task(
        "T3", "Use `h` instead.", (NodeId("c.py", "h"),), (), (), ("T1",)
    )
    assert [t for t in plan.tasks if t.id != "T3"] == [t for t in PLAN.tasks if t.id != "T3"]


def test_files_take_the_place_of_what_a_task_writes() -> None:
    plan, *_ = say(PLAN, "edit T3 --files=x.py,y.py")
    assert plan.task("T3").writes == (NodeId("x.py"), NodeId("y.py"))
    made, *_ = say(PLAN, "edit T4 --files=x.py,new.py")
    assert (made.task("T4").writes, made.task("T4").creates) == (
        (NodeId("x.py"),),
        (NodeId("new.py"),),
    )


def test_what_a_task_writes_it_need_not_read() -> None:
    plan = Plan("r", (Task("T1", "x", reads=(NodeId("a.py", "f"), NodeId("b.py", "g"))),))
    assert say(plan, "edit T1 --files=a.py")[0].task("T1").reads == (NodeId("b.py", "g"),)


def test_files_that_are_nowhere_yet_are_made() -> None:
    plan, *_ = say(
        PLAN,
        "edit T3 --files=x.py,other.py,new.py: Write them.",
        "add --files=c.py,more.py: And those.",
        files={"a.py", "b.py", "c.py", "d.py", "x.py"},
    )
    third, sixth = plan.task("T3"), plan.task("T6")
    # new.py is for T4 to make.
    assert third.writes == (NodeId("x.py"), NodeId("new.py"))
    assert third.creates == (NodeId("other.py"),)
    assert (sixth.writes, sixth.creates) == ((NodeId("c.py"),), (NodeId("more.py"),))


def test_an_added_task_with_files_can_be_grounded() -> None:
    found = sources({"a.py": "def f():\n    pass\n"})
    plan = Plan("r", (task("T1", writes="a.py::f"),))
    amended, *_ = say(plan, "add --files=a.py,b.py --after=T1: More.", files=found)
    grounded = ground(amended, found)
    assert not isinstance(grounded, Ungrounded)
    assert grounded.plan.task("T2") == Task(
        "T2", "More.", (NodeId("a.py"),), (), (NodeId("b.py"),), ("T1",)
    )


def test_a_task_with_other_files_can_be_grounded() -> None:
    found = sources({"a.py": "def f():\n    pass\n", "b.py": "def g():\n    f()\n"})
    plan = Plan("r", (task("T1", writes="a.py::f", creates="a.py::new,c.py,c.py::k"),))
    amended, *_ = say(plan, "edit T1 --files=a.py,b.py")
    grounded = ground(amended, found)
    assert not isinstance(grounded, Ungrounded)
    assert grounded.plan.task("T1").writes == (NodeId("a.py"), NodeId("b.py"))
    assert grounded.plan.task("T1").creates == ()


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("edit T3 --after=T1,t2", "T1 T2 · T3 T4 · T5"),
        ("edit T3 --after=T4", "T1 T2 · T4 · T3 · T5"),
        ("edit T3 --wave=1", "T1 T2 T3 · T4 · T5"),
        ("edit T3 --wave=3", "T1 T2 · T4 · T3 · T5"),
        ("edit T1 --wave=2", "T2 · T1 T4 · T3 · T5"),
        ("edit T1 --wave=3", "T2 · T4 · T1 · T3 · T5"),
        ("edit T2 --wave=2", "T1 · T2 T3 · T4 · T5"),
        ("edit T4 --wave=1", "T1 T2 T4 · T3 · T5"),
    ],
)
def test_a_task_comes_when_it_is_told_to(line: str, found: str) -> None:
    assert waves(say(PLAN, line)[0]) == found


@given(st.integers(1, 5), st.integers(1, 6))
def test_a_task_is_in_the_wave_it_was_put_into_or_stays(number: int, wave: int) -> None:
    try:
        plan, *_ = say(PLAN, f"edit T{number} --wave={wave}")
    except Refused as refused:
        assert f"cannot be in wave {wave}" in refused.says or "already" in refused.says
    else:
        assert f"T{number}" in levels(plan)[wave - 1]
        assert {t.id for t in plan.tasks} == {t.id for t in PLAN.tasks}


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ("edit T9: x", "There is no T9; there are T1, T2, T3, T4, T5."),
        ("edit T3 --after=T9", "There is no T9; there are T1, T2, T3, T4, T5."),
        ("edit T1 --after=T5", "Tasks would wait for each other: T1 → T5 → T3 → T1."),
        ("edit T1 --after=T1", "Tasks would wait for each other: T1 → T1."),
        ("edit T3 --after=T1", "T3 is like that already: there is nothing to change."),
        ("edit T3: do T3", "T3 is like that already: there is nothing to change."),
        ("edit T3 --wave=2", "T3 is like that already: there is nothing to change."),
        (
            "edit T3 --after=T1 --wave=2",
            "`--after` and `--wave` both say when a task comes: give one of them.",
        ),
        (
            "edit T3 --wave=4",
            "T3 cannot be in wave 4, as no task would be in wave 3:"
            " without it and what waits for it, the plan has 2 waves.",
        ),
        (
            "edit T5 --wave=2",
            "T5 cannot be in wave 2: it builds on new.py, which T4 creates there or later.",
        ),
        ("add: x --after=T9", "There is no T9; there are T1, T2, T3, T4, T5."),
        (
            "drop T1",
            "T3 and T5 wait for T1: `/mak drop T1 --cascade` leaves out all of them.",
        ),
        (
            "drop T3 T4",
            "T5 waits for T3 and T4: `/mak drop T3 T4 --cascade` leaves out all of them.",
        ),
        (
            "drop T1..T5",
            "That would leave nothing of the plan: `/mak cancel` ends the run.",
        ),
        (
            "drop T1 T2 --cascade",
            "That would leave nothing of the plan: `/mak cancel` ends the run.",
        ),
        ("drop T5 | drop T5", "T5 is dropped already."),
        ("drop T5 T9", "There is no T9; there are T1, T2, T3, T4, T5."),
        ("drop T5 | edit T5: x", "T5 is dropped: `/mak keep T5` takes it in again."),
        ("drop T5 | edit T4 --after=T5", "T5 is dropped: `/mak keep T5` takes it in again."),
        ("keep T3", "T3 is not dropped; dropped is none."),
        ("drop T5 T3 | keep T4", "T4 is not dropped; dropped are T3, T5."),
        ("drop T5 | keep T9", "There is no T9; dropped is T5."),
        (
            "drop T5 T3 | keep T5",
            "T5 builds on T3, dropped too: `/mak keep T5 T3` takes in all of them.",
        ),
    ],
)
def test_what_cannot_be_done_is_refused_by_name(lines: str, says: str) -> None:
    *before, last = lines.split(" | ")
    plan, dropped, _ = say(PLAN, *before)
    with pytest.raises(Refused) as refused:
        say(plan, last, dropped=dropped)
    assert refused.value.says == says


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("skip R1", "R2 waits for R1: `/mak skip R1 R2` leaves out all of them."),
        (
            "skip R1..R3",
            "That would leave nothing of the plan: `/mak skip all` goes on without repairs.",
        ),
        ("drop T1", "There is no T1; there are R1, R2, R3."),
        (
            "add: x",
            "A plan of repairs takes no other tasks: `/mak edit` changes one of them.",
        ),
    ],
)
def test_repairs_are_refused_in_their_own_words(line: str, says: str) -> None:
    with pytest.raises(Refused) as refused:
        say(REPAIRS, line)
    assert refused.value.says == says


def test_what_a_refusal_offers_can_be_done() -> None:
    """Each command between backquotes is taken, in the state that the refusal was about."""
    for plan, before, line in (
        (PLAN, (), "drop T1"),
        (PLAN, ("drop T5 T3",), "keep T5"),
        (PLAN, ("drop T5",), "edit T5: x"),
        (REPAIRS, (), "skip R1"),
    ):
        changed, dropped, _ = say(plan, *before)
        with pytest.raises(Refused) as refused:
            say(changed, line, dropped=dropped)
        (offered,) = re.findall(r"`/mak ([^`]+)`", refused.value.says)
        assert say(changed, offered, dropped=dropped)[0] != changed


def test_dropped_tasks_are_remembered_and_nobody_else_gets_what_they_were_to_write() -> None:
    plan, dropped, what = say(PLAN, "drop T1 --cascade")
    assert what == "T1, T3, T5 dropped"
    assert [(each.task["id"], each.login) for each in dropped] == [
        (name, "bob") for name in ("T1", "T3", "T5")
    ]
    assert waves(plan) == "T2 · T4"
    # T4 creates new.py, so that is not barred with the rest of what T5 was to write.
    assert set(map(str, plan.dropped)) == {"a.py::f", "c.py::h", "d.py::i"}


def test_what_is_kept_again_is_as_it_was() -> None:
    plan, dropped, what = say(PLAN, "drop T1 --cascade", "keep T3 T1", "keep T5")
    assert (plan, dropped, what) == (PLAN, (), "T5 kept")


def test_keeping_a_task_moves_no_other() -> None:
    plan = Plan("r", (task("T6"), task("T3"), task("T4")))
    kept, *_ = say(plan, "drop T4", "keep T4")
    assert [t.id for t in kept.tasks] == ["T6", "T3", "T4"]


def test_a_node_that_two_dropped_tasks_were_to_write_is_barred_until_one_is_kept() -> None:
    twice = Plan("r", (task("T1", writes="a.py::f"), task("T2", writes="a.py::f"), task("T3")))
    plan, dropped, _ = say(twice, "drop T1", "drop T2")
    assert list(map(str, plan.dropped)) == ["a.py::f"]
    assert say(plan, "keep T2", dropped=dropped)[0].dropped == ()


def test_an_id_is_never_given_twice() -> None:
    plan, dropped, _ = say(PLAN, "drop T5")
    plan, _, what = say(plan, "add: A new task. --after=t2,T3", dropped=dropped)
    assert what == "T6 added"
    assert plan.tasks[-1] == Task("T6", "A new task.", depends_on=("T2", "T3"))


def test_a_repair_owes_what_it_owed() -> None:
    plan, *_ = say(REPAIRS, "edit R1: Do it another way. --files=z.py")
    assert plan.task("R1").obligations == REPAIRS.task("R1").obligations
    assert plan.task("R1").repairs == "t1"
    _, dropped, what = say(REPAIRS, "skip R2")
    assert what == "R2 skipped"
    back, *_ = say(REPAIRS, "skip R1 R2", "keep R1 R2")
    assert back == REPAIRS
    assert [each.task["id"] for each in dropped] == ["R2"]


def test_a_command_that_is_no_change_is_a_bug() -> None:
    (command,) = parse("/mak pause").commands
    with pytest.raises(MakBug):
        amend(PLAN, (), command, "bob")


COMMANDS = st.one_of(
    st.builds(
        lambda verb, ids, flag: f"{verb} {' '.join(ids)}{flag if verb == 'drop' else ''}",
        st.sampled_from(["drop", "keep"]),
        st.lists(st.integers(1, 8).map("T{}".format), min_size=1, max_size=3).map(tuple),
        st.sampled_from(["", " --cascade"]),
    ),
    st.builds("edit T{} --after=T{}: x{}".format, *(st.integers(1, 8),) * 3),
    st.builds("edit T{} --wave={}".format, st.integers(1, 8), st.integers(1, 4)),
    st.builds("edit T{} --files={}.py".format, st.integers(1, 8), st.sampled_from("abn")),
    st.builds("add --after=T{}: y".format, st.integers(1, 8)),
)


@given(st.lists(COMMANDS, max_size=12))
def test_whatever_is_said_a_plan_stays_one_and_no_task_is_lost(lines: list[str]) -> None:
    plan, dropped = PLAN, ()
    seen = {t.id for t in plan.tasks}
    for line in lines:
        try:
            plan, dropped, what = say(plan, line, dropped=dropped)
        except Refused as refused:
            assert refused.says.endswith(".")
            continue
        assert re.fullmatch(r"T\d+(, T\d+)* (edited|dropped|kept|added)", what)
        ids = [t.id for t in plan.tasks]
        gone = [each.task["id"] for each in dropped]
        assert len({*ids, *gone}) == len(ids) + len(gone)
        if what.endswith("added"):
            assert ids[-1] not in seen
            seen.add(ids[-1])
        assert {*ids, *gone} == seen
        assert ids and sum(map(len, levels(plan))) == len(ids)
        written = {node for t in plan.tasks for node in (*t.writes, *t.creates)}
        assert written.isdisjoint(plan.dropped)


# ------------------------------------------------------------------------------ names


def test_tasks_are_called_in_their_order() -> None:
    plan = Plan("r", (task("parse"), task("T1", "parse", repairs="parse"), task("x.y", "T1")))
    shown, names = renamed(plan, "T", None)
    assert names == {"T1": "parse", "T2": "T1", "T3": "x.y"}
    assert [(t.id, t.depends_on, t.repairs) for t in shown.tasks] == [
        ("T1", (), ""),
        ("T2", ("T1",), "parse"),
        ("T3", ("T2",), ""),
    ]
    assert original(shown, names) == plan


def test_a_task_that_is_still_there_keeps_its_id_and_no_id_changes_its_meaning() -> None:
    same = Task("b", "do T3", (NodeId("c.py", "h"),))
    other = Task("a", "do T1", (NodeId("other.py"),))
    shown, names = renamed(Plan("r", (other, same)), "T", PLAN)
    assert [t.id for t in shown.tasks] == ["T6", "T3"]
    assert names == {"T6": "a", "T3": "b"}
    assert renamed(Plan("r", (other,)), "T", PLAN, taken=("T8", "R9"))[1] == {"T9": "a"}


def test_ids_stay_while_people_change_a_plan_and_it_is_grounded_again() -> None:
    """As the rounds of a review go: shown, changed, carried to the kernel and back, shown again."""
    kernel = Plan("r", (task("x", writes="a.py::f"), task("y", "x", writes="b.py::g"), task("T3")))
    shown, names = renamed(kernel, "T", None)
    changed, dropped, _ = say(
        shown, "edit T2: Other words. --files=c.py", "drop T1 --cascade", "keep T2 T1", "drop T3"
    )
    changed, dropped, _ = say(changed, "add: One more.", dropped=dropped)
    names = with_added(changed, names)
    # Grounding may put a task before the others, and make ids exact.
    back = original(changed, names)
    grounded = Plan("r", (task("mak", writes="z.py"), *back.tasks))
    again, known = renamed(grounded, "T", changed, names=names)
    assert [t.id for t in again.tasks] == ["T5", "T1", "T2", "T4"]
    assert again.task("T2").goal == "Other words."
    assert known == {"T1": "x", "T2": "y", "T3": "T3", "T4": "T4", "T5": "mak"}
    kept, *_ = say(again, "keep T3", dropped=dropped)
    assert [t.id for t in original(kept, known).tasks] == ["mak", "x", "y", "T3", "T4"]


def test_tasks_that_are_alike_get_one_id_each() -> None:
    twins = Plan("r", (Task("a", "same"), Task("b", "same"), Task("c", "same")))
    last = Plan("r", (Task("T4", "same"), Task("T2", "same")))
    assert renamed(twins, "T", last)[1] == {"T4": "a", "T2": "b", "T5": "c"}


def test_what_has_a_name_leaves_its_id_to_no_task_that_is_like_it() -> None:
    twins = Plan("r", (Task("new", "same"), Task("old", "same")))
    last = Plan("r", (Task("T1", "same"),))
    assert renamed(twins, "T", last, names={"T1": "old"})[1] == {"T1": "old", "T2": "new"}


def test_an_added_task_gets_no_id_that_the_kernel_gave_to_another() -> None:
    plan = Plan("r", (task("T2"), task("T3", "T2")))
    shown, names = renamed(plan, "T", None)
    added, *_ = say(shown, "add: More. --after=T1")
    assert [(t.id, t.depends_on) for t in original(added, names).tasks] == [
        ("T2", ()),
        ("T3", ("T2",)),
        ("T3-2", ("T2",)),
    ]


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Return an acyclic plan with ids such as kernels and planners give, and shown ones."""
    pool = st.sampled_from(["T1", "T2", "T3", "R1", "a", "a-2", "T1-2", "repair1-a", "x.y"])
    ids = draw(st.lists(pool, unique=True, min_size=1))
    return Plan(
        "r",
        tuple(
            Task(
                id,
                draw(st.sampled_from(["one", "two"])),
                depends_on=tuple(draw(st.sets(st.sampled_from(ids[:index]))) if index else ()),
            )
            for index, id in enumerate(ids)
        ),
    )


@given(plans(), st.none() | plans())
def test_names_lead_there_and_back(plan: Plan, last: Plan | None) -> None:
    if last is not None:
        last, _ = renamed(last, "T", None)
    shown, names = renamed(plan, "T", last)
    assert original(shown, names) == plan
    assert len(names) == len(plan.tasks)
    assert all(re.fullmatch(r"T\d+", id) for id in names)
    again, same = renamed(plan, "T", shown)
    assert (again, same) == (shown, names)
