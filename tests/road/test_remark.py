"""A person who does not like a plan says so, and the planner plans again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio

from mak import kernel
from mak.config import Config
from mak.events import Planned
from mak.model import Outcome, RunState
from mak.plan import build_prompt
from mak.source import Sources
from mak.store import Store
from tests.road.conftest import edited, reply

FILES = {"a.py": "def f():\n    return 1\n\n\ndef g():\n    return 2\n"}


def planned(*writes: str) -> dict[str, Any]:
    """Return what a scripted planner answers: a task for each node."""
    tasks = [
        {"id": f"t{n}", "goal": "count up", "writes": [node]} for n, node in enumerate(writes, 1)
    ]
    return {"reply": {"tasks": tasks}, "usage": {"input": 100, "output": 10}}


def carried_out(
    root: Path, script: dict[str, Any], *decisions: kernel.Decision
) -> tuple[Outcome, list[kernel.Review], list[object]]:
    """Run a request with a person who decides like this; return what they saw, too."""
    path = root.parent / "script.json"
    path.write_text(json.dumps(script))
    left = list(decisions)
    seen: list[kernel.Review] = []
    told: list[object] = []

    async def review(found: kernel.Review) -> kernel.Decision:
        seen.append(found)
        return left.pop(0)

    spec = f"scripted:{path}"
    options = kernel.Options(Config(), (spec,), spec, 2, review, told.append)
    with Store.open(root) as store:
        outcome = anyio.run(kernel.run, store, "count up", options)
    assert not left
    return outcome, seen, told


APPROVE = kernel.Decision(approved=True)
ONE = [reply(edited("a.py::f", "def f():\n    return 10\n"))]


def test_remark_brings_a_new_plan_that_is_reviewed(make_repo: Callable[..., Path]) -> None:
    script = {"plan": [planned("a.py::f", "a.py::g"), planned("a.py::f")], "tasks": {"t1": ONE}}
    remark = kernel.Decision(approved=True, remark="leave g alone")
    outcome, (first, second), told = carried_out(make_repo(FILES), script, remark, APPROVE)
    assert outcome.state is RunState.DONE
    assert [len(review.plan.tasks) for review in (first, second)] == [2, 1]
    assert first.planned and second.planned
    assert second.plan.request == "count up\nleave g alone"
    assert outcome.usage.input == 200
    assert [event.usage.input for event in told if isinstance(event, Planned)] == [100, 100]


def test_useless_new_plan_leaves_the_last_one_to_decide_on(make_repo: Callable[..., Path]) -> None:
    script = {"plan": [planned("a.py::f")], "tasks": {"t1": ONE}}
    remark = kernel.Decision(approved=True, remark="do better")
    outcome, (_, again), _ = carried_out(make_repo(FILES), script, remark, APPROVE)
    assert outcome.state is RunState.DONE
    assert again.plan.request == "count up"
    assert "asked again, in vain" in again.remarks[-1]


def test_builtin_planner_takes_a_remark_for_more_of_the_request(
    make_repo: Callable[..., Path],
) -> None:
    left = [kernel.Decision(True, remark="rename function a.g to second"), APPROVE]

    async def review(found: kernel.Review) -> kernel.Decision:
        return left.pop(0)

    root = make_repo(FILES)
    options = kernel.Options(Config(), ("builtin",), "builtin", 2, review)
    with Store.open(root) as store:
        outcome = anyio.run(kernel.run, store, "rename function a.f to first", options)
    assert outcome.state is RunState.DONE
    text = (root / "a.py").read_text()
    assert "def first" in text and "def second" in text


def test_planner_is_shown_its_plan_and_the_remark() -> None:
    prompt = build_prompt("count up", Sources({}, lambda blob: b""), remark="faster", last="{}")
    text = prompt.prompt
    assert text.index("count up") < text.index("{}") < text.index("faster")
    assert prompt.asked == "count up\nfaster"
    assert build_prompt("count up", Sources({}, lambda blob: b"")).asked == "count up"
