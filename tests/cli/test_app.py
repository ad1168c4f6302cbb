"""The app on a real terminal: what is typed, and what the screen then shows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import git
from tests.road.conftest import edited, reply
from tests.terminal import CTRL_C, CTRL_D, ENTER, NEWLINE, RIGHT, TAB, UP, Terminal, mak

A = '"""A."""\n\n\ndef old():\n    return 1\n\n\ndef other():\n    return 2\n'
B = "import a\n\n\ndef use():\n    return a.old()\n"
FILES = {"a.py": A, "b.py": B}

Open = Callable[..., Terminal]


@pytest.fixture
def home(person: Path) -> Path:
    """Return the home of somebody who has used MAK before."""
    person.mkdir(parents=True)
    (person.parents[1] / ".gitconfig").write_text("[user]\nname = Ada\nemail = ada@example.org\n")
    return person.parents[1]


@pytest.fixture
def root(make_repo: Callable[..., Path]) -> Path:
    """Return a repository that has a configuration, so that none is offered."""
    return make_repo({**FILES, ".mak/config.yaml": "# nothing\n"})


@pytest.fixture
def open_app(root: Path) -> Iterator[Open]:
    """Return a function that opens the app on a terminal and waits for its prompt."""
    opened: list[Terminal] = []

    def open_(*args: str, ready: str = "main, clean", **how: Any) -> Terminal:
        terminal = mak(how.pop("cwd", root), *args, **how)
        opened.append(terminal)
        terminal.wait("/help lists commands", ready)
        return terminal

    yield open_
    for terminal in opened:
        terminal.close()


def scripted(root: Path, tasks: dict[str, Any], *plans: Sequence[dict[str, Any]]) -> str:
    """Write a script beside the repository; return the words that choose it."""
    path = root.parent / "script.json"
    planned = [
        {"reply": {"tasks": [*each]}, "usage": {"input": 900, "output": 100, "cost": 0.25}}
        for each in plans
    ]
    path.write_text(json.dumps({"plan": planned, "tasks": tasks}))
    return f"scripted:{path}"


def task(name: str, *writes: str, **parts: Any) -> dict[str, Any]:
    return {"id": name, "goal": f"do {name}", "writes": [*writes], **parts}


PLAN = (
    task("rename", "a.py::old#api"),
    task("follow", "b.py::use", depends_on=["rename"]),
    task("extra", "a.py::other"),
)
RENAMED = reply(edited("n1", "def new():\n    return 1\n"))
FOLLOWED = reply(edited("n1", "def use():\n    return a.new()\n"))
#: The second task is lost, so that its user is left behind.
ANSWERS = {"rename": [RENAMED], "follow": [{"status": "refused"}] * 3, "repair1-follow": [FOLLOWED]}


# ----------------------------------------------------------------------------------- first start


def test_first_start_offers_ways_to_work_and_a_configuration(
    make_repo: Callable[..., Path], person: Path, open_app: Open
) -> None:
    root = make_repo(FILES, "new")
    terminal = open_app(cwd=root, ready="1, 2, 3 or 4?")
    terminal.type(f"4{ENTER}")
    terminal.wait("The built-in agent does the tasks", "Create .mak/config.yaml")
    terminal.type(f"y{ENTER}")
    terminal.wait("Wrote ", "builtin · planner same · 4 agents · main, 1 changed · review")
    assert (root / ".mak/config.yaml").exists()
    terminal.type(f"/exit{ENTER}")
    assert terminal.ended() == 0
    again = open_app(cwd=root, ready="main, 1 changed")
    assert "first start" not in again.text and "Create" not in again.text


def test_first_start_can_be_skipped(make_repo: Callable[..., Path], open_app: Open) -> None:
    root = make_repo(FILES, "new")
    terminal = open_app(cwd=root, ready="1, 2, 3 or 4?")
    terminal.type(ENTER)
    terminal.wait("Skipped", "Create .mak/config.yaml")
    terminal.type(CTRL_C)
    terminal.wait("main, clean")
    assert not (root / ".mak").exists()


def test_first_start_takes_a_key_and_remembers_the_model(
    make_repo: Callable[..., Path], person: Path, open_app: Open
) -> None:
    terminal = open_app(cwd=make_repo(FILES, "new"), ready="1, 2, 3 or 4?")
    terminal.type(f"1{ENTER}")
    terminal.wait("Which provider?")
    terminal.type(ENTER)
    terminal.wait("ANTHROPIC_API_KEY (not shown)")
    terminal.type(f"sk-canary-0123456789{ENTER}")
    terminal.wait("Always, by writing")
    terminal.type(f"y{ENTER}")
    terminal.wait("Create .mak/config.yaml")
    terminal.type(f"n{ENTER}")
    terminal.wait("anthropic · planner same", "main, clean")
    assert "canary" not in terminal.text
    assert "sk-canary-0123456789" in (person / ".env").read_text()
    assert (person / "config.yaml").read_text() == "models:\n  - anthropic\n"


# ---------------------------------------------------------------------------------- at the prompt


def test_slash_lists_commands_typing_filters_and_tab_completes(open_app: Open, home: Path) -> None:
    terminal = open_app()
    terminal.type("/")
    terminal.wait("/help", "list commands and keys", "/plan")
    terminal.type("re")
    terminal.wait("/recover", "/refresh-models", gone="/plan")
    terminal.type("f" + TAB)
    terminal.wait("> /refresh-models")
    terminal.type(f"{CTRL_C}/max-agents 7{ENTER}")
    terminal.wait("7 agents at most at once", "7 agents · main")


def test_arguments_are_completed(open_app: Open, root: Path, home: Path) -> None:
    (root / "sub").mkdir()
    terminal = open_app()
    terminal.type("/work-dir s" + TAB)
    terminal.wait("> /work-dir sub/")
    terminal.type(f"{CTRL_C}/mode l" + TAB)
    terminal.wait("> /mode local")
    terminal.type(f"{CTRL_C}/models buil" + TAB)
    terminal.wait("> /models builtin")
    terminal.type(f"{CTRL_C}/endpoint sh" + TAB)
    terminal.wait("> /endpoint show")
    terminal.type(" ollam" + TAB)
    terminal.wait("> /endpoint show ollama")


def test_error_is_one_line_and_its_traceback_is_in_the_log(open_app: Open, home: Path) -> None:
    terminal = open_app()
    for typed, said in (
        ("/modles", "there is no command /modles; did you mean '/models'?; try: /help"),
        ("/models nonsense:", "nonsense"),
        ("/mode hybrid", "mode is hybrid, and no planner is named; try: name a hosted one"),
        ("/undo", "no run is recorded in this repository"),
        ("/work-dir nowhere", "--work-dir "),
        ("/max-agents none", "'none' is not a whole number of at least 1"),
    ):
        terminal.type(f"{typed}{ENTER}")
        terminal.wait(said)
        terminal.wait("builtin · planner same · 4 agents · main, clean")
    assert "Traceback" not in terminal.text
    log = (home / ".local/state/mak/app.log").read_text()
    assert log.count("\n--- ") + log.startswith("--- ") == 6 and "mode is hybrid" in log


def test_settings_last_for_the_session_and_write_no_file(
    open_app: Open, root: Path, home: Path
) -> None:
    terminal = open_app()
    before = sorted((home / ".config/mak").iterdir())
    for typed in ("/max-agents 2", "/no-review", "/mode local", "/planner builtin"):
        terminal.type(f"{typed}{ENTER}")
    terminal.wait("2 agents · main, clean · no review")
    terminal.type(f"/status{ENTER}")
    terminal.wait("mode      local", "approval  no review", "agents    at most 2 at once")
    assert git(root, "status", "--porcelain") == ""
    assert sorted((home / ".config/mak").iterdir()) == before
    open_app(ready="4 agents · main, clean · review")


def test_bar_follows_what_happens_outside(open_app: Open, root: Path, home: Path) -> None:
    terminal = open_app()
    (root / "a.py").write_text("")
    terminal.wait("main, 1 changed")
    git(root, "checkout", "-q", "-b", "other")
    terminal.wait("other, 1 changed")
    (root / ".mak/config.yaml").write_text("max_agents: 9\n")
    terminal.wait("9 agents · other, 2 changed")
    (root / ".mak/config.yaml").write_text("max_agents: none\n")
    terminal.wait("settings: see /status")


def test_several_lines_are_typed_and_pasted_as_one_text(open_app: Open, home: Path) -> None:
    terminal = open_app()
    terminal.type(f"rename function a.old to new;{NEWLINE}nonsense{ENTER}")
    terminal.wait("does not understand 'nonsense'")
    terminal.paste("rename function a.old to new\nmore nonsense\n")
    terminal.wait("more nonsense")
    terminal.type(ENTER)
    terminal.wait("does not understand 'more nonsense'")


def test_history_is_suggested_and_searched_in_the_next_session(open_app: Open, home: Path) -> None:
    terminal = open_app()
    terminal.type(f"/max-agents 5{ENTER}")
    terminal.wait("5 agents at most")
    terminal.type(CTRL_D)
    assert terminal.ended() == 0
    assert "/max-agents 5" in (home / ".local/state/mak/history").read_text()
    again = open_app()
    again.type(UP)
    again.wait("> /max-agents 5")
    again.type(CTRL_C)
    again.wait(gone="/max-agents")
    again.type("/ma")
    again.wait("> /max-agents 5")
    again.type(RIGHT)
    again.type(ENTER)
    again.wait("5 agents at most")
    again.type("\x12gents")
    again.wait("I-search backward", after="at most at once")


def test_ctrl_c_empties_the_line_and_twice_leaves(open_app: Open, home: Path) -> None:
    terminal = open_app()
    terminal.type("some words")
    terminal.wait("> some words")
    terminal.type(CTRL_C)
    terminal.wait(gone="some words")
    terminal.type(CTRL_C)
    terminal.wait("Ctrl+C once more leaves")
    terminal.type(CTRL_C)
    assert terminal.ended() == 130


# ------------------------------------------------------------------------------------------ runs


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
    terminal.type(f"/exit{ENTER}")
    assert terminal.ended() == 0


def test_ctrl_c_again_leaves_while_the_run_is_stopping(
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


def test_ctrl_c_at_a_review_stops_the_run(open_app: Open, home: Path) -> None:
    terminal = open_app()
    terminal.type(f"rename function a.old to new{ENTER}")
    terminal.wait("[a]pprove")
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
