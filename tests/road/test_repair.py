"""What a wave leaves broken is put right, and never by undoing it, or the run says what is left."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from mak import kernel, runlog
from mak.cli.main import main
from mak.config import Config, Repair
from mak.events import (
    RepairPlanned,
    RepairStopped,
    ReplyRejected,
    Reviewed,
    TaskStarted,
    WaveCommitted,
)
from mak.kernel import Decision, Review
from mak.model import Outcome, Plan, RepairStop, RunState, TaskState
from mak.plan import parse_plan
from mak.store import Store
from tests.conftest import git
from tests.road.conftest import Road, edited, environment, reply, task, unchanged

A = "def old():\n    return 1\n\n\ndef other():\n    return 2\n"
B = "import a\n\n\ndef use():\n    return a.old()\n"
FILES = {"a.py": A, "b.py": B}
TASKS = [
    task("t1", "a.py::old#api", goal="rename old to new"),
    task("t2", "b.py::use", goal="use the new name", depends_on=["t1"]),
]
RENAMED = reply(edited("n1", "def new():\n    return 1\n"))


def uses(name: str) -> dict[str, Any]:
    return reply(edited("n1", f"def use():\n    return a.{name}()\n"))


def failing(**repairs: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return a script in which the second task is lost, so that its user is left behind."""
    refused = [{"status": "refused"}]
    return {"t1": [RENAMED], "t2": refused, **{k.replace("_", "-"): v for k, v in repairs.items()}}


def config(attempts: int = 1, waves: int = 5) -> Config:
    return Config(attempts=attempts, repair=Repair(max_waves=waves))


def test_what_a_lost_task_leaves_broken_is_put_right(make_road) -> None:
    road = make_road(FILES)
    outcome = road.run(TASKS, failing(repair1_t2=[uses("new")]), config=config())
    assert outcome.state is RunState.DONE, outcome
    assert "a.new()" in road.text("b.py")
    assert [wave.tasks for wave in outcome.waves] == [("t1",), ("repair1-t2",)]
    assert outcome.tasks["t2"].state is TaskState.DONE
    (planned,) = road.of(RepairPlanned)
    assert planned.levels == (("repair1-t2",),)
    assert "b.py::use" in planned.obligations[0]
    document = json.loads(git(road.root, "show", f"refs/mak/runs/{outcome.run}:repair-001.json"))
    (repair,) = document["plan"]["tasks"]
    assert repair["repairs"] == "t2" and repair["goal"] == "use the new name"
    assert repair["obligations"][0]["site"] == "b.py::use"
    trailers = git(road.root, "log", "-1", "--format=%(trailers:only,unfold)").splitlines()
    assert "MAK-Kind: repair" in trailers and "MAK-Tasks: repair1-t2" in trailers


# I23
@pytest.mark.parametrize("answer", [uses("wrong"), uses("old")], ids=["another", "the same"])
def test_another_wrong_name_at_the_same_place_is_refused(make_road, answer) -> None:
    road = make_road(FILES)
    script = failing(repair1_t2=[answer, uses("new")])
    outcome = road.run(TASKS, script, config=config(attempts=2))
    assert outcome.state is RunState.DONE
    assert outcome.tasks["repair1-t2"].attempts == 2
    assert "a.new()" in road.text("b.py")
    assert len(road.of(WaveCommitted)) == 2


# I23
def test_no_change_required_closes_nothing_that_is_still_so(make_road) -> None:
    road = make_road(FILES)
    script = failing(repair1_t2=[reply(unchanged("n1")), uses("new")])
    outcome = road.run(TASKS, script, config=config(attempts=2))
    assert outcome.state is RunState.DONE
    (rejected,) = road.of(ReplyRejected)
    assert "old" in rejected.reason and rejected.task == "repair1-t2"


def test_taking_back_what_was_asked_for_is_no_repair(make_road) -> None:
    """The request was to use `fresh`; who was to write it is lost. To go back to `old` makes the
    finding go away and the request with it."""
    road = make_road(FILES)
    tasks = [
        task("t1", "b.py::use", goal="use fresh"),
        task("t2", creates=["a.py::fresh"], goal="write fresh", depends_on=["t1"]),
    ]
    fresh = "def fresh():\n    return 3\n"
    script = {
        "t1": [uses("fresh")],
        "t2": [{"status": "refused"}],
        "repair1-t2": [
            reply(unchanged("n2"), edited("n1", "def use():\n    return a.old()\n")),
            reply(unchanged("n1"), edited("n2", fresh)),
        ],
    }
    outcome = road.run(tasks, script, config=config(attempts=2))
    assert outcome.state is RunState.DONE, outcome
    (rejected,) = road.of(ReplyRejected)
    assert "takes back what was asked for" in rejected.reason
    assert "a.fresh()" in road.text("b.py") and fresh in road.text("a.py")


def test_what_nobody_can_provide_is_writable_for_the_repair(make_road) -> None:
    """No task writes `fresh`, and who landed uses it: the repair may add it where it is missing."""
    road = make_road(FILES)
    tasks = [
        task("t1", "b.py::use", goal="use fresh"),
        task("t2", "a.py::other", goal="mind other", depends_on=["t1"]),
    ]
    fresh = "def fresh():\n    return 3\n"
    script = {
        "t1": [uses("fresh")],
        "t2": [{"status": "refused"}],
        "repair1-1": [reply(unchanged("n1"), edited("n2", fresh))],
    }
    outcome = road.run(tasks, script, config=config())
    (started,) = [e for e in road.of(TaskStarted) if e.task == "repair1-1"]
    assert started.nodes == ("b.py::use", "a.py::fresh")
    assert "a.fresh()" in road.text("b.py") and fresh in road.text("a.py")
    assert outcome.findings == ()
    assert outcome.tasks["repair1-1"].state is TaskState.DONE


def test_deleting_what_was_added_is_no_repair(make_road) -> None:
    road = make_road({**FILES, "b.py": B + "\n\ndef more():\n    return 0\n"})
    tasks = [
        task("t1", creates=["b.py::feature"], goal="add a feature that uses fresh"),
        task("t2", creates=["a.py::fresh"], goal="write fresh", depends_on=["t1"]),
    ]
    feature = "def feature():\n    return a.fresh()\n"
    whole = {"node": "n1", "status": "no_changes_required", "new_source": "", "reason": "gone"}
    script = {
        "t1": [reply(edited("n1", feature))],
        "t2": [{"status": "refused"}],
        "repair1-t2": [
            reply(unchanged("n2"), deletes=[{"node": "n1"}]),
            reply(whole, edited("n2", "def fresh():\n    return 3\n")),
        ],
    }
    outcome = road.run(tasks, script, config=config(attempts=2))
    assert outcome.state is RunState.DONE, outcome
    (rejected,) = road.of(ReplyRejected)
    assert "b.py::feature was asked for and has to stay" in rejected.reason
    assert feature in road.text("b.py")


def test_the_same_twice_is_stalled(make_road) -> None:
    road = make_road(FILES)
    outcome = road.run(TASKS, failing(repair1_t2=[uses("old")]), config=config())
    assert outcome.state is RunState.FAILED and outcome.stopped is RepairStop.STALLED
    (stopped,) = road.of(RepairStopped)
    assert stopped.why == "stalled" and "b.py::use" in stopped.outstanding[0]
    assert "b.py::use" in outcome.reason and "old" in outcome.findings[0].message


OSCILLATING = failing(repair1_t2=[uses("wrong")], repair2_t2=[uses("old")])


def test_from_one_error_to_another_and_back_is_oscillating(make_road) -> None:
    road = make_road(FILES)
    outcome = road.run(TASKS, OSCILLATING, config=config())
    assert outcome.stopped is RepairStop.OSCILLATING, outcome
    assert outcome.state is RunState.FAILED and "oscillating" in outcome.reason
    assert [event.number for event in road.of(RepairPlanned)] == [1, 2]
    assert road.text("b.py") == B
    assert [wave.tasks for wave in outcome.waves] == [("t1",)]


def test_repairs_have_a_limit(make_road) -> None:
    road = make_road(FILES)
    script = failing(**{f"repair{n}_t2": [uses(f"wrong{n}")] for n in range(1, 9)})
    outcome = road.run(TASKS, script, config=config(waves=3))
    assert outcome.stopped is RepairStop.LIMIT
    assert len(road.of(RepairPlanned)) == 3


def test_no_repairs_at_all_is_a_limit_of_zero(make_road) -> None:
    road = make_road(FILES)
    outcome = road.run(TASKS, failing(), config=config(waves=0))
    assert outcome.stopped is RepairStop.LIMIT and road.of(RepairPlanned) == []
    assert outcome.findings


# ------------------------------------------------------------------------------------- review


def reviewed(road: Road, script: Mapping[str, Any], *decide: Any) -> Outcome:
    """Carry out the plan with a person who decides on each review in turn."""
    decisions = iter(decide)

    async def review(found: Review) -> Decision:
        return next(decisions)(found)

    options = kernel.Options(
        config=config(),
        models=(f"scripted:{road._script(script)}",),
        planner="builtin",
        review=review,
        emit=road._emit,
    )
    plan = parse_plan({"request": "the request", "tasks": TASKS})

    async def carry_out() -> Outcome:
        with Store.open(road.root) as store:
            return await kernel.run(store, plan, options)

    return anyio.run(carry_out)


def approve(found: Review) -> Decision:
    return Decision(approved=True)


def decline(found: Review) -> Decision:
    return Decision(approved=False)


def without_obligations(found: Review) -> Decision:
    """Keep the repair and take away what it has to put right; hand its work to nobody."""
    tasks = [replace(each, obligations=(), goal="look busy") for each in found.plan.tasks]
    return Decision(approved=True, plan=replace(found.plan, tasks=tuple(tasks)))


def test_a_repair_plan_is_reviewed_like_the_first(make_road) -> None:
    road = make_road(FILES)
    outcome = reviewed(road, failing(repair1_t2=[uses("new")]), approve, approve)
    assert outcome.state is RunState.DONE
    assert [event.approved for event in road.of(Reviewed)] == [True, True]


def test_repairs_that_are_declined_are_named(make_road) -> None:
    road = make_road(FILES)
    outcome = reviewed(road, failing(), approve, decline)
    assert outcome.state is RunState.FAILED and outcome.reason == "its repairs were declined"
    assert "old" in outcome.findings[0].message


# I23
def test_a_person_cannot_take_an_obligation_from_a_repair(make_road) -> None:
    road = make_road(FILES)
    seen: list[Review] = []

    def look(found: Review) -> Decision:
        seen.append(found)
        return Decision(approved=True)

    script = failing(repair1_t2=[uses("old")])
    outcome = reviewed(road, script, approve, without_obligations, look)
    assert seen[0].plan.tasks[0].obligations and seen[0].plan.tasks[0].repairs == "t2"
    assert any("stays as it is" in remark for remark in seen[0].remarks)
    assert outcome.stopped is RepairStop.STALLED


def test_a_first_plan_cannot_bring_obligations_of_its_own(make_road) -> None:
    road = make_road(FILES)
    given = {"check": "gate:none", "subject": "nothing", "landed": False}
    outcome = road.run(
        [task("t", "a.py::other", obligations=[given], repairs="x")],
        {"t": [reply(edited("n1", "def other():\n    return 3\n"))]},
    )
    assert outcome.state is RunState.DONE
    with Store.open(road.root, write=False) as store:
        plan = runlog.read_plan(store, outcome.run)
    assert isinstance(plan, Plan) and plan.tasks[0].obligations == ()


def test_show_tells_repairs_and_what_they_owe(make_road, capsys) -> None:
    road = make_road(FILES)
    outcome = road.run(TASKS, failing(repair1_t2=[uses("old")]), config=config())
    assert main(["show", outcome.run, "--work-dir", str(road.root)]) == 0
    told = capsys.readouterr().out
    assert "repair plan 1" in told and "stopped  repairs: stalled" in told
    assert "repairs  t2" in told and "owes     interface at b.py::use: a.py::old is gone" in told
    assert main(["show", outcome.run, "--json", "--work-dir", str(road.root)]) == 0
    document = json.loads(capsys.readouterr().out)
    (plan,) = document["repairs"]
    assert plan["tasks"][0]["obligations"][0]["check"] == "interface"
    assert document["outcome"]["stopped"] == "stalled"
    assert main(["show", outcome.run, "--task", "repair1-t2", "--work-dir", str(road.root)]) == 0


def test_a_repair_that_nobody_can_review_waits(make_road) -> None:
    """A run that was cut off is taken up without a terminal: its repair plan is not lost."""
    road = make_road(FILES)
    script = failing(repair1_t2=[uses("new")])
    assert killed(road, "flushed", 4, script) == -9
    command = [sys.executable, "-m", "mak", "run", "--recover"]
    done = subprocess.run(
        command,
        cwd=road.root,
        capture_output=True,
        text=True,
        env=environment(),
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 1 and "no terminal to ask at" in done.stdout, done
    again = subprocess.run(
        [*command, "--no-review"], cwd=road.root, capture_output=True, text=True, env=environment()
    )
    assert again.returncode == 0, again.stderr
    assert "a.new()" in road.text("b.py")


# --------------------------------------------------------------------------------------- kills


def killed(road: Road, phase: str, nth: int, script: Mapping[str, Any]) -> int:
    """Carry the plan out in a process that kills itself; return its exit code."""
    driver = Path(__file__).with_name("killed.py")
    (road.root / ".mak").mkdir(exist_ok=True)
    (road.root / ".mak/config.yaml").write_text("attempts: 1\nrepair: {max_waves: 5}\n")
    return subprocess.run(
        [sys.executable, str(driver), phase, str(nth), *road.command(TASKS, script)],
        cwd=road.root,
        capture_output=True,
        env=environment(),
    ).returncode


def recovered(road: Road) -> Outcome:
    options = kernel.Options(config=config(), models=(), planner="builtin", emit=road._emit)

    async def carry_out() -> Outcome:
        with Store.open(road.root) as store:
            return await kernel.recover(store, "", options)

    return anyio.run(carry_out)


@pytest.mark.parametrize("nth", range(2, 9))
def test_a_swap_is_oscillating_also_after_a_kill(make_road, nth: int) -> None:
    """Killed after each of the flushes of the record: in the first plan, before a repair plan is
    approved, after it, and with its answer parked but not judged."""
    road = make_road(FILES)
    code = killed(road, "flushed", nth, OSCILLATING)
    outcome = recovered(road) if code == -9 else None
    if outcome is None:
        assert nth > 6, "the run should not have ended yet"
        return
    assert outcome.stopped is RepairStop.OSCILLATING, (nth, outcome)
    assert road.text("b.py") == B
    assert [wave.tasks for wave in outcome.waves] == [("t1",)]


@pytest.mark.parametrize("phase", ["P1", "P3", "P4", "P6", "P7"])
def test_a_repair_that_was_cut_off_in_its_commit_goes_on(make_road, phase: str) -> None:
    road = make_road(FILES)
    driver = Path(__file__).with_name("killed.py")
    command = road.command(TASKS, failing(repair1_t2=[uses("new")]))
    done = subprocess.run(
        [sys.executable, str(driver), phase, "2", *command],
        cwd=road.root,
        capture_output=True,
        env=environment(),
    )
    assert done.returncode == -9, done.stderr
    outcome = recovered(road)
    assert outcome.state is RunState.DONE, outcome
    assert [wave.tasks for wave in outcome.waves] == [("t1",), ("repair1-t2",)]
    assert "a.new()" in road.text("b.py")
    assert git(road.root, "status", "--porcelain") == ""
