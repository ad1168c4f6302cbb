"""What commit, index and working tree are said to hold, and that looking leaves no trace."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mak.errors import StoreError, UsageError
from mak.store.repository import Repository
from mak.store.snapshot import Snapshot, Snapshots, reader
from tests.conftest import git, write

Make = Callable[..., Path]


def shots(root: Path) -> Snapshots:
    return Snapshots(Repository.open(root, write=False))


def texts(root: Path, side: Snapshot) -> dict[str, str]:
    read = reader(Repository.open(root, write=False), side)
    return {path: read(oid).decode() for path, oid in side.entries.items()}


def worktree(root: Path) -> dict[str, str]:
    return texts(root, shots(root).worktree())


def index(root: Path) -> dict[str, str]:
    return texts(root, shots(root).index())


# ---------------------------------------------------------------------------------- the index


def test_index_holds_what_is_staged_and_not_what_was_written_since(make_repo: Make) -> None:
    root = make_repo({"a.py": "one = 1\n"})
    write(root, {"a.py": "one = 2\n", "new.py": "new = 1\n"})
    git(root, "add", "a.py")
    write(root, {"a.py": "one = 3\n"})
    assert index(root) == {"a.py": "one = 2\n"}
    assert worktree(root) == {"a.py": "one = 3\n", "new.py": "new = 1\n"}


def test_file_that_is_only_meant_to_be_added_is_not_in_the_index(make_repo: Make) -> None:
    root = make_repo({"pkg/__init__.py": ""})
    write(root, {"new.py": "new = 1\n"})
    git(root, "add", "-N", "new.py")
    assert index(root) == {"pkg/__init__.py": ""}
    assert worktree(root)["new.py"] == "new = 1\n"


def test_hook_sees_the_index_that_git_made_for_the_commit(
    make_repo: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`git commit -a` and `git commit PATH` hand their hooks an index of their own."""
    root = make_repo({"a.py": "one = 1\n", "b.py": "two = 1\n"})
    hook = root / ".git/hooks/pre-commit"
    hook.write_text(
        '#!/bin/sh\nprintf %s "$GIT_INDEX_FILE" > .git/index-of-hook\n'
        'cp "$GIT_INDEX_FILE" .git/kept\n'
    )
    hook.chmod(0o755)
    write(root, {"a.py": "one = 2\n", "b.py": "two = 2\n"})
    git(root, "commit", "-q", "-m", "a only", "a.py")
    named = (root / ".git/index-of-hook").read_text()
    assert named not in ("", ".git/index")
    (root / ".git/kept").rename(root / named)
    git(root, "reset", "-q", "--soft", "HEAD~")
    git(root, "read-tree", "HEAD")
    monkeypatch.setenv("GIT_INDEX_FILE", named)
    assert index(root) == {"a.py": "one = 2\n", "b.py": "two = 1\n"}
    monkeypatch.setenv("GIT_INDEX_FILE", str(make_repo({}, "other") / ".git/index"))
    assert index(root) == {"a.py": "one = 1\n", "b.py": "two = 1\n"}


def conflicting(make_repo: Make) -> Path:
    root = make_repo({"a.py": "one = 1\n", "b.py": "two = 1\n"})
    git(root, "switch", "-q", "-c", "other")
    write(root, {"a.py": "one = 2\n"})
    git(root, "commit", "-q", "-am", "theirs")
    git(root, "switch", "-q", "main")
    write(root, {"a.py": "one = 3\n"})
    git(root, "commit", "-q", "-am", "ours")
    with pytest.raises(AssertionError):
        git(root, "merge", "-q", "other")
    return root


def test_conflict_is_named_and_its_file_is_read_as_it_lies_there(make_repo: Make) -> None:
    root = conflicting(make_repo)
    assert shots(root).index().conflicts == ("a.py",)
    assert "<<<<<<<" in worktree(root)["a.py"]
    assert worktree(root)["b.py"] == "two = 1\n"


# --------------------------------------------------------------------------- the working tree


def test_deleted_replaced_and_moved_files_are_as_they_lie_there(make_repo: Make) -> None:
    root = make_repo({"gone.py": "", "link.py": "", "folder.py": "", "old.py": "x = 1\n"})
    (root / "gone.py").unlink()
    (root / "link.py").unlink()
    (root / "link.py").symlink_to("old.py")
    (root / "folder.py").unlink()
    write(root, {"folder.py/inner.py": "y = 1\n"})
    (root / "old.py").rename(root / "new.py")
    (root / "link.py").unlink()
    (root / "link.py").symlink_to("new.py")
    assert worktree(root) == {"folder.py/inner.py": "y = 1\n", "new.py": "x = 1\n"}


def test_ignored_files_environments_and_other_repositories_are_no_part_of_it(
    make_repo: Make,
) -> None:
    root = make_repo({".gitignore": "build/\n"})
    write(
        root,
        {
            "build/made.py": "",
            "env/pyvenv.cfg": "",
            "env/lib/site.py": "",
            "inner/.git/HEAD": "ref: refs/heads/main\n",
            "data.bin": b"\x00" * 10,
            "new.py": "n = 1\n",
        },
    )
    git(root / "inner", "init", "-q")
    write(root, {"inner/theirs.py": ""})
    # Of what is no code only the name matters.
    assert worktree(root) == {".gitignore": "build/\n", "data.bin": "", "new.py": "n = 1\n"}


def test_links_and_submodules_are_left_out_everywhere(make_repo: Make) -> None:
    inner = make_repo({"theirs.py": ""}, "inner")
    root = make_repo({"a.py": ""})
    git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "sub")
    (root / "link.py").symlink_to("a.py")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "both")
    write(root, {"sub/theirs.py": "changed = 1\n"})
    for side in (shots(root).commit(git(root, "rev-parse", "HEAD").strip()), shots(root).index()):
        assert sorted(side.entries) == [".gitmodules", "a.py"]
    assert sorted(shots(root).worktree().entries) == [".gitmodules", "a.py"]


def test_line_endings_of_a_checkout_are_no_change(make_repo: Make) -> None:
    root = make_repo({".gitattributes": "*.py text eol=crlf\n", "a.py": "one = 1\ntwo = 2\n"})
    write(root, {"a.py": "one = 1\r\ntwo = 3\r\n"})
    assert worktree(root)["a.py"] == "one = 1\ntwo = 3\n"
    plain = make_repo({"a.py": "one = 1\r\n"}, "plain")
    write(plain, {"a.py": "one = 2\r\n"})
    assert worktree(plain)["a.py"] == "one = 2\r\n"


def test_file_that_a_sparse_checkout_leaves_out_is_there(make_repo: Make) -> None:
    root = make_repo({"in/a.py": "a = 1\n", "out/b.py": "b = 1\n"})
    git(root, "sparse-checkout", "set", "in")
    assert not (root / "out").exists()
    assert worktree(root) == index(root) == {"in/a.py": "a = 1\n", "out/b.py": "b = 1\n"}


def test_large_file_of_the_working_tree_is_not_read(make_repo: Make) -> None:
    root = make_repo({"data.json": "{}", "a.py": ""})
    write(root, {"data.json": b"0" * (5 << 20)})
    side = shots(root).worktree()
    assert side.entries["data.json"] == shots(root).index().entries["data.json"]
    assert side.remarks == ("data.json is 5 MiB and was not looked at",)


def test_unborn_branch_and_bare_repository(make_repo: Make, tmp_path: Path) -> None:
    root = tmp_path / "unborn"
    root.mkdir()
    git(root, "init", "-q")
    write(root, {"a.py": "a = 1\n"})
    assert shots(root).commit("").entries == {} == index(root)
    assert worktree(root) == {"a.py": "a = 1\n"}
    bare = tmp_path / "bare"
    git(tmp_path, "clone", "-q", "--bare", str(make_repo({"a.py": ""})), str(bare))
    for side in (shots(bare).index, shots(bare).worktree):
        with pytest.raises(UsageError, match="bare repository"):
            side()


def test_partial_clone_that_lacks_a_text_is_not_filled_behind_the_persons_back(
    make_repo: Make, tmp_path: Path
) -> None:
    origin = make_repo({"a.py": "one = 1\n"})
    old = git(origin, "rev-parse", "HEAD").strip()
    write(origin, {"a.py": "one = 2\n"})
    git(origin, "commit", "-qam", "two")
    git(origin, "config", "uploadpack.allowFilter", "true")
    root = tmp_path / "partial"
    git(tmp_path, "clone", "-q", "--filter=blob:none", f"file://{origin}", str(root))
    with pytest.raises(StoreError, match=r"reading a\.py: this partial clone") as caught:
        texts(root, shots(root).commit(old))
    assert "git cat-file blob" in caught.value.hint
    assert worktree(root) == {"a.py": "one = 2\n"}


def test_looking_leaves_no_trace(make_repo: Make) -> None:
    root = conflicting(make_repo)
    write(root, {"b.py": "two = 1\n", "new.py": "", "crlf.py": "a\r\n"})
    before = traces(root)
    shots(root).worktree()
    shots(root).index()
    assert traces(root) == before


def traces(root: Path) -> dict[str, tuple[int, bytes]]:
    files = (path for path in root.rglob("*") if path.is_file())
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}
