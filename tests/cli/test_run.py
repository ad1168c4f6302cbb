"""`mak run` and the commands that look back, on real repositories with scripted agents."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mak.cli import render
from mak.cli.main import main
from mak.cli.progress import Progress
from mak.model import Finding, NodeId, Outcome, RunState, TaskOutcome, TaskState
from tests.conftest import git

FILES = {
    "a.py": '"""A."""\n\n\ndef f():\n    return 1\n\n\ndef g():\n    return 2\n',
    "b.py": '"""B."""\n\n\ndef h():\n    return 3\n',
}


def becomes(node: str, source: str, **more: Any) -> dict[str, Any]:
    """Return an attempt that rewrites one node."""
    result = {"node": node, "status": "edited", "new_source": source}
    return {"reply": {"results": [result], "notes": "as asked"}, **more}


PLAN = {
    "request": "count up",
    "tasks": [
        {"id": "one", "goal": "f returns 10", "writes": ["a.py::f"]},
        {"id": "two", "goal": "g returns 20", "writes": ["a.py::g"]},
        {"id": "three", "goal": "h returns 30", "writes": ["b.py::h"], "depends_on": ["one"]},
    ],
}
GOOD = {
    "one": [becomes("a.py::f", "def f():\n    return 10\n", usage={"input": 1000, "output": 50})],
    "two": [
        becomes("a.py::g", "def g(:\n"),
        becomes("a.py::g", "def g():\n    return 20\n"),
    ],
    "three": [becomes("b.py::h", "def h():\n    return 30\n")],
}


@dataclass
class Desk:
    """A repository with a plan and a script beside it."""

    root: Path
    plan: Path
    script: Path

    def args(self, *more: str, review: bool = False) -> list[str]:
        """Return arguments that carry out the plan."""
        where = ["--work-dir", str(self.root), "--models", f"scripted:{self.script}"]
        return [
            "run",
            "--plan",
            str(self.plan),
            *where,
            *([] if review else ["--no-review"]),
            *more,
        ]

    def answers(self, tasks: dict[str, Any]) -> None:
        """Replace the script."""
        self.script.write_text(json.dumps({"tasks": tasks}))

    def at(self, command: str, *more: str) -> list[str]:
        """Return the arguments of another command."""
        return [command, *more, "--work-dir", str(self.root)]

    def text(self, path: str) -> str:
        """Return a file of the working tree."""
        return (self.root / path).read_text()


@pytest.fixture
def desk(make_repo: Callable[..., Path], tmp_path: Path) -> Iterator[Desk]:
    found = Desk(make_repo(FILES), tmp_path / "plan.json", tmp_path / "script.json")
    found.plan.write_text(json.dumps(PLAN))
    found.answers(GOOD)
    yield found
    assert git(found.root, "fsck", "--no-dangling") == ""


def latest(desk: Desk, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """Return what `mak log` says of the newest run."""
    capsys.readouterr()
    assert main(desk.at("log", "--json")) == 0
    entry: dict[str, Any] = json.loads(capsys.readouterr().out)[0]
    return entry


def test_run_that_lands_tells_what_and_what_to_type_next(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(desk.args()) == 0
    out, err = capsys.readouterr()
    first, second = git(desk.root, "log", "--format=%H", "-2").split()[::-1]
    lines = out.splitlines()
    assert "is done: 3 of 3 tasks landed in 2 commits on main" in lines[0]
    assert lines[1].split()[0] == first[:10] and "one, two" in lines[2]
    assert lines[3].split()[0] == second[:10] and "three" in lines[4]
    assert lines[5] == "Used: 1.0k tokens in, 50 out, 4 calls, $0.00"
    assert lines[6].startswith("Next: mak show r")
    assert "reject   two (attempt 1): " in err
    assert "commit   wave 2: " in err
    assert "return 10" in desk.text("a.py") and "return 20" in desk.text("a.py")
    assert git(desk.root, "status", "--porcelain") == ""


def test_json_is_one_document_on_stdout(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    base = git(desk.root, "rev-parse", "HEAD").strip()
    assert main(desk.args("--json")) == 0
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert {
        "run", "state", "base", "head", "waves", "tasks", "findings", "usage", "cost"
    } <= set(document)  # fmt: skip
    assert (document["state"], document["base"]) == ("done", base)
    assert document["head"] == git(desk.root, "rev-parse", "HEAD").strip()
    assert [wave["tasks"] for wave in document["waves"]] == [["one", "two"], ["three"]]
    assert document["tasks"]["two"]["attempts"] == 2
    assert document["tasks"]["one"]["usage"]["input"] == 1000
    assert document["findings"] == []
    assert "is done: 3 of 3 tasks landed" in err


def test_a_corrected_id_is_reported_at_the_run_and_in_json(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    """With --json it was on stderr only: a program could not tell what was changed instead."""
    (desk.root / "n.py").write_text("def load_user(x):\n    return x\n")
    git(desk.root, "add", "n.py")
    git(desk.root, "commit", "-qm", "n")
    plan = desk.root.parent / "near.yaml"
    nodes = "writes: ['n.py::load_usr#api'], creates: ['n.py::g']"
    plan.write_text(f"request: r\ntasks: [{{id: t1, goal: rename n.load_user to g, {nodes}}}]\n")
    given = ["run", "--plan", str(plan), "--no-review", "--models", "builtin", "--json"]
    assert main([*given, "--work-dir", str(desk.root)]) == 0
    out, err = capsys.readouterr()
    said = "t1: writes n.py::load_usr#api, taken as n.py::load_user#api"
    assert json.loads(out)["remarks"] == [said]
    assert said in err


def test_run_that_fails_names_what_did_not_land_and_why(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    busy = {"error": {"kind": "overloaded", "message": "come back later"}}
    desk.answers({**GOOD, "one": [busy]})
    assert main(desk.args()) == 1
    out = capsys.readouterr().out
    assert "failed: 1 of 3 tasks landed in 1 commit on main" in out
    lost = out.split("Not landed\n")[1]
    assert "one  failed" in lost and "come back later" in lost
    assert "three  skipped: one" in lost
    assert "return 3\n" in desk.text("b.py")


def test_cause_of_a_failed_whole_is_told_once(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.plan.write_text(json.dumps({**PLAN, "atomic": True}))
    desk.answers({**GOOD, "two": [{"error": {"kind": "overloaded", "message": "come back later"}}]})
    assert main(desk.args()) == 1
    out = capsys.readouterr().out
    assert out.count("come back later") == 1
    assert out.count("two failed, and this plan lands as a whole or not at all") == 1
    assert "two  failed: " in out
    assert "  and 2 others (one, three) with it\n" in out
    assert main(desk.at("show")) == 0
    shown = capsys.readouterr().out
    assert shown.count("lands as a whole") == 1 and shown.count("come back later") == 1


def ended(state: RunState, tasks: dict[str, TaskOutcome], **more: Any) -> str:
    outcome = Outcome("r1", state, "", "", tasks=tasks, **more)
    return "\n".join(line.text for line in render.outcome(outcome, Progress(), "refs/heads/main"))


def test_what_is_left_to_a_person_is_told_without_a_review(
    make_repo: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    texts = "".join("    getattr(f, 'f', None)\n" for n in range(25))
    repo = make_repo({"a.py": f"def f():\n{texts}"})
    where = ["--work-dir", str(repo)]
    assert main(["run", "--task", "rename a.f to first", "--no-review", *where]) == 0
    out, err = capsys.readouterr()
    remark = "a.py:2: the string 'f' is left as it is"
    assert f"         left to a person: {remark}\n" in err
    left = out.partition("Left to a person\n")[2].splitlines()
    assert left[0] == f"  {remark}"
    assert left[20].startswith("  and ") and left[20].endswith(" more")
    assert left[21].startswith("Used: ")
    assert main(["show", *where]) == 0
    shown = capsys.readouterr().out
    assert f"         left to a person: {remark}\n" in shown
    assert len(shown.partition("decided")[2].partition("\n\n")[0].splitlines()) == 21


def test_finding_that_many_tasks_are_blamed_for_is_told_once() -> None:
    finding = Finding("names", NodeId("a.py", "f"), "g is not defined", 3)
    lost = TaskOutcome(TaskState.FAILED, 1, "names: g is not defined")
    text = ended(RunState.FAILED, dict.fromkeys("abcdef", lost), findings=(finding,) * 6)
    assert text.count("g is not defined") == 1
    assert "a  failed: names: g is not defined\n  and 5 others (b, c, d and 2 more) like" in text
    other = Finding("names", NodeId("a.py", "f"), "h is not defined")
    text = ended(RunState.FAILED, {"a": lost}, findings=(other, other))
    assert text.count("a.py::f  names: h is not defined") == 1


def test_interrupted_run_counts_what_is_left_instead_of_listing_it() -> None:
    tasks = {f"t{n}": TaskOutcome(TaskState.SETTLED if n < 12 else TaskState.PENDING) for n in
             range(45)}  # fmt: skip
    text = ended(RunState.INTERRUPTED, tasks, reason="interrupted")
    assert "12 of 45 tasks were settled, 33 not started; nothing is lost" in text
    assert "t20" not in text and "Not landed" not in text
    assert text.endswith("Next: mak run --recover r1")


def test_log_and_show_tell_what_agents_said(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(desk.args()) == 0
    entry = latest(desk, capsys)
    assert (entry["state"], entry["request"], entry["tasks"], entry["done"]) == (
        "done",
        "count up",
        3,
        3,
    )
    run = entry["run"]
    assert main(desk.at("log")) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith(run)

    assert main(desk.at("show", run[:-1])) == 0
    shown = capsys.readouterr().out
    assert f"run      {run} (done)" in shown
    assert "wave 1   " in shown and "wave 2   " in shown
    assert "edit    a.py::f (2 lines)" in shown
    assert "notes   as asked" in shown
    assert "refused " in shown and "attempt 2: scripted:" in shown

    assert main(desk.at("show", "--task", "two")) == 0
    told = capsys.readouterr().out
    assert "--- attempt 1: a.py::g (1 line)\ndef g(:\n" in told
    assert "--- attempt 2: a.py::g (2 lines)\ndef g():\n    return 20\n" in told

    assert main(desk.at("show", "--events")) == 0
    assert "  commit   wave 2: " in capsys.readouterr().out

    assert main(desk.at("show", "--json")) == 0
    document = json.loads(capsys.readouterr().out)
    assert [(r["task"], r["attempt"]) for r in document["replies"]] == [
        ("one", 1),
        ("three", 1),
        ("two", 1),
        ("two", 2),
    ]
    assert document["outcome"]["state"] == "done"
    assert [wave["tasks"] for wave in document["waves"]] == [["one", "two"], ["three"]]


def test_plan_of_a_run_can_be_run_again(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(desk.args()) == 0
    capsys.readouterr()
    assert main(desk.at("show", "--plan")) == 0
    desk.plan = desk.plan.with_suffix(".yaml")
    desk.plan.write_text(capsys.readouterr().out)
    desk.answers({**GOOD, "two": GOOD["two"][1:]})
    assert main(desk.args()) == 0
    assert "3 of 3 tasks landed" in capsys.readouterr().out


def test_looking_back_needs_the_refs_only(
    desk: Desk, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(desk.args()) == 0
    mirror = tmp_path / "mirror.git"
    git(tmp_path, "clone", "-q", "--mirror", str(desk.root), str(mirror))
    capsys.readouterr()
    for command in ("log", "show", "locks"):
        assert main([command, "--work-dir", str(desk.root)]) == 0
        here = capsys.readouterr()
        assert main([command, "--work-dir", str(mirror)]) == 0
        assert capsys.readouterr() == here


# I15
def test_undo_is_a_new_commit_with_the_old_content(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    base = git(desk.root, "rev-parse", "HEAD^{tree}")
    assert main(desk.args()) == 0
    head = git(desk.root, "rev-parse", "HEAD").strip()
    capsys.readouterr()
    assert main(desk.at("undo", "--json")) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["paths"] == ["a.py", "b.py"]
    assert len(document["undone"]) == 2
    assert git(desk.root, "rev-parse", "HEAD").strip() == document["commit"]
    assert git(desk.root, "rev-parse", "HEAD^").strip() == head
    assert git(desk.root, "rev-parse", "HEAD^{tree}") == base
    assert git(desk.root, "status", "--porcelain") == ""


def test_undo_passes_over_runs_that_changed_nothing(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(desk.args()) == 0
    run = latest(desk, capsys)["run"]
    request = ["--task", "rename function a.nothing to b", "--models", "builtin", "--no-review"]
    assert main(desk.at("run", *request)) == 1
    assert latest(desk, capsys)["run"] != run
    assert main(desk.at("undo")) == 0
    assert f"Took back 2 commits of {run}" in capsys.readouterr().out
    assert main(desk.at("undo")) == 1
    assert f"undoing {run}: it was undone already" in capsys.readouterr().err


def test_undo_takes_the_last_run_that_has_commits_on_this_branch(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(desk.args()) == 0
    run = latest(desk, capsys)["run"]
    git(desk.root, "switch", "-q", "-c", "other")
    request = ["--task", "rename a.f to first", "--models", "builtin", "--no-review"]
    assert main(desk.at("run", *request)) == 0
    git(desk.root, "switch", "-q", "main")
    assert main(desk.at("undo")) == 0
    assert f"Took back 2 commits of {run}" in capsys.readouterr().out
    git(desk.root, "reset", "-q", "--hard", "HEAD~3")
    assert main(desk.at("undo")) == 2
    assert "no run has a commit on main" in capsys.readouterr().err


def test_log_and_show_tell_that_a_run_was_undone(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(desk.args()) == 0
    run = latest(desk, capsys)["run"]
    assert latest(desk, capsys)["undone"] == ""
    assert main(desk.at("show")) == 0
    assert capsys.readouterr().out.endswith(f"next     mak undo {run}\n")
    assert main(desk.at("undo")) == 0
    by = git(desk.root, "rev-parse", "HEAD").strip()
    assert (latest(desk, capsys)["state"], latest(desk, capsys)["undone"]) == ("done", by)
    assert main(desk.at("log")) == 0
    assert "undone on main" in capsys.readouterr().out
    assert main(desk.at("show")) == 0
    out = capsys.readouterr().out
    assert f"run      {run} (undone)" in out and out.endswith(f"undone   by {by[:10]}\n")
    git(desk.root, "reset", "-q", "--hard", "HEAD~1")
    assert main(desk.at("log")) == 0
    assert "done on main" in capsys.readouterr().out


def test_log_shows_what_was_asked_for_and_where_it_says_why_that_was_refused(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    """An error stood in the column of requests."""
    assert main(desk.at("run", "--task", "make it\nnicer", "--no-review")) == 1
    capsys.readouterr()
    assert main(desk.at("log")) == 0
    out, err = capsys.readouterr()
    _, row = out.splitlines()
    assert "refused on main" in row and "  -  " in row
    assert row.endswith("  make it nicer")
    command = err.removeprefix("Why one was refused: mak ").split()
    assert main(desk.at(*command)) == 0
    assert "does not understand 'make it'" in capsys.readouterr().out


def test_undo_keeps_what_was_written_since_in_other_nodes(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.answers({**GOOD, "two": [{"reply": _unchanged("a.py::g")}]})
    assert main(desk.args()) == 0
    path = desk.root / "a.py"
    path.write_text(path.read_text().replace("return 2\n", "return 22\n"))
    git(desk.root, "commit", "-qam", "by hand")
    capsys.readouterr()
    assert main(desk.at("undo")) == 0
    assert "Took back 2 commits of r" in capsys.readouterr().out
    assert path.read_text() == FILES["a.py"].replace("return 2\n", "return 22\n")


def test_undo_refuses_what_was_changed_since_and_names_it(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(desk.args()) == 0
    path = desk.root / "a.py"
    path.write_text(path.read_text().replace("return 10", "return 11"))
    git(desk.root, "commit", "-qam", "by hand")
    head = git(desk.root, "rev-parse", "HEAD")
    capsys.readouterr()
    assert main(desk.at("undo")) == 1
    assert "a.py::f" in capsys.readouterr().err
    assert git(desk.root, "rev-parse", "HEAD") == head
    assert "return 11" in path.read_text()


def _unchanged(node: str) -> dict[str, Any]:
    return {"results": [{"node": node, "status": "no_changes_required", "reason": "fine"}]}


@pytest.mark.parametrize("command", ["show", "undo"])
def test_unknown_run_is_a_usage_error_that_names_the_nearest(
    command: str, desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(desk.at(command)) == 2
    assert "no run is recorded in this repository" in capsys.readouterr().err
    assert main(desk.args()) == 0
    run = latest(desk, capsys)["run"]
    assert main(desk.at(command, f"x{run}")) == 2
    assert f"did you mean {run!r}?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--models", "bultin"], "did you mean 'builtin'?"),
        (["--models", "scripted:/no/such/file"], "no such file or directory"),
        (["--config", "/no/such/file"], "no such file or directory"),
        (["--max-agents", "0"], "is not a whole number of at least 1"),
        (["--max-agents", "65"], "mak: max_agents: should be less than"),
        (["--branch", "no such branch"], "no such branch"),
    ],
)
def test_wrong_settings_end_before_anything_happens(
    more: list[str], message: str, desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    refs = git(desk.root, "for-each-ref")
    assert main(desk.args(*more)) == 2
    assert message in capsys.readouterr().err
    assert git(desk.root, "for-each-ref") == refs


def test_configuration_of_the_project_counts(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    (desk.root / ".mak").mkdir()
    (desk.root / ".mak" / "config.yaml").write_text("attempts: 1\n")
    assert main(desk.args()) == 1
    assert "two  failed" in capsys.readouterr().out
    (desk.root / ".mak" / "config.yaml").write_text("atempts: 1\n")
    assert main(desk.args()) == 2
    assert "config.yaml:1: unknown key 'atempts'; did you mean 'attempts'?" in (
        capsys.readouterr().err
    )


# ------------------------------------------------------------------------------------- planning


def test_plan_prints_a_file_that_runs(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(desk.at("plan", "--task", "rename a.f to first")) == 0
    out, err = capsys.readouterr()
    assert "Plan: 1 task in 1 wave" in err and "a.py::f#api" in err
    assert "mak run --plan FILE" in err
    desk.plan = desk.plan.with_suffix(".yaml")
    desk.plan.write_text(out)
    assert main(desk.at("run", "--plan", str(desk.plan), "--no-review")) == 0
    assert "def first():" in desk.text("a.py")
    capsys.readouterr()
    assert main(desk.at("plan", "--json", "--task", "rename a.first to f")) == 0
    (task,) = json.loads(capsys.readouterr().out)["tasks"]
    assert task["writes"] == ["a.py::first#api"]


def test_plan_changes_nothing(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    refs, files = git(desk.root, "for-each-ref"), sorted(desk.root.glob("*"))
    assert main(desk.at("plan", "--task", "rename a.f to first")) == 0
    assert git(desk.root, "for-each-ref") == refs
    assert sorted(desk.root.glob("*")) == files
    assert git(desk.root, "status", "--porcelain") == ""


@pytest.mark.parametrize("command", ["plan", "run"])
def test_request_that_nobody_understands_says_what_is_understood(
    command: str, desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    more = ["--no-review"] if command == "run" else []
    assert main(desk.at(command, "--task", "make it nicer", *more)) == 1
    err = capsys.readouterr().err
    assert "does not understand 'make it nicer'" in err
    assert "hint: " in err and "rename pkg.mod.f to g" in err and "--models" in err
    assert main(desk.at(command, "--task", "  ", *more)) == 2
    assert "--task is empty" in capsys.readouterr().err


def test_error_is_a_document_for_programs(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    for args, code, said in (
        (desk.at("run", "--task", "make it nicer", "--no-review", "--json"), 1, "understand"),
        (desk.at("run", "--task", "x", "--json"), 2, "no terminal to ask at"),
        (desk.at("undo", "--json", "r0"), 2, "r0"),
        (desk.at("log", "--json", "--nonsense"), 2, "unknown option '--nonsense'"),
    ):
        assert main(args) == code
        out, err = capsys.readouterr()
        document = json.loads(out)
        assert set(document) == {"error", "hint"}
        assert said in document["error"]
        assert document["error"] in err and document["hint"] in err
    assert main(desk.at("undo", "r0")) == 2
    assert capsys.readouterr().out == ""


# ------------------------------------------------------------------------------- interruptions


def start(desk: Desk, *args: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "mak", *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(process: subprocess.Popen[str], text: str) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        if text in line:
            return
    pytest.fail(f"the run ended without saying {text!r}")


SLOW = {**GOOD, "two": [becomes("a.py::g", "def g():\n    return 20\n", delay_s=30)]}
FAST = {**SLOW, "two": [becomes("a.py::g", "def g():\n    return 20\n")]}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_keeps_finished_work_and_recover_goes_on(
    number: signal.Signals, desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.answers(SLOW)
    process = start(desk, *desk.args())
    wait_for(process, "ok       one")
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert "was interrupted" in out
    run = latest(desk, capsys)["run"]
    assert f"Next: mak run --recover {run}" in out
    assert git(desk.root, "status", "--porcelain") == ""

    desk.answers({**FAST, "one": []})
    assert main(["run", "--recover", "--work-dir", str(desk.root), "--no-review"]) == 0
    out, err = capsys.readouterr()
    assert f"Run {run} is done: 3 of 3 tasks landed in 2 commits" in out
    assert "reply    one: edited" in err and "kept from before" in err


# I10
def test_killed_run_goes_on_without_asking_again(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.answers(SLOW)
    process = start(desk, *desk.args())
    wait_for(process, "ok       one")
    process.kill()
    process.communicate(timeout=30)
    entry = latest(desk, capsys)
    assert entry["state"] == "unfinished"
    assert main(desk.at("show")) == 0
    assert f"next     mak run --recover {entry['run']}" in capsys.readouterr().out

    desk.answers({**FAST, "one": []})
    assert main(["run", "--recover", entry["run"], "--work-dir", str(desk.root)]) == 0
    assert "3 of 3 tasks landed" in capsys.readouterr().out


def test_ctrl_c_while_planning_changes_nothing(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.script.write_text(json.dumps({"plan": [{"delay_s": 30, "raw": ""}]}))
    where = ["--work-dir", str(desk.root), "--models", f"scripted:{desk.script}"]
    process = start(desk, "run", "--task", "count up", "--no-review", *where)
    wait_for(process, "plan     asking")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Nothing was changed" in err
    assert latest(desk, capsys)["state"] == "interrupted"


def test_what_planning_took_is_known_after_a_kill(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was recorded with the plan, when that was approved."""
    spent = {"input": 700, "output": 30}
    desk.script.write_text(
        json.dumps({"plan": [{"raw": "no plan", "usage": spent}, {"delay_s": 30, "raw": ""}]})
    )
    where = ["--work-dir", str(desk.root), "--models", f"scripted:{desk.script}"]
    process = start(desk, "run", "--task", "count up", "--no-review", *where)
    for _ in range(2):
        wait_for(process, "plan     asking")
    process.kill()
    process.communicate(timeout=30)
    run = latest(desk, capsys)["run"]
    assert main(desk.at("show", run, "--json")) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["usage"]["input"], shown["usage"]["output"]) == (700, 30)


def test_recovering_passes_over_runs_whose_plan_was_never_approved(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.answers(SLOW)
    process = start(desk, *desk.args())
    wait_for(process, "ok       one")
    process.kill()
    process.communicate(timeout=30)
    run = latest(desk, capsys)["run"]
    script = desk.script.with_name("slow.json")
    script.write_text(json.dumps({"plan": [{"delay_s": 30, "raw": ""}]}))
    more = ["--task", "x", "--no-review", "--models", f"scripted:{script}"]
    process = start(desk, *desk.at("run", *more))
    wait_for(process, "plan     asking")
    process.kill()
    process.communicate(timeout=30)
    assert latest(desk, capsys)["state"] == "unfinished"

    desk.answers({**FAST, "one": []})
    assert main(["run", "--recover", "--work-dir", str(desk.root)]) == 0
    assert f"Run {run} is done: 3 of 3 tasks landed" in capsys.readouterr().out


def test_a_run_cut_off_before_its_plan_was_approved_is_not_denied(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    script = desk.script.with_name("slow.json")
    script.write_text(json.dumps({"plan": [{"delay_s": 30, "raw": ""}]}))
    more = ["--task", "x", "--no-review", "--models", f"scripted:{script}"]
    process = start(desk, *desk.at("run", *more))
    wait_for(process, "plan     asking")
    process.kill()
    process.communicate(timeout=30)
    run = latest(desk, capsys)["run"]
    assert main(["run", "--recover", "--work-dir", str(desk.root)]) == 2
    told = capsys.readouterr().err
    assert f"recovering {run}: it was cut off before its plan was approved" in told
    assert "start it again" in told


def test_a_request_before_the_first_commit_is_told_what_lacks(
    make_repo: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    root = make_repo({})
    (root / "a.py").write_text("def f():\n    return 1\n")
    git(root, "update-ref", "-d", "HEAD")
    at = ["--no-review", "--work-dir", str(root)]
    assert main(["run", "--task", "rename a.f to g", "--models", "builtin", *at]) == 1
    assert "nothing is committed yet: git add" in capsys.readouterr().err


def test_what_fails_at_the_commit_says_that_all_is_kept(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    """The signing program, a lock in the way: the hint named these, and not how to go on."""
    desk.answers(FAST)
    git(desk.root, "config", "commit.gpgsign", "true")
    git(desk.root, "config", "gpg.program", "/bin/false")
    assert main(desk.args()) == 1
    told = capsys.readouterr().err
    run = latest(desk, capsys)["run"]
    assert "gpg failed to sign" in told and f"mak run --recover {run}" in told
    git(desk.root, "config", "commit.gpgsign", "false")
    desk.answers({**FAST, "one": [], "two": []})
    assert main(["run", "--recover", "--work-dir", str(desk.root), "--no-review"]) == 0


def test_files_that_no_plan_can_name_are_named(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(8):
        (desk.root / f"new\nline{number}.py").write_text("")
    git(desk.root, "add", "-A")
    git(desk.root, "commit", "-qm", "odd names")
    desk.answers(FAST)
    assert main(desk.args()) == 0
    told = capsys.readouterr().err
    assert "left out new\\nline0.py: its name holds control characters" in told
    assert "left out 3 more" in told


def test_uncommitted_changes_are_refused_before_the_plan_is_approved(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    (desk.root / "b.py").write_text("mine = 1\n")
    assert main(desk.args()) == 1
    err = capsys.readouterr().err
    assert "the plan writes to files with uncommitted changes: b.py" in err
    assert "approved" not in err
    assert main(desk.args(review=True)) == 2  # no terminal here
    code, _, shown = on_terminal(desk.args(review=True), "")
    assert code == 1
    assert "[a]pprove" not in shown and "uncommitted changes: b.py" in shown


def test_edited_plan_that_writes_to_an_uncommitted_file_is_told_at_the_review(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    (desk.root / "b.py").write_text("mine = 1\n")
    other = desk.plan.with_name("other.json")
    other.write_text(json.dumps(PLAN))
    desk.plan.write_text(json.dumps({**PLAN, "tasks": PLAN["tasks"][:2]}))
    monkeypatch.setenv("EDITOR", f"cp '{other}'")
    code, _, shown = on_terminal(desk.args(review=True), "e\nq\n")
    assert code == 1
    assert "uncommitted changes: b.py" in shown and "was declined" not in shown
    Path(shown.partition("mak run --plan ")[2].split()[0]).unlink()


@pytest.mark.parametrize("command", ["run", "log"])
def test_detached_head_is_called_that(
    command: str, desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    git(desk.root, "switch", "-q", "--detach")
    assert main(desk.args()) == 0
    if command == "log":
        capsys.readouterr()
        assert main(desk.at("log")) == 0
    out, err = capsys.readouterr()
    assert "on a detached HEAD" in out
    assert "detached:" not in out + err


@pytest.mark.parametrize("command", ["log", "undo", "locks"])
def test_folder_outside_a_repository_is_a_usage_error(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "--work-dir", str(tmp_path)]) == 2
    assert "not in a Git repository" in capsys.readouterr().err


def test_run_goes_on_when_nobody_reads_its_progress(desk: Desk) -> None:
    command = " ".join(f"'{word}'" for word in [sys.executable, "-m", "mak", *desk.args("--json")])
    out = desk.root.parent / "out.json"
    subprocess.run(f"{command} 2>&1 >'{out}' | head -n 1", shell=True, check=True, timeout=60)
    assert json.loads(out.read_text())["state"] == "done"


def test_nothing_to_recover_is_a_usage_error(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "--recover", "--work-dir", str(desk.root)]) == 2
    assert "no run on main was cut off" in capsys.readouterr().err


# ------------------------------------------------------------------------------ on a terminal


def on_terminal(args: list[str], keys: str | signal.Signals) -> tuple[int, str, str]:
    """Run `mak` with stdin and stderr on a terminal; type `keys`, or send it, at the question."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "mak", *args],
        stdin=theirs,
        stderr=theirs,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TERM": "xterm-256color", "NO_COLOR": "1"},
        start_new_session=True,
    ) as process:
        os.close(theirs)
        shown, typed = "", False
        while True:
            try:
                data = os.read(ours, 65_536)
            except OSError:
                break
            if not data:
                break
            shown += data.decode(errors="replace")
            if not typed and "\n> " in shown:
                typed = True
                if isinstance(keys, signal.Signals):
                    process.send_signal(keys)
                else:
                    os.write(ours, keys.encode())
        assert process.stdout is not None
        out = process.stdout.read()
        code = process.wait(timeout=60)
    os.close(ours)
    return code, out, shown


def test_plan_that_is_approved_at_the_terminal_runs(desk: Desk) -> None:
    code, out, shown = on_terminal(desk.args("--json", review=True), "a\n")
    assert code == 0
    assert json.loads(out)["state"] == "done"
    assert "Plan: 3 tasks in 2 waves" in shown
    assert "ok       one: a.py::f" in shown


@pytest.mark.parametrize("ended_by", [signal.SIGINT, signal.SIGTERM])
def test_what_ends_mak_at_the_review_changes_nothing(
    ended_by: signal.Signals, desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    before = git(desk.root, "rev-parse", "HEAD")
    code, _, shown = on_terminal(desk.args(review=True), ended_by)
    assert code == 130, shown
    assert latest(desk, capsys)["state"] == "interrupted"
    assert git(desk.root, "rev-parse", "HEAD") == before
    assert git(desk.root, "status", "--porcelain") == ""
    assert not list((desk.root / ".git/mak/holders").iterdir())


def test_review_shows_the_text_of_a_task_and_says_what_it_does_not_know(desk: Desk) -> None:
    code, _, shown = on_terminal(desk.args(review=True), "xyz\nd\ns two\na now\nq\n")
    assert code == 1
    assert "unknown command 'xyz'" in shown
    assert "d which task? one, two, three" in shown
    told = shown.partition("two: g returns 20")[2].replace("\r", "")
    assert "  a.py::g\n    def g():\n        return 2\n" in told
    assert "a stands alone" in told


def test_plan_that_is_declined_changes_nothing(desk: Desk) -> None:
    head = git(desk.root, "rev-parse", "HEAD")
    code, out, _ = on_terminal(desk.args(review=True), "q\n")
    assert code == 1
    assert "was declined" in out
    assert git(desk.root, "rev-parse", "HEAD") == head


def test_tasks_that_are_dropped_at_the_terminal_do_not_run(desk: Desk) -> None:
    code, out, _ = on_terminal(desk.args(review=True), "d one\na\n")
    assert code == 0
    assert "1 of 1 task landed in 1 commit" in out
    assert "return 20" in desk.text("a.py") and "return 1\n" in desk.text("a.py")


def test_edited_plan_that_does_not_fit_the_repository_is_kept(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = {**PLAN, "tasks": [{"id": "one", "goal": "x", "writes": ["a.py::nothing_like_it"]}]}
    other = desk.plan.with_name("other.json")
    other.write_text(json.dumps(changed))
    monkeypatch.setenv("EDITOR", f"cp '{other}'")
    code, _, shown = on_terminal(desk.args(review=True), "e\nq\n")
    assert code == 1
    assert "a.py::nothing_like_it" in shown
    kept = Path(shown.partition("mak run --plan ")[2].split()[0])
    assert "nothing_like_it" in kept.read_text()
    kept.unlink()
