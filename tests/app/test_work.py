"""Runs in the app, from the task that is typed to what was changed."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from mak.config import dump_yaml
from tests.app.conftest import ANSWERS, FILES, FOLLOWED, PLAN, RENAMED, A, Open, scripted, task
from tests.conftest import git
from tests.terminal import CTRL_C, ENTER, NEWLINE


def test_whole_run_with_the_builtin_agent(open_app: Open, root: Path, home: Path) -> None:
    terminal = open_app()
    terminal.type(f"rename function a.old to new{ENTER}")
    terminal.wait("Plan: 2 tasks in 1 wave", "writes   a.py::old#api", "Forecast: ", "[a]pprove")
    terminal.type(f"a{ENTER}")
    shown = terminal.wait("/diff shows the lines")
    assert "2 of 2 tasks landed in 1 commit on main" in shown
    ending = shown.split("What changed")[1]
    assert "added     a.py::new" in ending and "removed   a.py::old" in ending
    assert "changed   b.py::use" in ending and "2 files, +2 -2" in ending
    assert ending.index("added") < ending.index("a.py  +1  -1")
    terminal.type(f"/diff{ENTER}")
    terminal.wait("-    return a.old()", "+    return a.new()")
    assert b"\x1b[1;7;32m+" in terminal.raw
    terminal.type(f"/runs{ENTER}")
    terminal.wait("done on main", "rename function a.old to new")
    terminal.type(f"/undo{ENTER}")
    terminal.wait("Took back 1 commit")
    assert (root / "a.py").read_text() == A


def test_run_with_a_dropped_task_and_a_reviewed_repair(
    open_app: Open, root: Path, home: Path
) -> None:
    spec = scripted(root, ANSWERS, PLAN)
    terminal = open_app()
    terminal.type(f"/models {spec}{ENTER}")
    terminal.wait("scripted:script.json · planner same")
    terminal.type(f"rename old to new{ENTER}")
    terminal.wait("Plan: 3 tasks in 2 waves", "[r]emark")
    terminal.type(f"d extra{ENTER}")
    terminal.wait("dropped 1 task", "Plan: 2 tasks in 2 waves")
    terminal.type(f"a{ENTER}")
    terminal.wait(
        "review   approved, dropped extra", "commit   wave 1", "Repairs: 1 task in 1 wave"
    )
    shown = terminal.wait("repairs  follow", "owes ", "[a]pprove", after="Repairs: ")
    assert "[r]emark" not in shown.rpartition("Repairs: ")[2]
    terminal.type(f"a{ENTER}")
    terminal.wait(
        "is done", "added     a.py::new", "/diff shows the lines", "1.0k tokens · $0.2500"
    )
    assert "a.new()" in (root / "b.py").read_text() and "return 2" in (root / "a.py").read_text()
    trailers = git(root, "log", "-1", "--format=%(trailers:only,unfold)")
    assert "MAK-Kind: repair" in trailers


def test_planner_is_asked_again_with_a_remark(open_app: Open, root: Path, home: Path) -> None:
    spec = scripted(root, {}, PLAN, PLAN[2:])
    terminal = open_app()
    terminal.type(f"/models {spec}{ENTER}")
    terminal.wait("planner same", "scripted:script.json")
    terminal.type(f"do it{ENTER}")
    terminal.wait("Plan: 3 tasks", "[r]emark")
    terminal.type(f"r only the last one{ENTER}")
    terminal.wait("Plan: 1 task in 1 wave")
    terminal.type(f"q{ENTER}")
    terminal.wait("was declined", "2.0k tokens · $0.5000")


def test_ctrl_c_stops_the_run_and_recover_goes_on(open_app: Open, root: Path, home: Path) -> None:
    slow = [{**RENAMED, "delay_s": 600}]
    spec = scripted(root, {"rename": slow, "extra": [{**RENAMED, "delay_s": 600}]}, PLAN[:1])
    terminal = open_app()
    terminal.type(f"/models {spec}{ENTER}")
    terminal.wait("planner same", "scripted:script.json")
    terminal.type(f"rename old{ENTER}")
    terminal.wait("[a]pprove")
    terminal.type(f"a{ENTER}")
    terminal.wait("1  rename", "works on a.py::old", "0/2 tasks")
    terminal.type(CTRL_C)
    terminal.wait("was interrupted", "nothing is lost", "Next: /recover")
    scripted(root, {"rename": [RENAMED], "rename-use": [FOLLOWED]})
    terminal.type(f"/recover{ENTER}")
    terminal.wait("recover ", "2 of 2 tasks landed", "/diff shows the lines")
    # The plan was asked for once.
    terminal.until(lambda: terminal.lines[-1].endswith("1.0k tokens · $0.2500"), "no bar")
    terminal.type(f"/exit{ENTER}")
    assert terminal.ended() == 0


def test_ctrl_c_again_leaves_when_it_has_stopped_a_run(
    open_app: Open, root: Path, home: Path
) -> None:
    spec = scripted(root, {"extra": [{**RENAMED, "delay_s": 600}]}, PLAN[2:])
    terminal = open_app()
    terminal.type(f"/models {spec}{ENTER}")
    terminal.wait("planner same", "scripted:script.json")
    terminal.type(f"/no-review{ENTER}do it{ENTER}")
    terminal.wait("works on a.py::other")
    terminal.type(CTRL_C)
    terminal.wait("was interrupted")
    terminal.type(CTRL_C)
    assert terminal.ended() == 130


def test_ctrl_c_again_leaves_at_once_while_a_run_is_still_stopping(
    make_repo: Callable[..., Path], open_app: Open, home: Path, tmp_path: Path
) -> None:
    """What a run waits for when it stops is a command's supervisor, which is made to hang here."""
    started = tmp_path / "started"
    tell = f"echo $PPID > {started}.new; mv {started}.new {started}"
    command = f"[ -e {started} ] || {{ {tell}; sleep 600; }}"
    gate = {"name": "slow", "command": command}
    config = dump_yaml({"checks": {"commands": [gate]}})
    root = make_repo({**FILES, ".mak/config.yaml": config}, "gated")
    terminal = open_app(cwd=root)
    terminal.type(f"/no-review{ENTER}rename function a.old to new{ENTER}")
    terminal.wait(" slow judges 2 tasks  ")
    terminal.until(started.is_file, "the command has not started")
    supervisor = int(started.read_text())
    os.kill(supervisor, signal.SIGSTOP)
    try:
        terminal.type(CTRL_C)
        terminal.wait("stopping; once more to stop at once")
        assert "was interrupted" not in terminal.text
        terminal.type(CTRL_C)
        assert terminal.ended() == 130
    finally:
        os.kill(supervisor, signal.SIGCONT)
    assert "stopped at once; mak run --recover goes on" in terminal.text
    assert git(root, "log", "--format=%s") == "base\n"
    terminal = open_app(cwd=root)
    terminal.type(f"/recover{ENTER}")
    terminal.wait("gate     slow: passed", "2 of 2 tasks landed")


def test_ctrl_c_at_a_review_stops_the_run(open_app: Open, home: Path) -> None:
    terminal = open_app()
    terminal.type(f"rename function a.old to new{ENTER}")
    terminal.wait("[a]pprove")
    terminal.type("drop t")
    terminal.wait("> drop t")
    terminal.type(CTRL_C)
    terminal.wait(gone="> drop t")
    terminal.type(CTRL_C)
    terminal.wait("was stopped", "Nothing was changed")
    terminal.type(f"/status{ENTER}")
    terminal.wait("approval  every plan is reviewed")


def test_plan_alone_changes_nothing(open_app: Open, root: Path, home: Path) -> None:
    terminal = open_app()
    terminal.type(f"/plan rename function a.old to new{ENTER}")
    terminal.wait("Plan: 2 tasks in 1 wave", "Nothing was changed")
    assert git(root, "log", "--format=%s") == "base\n"


def test_what_is_typed_during_a_command_waits_for_the_next_prompt(
    open_app: Open, home: Path
) -> None:
    terminal = open_app()
    terminal.type(f"/plan rename function a.old to new{ENTER}/max-agents 3{ENTER}/locks{ENTER}")
    terminal.wait("Plan: 2 tasks", "3 agents at most at once", "no locks are held")


#: Fails while `a.new` is there and `d.last` is not.
GATE = """\
import ast, pathlib, sys
names = {
    f"{name}.{each.name}"
    for name in ("a", "d")
    for each in ast.parse(pathlib.Path(f"{name}.py").read_text()).body
    if isinstance(each, ast.FunctionDef)
}
sys.exit("a new function needs the last one" if "a.new" in names and "d.last" not in names else 0)
"""
REQUESTS = (
    "rename function a.old to new",
    "add parameter deep=1 to d.first",
    "rename function d.first to last",
    "rename function c.extra to more",
)


def test_builtin_run_with_a_dropped_task_an_edited_plan_a_gate_and_a_repair(
    make_repo: Callable[..., Path], open_app: Open, home: Path, tmp_path: Path
) -> None:
    gate = {"name": "order", "command": f"{shlex.quote(sys.executable)} gate.py"}
    root = make_repo(
        {
            **FILES,
            "c.py": "def extra():\n    return 3\n",
            "d.py": "def first():\n    return 4\n",
            "gate.py": GATE,
            ".mak/config.yaml": dump_yaml({"checks": {"commands": [gate]}}),
        },
        "gated",
    )
    editor = tmp_path / "editor.py"
    editor.write_text(
        "import pathlib, sys\n"
        "path = pathlib.Path(sys.argv[1])\n"
        "path.write_text(path.read_text().replace('atomic: true', 'atomic: false'))\n"
    )
    terminal = open_app(
        cwd=root, rows=60, env={"EDITOR": shlex.join([sys.executable, str(editor)])}
    )
    for line in REQUESTS[:-1]:
        terminal.type(f"{line}{NEWLINE}")
    terminal.type(f"{REQUESTS[-1]}{ENTER}")
    terminal.wait("Plan: 5 tasks in 2 waves", "all or nothing", "[a]pprove")
    terminal.type(f"d t5{ENTER}")
    terminal.wait("dropped 1 task", "Plan: 4 tasks in 2 waves", "[a]pprove", after="d t5")
    terminal.type(f"e{ENTER}")
    shown = terminal.wait("Plan: 4 tasks in 2 waves", "[a]pprove", after="> e")
    assert "all or nothing" not in shown.rpartition("> e")[2]
    terminal.type(f"a{ENTER}")
    terminal.wait(
        "gate     order: failed",
        "out      t1: gate:order: a new function needs the last one",
        "wave 1: ",
        "wave 2: ",
        "Repairs: 2 tasks in 1 wave",
        "repair1-t2  rename a.py::old to new, in b.py",
        "owes     gate:order: a new function needs the last one",
        "[a]pprove",
        after="approved, dropped t5",
    )
    terminal.type(f"a{ENTER}")
    shown = terminal.wait("/diff shows the lines", after="Repairs: ")
    ending = shown.rpartition("is done: ")[2]
    for said in (
        "6 of 6 tasks landed in 3 commits on main",
        "added     a.py::new",
        "added     d.py::last",
        "removed   a.py::old",
        "removed   d.py::first",
        "changed   b.py::use",
        "3 files, +3 -3",
    ):
        assert said in ending
    assert (root / "c.py").read_text() == "def extra():\n    return 3\n"
    assert git(root, "log", "-1", "--format=%(trailers:key=MAK-Kind,valueonly)").strip() == "repair"


def test_builtin_run_is_stopped_while_a_gate_runs_and_goes_on(
    make_repo: Callable[..., Path], open_app: Open, home: Path, tmp_path: Path
) -> None:
    waiting = tmp_path / "waiting"
    os.mkfifo(waiting)
    gate = {"name": "slow", "command": f"cat {waiting}"}
    config = dump_yaml({"checks": {"commands": [gate]}})
    root = make_repo({**FILES, ".mak/config.yaml": config}, "gated")
    terminal = open_app(cwd=root)
    terminal.type(f"rename function a.old to new{ENTER}")
    terminal.wait("Plan: 2 tasks in 1 wave", "[a]pprove")
    terminal.type(f"a{ENTER}")
    shown = terminal.wait("ok       t1", "ok       t2", "2/2 tasks", " slow judges 2 tasks  ")
    assert re.search(r"^[⠀-⣿] slow judges 2 tasks  \d", shown, re.MULTILINE)
    terminal.type(CTRL_C)
    terminal.wait("was interrupted", "nothing is lost", "Next: /recover")
    assert git(root, "log", "--format=%s") == "base\n"
    waiting.unlink()
    waiting.touch()
    terminal.type(f"/recover{ENTER}")
    terminal.wait("gate     slow: passed", "2 of 2 tasks landed", "changed   b.py::use")
    terminal.type(f"/exit{ENTER}")
    assert terminal.ended() == 0


def test_plan_shows_all_that_a_person_decides_on(open_app: Open, root: Path, home: Path) -> None:
    """While it is made a line turns; then there are levels, callers, remarks and hot nodes."""
    path = root.parent / "script.json"
    tasks = [
        task("rename", "a.py::old#api"),
        task("again", "a.py::other", depends_on=["rename"]),
        task("third", "a.py::other"),
    ]
    plan = {"reply": {"tasks": tasks}, "usage": {"input": 900, "output": 100}}
    wrong = {**plan, "reply": {"tasks": [task("one", "a.py::other", depends_on=["nobody"])]}}
    path.write_text(json.dumps({"plan": [{**plan, "delay_s": 600}], "tasks": {}}))
    terminal = open_app(rows=60)
    terminal.type(f"/models scripted:{path}{ENTER}")
    terminal.wait("planner same", "scripted:script.json")
    terminal.type(f"do it{ENTER}")
    shown = terminal.wait("scripted:script.json is planning  ", "· review · 0 tok")
    assert re.search(r"^[⠀-⣿] scripted:script.json is planning  \d", shown, re.MULTILINE)
    terminal.type(CTRL_C)
    terminal.wait("was stopped", "Nothing was changed")
    path.write_text(json.dumps({"plan": [wrong], "tasks": {}}))
    terminal.type(f"do it wrongly{ENTER}")
    # What was of no use was asked all the same.
    terminal.wait("depends on 'nobody'", "add an attempt to the script", "1.0k tokens · $0.00")
    path.write_text(json.dumps({"plan": [wrong, plan], "tasks": {}}))
    terminal.type(f"do it again{ENTER}")
    terminal.wait(
        "3.0k tokens",
        "attempt 2: one: depends on 'nobody'",
        "Plan: 4 tasks in 2 waves",
        "Wave 1",
        "writes   a.py::old#api",
        "added    by MAK: it ",
        "after    rename",
        "Remarks",
        "again: kept after rename, as the plan says",
        "Hot nodes",
        "a.py::other  2 tasks, which take turns",
        "Estimate: ",
        "Forecast: ",
        "[a]pprove",
    )
    terminal.type(f"s rename{ENTER}")
    terminal.wait("rename: do rename", "    def old():")
    terminal.type(f"k third{ENTER}")
    terminal.wait("Plan: 1 task in 1 wave", "[a]pprove", after="> k third")
    terminal.type(f"q{ENTER}")
    terminal.wait("was declined")


def test_app_stays_on_the_screen_that_the_shell_was_on(open_app: Open, home: Path) -> None:
    """An alternate screen would take all that was said with it."""
    terminal = open_app(rows=12)
    for number in range(2, 9):
        terminal.type(f"/max-agents {number}{ENTER}")
        terminal.wait(f"{number} agents at most at once", f"{number} agents · main")
    terminal.type(f"/exit{ENTER}")
    assert terminal.ended() == 0
    assert b"\x1b[?1049h" not in terminal.raw and b"\x1b[?47h" not in terminal.raw
    assert all(f"{number} agents at most" in terminal.text for number in range(2, 9))
