"""The first start: what is offered, and what is taken or left."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from tests.app.conftest import FILES, Open
from tests.first_run import REQUEST, SHOP, vendor
from tests.pages import OLLAMA, serving
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


def test_first_start_takes_an_endpoint_and_its_model_plans_and_works(
    make_repo: Callable[..., Path], person: Path, open_app: Open
) -> None:
    """From nothing to a commit that a model made, with what it took in the bar."""
    root = make_repo({"shop.py": SHOP, ".mak/config.yaml": "# nothing\n"}, "new")
    (person.parents[1] / ".gitconfig").write_text("[user]\nname = Ada\nemail = ada@example.org\n")
    with vendor() as server:
        terminal = open_app(cwd=root, ready="1, 2, 3 or 4?", columns=120, rows=60)
        terminal.type(f"2{ENTER}")
        for question, answer, said in (
            ("A short name for it?", "work", ""),
            ("Its base URL?", f"{server.root}/v1", ""),
            ("Which model there?", "m", ""),
            ("The variable of its key", "WORK_KEY", ""),
            ("WORK_KEY (not shown)", "sk-canary-0123456789", "WORK_KEY is stored in"),
            ("Always, by writing", "n", "work · planner same · 4 agents · main, clean"),
        ):
            terminal.wait(question)
            terminal.type(f"{answer}{ENTER}")
            terminal.wait(said)
        terminal.type(f"/endpoint edit work --price 3,15{ENTER}")
        terminal.wait("endpoints.json")
        terminal.type(f"{REQUEST}{ENTER}")
        shown = terminal.wait("Plan: 2 tasks in 2 waves", "after    net", "[a]pprove")
        assert re.search(r"Estimate: [\d.k]+ to [\d.k]+ tokens, \$[\d.]+ to \$[\d.]+\n", shown)
        assert "decided: None counts as no price" in shown
        terminal.type(f"a{ENTER}")
        terminal.wait("is done: 2 of 2 tasks", "wave 1: ", "wave 2: ", "changed   shop.py::gross")
        terminal.until(
            lambda: bool(re.search(r"review · [\d.]+k tok(ens)? · \$0\.0\d+", terminal.lines[-1])),
            "no tokens and cost in the bar",
        )
        assert "canary" not in terminal.text
    assert not (person / "config.yaml").exists()


def test_first_start_finds_a_model_that_runs_here(
    make_repo: Callable[..., Path], person: Path, open_app: Open
) -> None:
    root = make_repo({**FILES, ".mak/config.yaml": "# nothing\n"}, "new")
    with serving(OLLAMA) as url:
        env = {"OLLAMA_HOST": url.removeprefix("http://")}
        terminal = open_app(cwd=root, ready="1, 2, 3 or 4?", env=env)
        terminal.type(f"3{ENTER}")
        spec = f"ollama:qwen3-coder:30b@{url}"
        terminal.wait(f"{spec}  262,144 tokens", "Which of these shall work? Enter takes the first")
        terminal.type(ENTER)
        terminal.wait(f"Tasks are done by {spec}", "Always, by writing")
        terminal.type(f"y{ENTER}")
        terminal.wait("Wrote ", "ollama:qwen3-coder:30b · planner same")
    assert (person / "config.yaml").read_text() == f"models:\n  - {spec}\n"


def test_first_start_says_what_is_wrong_and_goes_on(
    make_repo: Callable[..., Path], person: Path, open_app: Open
) -> None:
    root = make_repo(FILES, "new")
    terminal = open_app(cwd=root, ready="1, 2, 3 or 4?")
    terminal.type(f"1{ENTER}")
    terminal.wait("Which provider?")
    terminal.type(f"anthropc{ENTER}")
    terminal.wait("'anthropc' is neither", "/help lists what to do later", "Create .mak/config")
    terminal.type(f"n{ENTER}")
    terminal.wait("builtin · planner same")


def test_first_start_is_asked_in_plain_lines_too(
    make_repo: Callable[..., Path], open_app: Open
) -> None:
    root = make_repo(FILES, "new")
    terminal = open_app("--plain", cwd=root, ready="1, 2, 3 or 4?")
    terminal.type(f"4{ENTER}")
    terminal.wait("The built-in agent does the tasks", "Create .mak/config.yaml")
    terminal.type(f"y{ENTER}")
    terminal.wait("Wrote ")
    terminal.type(f"/status{ENTER}")
    terminal.wait("branch    main, 1 uncommitted file")
    assert (root / ".mak/config.yaml").exists()
