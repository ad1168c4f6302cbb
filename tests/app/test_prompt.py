"""At the prompt: keys, completion, history, the bar, errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from mak.cli.app.loop import attempt
from mak.cli.app.prompt import Plain
from mak.cli.app.session import Session
from mak.providers.secrets import keep
from tests.app.conftest import Open
from tests.conftest import git
from tests.terminal import CTRL_C, CTRL_D, ENTER, NEWLINE, RIGHT, TAB, UP


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
        ("/work-dir nowhere", "such folder"),
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
    again.type(f"/status{ENTER}")
    again.wait("approval  every plan")
    again.type("\x12gents")
    again.wait("I-search backward: gents", "> /max-agents 5", after="approval")
    again.type(ENTER)
    again.wait("> /max-agents 5", gone="I-search", after="approval")
    again.type(ENTER)
    again.wait("5 agents at most", after="approval")
    again.type("\x12stat")
    again.wait("I-search backward: stat", "> /status", after="5 agents at most")
    again.type(CTRL_C)
    again.wait(gone="I-search", after="5 agents at most")
    again.until(lambda: again.text.count("> /status") == 1, "the search goes on")


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


def test_bug_is_one_line_and_the_app_goes_on(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line names the file with the traceback; no key gets there."""
    session = Session(Plain())
    key = "sk-ant-canary-0123456789abcdef"
    keep(key)

    def act() -> None:
        raise ZeroDivisionError(f"two\nlines and {key}")

    attempt(session, act)
    attempt(session, lambda: session.say("goes on"))
    said = capsys.readouterr().err.splitlines()
    log = home / ".local/state/mak/app.log"
    assert len(said) == 2 and said[1] == "goes on"
    assert said[0].startswith("this is a bug in MAK: ZeroDivisionError: two lines and ")
    assert said[0].endswith(f"; please report it with {log}")
    assert "Traceback (most recent call last)" in log.read_text()
    assert key not in said[0] and key not in log.read_text()
