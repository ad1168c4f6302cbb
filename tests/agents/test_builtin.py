"""The embedded default: plans that ground, tasks that land in any order, refusals in one line."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from pathlib import Path

import anyio
import pytest

from mak.agents import Assignment, context
from mak.agents.builtin import BuiltinAgent, planner
from mak.errors import PlanError
from mak.model import LEFT, NodeId, Plan, Replace, Reply, ReplyStatus, Task
from mak.plan import Answer, Grounded, ground
from mak.plan.reply import PlanReply, read_reply
from mak.schedule import levels
from mak.source import Draft, Proposal, Sources
from mak.source.text import blob_id

DATA = Path(__file__).parents[1] / "data" / "refactor"
DONE = sorted(p.name for p in DATA.iterdir() if p.is_dir() and not (p / "refused").exists())
REFUSED = sorted(p.name for p in DATA.iterdir() if (p / "refused").exists())


def sources(files: dict[str, bytes]) -> Sources:
    blobs = {blob_id(data): data for data in files.values()}
    return Sources({path: blob_id(data) for path, data in files.items()}, blobs.__getitem__)


def tree(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


def plan(files: dict[str, bytes], request: str) -> Plan:
    """Have the request planned and the plan grounded, as the kernel does."""
    base = sources(files)

    async def ask() -> str:
        return (await planner(base)("", "", {}, request)).text

    reply = read_reply(Answer(anyio.run(ask), ReplyStatus.EDITED))
    assert isinstance(reply, PlanReply), reply
    grounded = ground(reply.plan(request), base)
    assert isinstance(grounded, Grounded), grounded
    assert grounded.remarks == ()
    return grounded.plan


def answer(task: Task, base: Sources, draft: Draft | None = None) -> Reply:
    """Give a task to the agent, with the slots that the kernel would show."""
    current = (draft or Draft(base)).sources
    seen = context(task, current)
    assignment = Assignment(
        run="r1",
        task=task,
        attempt=1,
        request="",
        decisions=(),
        slots=seen.slots,
        reads=seen.reads,
        peers=(),
        retry="",
        draft=None,
        sources=base,
        current=current,
    )

    async def ask() -> Reply:
        return await BuiltinAgent().answer(assignment)

    return anyio.run(ask)


def carry_out(files: dict[str, bytes], found: Plan, order: random.Random) -> dict[str, bytes]:
    """Carry out a plan wave by wave, the tasks of each in a random order."""
    for level in levels(found):
        base = sources(files)
        draft = Draft(base)
        tasks = [found.task(name) for name in level]
        replies = {task.id: answer(task, base) for task in tasks}
        order.shuffle(tasks)
        for task in tasks:
            reply = replies[task.id]
            assert reply.status is ReplyStatus.EDITED, reply
            granted = frozenset((*task.writes, *task.creates))
            proposal = draft.propose(reply.edits, granted)
            assert isinstance(proposal, Proposal), proposal
            draft.accept(proposal)
        files = dict(files)
        for path, file in draft.changes.items():
            if file is None:
                del files[path]
            else:
                files[path] = file.data
    return files


def text(case: str, name: str) -> str:
    return (DATA / case / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("case", DONE)
def test_planned_tasks_land_in_any_order(case: str) -> None:
    before = tree(DATA / case / "before")
    found = plan(before, text(case, "request"))
    assert found.atomic
    after = {**before, **tree(DATA / case / "after")}
    for seed in range(3):
        assert carry_out(before, found, random.Random(seed)) == after


@pytest.mark.parametrize("case", REFUSED)
def test_refusal_names_one_place_to_a_line(case: str) -> None:
    with pytest.raises(PlanError) as caught:
        plan(tree(DATA / case / "before"), text(case, "request"))
    said = str(caught.value).replace(":\n  ", ": ").replace("\n  ", "; ")
    assert "\n" not in said
    for line in text(case, "refused").splitlines():
        assert line in said


def big(count: int) -> dict[str, bytes]:
    users = "".join(f"def u{i}():\n    return f({i})\n\n\n" for i in range(count))
    return {"a.py": b"def f(x):\n    return x\n", "b.py": f"from a import f\n\n\n{users}".encode()}


def test_a_big_file_is_shared_by_several_agents_in_one_wave() -> None:
    found = plan(big(30), "rename a.f to g")
    shares = [task for task in found.tasks if task.writes[0].path == "b.py"]
    assert [len(task.writes) for task in shares] == [8, 8, 8, 7]
    assert len(levels(found)) == 1
    after = carry_out(big(30), found, random.Random(1))
    assert after["b.py"] == big(30)["b.py"].replace(b"import f", b"import g").replace(
        b"f(", b"g("
    ).replace(b"ug(", b"u(")


def test_only_nodes_that_change_are_written() -> None:
    files = {
        "a.py": b"def f():\n    return 1\n\n\ndef other():\n    return 2\n",
        "b.py": b"import a\n\n\ndef use():\n    return a.f()\n\n\ndef idle():\n    a.other\n",
    }
    found = plan(files, "rename a.f to g")
    written = {str(node) for task in found.tasks for node in task.writes}
    assert written == {"a.py::f#api", "b.py::use"}
    assert [str(node) for task in found.tasks for node in task.creates] == ["a.py::g"]


def test_intents_that_do_not_meet_share_a_wave_and_others_wait() -> None:
    files = {
        "a.py": b"def f():\n    return 1\n",
        "b.py": b"def h():\n    return 1\n",
        "c.py": b"from a import f\n\n\ndef k():\n    return f()\n",
    }
    apart = plan(files, "rename a.f to g; rename b.h to i")
    assert len(levels(apart)) == 1
    meeting = plan(files, "rename a.f to g and then add parameter x=1 to a.g")
    first, second = levels(meeting)
    assert [meeting.task(name).goal for name in second] == ["add parameter x=1 to a.py::g, in a.py"]
    assert len(first) == 2
    after = carry_out(files, meeting, random.Random(0))
    assert after["a.py"] == b"def g(x=1):\n    return 1\n"


@pytest.mark.parametrize(
    "request_", ["make it faster", "rename a.f", "rename a.f to g; and tidy up", "", "move a.f"]
)
def test_a_request_it_does_not_understand_says_what_it_does(request_: str) -> None:
    with pytest.raises(PlanError) as caught:
        plan(big(1), request_)
    assert "does not understand" in str(caught.value)
    assert "\n" not in str(caught.value) + caught.value.hint
    for form in ("rename pkg.mod.f to g", "add parameter timeout=30", "move pkg.a.Foo to pkg.b"):
        assert form in caught.value.hint
    assert "--models" in caught.value.hint


@pytest.mark.parametrize(
    ("request_", "goal"),
    [
        ("rename a.f to g", "rename a.py::f to g"),
        ("Rename function `a.f` to `g`.", "rename a.py::f to g"),
        ("please rename the function a.f() into g()", "rename a.py::f to g"),
        ("rename a.py::f to g", "rename a.py::f to g"),
        ("rename f to g", "rename a.py::f to g"),
        ("rename the function `f` in a.py to `g`", "rename a.py::f to g"),
        ("Could you please rename f() in the file 'a.py' to g?", "rename a.py::f to g"),
        ("rename parameter x of f in a.py to y", "rename parameter x of a.py::f to y"),
        ("move f from a.py to c.py", "move a.py::f to c.py"),
        ("rename parameter x of a.f to y", "rename parameter x of a.py::f to y"),
        ("rename the argument x to y in function a.f", "rename parameter x of a.py::f to y"),
        ("add parameter t=3 to a.f", "add parameter t=3 to a.py::f"),
        ("add a keyword argument t: int = 3 to a.f", "add parameter t: int = 3 to a.py::f"),
        ("add parameter t with default ';' to a.f", "add parameter t=';' to a.py::f"),
        (
            "add parameter t=3 to a.f and pass t=len('; ') from all its callers",
            "add parameter t=3 to a.py::f and pass t=len('; ') from callers",
        ),
        ("replace calls to a.f by c.g", "replace calls of a.py::f with c.py::g"),
        ("replace all calls of a.f with calls to c.g", "replace calls of a.py::f with c.py::g"),
        ("move a.f to d", "move a.py::f to d.py"),
        ("Move function a.py::f to module c", "move a.py::f to c.py"),
        ("- move a.f into c.py.", "move a.py::f to c.py"),
        ("rename function f to g", "rename a.py::f to g"),
        ("rename the function `f` in a.py to `g`", "rename a.py::f to g"),
        ("rename f to g in the file a.py", "rename a.py::f to g"),
        ("rename the functions “f” from module a to “g”.", "rename a.py::f to g"),
        ("Could you please rename a.f -> g everywhere?", "rename a.py::f to g"),
        ("rename a.f to g and update all callers and imports", "rename a.py::f to g"),
        ("change the name of function f to g across the codebase", "rename a.py::f to g"),
        ("rename parameter x of f in a.py to y!", "rename parameter x of a.py::f to y"),
        ("rename the keyword argument 'x' of `f()` to 'y'", "rename parameter x of a.py::f to y"),
        ("add a new parameter called t=3 to function f in a.py", "add parameter t=3 to a.py::f"),
        ("use c.g instead of a.f", "replace calls of a.py::f with c.py::g"),
        ("replace calls a.f with c.g", "replace calls of a.py::f with c.py::g"),
        ("move function f from a to c", "move a.py::f to c.py"),
        ("move f from a.py to c.py", "move a.py::f to c.py"),
        ("rename a.f to g, only where proven", "rename a.py::f to g, only where proven"),
    ],
)
def test_phrases_come_down_to_one_sentence_that_is_read_back(request_: str, goal: str) -> None:
    files = {**big(2), "c.py": b"def g(x):\n    return x\n"}
    found = plan(files, request_)
    assert {task.goal.rpartition(", in ")[0] for task in found.tasks} == {goal}
    again = plan(files, goal)
    assert [task.writes for task in again.tasks] == [task.writes for task in found.tasks]


@pytest.mark.parametrize(
    ("request_", "near"),
    [
        ("rename a.f", "rename pkg.mod.f to g"),
        ("rename the parameter x", "rename parameter a of pkg.mod.f to b"),
        ("add a timeout to a.f", "add parameter timeout=30 to pkg.mod.f"),
        ("replace a.f with c.g", "replace calls of a.b.f with a.c.g"),
        ("move all of it to c", "move pkg.a.Foo to pkg.b"),
    ],
)
def test_a_near_miss_is_told_the_form_that_comes_nearest(request_: str, near: str) -> None:
    with pytest.raises(PlanError) as caught:
        plan(big(1), request_)
    assert f"; what comes nearest is: {near}" in str(caught.value)


METHOD = b"class C:\n    def m(self, x=1):\n        return x\n\n\n"


@pytest.mark.parametrize(
    ("use", "annotate"),
    [
        (b"def use(c):\n    c.m()\n", True),
        (b"def use(d):\n    d().m()\n", False),
        (b"def use(c):\n    c.d.m()\n", False),
        (b"def use(cs):\n    for c in cs:\n        c.m()\n", False),
    ],
)
def test_a_refusal_says_how_to_go_on_and_annotating_only_where_it_helps(
    use: bytes, annotate: bool
) -> None:
    """It said to annotate even where that proves nothing."""
    files = {"a.py": METHOD, "b.py": use}
    with pytest.raises(PlanError) as caught:
        plan(files, "rename a.C.m to n")
    assert "say: rename a.py::C.m to n, only where proven" in caught.value.hint
    assert ("annotate" in caught.value.hint) is annotate
    if annotate:
        known = use.replace(b"(c)", b"(c: C)")
        found = plan({**files, "b.py": b"from a import C\n\n\n" + known}, "rename a.C.m to n")
        assert len(found.tasks) == 2


def test_a_refusal_that_is_no_doubt_has_no_hint() -> None:
    with pytest.raises(PlanError) as caught:
        plan({"a.py": b"def f():\n    pass\n\n\ng = 1\n"}, "rename a.f to g")
    assert caught.value.hint == ""


def test_a_goal_it_does_not_understand_is_refused() -> None:
    task = Task("t1", "make it faster", (NodeId("a.py", "f"),))
    reply = answer(task, sources(big(1)))
    assert reply.status is ReplyStatus.REFUSED
    assert "does not understand 'make it faster'" in reply.reason
    assert "\n" not in reply.reason


def test_a_goal_that_cannot_be_carried_out_is_refused_with_the_reason() -> None:
    task = Task("t1", "rename a.zzz to g", (NodeId("a.py", "f"),))
    reply = answer(task, sources(big(1)))
    assert reply.status is ReplyStatus.REFUSED
    assert "there is no a.zzz" in reply.reason


def test_nothing_to_do_is_said_with_a_reason() -> None:
    task = Task("t1", "rename a.f to g", (NodeId("c.py", "k"),))
    reply = answer(task, sources({**big(1), "c.py": b"def k():\n    return 1\n"}))
    assert reply.status is ReplyStatus.UNCHANGED
    assert reply.reason


def test_what_another_change_made_of_a_node_is_kept() -> None:
    base = sources(big(1))
    draft = Draft(base)
    header = base.file("b.py").nodes[0].id
    theirs = Replace(header, "import sys\nfrom a import f\n")
    proposal = draft.propose([theirs], frozenset((header,)))
    assert isinstance(proposal, Proposal)
    draft.accept(proposal)
    reply = answer(Task("t1", "rename a.f to g", (header,)), base, draft)
    (edit,) = reply.edits
    assert isinstance(edit, Replace)
    assert (edit.node, edit.source.strip()) == (header, "import sys\nfrom a import g")


def test_answers_are_the_same_every_time() -> None:
    files = big(5)
    found = plan(files, "rename a.f to g")
    assert plan(files, "rename a.f to g") == found
    task = found.tasks[-1]
    assert answer(task, sources(files)) == answer(task, sources(files))


def test_remarks_are_part_of_the_plan() -> None:
    files = {"a.py": b"def f():\n    return getattr(f, 'f', None)\n"}
    found = plan(files, "rename a.f to g")
    assert found.decisions == (
        "rename a.py::f to g: 1 node in 1 file",
        "left to a person: a.py:2: the string 'f' is left as it is",
    )


def test_plan_is_valid_json_without_usage() -> None:
    async def ask() -> dict[str, object]:
        asked = await planner(sources(big(1)))("", "", {}, "rename a.f to g")
        assert asked.usage.calls == 0
        assert asked.model == "builtin"
        data = json.loads(asked.text)
        assert isinstance(data, dict)
        return data

    assert set(anyio.run(ask)) == {"decisions", "atomic", "tasks", "questions", "complete"}


def _all(nodes: Iterable[NodeId]) -> list[str]:
    return [str(node) for node in nodes]


def test_a_class_is_granted_with_its_members() -> None:
    files = {
        "a.py": b"class C:\n    x = 1\n\n    def m(self):\n        return C.x\n\n\nY = C()\n",
        "b.py": b"from a import C\n\nZ = C\n",
    }
    found = plan(files, "rename a.C to D")
    assert _all(found.tasks[1].writes) == ["b.py::@header", "b.py::@body"]


OVERLOADED = {
    "a.py": b"""from typing import overload


@overload
def f(x: int) -> int: ...
@overload
def f(x: str) -> str: ...
def f(x):
    return x
""",
    "b.py": b"from a import f\n\nY = f(1)\n",
}


def test_overloads_are_renamed_with_what_uses_them() -> None:
    """Only the users were: the plan named a unit that was none, and it was passed over."""
    found = plan(OVERLOADED, "rename a.f to g")
    after = carry_out(OVERLOADED, found, random.Random(0))
    assert after == {
        path: data.replace(b"f(", b"g(").replace(b"import f", b"import g")
        for path, data in OVERLOADED.items()
    }


@pytest.mark.parametrize("node", ["f", "f[overload]", "f[overload]#2"])
def test_a_task_that_may_write_only_a_part_of_a_unit_is_refused(node: str) -> None:
    reply = answer(Task("t1", "rename a.f to g", (NodeId("a.py", node).api,)), sources(OVERLOADED))
    assert reply.status is ReplyStatus.REFUSED
    assert reply.reason == "rename a.py::f to g needs a.py too, which it may not write"


def test_a_class_without_its_members_is_refused() -> None:
    files = {"a.py": b"class C:\n    def m(self):\n        return C\n"}
    reply = answer(Task("t1", "rename a.C to D", (NodeId("a.py", "C").api,)), sources(files))
    assert reply.status is ReplyStatus.REFUSED
    assert "needs a.py::C#all too" in reply.reason


def test_a_grant_of_the_whole_file_holds_every_place_in_it() -> None:
    base = sources(big(3))
    reply = answer(Task("t1", "rename a.f to g", (NodeId("b.py"),)), base)
    assert reply.status is ReplyStatus.EDITED
    assert len(reply.edits) == 4
    assert isinstance(Draft(base).propose(reply.edits, frozenset((NodeId("b.py"),))), Proposal)


def test_what_is_done_besides_is_not_left_to_a_person():
    """The summary of a run listed it among what is open."""
    files = {
        "a.py": b"class A:\n    def go(self):\n        pass\n\n\nclass B(A):\n    def go(self):\n"
        b"        pass\n\n\nTEXT = getattr(A(), 'go')\n"
    }
    decisions = plan(files, "rename a.A.go to run").decisions
    assert "renamed with it, since they override one another: a.py::B.go" in decisions
    assert [text for text in decisions if text.startswith(LEFT)] == [
        f"{LEFT}a.py:11: the string 'go' is left as it is"
    ]
