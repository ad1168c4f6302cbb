"""The sample project of ``mak demo``: a small shop, laid out as a real Git repository."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from mak.cli import planfile
from mak.errors import MakError
from mak.model import Plan

#: Sources carry it so that no tool takes the sample for a part of MAK.
SUFFIX = ".txt"
#: Settings of the sample that a person's own configuration must not change.
SETTINGS = {"core.autocrlf": "false", "commit.gpgsign": "false", "core.hooksPath": ".git/hooks"}


def create(folder: Path) -> Path:
    """Write the project below `folder`, commit it, and return its root."""
    root = folder / "shop"
    for name, text in _sources():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    _git(root, "init", "--quiet", "--template=", "-b", "main")
    for key, value in SETTINGS.items():
        _git(root, "config", key, value)
    _git(root, "add", "--all")
    person = ("-c", "user.name=MAK demo", "-c", "user.email=demo@localhost")
    _git(root, *person, "commit", "--quiet", "-m", "A small shop")
    return root


def read_plan(folder: Path) -> Plan:
    """Return the plan of the demonstration; its scripted answers are written below `folder`."""
    answers = folder / "answers.yaml"
    answers.write_text(_demo().joinpath("answers.yaml").read_text("utf-8"), encoding="utf-8")
    plan = planfile.parse(_demo().joinpath("plan.yaml").read_text("utf-8"), "plan.yaml")
    tasks = (replace(t, model=t.model.replace("ANSWERS", str(answers))) for t in plan.tasks)
    return replace(plan, tasks=tuple(tasks))


def run_tests(root: Path) -> tuple[bool, str]:
    """Run the project's own tests: whether they pass, and what the runner said last."""
    done = subprocess.run(
        [sys.executable, "-m", "unittest", "-q"],
        cwd=root,
        env={**_environment(), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    said = [line for line in done.stderr.splitlines() if line.strip(" -")]
    return done.returncode == 0, ", ".join(said[-2:])


def _demo() -> Traversable:
    return files("mak.cli").joinpath("demo")


def _sources() -> Iterator[tuple[str, str]]:
    pending = [("", _demo())]
    while pending:
        prefix, folder = pending.pop()
        for entry in folder.iterdir():
            if entry.is_dir():
                pending.append((f"{prefix}{entry.name}/", entry))
            elif entry.name.endswith(SUFFIX):
                yield prefix + entry.name.removesuffix(SUFFIX), entry.read_text("utf-8")


def _environment() -> dict[str, str]:
    # Inside a hook, GIT_DIR and its like would lead git to another repository.
    return {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}


def _git(root: Path, *args: str) -> None:
    try:
        done = subprocess.run(
            ["git", *args],
            cwd=root,
            env=_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError as error:
        raise MakError("creating the sample: git is not installed", hint="install git") from error
    if done.returncode:
        raise MakError(f"creating the sample: git {' '.join(args)}: {done.stderr.strip()}")
