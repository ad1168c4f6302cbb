import pytest

from mak.model import NodeId, Plan, Task
from mak.plan import estimate, hot_nodes
from mak.providers import Spec
from tests.plan.repos import REPO, sources


def task(id: str, writes: str = "", creates: str = "", reads: str = "", model: str = "") -> Task:
    def ids(text: str) -> tuple[NodeId, ...]:
        return tuple(map(NodeId.parse, text.split()))

    return Task(id, "g", ids(writes), ids(reads), ids(creates), model=model)


def test_nodes_that_several_tasks_write_are_hot() -> None:
    plan = Plan(
        "r",
        (
            task("a", "m.py::f m.py::@header"),
            task("b", "m.py::f#api m.py::g"),
            task("c", "m.py::f m.py::@header"),
            task("d", "n.py::C#all"),
            task("e", "n.py::C.m"),
            task("f", "n.py::C.n", reads="m.py::f"),
        ),
    )
    assert hot_nodes(plan) == (
        (NodeId("m.py", "f"), 3),
        (NodeId("m.py", "@header"), 2),
        (NodeId("n.py", "C.m"), 2),
        (NodeId("n.py", "C.n"), 2),
    )


def test_no_node_is_hot_when_tasks_do_not_meet() -> None:
    assert hot_nodes(Plan("r", (task("a", "m.py::f"), task("b", "m.py::g")))) == ()


def test_the_range_grows_with_what_is_written_and_shown() -> None:
    tree = sources(REPO)

    def tokens(made: Task) -> tuple[int, int]:
        found = estimate(Plan("r", (made,)), tree, models=["local:x@http://h"])
        assert 0 < found.tokens_low < found.tokens_high
        return found.tokens_low, found.tokens_high

    small = tokens(task("t", "pkg/shapes.py::total"))
    assert tokens(task("t", "pkg/shapes.py")) > small
    assert tokens(task("t", "pkg/shapes.py::total", reads="pkg/shapes.py::Shape#all")) > small
    assert tokens(task("t", "pkg/shapes.py::total", creates="x.py")) > small


def test_one_node_is_counted_by_its_bytes() -> None:
    tree = sources(REPO)
    calls: list[tuple[str, int, int]] = []

    def price(spec: Spec, input: int, output: int) -> float:
        calls.append((str(spec), input, output))
        return input + 10 * output

    node = NodeId("pkg/io/reader.py", "read")
    size = len(tree.file("pkg/io/reader.py").text(node))
    found = estimate(Plan("r", (task("t", str(node)),)), tree, models=["anthropic"], price=price)
    assert calls[0] == (
        "anthropic",
        round((5_000 + size) / 3.6),
        round(1.3 * size / 3.6 + 200),
    )
    assert found.cost_low == calls[0][1] + 10 * calls[0][2]
    assert found.tokens_low == calls[0][1] + calls[0][2]
    assert [name for name, _ in found.tasks] == ["t"]


def test_models_take_turns_unless_a_task_names_one() -> None:
    plan = Plan("r", tuple(task(f"t{i}", creates=f"{i}.py") for i in range(3)))
    plan = Plan("r", (*plan.tasks, task("t3", creates="3.py", model="openai:z")))
    asked: list[str] = []

    def price(spec: Spec, input: int, output: int) -> float:
        asked.append(str(spec))
        return 1.0

    estimate(plan, sources(REPO), models=["anthropic:x", "openai:y"], price=price)
    assert asked[::2] == ["anthropic:x", "openai:y", "anthropic:x", "openai:z"]


def test_a_server_of_ones_own_takes_tokens_and_costs_nothing() -> None:
    plan = Plan("r", (task("t", "pkg/shapes.py::total"),))
    found = estimate(plan, sources(REPO), models=["local:x@http://127.0.0.1:1/v1"])
    assert found.tokens_low > 0
    assert (found.cost_low, found.cost_high) == (0.0, 0.0)


def test_agents_that_ask_nobody_take_no_tokens() -> None:
    plan = Plan("r", (task("t", "pkg/shapes.py::total"),))
    found = estimate(plan, sources(REPO), models=["builtin"])
    assert (found.tokens_high, found.cost_high) == (0, 0.0)


@pytest.mark.parametrize(
    ("models", "known"),
    [
        (["anthropic:claude-sonnet-4-5"], True),
        (["openai:gpt-4o"], True),
        (["anthropic:no-such-model"], False),
        (["builtin", "anthropic:no-such-model"], False),
    ],
)
def test_a_price_is_known_or_said_to_be_unknown(models: list[str], known: bool) -> None:
    plan = Plan("r", (task("t1", "pkg/shapes.py::total"), task("t2", "pkg/shapes.py::Shape")))
    found = estimate(plan, sources(REPO), models=models)
    if known:
        assert found.cost_low is not None and found.cost_high is not None
        assert 0 < found.cost_low < found.cost_high < 1
    else:
        assert found.cost_low is None and found.cost_high is None
