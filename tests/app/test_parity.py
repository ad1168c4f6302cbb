"""The app and ``mak run`` are one road: the same settings are the same options and commits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from mak import kernel
from mak.cli.app.loop import carry_out
from mak.cli.app.prompt import Plain
from mak.cli.app.session import Session
from mak.cli.main import main
from mak.kernel import Options
from mak.model import Outcome
from mak.store import Store
from tests.app.conftest import ANSWERS, FILES, PLAN, scripted
from tests.conftest import git
from tests.terminal import ENTER, mak

REQUEST = "rename function a.old to new"

#: What is written in the project's file, typed in the app, and said on the command line.
SETTINGS = {
    "nothing": ("", (), ()),
    "a file": ("max_agents: 7\nsession: {max_usd: 2.5}\nattempts: 2\n", (), ()),
    "agents": ("max_agents: 7\n", ("/max-agents 2",), ("--max-agents", "2")),
    "a mode": (
        "",
        ("/mode local", "/planner builtin"),
        ("--mode", "local", "--planner", "builtin"),
    ),
    "another file": ("", ("/config other.yaml",), ("--config", "other.yaml")),
    "models": (
        "models: [anthropic]\n",
        ("/models builtin builtin", "/planner builtin"),
        ("--models", "builtin", "builtin", "--planner", "builtin"),
    ),
}


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[Options]:
    """Return a list of the options that each run is carried out with."""
    every: list[Options] = []
    road = kernel.run

    async def run(store: Store, request: Any, options: Options) -> Outcome:
        every.append(options)
        return await road(store, request, options)

    monkeypatch.setattr(kernel, "run", run)
    return every


def made(make_repo: Callable[..., Path], name: str, config: str) -> Path:
    files = {".mak/config.yaml": config or "# nothing\n", "other.yaml": "max_agents: 3\n"}
    return make_repo({**FILES, **files}, name)


def comparable(options: Options) -> Options:
    """Return options with the lists of models by what is in them."""
    models = {id: tuple(known) for id, known in options.setup.models.items()}
    return replace(options, setup=replace(options.setup, models=models))


def landed(root: Path) -> list[tuple[str, ...]]:
    """Return trees and messages of the commits, without the name of the run."""
    lines = git(root, "log", "--format=%T%x00%an <%ae>%x00%B%x1e").split("\x1e")
    own = "MAK-Run: "
    return [
        tuple(row for row in line.strip().splitlines() if not row.startswith(own))
        for line in lines
        if line.strip()
    ]


@pytest.mark.parametrize("settings", SETTINGS)
def test_settings_are_the_same_options_and_the_same_commits(
    settings: str,
    make_repo: Callable[..., Path],
    seen: list[Options],
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config, typed, said = SETTINGS[settings]
    one, other = (made(make_repo, name, config) for name in ("one", "other"))
    monkeypatch.chdir(one)
    assert main(["run", "--task", REQUEST, "--no-review", *said]) == 0
    monkeypatch.chdir(other)
    session = Session(Plain())
    for line in (*typed, "/no-review", REQUEST):
        carry_out(session, line)
    by_line, in_app = map(comparable, seen)
    for field in fields(Options):
        if field.name != "emit":
            assert getattr(by_line, field.name) == getattr(in_app, field.name), field.name
    assert landed(one) == landed(other) and len(landed(one)) == 2


def test_every_setting_holds_where_it_was_chosen(
    make_repo: Callable[..., Path], seen: list[Options], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two that are the same because neither does anything would be no parity."""
    found = {}
    for settings, (config, typed, _) in SETTINGS.items():
        monkeypatch.chdir(made(make_repo, settings.replace(" ", "-"), config))
        session = Session(Plain())
        for line in (*typed, "/no-review", REQUEST):
            carry_out(session, line)
        found[settings] = seen[-1]
    assert found["nothing"].max_agents == 4
    assert found["a file"].max_agents == 7 and found["a file"].config.session.max_usd == 2.5
    assert found["agents"].max_agents == 2
    assert found["a mode"].config.mode == found["a mode"].setup.mode == "local"
    assert found["another file"].max_agents == 3
    assert found["models"].models == ("builtin", "builtin")


def test_reviewed_runs_of_both_are_the_same_on_a_terminal(
    make_repo: Callable[..., Path], home: Path
) -> None:
    """A dropped task and a repair, typed at both."""
    one, other = (made(make_repo, name, "") for name in ("one", "other"))
    spec = scripted(one, ANSWERS, PLAN)
    line = mak(one, "run", "--task", "rename old to new", "--models", spec)
    app = mak(other)
    app.wait("main, clean")
    app.type(f"/models {spec}{ENTER}")
    app.wait("planner same", "Tasks are done by")
    app.type(f"rename old to new{ENTER}")
    for terminal in (line, app):
        terminal.wait("Plan: 3 tasks in 2 waves", "[a]pprove")
        terminal.type(f"d extra{ENTER}")
        terminal.wait("Plan: 2 tasks in 2 waves", "[a]pprove", after="dropped 1 task")
        terminal.type(f"a{ENTER}")
        terminal.wait("Repairs: 1 task in 1 wave", "[a]pprove", after="approved, dropped extra")
        terminal.type(f"a{ENTER}")
        terminal.wait("is done: ", "landed in 2 commits", after="Repairs: ")
    assert line.ended() == 0
    app.type(f"/exit{ENTER}")
    assert app.ended() == 0
    assert landed(one) == landed(other) and len(landed(one)) == 3
    line.close()
    app.close()
