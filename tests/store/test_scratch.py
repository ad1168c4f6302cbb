"""Copies of a tree for commands: nothing of the person's moves, and nothing is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from mak.store import Store
from tests.conftest import git, write
from tests.road.conftest import environment, snapshot

FILES = {"a.py": "A = 1\n", "pkg/b.py": "B = 1\n", ".gitignore": ".venv\n*.cache\n"}


@pytest.fixture
def root(make_repo) -> Path:
    return make_repo(FILES)


def status(root: Path) -> str:
    return git(root, "status", "--porcelain")


def test_a_copy_shows_one_tree_after_the_other_and_leaves_the_person_alone(root: Path) -> None:
    write(root, {"a.py": "A = 'mine'\n", "new.txt": "mine\n"})
    git(root, "add", "new.txt")
    before = snapshot(root), git(root, "rev-parse", "HEAD"), git(root, "worktree", "list")
    with Store.open(root) as store, store.scratch() as copy:
        first = store.prospective(store.tip(), {"a.py": b"A = 2\n", "pkg/b.py": None})
        folder = copy.show(first)
        assert (folder / "a.py").read_text() == "A = 2\n"
        assert not (folder / "pkg").exists() and not (folder / "new.txt").exists()
        copy.show(store.prospective(store.tip(), {}))
        assert (folder / "pkg/b.py").read_text() == "B = 1\n"
        assert not folder.is_relative_to(root)
    assert not folder.exists()
    assert before == (snapshot(root), git(root, "rev-parse", "HEAD"), git(root, "worktree", "list"))


def test_what_a_command_leaves_goes_and_what_git_ignores_stays(root: Path) -> None:
    with Store.open(root) as store, store.scratch() as copy:
        tree = store.prospective(store.tip(), {})
        folder = copy.show(tree)
        write(folder, {"junk.txt": "", "a.py": "broken", "x.cache": "", "deep/er/junk": ""})
        copy.show(tree)
        assert (folder / "a.py").read_text() == "A = 1\n"
        assert sorted(path.name for path in folder.iterdir()) == [
            ".git",
            ".gitignore",
            "a.py",
            "pkg",
            "x.cache",
        ]


@pytest.mark.parametrize(
    "ruin",
    [
        "rm -rf .git",
        "rm -rf * .git .gitignore",
        'here=$PWD; cd /; rm -rf "$here"',
        "rm .git; git init -q .; git add a.py",
        "touch $(git rev-parse --git-dir)/index.lock",
        "git config core.bare true; git config core.worktree /; git config user.name gate",
        "git config --unset include.path; git config --local filter.x.clean false",
        "git sparse-checkout set pkg; git stash -q; git switch -qc gate",
        "git commit -qam gate; git branch -D main; git tag -f v1; git update-ref -d HEAD",
        "git reflog expire --all --expire=now; git gc -q --prune=now; git worktree prune",
    ],
)
@pytest.mark.parametrize("inside", [False, True])
def test_a_copy_that_a_command_ruins_is_made_anew_and_the_person_left_alone(
    root: Path, monkeypatch, ruin: str, inside: bool
) -> None:
    """Without its `.git`, git took the repository around the temporary folder: the person's."""
    if inside:
        write(root, {".git/info/exclude": "tmp/\n", "tmp/x": ""})
        monkeypatch.setattr(tempfile, "tempdir", str(root / "tmp"))
    write(root, {"a.py": "A = 'mine'\n", "new.txt": "mine\n"})
    git(root, "tag", "v1")
    git(root, "worktree", "add", "-q", str(root.parent / "beside"), "-b", "beside")
    config = (root / ".git/config").read_bytes()
    before = snapshot(root), git(root, "for-each-ref", "refs/heads", "refs/tags")
    worktrees = git(root, "worktree", "list")
    with Store.open(root) as store, store.scratch() as copy:
        trees = [store.prospective(store.tip(), {"a.py": f"A = {n}\n".encode()}) for n in range(3)]
        for number, tree in enumerate(trees):
            folder = copy.show(tree)
            assert (folder / "a.py").read_text() == f"A = {number}\n"
            assert (folder / "pkg/b.py").read_text() == "B = 1\n"
            assert git(folder, "ls-files", "-mdo") == ""
            subprocess.run(ruin, shell=True, cwd=folder, check=False, capture_output=True)
    assert not folder.parent.exists()
    assert before == (snapshot(root), git(root, "for-each-ref", "refs/heads", "refs/tags"))
    assert worktrees == git(root, "worktree", "list")
    assert config == (root / ".git/config").read_bytes()
    assert not (root / ".git/info/sparse-checkout").exists()


def test_a_command_sees_the_branches_tags_and_settings_of_the_person(root: Path) -> None:
    git(root, "tag", "v1")
    git(root, "config", "merge.theirs.name", "mine")
    (root / ".git/info/exclude").write_text("*.secret\n")
    (root / "x.secret").write_text("")
    with Store.open(root) as store, store.scratch() as copy:
        folder = copy.show(store.prospective(store.tip(), {"a.py": b"A = 2\n"}))
        write(folder, {"y.secret": ""})
        assert git(folder, "describe", "--tags").strip() == "v1"
        assert git(folder, "config", "merge.theirs.name").strip() == "mine"
        assert git(folder, "log", "--format=%H", "main") == git(root, "log", "--format=%H")
        assert git(folder, "diff", "--name-only", "HEAD").split() == ["a.py"]
        assert git(folder, "ls-files", "-o", "--exclude-standard") == ""


def test_what_was_written_is_taken_in_where_it_is_wanted(root: Path) -> None:
    with Store.open(root) as store, store.scratch() as copy:
        tree = store.prospective(store.tip(), {})
        folder = copy.show(tree)
        write(folder, {"a.py": "A = 9\n", "pkg/new.py": "N = 1\n", "x.txt": "", "y.cache": ""})
        (folder / "pkg/b.py").unlink()
        (folder / "link.py").symlink_to("a.py")
        git(folder, "add", "x.txt")
        after = copy.written(lambda path: path.endswith((".py", ".cache")))
        assert store.difference(tree, after) == {
            "a.py": b"A = 9\n",
            "pkg/b.py": None,
            "pkg/new.py": b"N = 1\n",
        }
        assert sorted(p.name for p in copy.show(tree).rglob("*.*")) == [
            ".git",
            ".gitignore",
            "a.py",
            "b.py",
            "y.cache",
        ]
        assert (copy.show(after) / "pkg/new.py").read_text() == "N = 1\n"


def test_a_changed_file_gets_a_time_it_never_had(root: Path) -> None:
    """Python takes compiled code for current by size and time in seconds: a.py has the same size
    in each of these trees, which follow each other within a second."""
    seen = []
    with Store.open(root) as store, store.scratch() as copy:
        for value in (b"1", b"2", b"1", b"3"):
            tree = store.prospective(store.tip(), {"a.py": b"A = %s\n" % value})
            folder = copy.show(tree)
            done = subprocess.run(
                [sys.executable, "-c", "import a; print(a.A)"],
                cwd=folder,
                capture_output=True,
                text=True,
            )
            assert done.stdout.strip() == value.decode()
            seen.append(int((folder / "a.py").stat().st_mtime))
    assert len({*seen}) == len(seen)


def test_the_environment_beside_the_files_is_linked_and_survives(root: Path) -> None:
    write(root, {".venv/bin/tool": "#!/bin/sh\n"})
    with Store.open(root) as store, store.scratch([".venv", "a.py", "none"]) as copy:
        tree = store.prospective(store.tip(), {})
        for _ in range(2):
            folder = copy.show(tree)
            assert (folder / ".venv").is_symlink()
            assert (folder / ".venv/bin/tool").read_text() == "#!/bin/sh\n"
            assert not (folder / "a.py").is_symlink() and not (folder / "none").exists()
    assert (root / ".venv/bin/tool").exists()


def test_links_and_modes_are_as_in_the_tree(root: Path) -> None:
    (root / "link").symlink_to("a.py")
    write(root, {"run.sh": "#!/bin/sh\n"})
    (root / "run.sh").chmod(0o755)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "more")
    with Store.open(root) as store, store.scratch() as copy:
        folder = copy.show(store.prospective(store.tip(), {"run.sh": b"#!/bin/sh\nexit 1\n"}))
        assert (folder / "link").readlink() == Path("a.py")
        assert os.access(folder / "run.sh", os.X_OK)


def test_submodules_are_filled_from_what_the_person_has(root: Path, make_repo) -> None:
    inner = make_repo({"lib.py": "L = 1\n"}, "inner")
    git(root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "lib")
    git(root, "commit", "-qm", "with a submodule")
    with Store.open(root) as store, store.scratch() as copy:
        folder = copy.show(store.prospective(store.tip(), {}))
        assert (folder / "lib/lib.py").read_text() == "L = 1\n"
    assert status(root) == "" and status(root / "lib") == ""


def test_commands_stand_in_the_work_directory(root: Path) -> None:
    with Store.open(root / "pkg") as store, store.scratch() as copy:
        folder = copy.show(store.prospective(store.tip(), {}))
        assert folder == copy.root / "pkg" == copy.work_dir
        assert (folder / "b.py").exists()


def test_a_branch_without_commits_has_an_empty_tree(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    with Store.open(tmp_path) as store, store.scratch() as copy:
        folder = copy.show(store.prospective("", {"a.py": b"A = 1\n"}))
        assert (folder / "a.py").read_text() == "A = 1\n"
        copy.show(store.prospective("", {}))
        assert not (folder / "a.py").exists()


KILLED = """
import os, signal
from pathlib import Path
from mak.store import Store
with Store.open(Path()) as store, store.scratch() as copy:
    print(copy.show(store.prospective(store.tip(), {})), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_copy_of_a_killed_process_goes_and_that_of_a_live_one_stays(root: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED], cwd=root, capture_output=True, text=True, env=environment()
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    left = Path(done.stdout.strip())
    assert left.is_dir()
    with Store.open(root) as store, store.scratch() as copy:
        mine = copy.show(store.prospective(store.tip(), {}))
        with Store.open(root) as other, other.enter("r1"):
            pass
        assert not left.parent.exists()
        assert (mine / "a.py").exists()
        assert str(left) not in git(root, "worktree", "list")
    assert list((root / ".git/mak/scratch").iterdir()) == []
    assert not (root / ".git/worktrees").exists()
