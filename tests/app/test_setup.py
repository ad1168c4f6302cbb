"""The first start: what is offered, and what is taken or left."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.app.conftest import FILES, Open
from tests.terminal import CTRL_C, ENTER


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
