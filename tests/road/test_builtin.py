"""The built-in planner and agent on the road: what they plan lands, or is refused beforehand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import anyio

from mak import kernel
from mak.config import Config
from mak.events import Event, TaskWidened
from mak.model import Outcome, Plan, RunState, TaskState
from mak.plan import parse_plan
from mak.store import Store


def carried_out(root: Path, what: str | Plan) -> tuple[Outcome, list[Event]]:
    """Run a request or a plan without a review; return how it ended, and what happened."""
    told: list[Event] = []
    options = kernel.Options(Config(), ("builtin",), "builtin", 4, None, told.append)

    async def main() -> Outcome:
        with Store.open(root) as store:
            return await kernel.run(store, what, options)

    return anyio.run(main), told


HIERARCHY = {
    "base.py": "def deco(fn):\n    return fn\n\n\nclass Base:\n    x = 1\n",
    "use.py": """\
from base import Base, deco


class Derived(Base):
    @deco
    def k(self, x):
        return x


@deco
def free(a: Base = Base()) -> Base:
    return a
""",
}


def test_bases_and_decorators_are_granted_from_the_start(make_repo: Callable[..., Path]) -> None:
    root = make_repo(HIERARCHY)
    outcome, told = carried_out(root, "rename base.Base to Root; rename base.deco to wrap")
    assert outcome.state is RunState.DONE
    assert not [event for event in told if isinstance(event, TaskWidened)]
    assert "class Derived(Root):\n    @wrap" in (root / "use.py").read_text()


def test_an_answer_by_rule_that_is_turned_down_is_not_asked_for_again(
    make_repo: Callable[..., Path],
) -> None:
    """It was asked three times, and answered the same three times."""
    root = make_repo(
        {"a.py": "def f():\n    return 1\n", "conftest.py": "from a import f\n\nX = f()\n"}
    )
    task = {"id": "t1", "goal": "rename a.py::f to g", "writes": ["a.py::f#api"]}
    plan = parse_plan({"request": "r", "complete": True, "tasks": [task]})
    outcome, _ = carried_out(root, plan)
    ended = outcome.tasks["t1"]
    assert (ended.state, ended.attempts) == (TaskState.FAILED, 1)
    assert "conftest.py" in ended.reason
