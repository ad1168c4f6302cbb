from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
from io import StringIO

import pyte
import pytest
from rich.console import Console

from mak.cli import terminal
from mak.cli.live import Lines, Screen, open_view
from mak.events import (
    PlanAsked,
    Planned,
    ReplyParked,
    ReplyRejected,
    RunFinished,
    RunStarted,
    Spent,
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
    view.progress.update(Spent("one", 1, "anthropic", SPENT), 10.0)
    view.progress.update(ReplyRejected("one", 1, "syntax", "x"), 10.0)
    view.progress.update(TaskStarted("one", 2, "anthropic", ("a.py::f", "a.py::g")), 20.0)
    view.progress.update(TaskSettled("three", ()), 20.0)
    one, two, summary = rendered(view)
    assert one.split()[:5] == ["1", "one", "anthropic", "45s", "1.8k"]
    assert "works on a.py::f +1, attempt 2" in one
    assert two.split()[:2] == ["two", "1m00s"]
    assert "waits: one holds a.py::f" in two
    assert summary == "1/3 tasks · 0 commits of 1 · 1.5k tokens in, 250 out · $0.0100"


def test_screen_with_more_tasks_than_lines_says_how_many() -> None:
    view, _ = screen(height=9)
    for number in range(40):
        view.progress.update(TaskWaiting(f"t{number}", "a.py::f", "x"), 0.0)
    lines = rendered(view)
    assert len(lines) == 6
    assert "… 36 more" in lines[4]


def test_agents_at_work_have_numbers_that_are_given_again() -> None:
    view, _ = screen()
    for task in ("one", "two"):
        view.progress.update(TaskStarted(task, 1, "builtin", ("a.py::f",)), 0.0)
    view.progress.update(TaskSettled("one", ()), 0.0)
    view.progress.update(TaskStarted("three", 1, "builtin", ("a.py::f",)), 0.0)
    two, three, _ = rendered(view)
    assert (two.split()[:2], three.split()[:2]) == (["2", "two"], ["1", "three"])


def test_screen_says_what_is_done_before_there_is_a_plan() -> None:
    view, _ = screen()
    view.progress.update(RunStarted("r1", "refs/heads/main", ""), 60.0)
    assert rendered(view)[0].endswith("reading the repository  5.0s")
    view.progress.update(PlanAsked("anthropic", 2, "no JSON"), 62.0)
    assert rendered(view)[0].endswith("anthropic is planning (attempt 2)  3.0s")
    view.progress.update(Planned((("one",),), (), Usage()), 64.0)
    assert "planning" not in "".join(rendered(view))


def test_screen_shows_one_more_line_with_what_the_run_has_taken() -> None:
    view = Screen(screen()[0]._console, lambda: 0.0, below=lambda w, used: f"{w} {used.input}")
    view.progress.update(Spent("one", 1, "m", SPENT), 0.0)
    assert rendered(view)[-1] == "100 1500"


def test_signs_that_the_terminal_has_not_are_written_with_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with io.TextIOWrapper(io.BytesIO(), encoding="cp437") as stderr:
        monkeypatch.setattr("sys.stderr", stderr)
        assert terminal.clean("a … b · c — d") == "a ... b · c - d"
    with io.TextIOWrapper(io.BytesIO(), encoding="ascii") as stderr:
        monkeypatch.setattr("sys.stderr", stderr)
        assert terminal.clean("a … b · c — d") == "a ... b - c - d"


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


def test_screen_that_becomes_narrower_keeps_each_row_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Terminals break the rows anew, into more of them than were drawn."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("XTERM_VERSION", raising=False)
    out = StringIO()
    console = Console(
        file=out, width=120, height=30, force_terminal=True, legacy_windows=False, markup=False
    )
    view = Screen(console, lambda: 65.0, below=lambda width, used: "the bar ".ljust(width - 2, "."))
    shown = pyte.Screen(120, 30)

    def draw() -> list[str]:
        view._live.refresh()  # type: ignore[union-attr]
        pyte.Stream(shown).feed(out.getvalue().replace("\n", "\r\n"))
        out.seek(0)
        out.truncate()
        return [line.rstrip() for line in shown.display if line.strip()]

    def broken(columns: int) -> None:
        """Make the screen narrower, as terminals do."""
        nonlocal shown
        console.width = columns
        lines = [line.rstrip() for line in shown.display][: shown.cursor.y + 1]
        shown = pyte.Screen(columns, 30)
        pyte.Stream(shown).feed("\r\n".join(lines))

    view.say("above")
    for task in ("one", "two"):
        view.emit(TaskStarted(task, 1, "scripted:x.json", (f"{'folder/' * 12}a.py::{task}",)))
    assert len(draw()) == 5
    for columns in (80, 50, 60):
        broken(columns)
        rows = draw()
        assert rows[0] == "above" and len(rows) == 5
        assert [row.split()[1] for row in rows[1:3]] == ["one", "two"]
        assert rows[3].startswith("0/0 tasks") and rows[4].startswith("the bar ")
    view.close()
