"""Running git: in the repository that was meant, with its words when it fails."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from mak.errors import StoreError
from mak.store import Store
from mak.store.git import _LOCAL
from mak.store.repository import Repository
from tests.conftest import git

MakeRepo = Callable[..., Path]


def test_what_a_hook_sets_does_not_lead_to_another_repository(
    make_repo: MakeRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_repo({"a.py": "1\n"})
    other = make_repo({"b.py": "2\n"}, "other")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "no-index"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(tmp_path / "no-objects"))
    monkeypatch.setenv("GIT_NAMESPACE", "else")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.bare")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "true")
    with Store.open(root) as store:
        assert store.root == root
        assert list(store.entries(store.tip())) == ["a.py"]
        (root / "a.py").write_text("3\n")
        assert store.uncommitted(["a.py"]) == ["a.py"]
        assert store.repository.git.run("ls-files", "-z") == b"a.py\0"
        with store.enter("r1"):
            store.start_run("r1", {"a": b""})
        assert store.runs() == ["r1"]
    monkeypatch.undo()
    assert git(other, "for-each-ref", "refs/mak") == ""


def test_every_variable_that_git_calls_local_is_dropped() -> None:
    listed = subprocess.run(
        ["git", "rev-parse", "--local-env-vars"], capture_output=True, text=True, check=True
    )
    assert set(listed.stdout.split()) <= _LOCAL


def test_hooks_of_the_person_do_not_run(make_repo: MakeRepo, tmp_path: Path) -> None:
    root = make_repo({"a.py": ""})
    hook = root / ".git/hooks/reference-transaction"
    hook.write_text(f"#!/bin/sh\ntouch '{tmp_path}/ran'\n")
    hook.chmod(0o755)
    repository = Repository.open(root)
    tip = repository.tip()
    repository.git.run("update-ref", "refs/mak/test", tip)
    assert not (tmp_path / "ran").exists()
    repository.git.run("update-ref", "refs/mak/test2", tip, hooks=True)
    assert (tmp_path / "ran").exists()


def test_a_failure_carries_the_words_of_git(make_repo: MakeRepo) -> None:
    repository = Repository.open(make_repo({"a.py": ""}))
    with pytest.raises(StoreError, match=r"^git cat-file: Not a valid object name nonsense"):
        repository.git.run("cat-file", "-p", "nonsense")
    assert repository.git.run("cat-file", "-p", "nonsense", check=False) == b""


def test_without_git_the_hint_says_what_to_install(
    make_repo: MakeRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = Repository.open(make_repo({"a.py": ""}))
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(StoreError, match="no git on the PATH") as caught:
        repository.git.run("status")
    assert "install Git" in caught.value.hint


def test_a_folder_that_is_gone_is_named(make_repo: MakeRepo) -> None:
    root = make_repo({"a.py": ""})
    repository = Repository.open(root)
    root.rename(root.with_name("moved"))
    with pytest.raises(StoreError, match="is gone"):
        repository.git.run("status")


def test_paths_are_taken_as_they_are_written(make_repo: MakeRepo) -> None:
    strange = ["*.py", ":x", "-n", "a b\n.py", '"q".py', "a.py"]
    root = make_repo(dict.fromkeys(strange, ""))
    listed = Repository.open(root).git.run_over("ls-files", "-z", paths=["*.py", "-n", ":x"])
    assert sorted(os.fsdecode(listed).split("\0")) == ["", "*.py", "-n", ":x"]


def test_more_paths_than_a_command_takes(make_repo: MakeRepo) -> None:
    root = make_repo({"a.py": ""})
    many = [f"{'x' * 200}{i}" for i in range(3000)]
    assert Repository.open(root).git.run_over("ls-files", "-z", paths=[*many, "a.py"]) == b"a.py\0"
