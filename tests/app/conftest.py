"""What the tests of the app share: a person, a repository, a terminal, and agents by script."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.road.conftest import edited, reply
from tests.terminal import Terminal, mak

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
