"""The kernel in a process of its own: what it is told, what it answers, and how it is stopped."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from mak.config import dump_yaml
from mak.github.jobs import Job, Process
from tests.conftest import git
from tests.road.conftest import task
from tests.road.test_repair import FILES, RENAMED, TASKS, failing, uses

RENAME = "rename function a.old to new"
SCRIPT = {"t1": [RENAMED], "t2": [uses("new")]}


def environment(**more: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return {**kept, **more}


def said(job: Job, **more: str) -> dict[str, list[Any]]:
    """Return all that the kernel says of a job, by kind."""
    process = Process(job, environment(**more))
    found: dict[str, list[Any]] = {}
    while not process.is_over:
        for kind, what in (process.next(60) or {}).items():
            found.setdefault(kind, []).append(what)
    process.close()
    assert found, process.tail
    return found


def grounded(plan: dict[str, Any], folder: str) -> dict[str, Any]:
    """Return a plan as it would be offered."""
    found = said(Job(do="ground", folder=folder, plan=plan))
    assert "offer" in found, found
    (offer,) = found["offer"]
    return dict(offer["plan"])


@pytest.fixture
def job(make_repo: Callable[..., Path], tmp_path: Path) -> Callable[..., Job]:
    """Return what makes jobs in one repository, with a script for its agents."""
    root = make_repo(FILES)
    plan = grounded({"request": "the request", "tasks": TASKS}, str(root))

    def make(script: Mapping[str, Any] = SCRIPT, **fields: Any) -> Job:
        path = tmp_path / "script.json"
        path.write_text(json.dumps({"tasks": script}))
        models = (f"scripted:{path}",)
        given = {"do": "run", "models": models, "planner": "builtin", "plan": plan, "run": "r7f3k2"}
        return Job(folder=str(root), **{**given, **fields})

    return make


def test_a_request_becomes_an_offer(job) -> None:
    found = said(job(do="plan", plan=None, request=RENAME))
    (offer,) = found["offer"]
    assert [each["goal"] for each in offer["plan"]["tasks"]] == [
        "rename a.py::old to new, in a.py",
        "rename a.py::old to new, in b.py",
    ]
    assert offer["waves"] == [["t1", "t2"]] and offer["problems"] == []
    assert any(event["event"] == "Planned" for event in found["event"])


def test_a_plan_that_does_not_fit_is_an_error_with_its_reason(job) -> None:
    plan = {"request": "x", "tasks": [task("t", "nowhere.py::f")]}
    (error,) = said(job(do="ground", plan=plan))["error"]
    assert "nowhere.py" in error["says"]
    (error,) = said(job(do="plan", plan=None, request="make it nicer"))["error"]
    assert error["says"]


def test_an_approved_plan_is_carried_out_as_the_run_that_is_named(job) -> None:
    found = said(job(do="run", trailers=(("Refs", "#42"),)))
    (outcome,) = found["outcome"]
    assert outcome["state"] == "done" and outcome["run"] == "r7f3k2"
    root = Path(job().folder)
    trailers = git(root, "log", "-1", "--format=%(trailers:only,unfold)").splitlines()
    assert {"MAK-Run: r7f3k2", "Refs: #42"} <= {*trailers}


def test_repairs_come_back_and_are_carried_out_as_approved(job) -> None:
    script = failing(repair1_t2=[uses("new")])
    config = dump_yaml({"attempts": 1})
    found = said(job(script, do="run", config=config))
    (repairs,) = found["repairs"]
    assert repairs["number"] == 1 and repairs["plan"]["tasks"][0]["id"] == "repair1-t2"
    assert repairs["spots"][0]["path"] == "b.py" and repairs["spots"][0]["line"] == 4
    (outcome,) = found["outcome"]
    assert outcome["state"] == "held"
    amended = {**repairs["plan"]}
    amended["tasks"] = [{**amended["tasks"][0], "goal": "use the new name, please"}]
    approved = {repairs["origin"]: amended}
    found = said(job(script, do="recover", config=config, repairs=approved))
    assert found["outcome"][0]["state"] == "done", found
    root = Path(job().folder)
    assert "please" in git(root, "log", "-1", "--format=%B")


@pytest.mark.parametrize("again", ["approved", "declined", "another"])
def test_repairs_are_decided_on_by_what_they_are(job, again: str) -> None:
    script = failing(repair1_t2=[uses("new")])
    config = dump_yaml({"attempts": 1})
    (repairs,) = said(job(script, do="run", config=config))["repairs"]
    chosen = {
        "approved": {repairs["origin"]: repairs["plan"]},
        "declined": {repairs["origin"]: None},
        "another": {"0" * 64: repairs["plan"]},
    }[again]
    found = said(job(script, do="recover", config=config, repairs=chosen))
    state = {"approved": "done", "declined": "failed", "another": "held"}[again]
    assert found["outcome"][0]["state"] == state
    assert ("repairs" in found) is (again == "another")


def test_a_plan_that_its_base_no_longer_bears_out_does_not_run(job) -> None:
    plan = {"request": "x", "tasks": TASKS[:1]}
    assert grounded(plan, job().folder) != plan
    (outcome,) = said(job(do="run", plan=plan))["outcome"]
    assert outcome["state"] == "declined" and outcome["waves"] == []


def slow(seconds: float) -> dict[str, list[dict[str, Any]]]:
    return {
        "t1": [{**RENAMED, "delay_s": seconds}],
        "t2": [uses("new")],
    }


def test_it_is_told_how_far_to_go(job) -> None:
    (outcome,) = said(job(do="run", last_wave=0))["outcome"]
    assert outcome["state"] == "held" and outcome["waves"] == []
    process = Process(job(slow(2), do="recover"), environment())
    process.go_as_far_as(1)
    kinds = []
    while not process.is_over:
        kinds += (process.next(60) or {}).items()
    process.close()
    (outcome,) = [what for kind, what in kinds if kind == "outcome"]
    assert outcome["state"] == "held" and len(outcome["waves"]) == 1


def test_it_stops_in_good_order_and_goes_on(job) -> None:
    process = Process(job(slow(30), do="run"), environment())
    while "TaskStarted" not in str(process.next(60)):
        pass
    began = time.monotonic()
    process.stop()
    assert time.monotonic() - began < 25
    found = said(job(do="recover"))
    assert found["outcome"][0]["state"] == "done"


def test_it_has_no_more_in_its_environment_than_it_is_given(job) -> None:
    command = [{"name": "look", "command": "env > looked; exit 1"}]
    config = dump_yaml({"checks": {"commands": command}, "attempts": 1})
    os.environ["MAK_CANARY_TOKEN"] = "ghs_canary"
    try:
        found = said(job(do="run", config=config))
    finally:
        del os.environ["MAK_CANARY_TOKEN"]
    assert "ghs_canary" not in json.dumps(found)
