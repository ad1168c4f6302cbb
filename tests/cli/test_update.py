"""`mak update`: against real repositories, with an `uv` that notes what it is told."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from mak import __version__
from mak.cli import installed
from mak.cli.installed import By, Installed, Newest, newest
from mak.cli.main import main
from mak.errors import MakError
from tests.conftest import git

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def origin(make_repo: Callable[..., Path]) -> Path:
    return make_repo({"a.py": "x = 1\n"}, "origin")


def tag(root: Path, name: str, *, annotated: bool = False) -> str:
    git(root, "commit", "-q", "--allow-empty", "-m", name)
    git(root, "tag", *(("-a", "-m", name) if annotated else ()), name)
    return git(root, "rev-parse", "HEAD").strip()


def from_git(origin: Path, commit: str = "", by: By = By.UV) -> Installed:
    return Installed(by, url=f"file://{origin}", commit=commit)


@pytest.mark.parametrize("annotated", [False, True])
def test_the_newest_release_is_the_highest_version(origin: Path, annotated: bool) -> None:
    tag(origin, "v0.9.0")
    commit = tag(origin, "v0.10.0", annotated=annotated)
    for other in ("v0.2.0", "v1.0.0rc1", "nightly", "v2"):
        expected = ("v2", tag(origin, other)) if other == "v2" else ("v0.10.0", commit)
        found = newest(from_git(origin))
        assert (found.name, found.commit) == expected


def test_without_a_release_it_is_the_tip_of_main(origin: Path) -> None:
    tip = git(origin, "rev-parse", "HEAD").strip()
    git(origin, "tag", "nightly")
    assert newest(from_git(origin)) == Newest("main", tip)
    assert newest(from_git(origin)).is_in(from_git(origin, tip))


def test_a_repository_that_does_not_answer_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(MakError, match=r"looking for updates at file://.*gone"):
        newest(from_git(tmp_path / "gone"))


@pytest.mark.parametrize(
    ("here", "expected"),
    [
        (Installed(By.UV, url="https://h/r"), "uv tool install --force mak-kernel @ git+https"),
        (Installed(By.UV), "uv tool upgrade mak-kernel"),
        (Installed(By.PIP, url="https://h/r"), "-m pip install --upgrade mak-kernel @ git+https"),
        (Installed(By.PIP), "-m pip install --upgrade mak-kernel"),
        (Installed(By.CHECKOUT, folder="/src/mak"), "git -C /src/mak pull"),
    ],
)
def test_each_kind_of_installation_has_its_command(here: Installed, expected: str) -> None:
    found = " ".join(installed.command(here, Newest("v1.0.0", "abc")))
    assert expected in found
    assert found.endswith("git+https://h/r@v1.0.0") is bool(here.url)


# ------------------------------------------------------------------------------- the command


class Record:
    """An installation as its record describes it."""

    def __init__(self, record: dict[str, Any] | None) -> None:
        self._record = record

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return None if self._record is None else json.dumps(self._record)


@pytest.fixture
def installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[dict[str, Any] | None, bool], Path]:
    """Return a function that says how MAK was installed; it returns the notes of uv."""
    notes = tmp_path / "uv-was-told"

    def make(record: dict[str, Any] | None, uv: bool) -> Path:
        prefix = tmp_path / "prefix"
        prefix.mkdir()
        if uv:
            (prefix / "uv-receipt.toml").write_text("[tool]\n")
        monkeypatch.setattr(metadata, "distribution", lambda name: Record(record))
        monkeypatch.setattr("sys.prefix", str(prefix))
        tool = tmp_path / "bin" / "uv"
        tool.parent.mkdir()
        tool.write_text(f'#!/bin/sh\necho "$@" >> {notes}\nexit ${{UV_EXIT:-0}}\n')
        tool.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tool.parent}{os.pathsep}{os.environ['PATH']}")
        return notes

    return make


def git_record(origin: Path, commit: str) -> dict[str, Any]:
    return {"url": f"file://{origin}", "vcs_info": {"vcs": "git", "commit_id": commit}}


def test_an_installation_by_uv_is_updated_to_the_newest_release(
    origin: Path, installation: Callable[..., Path], capsys: Capture
) -> None:
    old = tag(origin, "v0.1.0")
    new = tag(origin, "v0.2.0")
    notes = installation(git_record(origin, old), True)
    assert main(["update", "--check"]) == 0
    assert not notes.exists()
    told = capsys.readouterr().err
    assert f"This is MAK {__version__} ({old[:10]}), installed by uv tool\n" in told
    assert "Next: mak update, which runs: uv tool install --force 'mak-kernel @ git+file" in told
    assert main(["update"]) == 0
    said = "tool install --force mak-kernel @ git+file://{}@v0.2.0\n"
    assert notes.read_text() == said.format(origin)
    assert "The newest is v0.2.0" in capsys.readouterr().err
    assert new != old


def test_what_is_the_newest_is_left_alone(
    origin: Path, installation: Callable[..., Path], capsys: Capture
) -> None:
    notes = installation(git_record(origin, tag(origin, "v0.1.0")), True)
    assert main(["update", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["up_to_date"]
    assert "It is the newest: v0.1.0" in err
    assert not notes.exists()


def test_an_update_that_goes_wrong_is_a_failure(
    origin: Path, installation: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    installation(git_record(origin, "0" * 40), True)
    monkeypatch.setenv("UV_EXIT", "2")
    assert main(["update"]) == 1


def test_any_other_installation_is_told_how(
    origin: Path, installation: Callable[..., Path], capsys: Capture
) -> None:
    notes = installation(git_record(origin, "0" * 40), False)
    assert main(["update"]) == 0
    assert f"pip install --upgrade 'mak-kernel @ git+file://{origin}@main'" in (
        capsys.readouterr().err
    )
    assert not notes.exists()


def test_a_checkout_is_told_to_pull(installation: Callable[..., Path], capsys: Capture) -> None:
    installation({"url": "file:///src/mak", "dir_info": {"editable": True}}, True)
    assert main(["update"]) == 0
    assert capsys.readouterr().err.splitlines() == [
        f"This is MAK {__version__}, from the checkout in /src/mak",
        "To update it: git -C /src/mak pull",
    ]
