"""What is kept from agents is neither shown nor touched, on the whole road."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mak.config import Config, Files
from mak.errors import PlanError
from mak.events import ReplyRejected
from mak.landing import sources_at
from mak.model import RunState
from mak.plan import build_prompt
from mak.store import Store
from tests.road.conftest import Road, edited, reply

FILES = {
    "app/a.py": "def f(x):\n    return x\n",
    "app/use.py": "from app.a import f\n\n\ndef g():\n    return f(1)\n",
    "secret/keys.py": "def token():\n    return 'confidential'\n",
}

MakeRoad = Callable[..., Road]


def prompt_of(root: Path, files: Files, request: str) -> str:
    with Store.open(root, write=False) as store:
        store.hide(files)
        return build_prompt(request, sources_at(store, store.tip())).prompt


def test_the_planner_is_not_shown_what_is_hidden(make_repo: Callable[..., Path]) -> None:
    root = make_repo(FILES)
    request = "look at secret/keys.py::token and app/a.py"
    shown = prompt_of(root, Files(), request)
    assert "confidential" in shown
    for files in (Files(exclude=("secret/",)), Files(include=("app/",))):
        hidden = prompt_of(root, files, request)
        assert "app/a.py" in hidden
        assert "confidential" not in hidden
        assert "keys.py" not in hidden.replace(request, "")
    (root / ".makignore").write_text("secret/\n")
    assert "confidential" not in prompt_of(root, Files(), request)


@pytest.mark.parametrize("verb", ["writes", "reads"])
def test_a_plan_that_names_what_is_hidden_is_refused(make_road: MakeRoad, verb: str) -> None:
    road = make_road(FILES)
    (road.root / ".makignore").write_text("# ours\nsecret/\n")
    task = {"id": "t", "goal": "g", "writes": ["app/a.py::f"]}
    task[verb] = ["secret/keys.py::token"]
    if verb == "reads":
        task["writes"] = ["app/a.py::f"]
    with pytest.raises(PlanError, match=r"secret/keys\.py is kept from agents by \.makignore:2"):
        road.run([task], {})


def test_a_new_file_among_what_is_hidden_is_refused(make_road: MakeRoad) -> None:
    road = make_road(FILES)
    config = Config(files=Files(include=("app/",)))
    task = {"id": "t", "goal": "g", "creates": ["lib/new.py"]}
    with pytest.raises(PlanError, match=r"lib/new\.py is kept from agents: files\.include"):
        road.run([task], {}, config=config)


def test_a_caller_that_is_hidden_is_not_handed_to_an_agent(make_road: MakeRoad) -> None:
    road = make_road(FILES)
    (road.root / ".makignore").write_text("app/use.py\n")
    task = {"id": "t", "goal": "g", "writes": ["app/a.py::f#api"]}
    answer = reply(edited("n1", "def f(x, y):\n    return x\n"))
    outcome = road.run([task], {"t": [answer]}, config=Config(attempts=1))
    assert outcome.state is not RunState.DONE
    assert "app/use.py is kept from agents by .makignore:1" in outcome.tasks["t"].reason
    assert road.text("app/use.py") == FILES["app/use.py"]
    assert road.text("app/a.py") == FILES["app/a.py"]


def test_an_agent_that_asks_for_what_is_hidden_does_without(make_road: MakeRoad) -> None:
    road = make_road(FILES)
    (road.root / ".makignore").write_text("secret/\n")
    task = {"id": "t", "goal": "g", "writes": ["app/a.py::f"]}
    asks = reply(
        {"node": "n1", "status": "needs_locks", "new_source": "", "reason": "to see it"},
        needs_locks=[{"symbol": "secret/keys.py::token", "mode": "read", "why": "to see it"}],
    )
    answer = reply(edited("n1", "def f(x):\n    return x + 1\n"))
    outcome = road.run([task], {"t": [asks, answer]})
    assert outcome.state is RunState.DONE
    assert "x + 1" in road.text("app/a.py")
    (rejected,) = road.of(ReplyRejected)
    assert rejected.check == "hidden-path"


def test_patterns_of_a_branch_that_is_not_checked_out_are_those_of_its_tip(
    make_road: MakeRoad,
) -> None:
    road = make_road({**FILES, ".makignore": "secret/\n"})
    (road.root / ".makignore").unlink()
    task = {"id": "t", "goal": "g", "writes": ["secret/keys.py::token"]}
    with pytest.raises(PlanError, match=r"kept from agents by \.makignore:1"):
        road.run([task], {}, branch="other")


def test_patterns_of_the_work_dir_are_seen_from_there(make_road: MakeRoad) -> None:
    road = make_road(FILES)
    (road.root / "app" / ".makignore").write_text("/a.py\n")
    task = {"id": "t", "goal": "g", "writes": ["app/a.py::f"]}
    with pytest.raises(PlanError, match=r"kept from agents by app/\.makignore:1"):
        road.run([task], {}, work_dir=road.root / "app")
