"""The road against a third-party mock of both vendors, which judges how its client took faults."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from llmock.pytest_plugin import LLMock
from llmock.scenarios import Match, Reply, StreamFault

from mak.cli.main import main
from tests.conftest import git
from tests.road.test_http import CHANGES, COUNT, NET, PLAN, SHOP, TOTAL, answer

#: Tasks take models in turn, so that each task has one of its own and the mock can tell them apart.
MODELS = {"net": NET, "total": TOTAL, "count": COUNT}
#: What the planner and the agents meet, all in one run.
STORMS = {
    "outages": lambda mock: (
        mock.fail(500, model="plan")
        .fail(429, times=2, retry_after=0.2, model="net")
        .fail(529, times=2, retry_after=0.1, model="total")
        .fail(503, model="count")
    ),
    # Paced, or the mock is done with a stream before anybody can hang up on it.
    "broken streams": lambda mock: mock.pace(5).add(
        StreamFault("truncate", match=Match(model="plan")),
        StreamFault("truncate", match=Match(model="net")),
        StreamFault("disconnect", match=Match(model="total")),
        StreamFault("malformed", match=Match(model="count")),
    ),
}


@pytest.fixture(params=["anthropic", "openai"])
def provider(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def root(make_repo: Callable[..., Path]) -> Path:
    return make_repo({"shop.py": SHOP})


def run(root: Path, provider: str, *what: str) -> int:
    """Type ``mak run`` with a planner and a model for each task."""
    config = root.parent / "config.yaml"
    config.write_text(f"planner: {provider}:plan\nattempts: 2\n")
    models = [f"{provider}:{name}" for name in MODELS]
    where = ["--work-dir", str(root), "--config", str(config), "--models", *models]
    return main(["run", *what, "--no-review", "--json", *where])


@pytest.mark.parametrize("storm", STORMS)
def test_a_run_through_faults_lands_and_passes_the_strict_verdict(llmock, root, provider, storm):
    texts = {name: answer(source).text for name, source in MODELS.items()}
    for model, text in {**texts, "plan": json.dumps(PLAN)}.items():
        llmock.add(Reply(text=text, times=None, match=Match(model=model)))
    STORMS[storm](llmock)
    assert run(root, provider, "--task", "count up") == 0
    expected = SHOP
    for change in CHANGES.values():
        expected = expected.replace(*change)
    assert git(root, "show", "HEAD:shop.py") == expected
    assert git(root, "status", "--porcelain") == ""
    assert llmock.verdict().faults == (6 if storm == "outages" else 4)
    llmock.assert_resilient(strict=True)


def test_what_the_mock_makes_up_never_lands(llmock: LLMock, root, provider, capsys):
    """Left to itself it answers with prose, or with values that fit the schema and mean nothing."""
    plan = root.parent / "plan.json"
    plan.write_text(json.dumps({"request": "count up", "tasks": PLAN["tasks"]}))
    assert run(root, provider, "--plan", str(plan)) == 1
    tasks = json.loads(capsys.readouterr().out)["tasks"]
    assert {name: task["state"] for name, task in tasks.items()} == {
        "net": "failed",
        "total": "failed",
        "count": "skipped",
    }
    assert all(task["reason"] for task in tasks.values())
    assert git(root, "log", "--format=%s") == "base\n"
    assert (root / "shop.py").read_text() == SHOP
    assert run(root, provider, "--task", "count up") == 1
    assert "no usable plan" in capsys.readouterr().err
    assert git(root, "log", "--format=%s") == "base\n"
    llmock.assert_resilient(strict=True)
