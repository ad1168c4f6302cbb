"""Terminals of all kinds: plain ones, narrow ones, without colours, without Unicode."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.app.conftest import PLAN, RENAMED, A, Open, scripted
from tests.conftest import git
from tests.terminal import CTRL_C, CTRL_D, CTRL_Z, ENTER, TAB, Terminal

#: What a terminal is told beside text; the first two only ask it to mark what is pasted.
PASTES = (b"\x1b[?2004h", b"\x1b[?2004l")
RENAME = f"rename function a.old to new{ENTER}"


def leave(terminal: Terminal) -> None:
    """Press Ctrl+D at an empty plain prompt; before it is there, no program sees the key."""
    terminal.until(lambda: terminal.text.endswith("\n>"), "no prompt")
    terminal.type(CTRL_D)
    assert terminal.ended() == 0


def carried_out(terminal: Terminal) -> None:
    """Type a task and approve it."""
    terminal.type(RENAME)
    terminal.wait("Plan: 2 tasks in 1 wave", "[a]pprove")
    terminal.type(f"a{ENTER}")
    terminal.wait("added     a.py::new", "2 files, +2 -2; /diff shows the lines")


def test_plain_app_writes_lines_and_nothing_else(open_app: Open, root: Path, home: Path) -> None:
    """What a screen reader speaks: no colour, no row that is redrawn, no cursor that moves."""
    terminal = open_app("--plain", ready="\n>")
    carried_out(terminal)
    for typed, said in (
        ("/status", "models    builtin"),
        ("/help", "a text of several lines can be pasted"),
        ("/diff", "+    return a.new()"),
        ("/clear", "MAK "),
        ("/nonsense", "there is no command /nonsense"),
        ("/undo", "Took back 1 commit"),
    ):
        terminal.type(f"{typed}{ENTER}")
        terminal.wait(said)
    leave(terminal)
    raw = terminal.raw
    for paste in PASTES:
        raw = raw.replace(paste, b"")
    assert b"\x1b" not in raw
    assert not re.search("[\u2500-\u259f\u2800-\u28ff]", raw.decode())
    assert "  a.py  +1  -1\n" in terminal.text and "Ctrl+J" not in terminal.text
    assert (root / "a.py").read_text() == A


def test_plain_app_takes_a_pasted_text_of_several_lines_as_one(open_app: Open, home: Path) -> None:
    terminal = open_app("--plain", ready="\n>")
    terminal.paste("rename function a.old to new\nmore nonsense")
    terminal.wait("more nonsense")
    terminal.type(ENTER)
    terminal.wait("does not understand 'more nonsense'")


def test_plain_app_says_who_waits_for_whom(open_app: Open, root: Path, home: Path) -> None:
    tasks = [
        {"id": name, "goal": f"do {name}", "writes": ["a.py::other"]} for name in ("one", "two")
    ]
    spec = scripted(root, {"one": [{**RENAMED, "delay_s": 600}]}, tasks)
    terminal = open_app("--plain", ready="\n>")
    terminal.type(f"/models {spec}{ENTER}")
    terminal.wait("Tasks are done by scripted:")
    terminal.type(f"do both{ENTER}")
    terminal.wait("[a]pprove")
    terminal.type(f"a{ENTER}")
    terminal.wait("start    one: scripted", "wait     two: a.py::other is held by one")
    terminal.type(CTRL_C)
    terminal.wait("was interrupted", "Next: /recover")


def test_plain_app_completes_and_remembers_lines(open_app: Open, home: Path) -> None:
    terminal = open_app("--plain", ready="\n>")
    terminal.type("/max-a" + TAB)
    terminal.wait("> /max-agents")
    terminal.type(f" 3{ENTER}")
    terminal.wait("3 agents at most at once")
    leave(terminal)
    again = open_app("--plain", ready="\n>")
    again.type("\x1b[A")
    again.wait("> /max-agents 3")


@pytest.mark.parametrize(
    "env", [{"NO_COLOR": "1"}, {"NO_COLOR": "1", "TERM": "xterm"}], ids=["256", "few"]
)
def test_without_colours_the_same_is_said(
    env: dict[str, str], open_app: Open, root: Path, home: Path
) -> None:
    terminal = open_app(env=env)
    terminal.type("/")
    terminal.wait("list commands and keys")
    terminal.type(CTRL_C)
    carried_out(terminal)
    terminal.type(f"/diff{ENTER}")
    terminal.wait("-    return a.old()", "+    return a.new()")
    colours = re.findall(rb"\x1b\[[0-9;]*m", terminal.raw)
    codes = {int(code or 0) for each in colours for code in each[2:-1].split(b";")}
    # Bold, dim, underlined and reversed are no colours.
    assert not {code for code in codes if code >= 30}


@pytest.mark.parametrize(
    "env",
    [
        {"PYTHONIOENCODING": "cp1252"},
        {"PYTHONIOENCODING": "cp437"},
        {"PYTHONIOENCODING": "ascii"},
        {"LANG": "C", "LC_ALL": "", "LC_CTYPE": ""},
        {"LC_ALL": "POSIX"},
    ],
    ids=["cp1252", "cp437", "ascii", "C", "POSIX"],
)
def test_terminal_without_unicode_gets_signs_that_it_has(
    env: dict[str, str], open_app: Open, root: Path, home: Path
) -> None:
    encoding = env.get("PYTHONIOENCODING", "ascii")
    spec = scripted(root, {"extra": [{**RENAMED, "delay_s": 600}]}, PLAN[2:])
    terminal = open_app(env=env, encoding=encoding)
    joint = "·" if encoding.startswith("cp") else "-"
    terminal.wait(f"builtin {joint} planner same {joint} 4 agents {joint} main, clean")
    terminal.type(f"/help{ENTER}")
    terminal.wait("take the suggestion from the history")
    carried_out(terminal)
    terminal.type(f"/models {spec}{ENTER}")
    terminal.wait("Tasks are done by")
    terminal.type(f"/no-review{ENTER}do it{ENTER}")
    terminal.wait("works on a.py::other", "0/1 tasks")
    terminal.type(CTRL_C)
    terminal.wait("was interrupted")
    terminal.type(f"/exit{ENTER}")
    assert terminal.ended() == 0
    shown = terminal.raw.decode(encoding)
    assert {c for c in shown if ord(c) > 127} <= ({"·", "…", "—"} if joint == "·" else set())
    assert "?" not in shown.replace("?25", "").replace("[?", "")


def test_names_beyond_the_code_page_do_not_stop_anything(
    make_repo: Any, open_app: Open, home: Path
) -> None:
    root = make_repo(
        {"a.py": "def é():\n    return ж\n\n\nж = 1\n", ".mak/config.yaml": "# nothing\n"}, "ж"
    )
    git(root, "checkout", "-q", "-b", "ветка")
    terminal = open_app(cwd=root, env={"PYTHONIOENCODING": "cp1252"}, encoding="cp1252", ready=">")
    terminal.wait(", clean")
    terminal.type(f"/status{ENTER}")
    terminal.wait("branch    \\u0432\\u0435\\u0442\\u043a\\u0430, clean")
    terminal.type(f"/runs{ENTER}")
    terminal.wait("no run is recorded in this repository")
    terminal.type(f"rename function a.é to ü{ENTER}")
    terminal.wait("[a]pprove", "writes   a.py::é#api")
    terminal.type(f"a{ENTER}")
    terminal.wait("added     a.py::ü", "/diff shows the lines")
    terminal.type(f"/diff{ENTER}")
    terminal.wait("+def ü():", "     return \\u0436")


def test_window_shrinks_to_80_by_24_during_a_run(open_app: Open, root: Path, home: Path) -> None:
    tasks = [
        {"id": name, "goal": f"do {name}", "writes": ["a.py::other"]} for name in ("one", "two")
    ]
    spec = scripted(root, {"one": [{**RENAMED, "delay_s": 600}]}, tasks)
    terminal = open_app(columns=120)
    terminal.type(f"/models {spec}{ENTER}/no-review{ENTER}")
    terminal.wait("Plans are carried out without a review")
    terminal.type(f"do both{ENTER}")
    terminal.wait("works on a.py::other", "waits: one holds a.py::other")
    terminal.resize(80, 24)
    bar = "script.json · pl. same · 4 ag. · main, clean · no review · 1.0k tok · $0.2500"

    def is_whole() -> bool:
        shown = terminal.lines
        return (
            any(line.startswith("1  one ") and "works on a.py::other" in line for line in shown)
            and any("two " in line and "waits: one holds a.py::other" in line for line in shown)
            and any("0/2 tasks" in line for line in shown)
            and sum(bar in line for line in shown) == 1
        )

    terminal.until(is_whole, "no rows and no bar of 80 columns")
    terminal.type(CTRL_C)
    terminal.wait("was interrupted")
    terminal.until(lambda: terminal.lines[-1].endswith(bar), "no bar in the last line")
    assert max(map(len, terminal.lines)) <= 80


def test_sentences_are_broken_between_words_and_code_is_not(
    open_app: Open, root: Path, home: Path
) -> None:
    long = f"X = '{'word ' * 20}end'"
    (root / "a.py").write_text(f"{long}\n\n\ndef old():\n    return X\n")
    git(root, "commit", "-aqm", "long")
    terminal = open_app(columns=80, rows=60)
    terminal.type(f"nonsense{ENTER}")
    text = terminal.wait("the built-in planner does not understand", "a.b.f")
    said = text[text.index("the built-in planner") :].splitlines()
    assert len(said) > 3 and all(len(line) <= 80 for line in said)
    assert "move pkg.a.Foo to pkg.b" in " ".join(line.strip() for line in said)
    terminal.type(f"/help{ENTER}")
    terminal.wait("Ctrl+D  leave")
    hanging = next(x for x in terminal.text.splitlines() if x.endswith("file of keys"))
    assert hanging.startswith(" " * 31)
    terminal.type(f"rename function a.old to new{ENTER}")
    terminal.wait("[a]pprove")
    terminal.type(f"a{ENTER}")
    terminal.wait("/diff shows the lines")
    terminal.type(f"/diff{ENTER}")
    terminal.wait("+def new():", "end'", after="> /diff")
    # The terminal itself goes on in its next row, at the very column.
    shown = terminal.text.splitlines()
    first = next(i for i, line in enumerate(shown) if line.startswith(" X = 'word"))
    assert len(shown[first]) >= 79 and f"{shown[first]:<80}{shown[first + 1]}" == f" {long}"


def test_ctrl_z_goes_back_to_the_shell_and_fg_returns(root: Path, home: Path) -> None:
    """At the prompt and during a run; the shell's terminal is then as it was."""
    spec = scripted(root, {"extra": [{**RENAMED, "delay_s": 600}]}, PLAN[2:])
    shell = Terminal(["bash", "--norc", "-i"], root, env={"PS1": "shell% "})
    shell.type(f"{shlex.quote(sys.executable)} -m mak{ENTER}")
    shell.wait("main, clean")
    shell.type("/max-agents 3")
    shell.wait("> /max-agents 3")
    shell.type(CTRL_Z)
    shell.wait("Stopped")
    shell.type(f"echo is it $((40 + 2)){ENTER}")
    shell.wait("is it 42")
    shell.type(f"fg{ENTER}")
    shell.wait("> /max-agents 3", after="is it 42")
    shell.type(ENTER)
    shell.wait("3 agents at most at once")
    shell.type(f"/no-review{ENTER}/models {spec}{ENTER}do it{ENTER}")
    shell.wait("works on a.py::other")
    shell.type(CTRL_Z)
    shell.wait("Stopped", after="3 agents at most")
    shell.type(f"echo is it $((40 + 3)){ENTER}")
    shell.wait("is it 43")
    shell.type(f"fg{ENTER}")
    shell.wait("works on a.py::other", after="is it 43")
    shell.type(CTRL_C)
    shell.wait("was interrupted", "no review")
    shell.type(f"/exit{ENTER}")
    shell.wait("shell% ".rstrip(), after="was interrupted")
    shell.type(f"exit{ENTER}")
    assert shell.ended() == 0
    shell.close()
