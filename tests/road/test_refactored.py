"""What the built-in agent plans lands as it is: nothing is turned down, left broken or repaired."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from mak import kernel
from mak.config import Config
from mak.events import Event, RepairPlanned, ReplyRejected
from mak.model import Outcome, RunState
from mak.store import Store
from tests.agents.test_builtin import DATA, DONE, text, tree
from tests.conftest import git


def carried_out(root: Path, request: str) -> tuple[Outcome, list[Event]]:
    told: list[Event] = []
    options = kernel.Options(Config(), ("builtin",), "builtin", emit=told.append)

    async def main() -> Outcome:
        with Store.open(root) as store:
            return await kernel.run(store, request, options)

    return anyio.run(main), told


@pytest.mark.parametrize("case", DONE)
def test_what_is_planned_by_the_builtin_agent_needs_no_repair(make_repo, case: str) -> None:
    before = tree(DATA / case / "before")
    root = make_repo(before)
    outcome, told = carried_out(root, text(case, "request"))
    assert outcome.state is RunState.DONE, outcome.reason
    assert outcome.findings == ()
    assert not [event for event in told if isinstance(event, RepairPlanned | ReplyRejected)]
    assert all(task.attempts == 1 for task in outcome.tasks.values())
    after = {**before, **tree(DATA / case / "after")}
    assert {path: (root / path).read_bytes() for path in after} == after
    assert git(root, "status", "--porcelain") == ""
