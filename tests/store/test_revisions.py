"""Which commits are compared, and what a person is told to type for one that is not there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mak.errors import UsageError
from mak.store import revisions
from mak.store.repository import Repository
from tests.conftest import git, write

Make = Callable[..., Path]


def opened(root: Path) -> Repository:
    return Repository.open(root, write=False)


def commit(root: Path, text: str) -> str:
    write(root, {"a.py": text})
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", text)
    return git(root, "rev-parse", "HEAD").strip()


def branched(make_repo: Make) -> tuple[Path, str]:
    """Return a repository whose branches `main` and `topic` have parted, and where."""
    root = make_repo({"a.py": "a = 0\n"})
    base = commit(root, "a = 1\n")
    git(root, "switch", "-q", "-c", "topic")
    commit(root, "a = 2\n")
    commit(root, "a = 3\n")
    git(root, "switch", "-q", "main")
    commit(root, "a = 4\n")
    git(root, "switch", "-q", "topic")
    return root, base


def test_fork_is_where_two_branches_parted(make_repo: Make) -> None:
    root, base = branched(make_repo)
    repository = opened(root)
    tip = revisions.tip(repository)
    assert revisions.fork(repository, "main", tip) == base
    assert revisions.fork(repository, "HEAD~2", tip) == base
    assert revisions.find(repository, "topic") == tip


@pytest.mark.parametrize("name", ["nowhere", "--all", "-h", "a b", "HEAD:a.py", ""])
def test_what_names_no_commit_is_refused(make_repo: Make, name: str) -> None:
    with pytest.raises(UsageError, match="there is no commit"):
        revisions.find(opened(make_repo({"a.py": ""})), name)


def test_branch_that_was_never_fetched_is_fetched_by_the_command_in_the_hint(
    make_repo: Make, tmp_path: Path
) -> None:
    origin, base = branched(make_repo)
    root = tmp_path / "clone"
    args = ("clone", "-q", "--single-branch", "--branch", "topic", str(origin), str(root))
    git(tmp_path, *args)
    with pytest.raises(UsageError, match="no commit 'origin/main' here") as caught:
        revisions.find(opened(root), "origin/main")
    git(root, *caught.value.hint.split()[1:])
    repository = opened(root)
    assert revisions.fork(repository, "origin/main", revisions.tip(repository)) == base


def test_shallow_clone_is_deepened_by_the_command_in_the_hint(
    make_repo: Make, tmp_path: Path
) -> None:
    origin, base = branched(make_repo)
    root = tmp_path / "clone"
    url = f"file://{origin}"
    git(tmp_path, "clone", "-q", "--depth=1", "--branch", "topic", url, str(root))
    with pytest.raises(UsageError, match="'origin/main' in this shallow clone") as caught:
        revisions.find(opened(root), "origin/main")
    command, _, action = caught.value.hint.partition(", or ")
    assert action == "with actions/checkout: fetch-depth: 0"
    git(root, *command.split()[1:])
    repository = opened(root)
    assert revisions.fork(repository, "origin/main", revisions.tip(repository)) == base


def test_shallow_clone_that_does_not_reach_the_fork(make_repo: Make, tmp_path: Path) -> None:
    origin, _ = branched(make_repo)
    root = tmp_path / "clone"
    url = f"file://{origin}"
    git(
        tmp_path, "clone", "-q", "--depth=1", "--no-single-branch", "--branch=topic", url, str(root)
    )
    repository = opened(root)
    assert revisions.is_shallow(repository)
    with pytest.raises(UsageError, match="does not reach back to where origin/main and"):
        revisions.fork(repository, "origin/main", revisions.tip(repository))


def test_histories_that_share_nothing(make_repo: Make) -> None:
    root = make_repo({"a.py": ""})
    git(root, "switch", "-q", "--orphan", "other")
    commit(root, "a = 1\n")
    repository = opened(root)
    with pytest.raises(UsageError, match="no commit in common"):
        revisions.fork(repository, "main", revisions.tip(repository))


def test_merge_in_progress_and_uncommitted_changes_are_seen(make_repo: Make) -> None:
    root, _ = branched(make_repo)
    repository = opened(root)
    assert revisions.merging(repository) == ()
    assert not revisions.is_dirty(repository)
    write(root, {"new.py": ""})
    assert not revisions.is_dirty(repository)
    with pytest.raises(AssertionError):
        git(root, "merge", "-q", "main")
    assert revisions.merging(repository) == (git(root, "rev-parse", "main").strip(),)
    assert revisions.is_dirty(repository)
