"""Which file holds, with HOME and XDG_CONFIG_HOME in folders of the test's own."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
from pathlib import Path

import pytest

from mak.cli.person import cache_dir, config_dir
from mak.config import CONFIG_FILE, Config, discover, places


@pytest.fixture
def work_dir(tmp_path: Path) -> Path:
    (tmp_path / "work" / ".mak").mkdir(parents=True)
    return tmp_path / "work"


def put(path: Path, max_agents: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"max_agents: {max_agents}\n")
    return path


def test_explicit_then_project_then_person_then_defaults(work_dir: Path, person: Path) -> None:
    explicit = put(work_dir / "else.yaml", 11)
    project = put(work_dir / CONFIG_FILE, 12)
    own = put(person / "config.yaml", 13)
    assert person == config_dir()
    for path, expected, number in ((explicit, explicit, 11), (None, project, 12)):
        found = discover(path, work_dir, person)
        assert (found.path, found.config.max_agents) == (expected, number)
    project.unlink()
    found = discover(None, work_dir, person)
    assert (found.path, found.config.max_agents) == (own, 13)
    own.unlink()
    found = discover(None, work_dir, person)
    assert (found.path, found.config) == (None, Config())


def test_files_are_not_merged(work_dir: Path, person: Path) -> None:
    person.mkdir(parents=True)
    (person / "config.yaml").write_text("attempts: 9\nplanner: openai\n")
    put(work_dir / CONFIG_FILE, 12)
    found = discover(None, work_dir, person).config
    assert (found.max_agents, found.attempts, found.planner) == (12, Config().attempts, None)


def test_without_a_person_only_the_project_counts(work_dir: Path) -> None:
    assert places(work_dir, None) == (work_dir / CONFIG_FILE,)


def test_xdg_config_home_moves_the_persons_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Path(os.environ["HOME"])
    assert (config_dir(), cache_dir()) == (home / ".config/mak", home / ".cache/mak")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert (config_dir(), cache_dir()) == (tmp_path / "xdg/mak", tmp_path / "cache/mak")
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    assert (config_dir(), cache_dir()) == (home / ".config/mak", home / ".cache/mak")


def test_the_suite_cannot_read_the_persons_own_configuration(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    theirs = Path(pwd.getpwuid(os.getuid()).pw_dir)
    monkeypatch.delenv("HOME")
    assert Path.home() == theirs
    with pytest.raises(RuntimeError, match="a test reaches for"):
        (config_dir() / "config.yaml").open()
    with pytest.raises(RuntimeError, match="a test reaches for"):
        (cache_dir() / "models.json").read_bytes()
    with pytest.raises(RuntimeError, match="with the person's own HOME"):
        subprocess.run([sys.executable, "-c", ""], env={"HOME": str(theirs)})
