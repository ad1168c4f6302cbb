import itertools
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mak.config import read_document
from mak.errors import UsageError
from mak.model import NodeId, Plan, Task
from mak.plan import Grounded, Ungrounded, ground
from mak.plan.dag import Ancestry, circle
from mak.source import Sources
from mak.source.text import blob_id
from tests.plan.repos import REPO, Blobs, MemoryCache, sources

CASES: list[dict[str, Any]] = read_document(Path(__file__).parent / "ground_cases.yaml")


def check_path(path: str) -> str:
    """As the store does, for the paths of the cases."""
    if path.startswith("/"):
        raise UsageError(f"{path} is absolute")
    if ".." in path.split("/"):
        raise UsageError(f"{path} leaves the work dir")
    return str(PurePosixPath(path))


def words(value: str | list[str]) -> tuple[str, ...]:
    return tuple(value.split() if isinstance(value, str) else value)


def task(short: dict[str, Any]) -> Task:
    def ids(key: str) -> tuple[NodeId, ...]:
        return tuple(map(NodeId.parse, words(short.get(key, ""))))

    return Task(
        short["id"],
        short.get("goal", "do it"),
        ids("writes"),
        ids("reads"),
        ids("creates"),
        words(short.get("after", "")),
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_case(case: dict[str, Any]) -> None:
    plan = Plan("request", tuple(map(task, case["plan"])))
    result = ground(plan, sources(REPO), check_path=check_path)
    if "reasons" in case:
        assert isinstance(result, Ungrounded), result
        matched = zip(result.reasons, case["reasons"], strict=True)
        assert all(wanted in reason for reason, wanted in matched), result.reasons
        return
    assert isinstance(result, Grounded), result
    expected = []
    for short in case["plan"]:
        changed = case.get("tasks", {}).get(short["id"], {})
        expected.append(task({**short, **changed}))
    assert result.plan.tasks == tuple(expected)
    for wanted in case.get("remarks", ()):
        assert any(wanted in remark for remark in result.remarks), result.remarks
    if "tasks" not in case and "remarks" not in case:
        assert result.remarks == ()
    assert ground(result.plan, sources(REPO), check_path=check_path) == Grounded(
        result.plan, tuple(r for r in result.remarks if "as a whole" in r)
    )


def test_only_the_files_that_a_plan_names_are_read() -> None:
    blobs = Blobs()
    big = {f"lib/m{i}.py": f"def f{i}():\n    pass\n" for i in range(500)}
    tree = sources(big, blobs)
    plan = Plan(
        "r",
        (
            Task("t1", "g", (NodeId("lib/m3.py", "f3"),), creates=(NodeId("lib/new.py"),)),
            Task("t2", "g", (NodeId("lib/m4.py", "f5"), NodeId("lib/m4.py", "f4()"))),
        ),
    )
    assert isinstance(ground(replace(plan, tasks=plan.tasks[:1]), tree), Grounded)
    assert blobs.reads == 1
    assert isinstance(ground(plan, sources(big, blobs, MemoryCache())), Grounded)


def test_a_chain_of_1100_tasks_over_one_file_is_grounded() -> None:
    text = "".join(f"def f{i}():\n    pass\n\n\n" for i in range(1100))
    tasks = tuple(
        Task(f"t{i}", "g", (NodeId("a.py", f"f{i}"),), depends_on=(f"t{i - 1}",) if i else ())
        for i in range(1100)
    )
    assert isinstance(ground(Plan("r", tasks), sources({"a.py": text})), Grounded)
    whole = tuple(replace(t, writes=(NodeId("a.py"),)) for t in tasks)
    assert isinstance(ground(Plan("r", whole), sources({"a.py": text})), Grounded)
    apart = (*whole[:-1], replace(whole[-1], depends_on=()))
    result = ground(Plan("r", apart), sources({"a.py": text}))
    assert isinstance(result, Ungrounded)
    assert len(result.reasons) == 1


def test_a_circle_of_1100_tasks_is_found() -> None:
    order = {f"t{i}": (f"t{(i + 1) % 1100}",) for i in range(1100)}
    assert len(circle(order)) == 1101


# ---------------------------------------------------------------------------- properties

orders = st.integers(1, 8).flatmap(
    lambda n: st.fixed_dictionaries(
        {
            f"t{i}": st.lists(st.sampled_from([f"t{j}" for j in range(n)]), max_size=3)
            for i in range(n)
        }
    )
)


def reach(order: dict[str, list[str]], task: str) -> set[str]:
    seen: set[str] = set()
    todo = list(order[task])
    while todo:
        at = todo.pop()
        if at not in seen:
            seen.add(at)
            todo.extend(order[at])
    return seen


@given(orders)
def test_a_circle_is_found_exactly_when_there_is_one(order: dict[str, list[str]]) -> None:
    found = circle(order)
    assert bool(found) == any(task in reach(order, task) for task in order)
    if found:
        assert found[0] == found[-1]
        assert all(b in order[a] for a, b in itertools.pairwise(found))
        return
    ancestry = Ancestry(order)
    group = ancestry.group(order)
    for task in order:
        assert all(ancestry.is_before(o, task) == (o in reach(order, task)) for o in order)
        apart = [
            o for o in order if o not in {task, *reach(order, task)} and task not in reach(order, o)
        ]
        assert ancestry.unordered(task, group) == (apart[0] if apart else "")


PATHS = [*REPO, "pkg/new.py", "new.md", "pkg", "pkg.shapes", "..", "shapes.py", ""]
SYMBOLS = [
    "",
    "total",
    "Shape",
    "Shape#all",
    "Shape.area#api",
    "area",
    "@header",
    "@body",
    "Circle",
    "Circle.area",
    "totl",
    "f()",
    "17",
    "#api",
    "::",
]
ids = st.builds(
    lambda path, sep, symbol: NodeId.parse(f"{path}{sep}{symbol}"),
    st.sampled_from(PATHS) | st.text(max_size=8),
    st.sampled_from(["::", "::", "::", "", ":", "."]),
    st.sampled_from(SYMBOLS) | st.text(max_size=8),
)
id_lists = st.lists(ids, max_size=3).map(tuple)
names = st.sampled_from(["t1", "t2", "t3", "t4"])
tasks = st.builds(
    Task,
    names,
    st.just("goal") | st.text(max_size=5),
    id_lists,
    id_lists,
    id_lists,
    st.lists(names, max_size=2).map(tuple),
)
TREE = sources(REPO)


@settings(max_examples=200, deadline=None)
@given(st.lists(tasks, max_size=4, unique_by=lambda t: t.id))
def test_no_plan_breaks_grounding_and_what_passes_is_sound(made: list[Task]) -> None:
    known = {t.id for t in made}
    made = [replace(t, depends_on=tuple(d for d in t.depends_on if d in known)) for t in made]
    result = ground(Plan("r", tuple(made)), TREE, check_path=check_path)
    if isinstance(result, Ungrounded):
        assert result.reasons
        assert all(reason and "\n" not in reason for reason in result.reasons)
        return
    plan = result.plan
    assert [t.id for t in plan.tasks] == [t.id for t in made]
    order = {t.id: t.depends_on for t in plan.tasks}
    assert not circle(order)
    ancestry = Ancestry(order)
    created = {node: t.id for t in plan.tasks for node in t.creates}
    for t in plan.tasks:
        assert t.writes or t.creates
        assert not set(t.creates) & set(t.writes)
        assert not set(t.reads) & {*t.creates, *t.writes}
        for node in t.creates:
            assert TREE.node(node) is None if node.path in TREE else True
            assert created[node] == t.id
        for node in (*t.writes, *t.reads):
            if node.path in TREE and (node.is_file or TREE.node(node) is not None):
                continue
            makers = [created[m] for m in (node.node, node.file, *_classes(node)) if m in created]
            assert any(m == t.id or ancestry.is_before(m, t.id) for m in makers), (node, plan)
    for one in plan.tasks:
        for node in (*one.writes, *one.creates):
            for other in plan.tasks:
                touched = {n.path for n in (*other.writes, *other.creates)}
                if node.is_file and other is not one and node.path in touched:
                    assert ancestry.is_before(one.id, other.id) or ancestry.is_before(
                        other.id, one.id
                    )


def _classes(node: NodeId) -> tuple[NodeId, ...]:
    return tuple(container.node for container in node.containers)


def test_what_an_entry_is_called_is_for_its_file_to_say() -> None:
    """``more-itertools`` is no name in Python, and a line of requirements.txt all the same."""
    data = b"anyio==4.9\n"
    tree = Sources({"requirements.txt": blob_id(data)}, lambda blob: data)
    made = ("more-itertools", "ruamel.yaml")
    creates = tuple(NodeId("requirements.txt", name) for name in made)
    result = ground(Plan("", (Task("t1", "add both", creates=creates),)), tree)
    assert isinstance(result, Grounded), result
    assert result.plan.tasks[0].creates == creates
