from __future__ import annotations

import os
import pty
import subprocess
import sys
from io import StringIO

import pytest
from rich.console import Console

from mak.cli.live import Lines, Screen, open_view
from mak.events import (
    Planned,
    ReplyParked,
    ReplyRejected,
    RunFinished,
    RunStarted,
    TaskSettled,
    TaskStarted,
    TaskWaiting,
)
from mak.model import Usage

SPENT = Usage(input=1500, output=250, calls=1, cost=0.01)


def screen(height: int = 20) -> tuple[Screen, StringIO]:
    out = StringIO()
    console = Console(file=out, width=100, height=height, markup=False, highlight=False)
    return Screen(console, clock=lambda: 65.0), out


def rendered(view: Screen) -> list[str]:
    out = StringIO()
    Console(file=out, width=100, height=view._console.height).print(view.render())
    return [line.rstrip() for line in out.getvalue().splitlines()]


def test_screen_shows_who_works_and_who_waits_with_time_and_tokens() -> None:
    view, _ = screen()
    view.progress.update(RunStarted("r1", "refs/heads/main", ""), 0.0)
    view.progress.update(Planned((("one", "two", "three"),), (), Usage()), 0.0)
    view.progress.update(TaskWaiting("two", "a.py::f", "one"), 5.0)
    view.progress.update(TaskStarted("one", 1, "anthropic", ("a.py::f", "a.py::g")), 5.0)
    view.progress.update(ReplyParked("one", 1, "edited", SPENT), 10.0)
    view.progress.update(ReplyRejected("one", 1, "syntax", "x"), 10.0)
    view.progress.update(TaskStarted("one", 2, "anthropic", ("a.py::f", "a.py::g")), 20.0)
    view.progress.update(TaskSettled("three", ()), 20.0)
    one, two, summary = rendered(view)
    assert one.split()[:5] == ["one", "anthropic", "45s", "attempt", "2"]
    assert "a.py::f +1 · 1.5k tokens in, 250 out" in one
    assert two.split()[:2] == ["two", "1m00s"]
    assert "waits for a.py::f (held by one)" in two
    assert summary == "1/3 tasks · 0 commits of 1 · 1.5k tokens in, 250 out · $0.0100"


def test_screen_with_more_tasks_than_lines_says_how_many() -> None:
    view, _ = screen(height=9)
    for number in range(40):
        view.progress.update(TaskWaiting(f"t{number}", "a.py::f", "x"), 0.0)
    lines = rendered(view)
    assert len(lines) == 7
    assert "… 35 more" in lines[5]


def test_screen_keeps_the_lines_that_matter_and_not_the_rest() -> None:
    view, out = screen()
    view.emit(RunStarted("r1", "refs/heads/main", ""))
    view.emit(TaskStarted("one", 1, "builtin", ("a.py::f",)))
    view.emit(TaskSettled("one", ("a.py::f",)))
    view.emit(RunFinished("done", ""))
    text = out.getvalue()
    assert "ok       one: a.py::f" in text
    assert "start    one" not in text
    view.close()


def test_screen_shows_control_characters_of_an_agent_as_text() -> None:
    view, out = screen()
    view.emit(ReplyRejected("one", 1, "syntax", "\x1b[2J[red]gone"))
    assert "\\x1b[2J[red]gone" in out.getvalue()


def test_lines_are_plain_when_stderr_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    view = open_view()
    assert isinstance(view, Lines)
    view.emit(TaskStarted("one", 1, "builtin", ("a.py::" + "long" * 60,)))
    view.emit(TaskSettled("one", ("a.py::f",)))
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[1] == "ok       one: a.py::f"
    assert len(err.splitlines()) == 2


SCRIPT = """
from mak.cli.live import open_view
from mak.events import *
view = open_view()
view.emit(RunStarted("r1", "refs/heads/main", ""))
view.emit(TaskStarted("one", 1, "builtin", ("a.py::f",)))
view.emit(TaskSettled("one", ("a.py::f",)))
view.emit(TaskFailed("two", "no"))
view.close()
"""


def on_terminal(**environment: str) -> str:
    """Run the script with stderr on a terminal and return what it showed."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT],
        stderr=theirs,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "TERM": "xterm-256color", **environment},
    ) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                data = os.read(ours, 65_536)
            except OSError:
                break
            if not data:
                break
            shown += data
        assert process.wait(timeout=60) == 0
    os.close(ours)
    return shown.decode()


def test_terminal_gets_colors() -> None:
    shown = on_terminal()
    assert "\x1b[31m" in shown
    assert "fail     two: no" in shown


def test_no_color_is_honoured() -> None:
    shown = on_terminal(NO_COLOR="1")
    assert "\x1b[31m" not in shown and "\x1b[32m" not in shown
    assert "fail     two: no" in shown


def test_dumb_terminal_gets_plain_lines() -> None:
    shown = on_terminal(TERM="dumb")
    assert "\x1b" not in shown
    assert "start    one: builtin on a.py::f" in shown
