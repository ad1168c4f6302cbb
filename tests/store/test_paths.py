"""What a commit holds, and which paths may be written."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mak.errors import StoreError, UsageError
from mak.plan import parse_plan
from mak.store import Store
from tests.conftest import git, write

MakeRepo = Callable[..., Path]


def commit_all(root: Path) -> str:
    git(root, "add", "-A")
    git(root, "commit", "-qm", "more")
    return git(root, "rev-parse", "HEAD").strip()


def listed(root: Path, commit: str, below: str = "") -> dict[str, str]:
    """What `git ls-tree` says: the regular files of a commit."""
    found = {}
    for line in git(root, "ls-tree", "-r", "-z", commit, "--", below or ".").split("\0")[:-1]:
        about, path = line.split("\t", 1)
        mode, _, oid = about.split()
        if mode in ("100644", "100755"):
            found[path] = oid
    return found


# ------------------------------------------------------------------------------- entries


STRANGE = {
    "a.py": "1",
    "a/b.py": "2",
    "a/b/c/d.py": "3",
    "a b/é\u2028.py": "4",
    '"quoted".py': "5",
    "-dash.py": "6",
    "back\\slash.py": "7",
    "empty.py": "",
}


def test_entries_are_what_git_lists(make_repo: MakeRepo) -> None:
    root = make_repo(STRANGE)
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    (root / "link.py").symlink_to("a.py")
    first = commit_all(root)
    with Store.open(root) as store:
        assert store.entries(first) == listed(root, first)
        assert "link.py" not in store.entries(first)
        assert list(store.entries(first)) == list(listed(root, first))
        assert store.mode(first, "run.sh") == 0o100755
        assert store.mode(first, "a.py") == 0o100644
        assert store.mode(first, "none") == 0
        assert {p: store.read(b) for p, b in store.entries(first).items() if p in STRANGE} == {
            path: text.encode() for path, text in STRANGE.items()
        }


def test_the_next_commit_is_read_by_what_changed(make_repo: MakeRepo) -> None:
    root = make_repo(STRANGE)
    with Store.open(root) as store:
        commits = [store.tip()]
        store.entries(commits[0])
        for number in range(3):
            write(root, {"a/b/c/d.py": f"new {number}", f"a/n{number}.py": ""})
            commits.append(commit_all(root))
        for commit in [*commits, *reversed(commits)]:
            assert store.entries(commit) == listed(root, commit)
        store.entries(commits[0]).clear()
        assert store.entries(commits[0]) == listed(root, commits[0])


def test_entries_stay_below_the_work_dir(make_repo: MakeRepo) -> None:
    root = make_repo({"a.py": "", "pkg/b.py": "", "pkg/c/d.py": "", "pkg2/e.py": ""})
    (root / "new").mkdir()
    with Store.open(root / "pkg") as store:
        assert store.entries(store.tip()) == listed(root, "HEAD", "pkg")
    with Store.open(root / "new") as store:
        assert store.entries(store.tip()) == {}


def test_names_that_are_not_utf8_are_left_out_with_a_remark(make_repo: MakeRepo) -> None:
    root = make_repo({"pkg/a.py": ""})
    (root / os.fsdecode(b"pkg/caf\xe9.py")).write_text("")
    commit = commit_all(root)
    with Store.open(root) as store:
        assert list(store.entries(commit)) == ["pkg/a.py"]
        store.entries(commit)
        assert store.remarks == ["left out pkg/caf\\udce9.py: its name is not UTF-8"]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("new\nline.py", "left out new\\nline.py: its name holds control characters"),
        ("pkg/esc\x1b[2J.py", "left out pkg/esc\\x1b[2J.py: its name holds control characters"),
        ("a\tb/c.py", "left out a\\tb: its name holds control characters"),
        (" a.py", "left out  a.py: its name begins with a blank"),
    ],
)
def test_names_that_no_plan_can_hold_are_left_out_with_a_remark(
    make_repo: MakeRepo, name: str, why: str
) -> None:
    """A plan was made with such a file, and committed; then the run could not be read any more."""
    good = ("pkg/a.py", "naïve 日本.py", "q\"u'o.py", "sp ace/b.py")
    root = make_repo(dict.fromkeys((*good, name), ""))
    with Store.open(root) as store:
        seen = list(store.entries(store.tip()))
        assert sorted(seen) == sorted(good)
        assert store.remarks == [why]
        tasks = [{"id": f"t{n}", "goal": "g", "writes": [p]} for n, p in enumerate(seen)]
        assert parse_plan({"request": "r", "tasks": tasks})


def test_submodules_are_opaque(make_repo: MakeRepo) -> None:
    inner = make_repo({"x.py": ""}, "inner")
    root = make_repo({"a.py": ""})
    git(root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "sub")
    commit_all(root)
    with Store.open(root) as store:
        assert "sub" not in store.entries(store.tip())
        for path in ("sub", "sub/x.py"):
            with pytest.raises(UsageError, match="sub is a submodule") as caught:
                store.check_path(path)
            assert caught.value.hint == "run mak in it: --work-dir sub"
    with Store.open(root / "sub") as store, store.enter("r1"):
        assert list(store.entries(store.tip())) == ["x.py"]


def test_objects_that_are_missing_are_named(make_repo: MakeRepo) -> None:
    with Store.open(make_repo({"a.py": ""})) as store:
        with pytest.raises(StoreError, match="reading blob 1234"):
            store.read("1234" * 10)
        with pytest.raises(StoreError, match="reading commit 1234"):
            store.entries("1234" * 10)


# ---------------------------------------------------------------------------- check_path


@pytest.fixture
def store(make_repo: MakeRepo) -> Store:
    root = make_repo({"pkg/a.py": "", "pkg/sub/b.py": "", "café.py": "", "file": ""})
    (root / "link").symlink_to("pkg")
    (root / "link.py").symlink_to("pkg/a.py")
    commit_all(root)
    (root / "outside").symlink_to("/tmp")
    (root / "untracked").write_text("")
    (root / "nested").mkdir()
    git(root / "nested", "init", "-q")
    return Store.open(root)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("pkg/a.py", "pkg/a.py"),
        ("./pkg//a.py", "pkg/a.py"),
        ("pkg/./new.py", "pkg/new.py"),
        ("new/deep/x.py", "new/deep/x.py"),
        ("café.py", "café.py"),
        ("-n.py", "-n.py"),
        ("a*[b].py", "a*[b].py"),
        (".gitignore", ".gitignore"),
        ("pkg/.github/x.yml", "pkg/.github/x.yml"),
    ],
)
def test_paths_that_may_be_written(store: Store, path: str, name: str) -> None:
    assert store.check_path(path) == name


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("", "not a path"),
        (".", "not a path"),
        ("a\0b", "not a path"),
        ("/etc/passwd", "an absolute path"),
        ("../x.py", r"leads out of its folder with \.\."),
        ("pkg/../a.py", r"leads out of its folder with \.\."),
        (".git/hooks/x", "inside a Git directory"),
        ("pkg/.GIT/x", "inside a Git directory"),
        ("pkg/.git. /x", "inside a Git directory"),
        ("GIT~1/x", "inside a Git directory"),
        ("pkg/sub", "a folder, not a file"),
        ("pkg/new/", "a folder, not a file"),
        ("file/x.py", "file is a file, not a folder"),
        ("untracked/x.py", "untracked is a file, not a folder"),
        ("link/a.py", "link is a symbolic link"),
        ("link.py", "link.py is a symbolic link"),
        ("outside/x.py", "outside is a symbolic link"),
        ("nested/x.py", "nested is a repository of its own"),
        ("pkg/A.py", "A.py and a.py, which exists, differ only in case"),
        ("PKG/new.py", "PKG and pkg, which exists, differ only in case"),
        ("cafe\u0301.py", "differ only in case or Unicode form"),
        ("caf\udce9.py", "not UTF-8"),
    ],
)
def test_paths_that_must_not_be_written(store: Store, path: str, why: str) -> None:
    with pytest.raises(UsageError, match=why) as caught:
        store.check_path(path)
    assert str(caught.value).startswith(path or "''") or repr(path) in str(caught.value)


def test_a_path_outside_of_the_work_dir(make_repo: MakeRepo) -> None:
    root = make_repo({"a.py": "", "pkg/b.py": "", "pkg2/c.py": ""})
    with Store.open(root / "pkg") as store:
        assert store.check_path("pkg/b.py") == "pkg/b.py"
        for path in ("a.py", "pkg2/c.py", "new.py"):
            with pytest.raises(UsageError, match="outside the work dir pkg/"):
                store.check_path(path)


def test_a_path_as_seen_from_the_work_dir(make_repo: MakeRepo) -> None:
    root = make_repo({"a.py": "", "pkg/a.py": "", "pkg/sub/b.py": ""})
    with Store.open(root / "pkg") as store:
        assert store.check_path("sub/b.py") == "pkg/sub/b.py"
        with pytest.raises(UsageError, match="outside the work dir pkg/"):
            store.check_path("a.py")


def test_a_file_that_was_never_committed(make_repo: MakeRepo) -> None:
    root = make_repo({"a.py": ""})
    write(root, {"new.py": "", "staged.py": ""})
    git(root, "add", "staged.py")
    with Store.open(root) as store:
        for path in ("new.py", "staged.py"):
            with pytest.raises(UsageError, match="there but not committed"):
                store.check_path(path)
        assert store.check_path("newer.py") == "newer.py"


# -------------------------------------------------------------------------- what git says


def test_ignored_files_are_named_unless_they_are_tracked(make_repo: MakeRepo) -> None:
    root = make_repo({"a.log": "", "x.py": ""})
    write(root, {".gitignore": "*.log\n/build/\n", "pkg/.gitignore": "gen_*\n"})
    asked = ["x.py", "b.log", "a.log", "build/x.py", "pkg/gen_a.py", "gen_a.py", ":x", "-n.log"]
    with Store.open(root) as store:
        assert store.ignored(asked) == ["b.log", "build/x.py", "pkg/gen_a.py", "-n.log"]
        assert store.ignored([]) == []


def test_filtered_files_are_opaque(make_repo: MakeRepo) -> None:
    root = make_repo(
        {
            ".gitattributes": "*.bin filter=lfs\n*.py text\nnot.bin -filter\n",
            "pkg/.gitattributes": "w.py working-tree-encoding=UTF-16\n",
            "a.py": "",
        }
    )
    with Store.open(root) as store:
        assert store.opaque_reason("x.bin") == "Git converts it (filter=lfs)"
        assert store.opaque_reason("pkg/w.py") == "Git converts it (working-tree-encoding=UTF-16)"
        assert [store.opaque_reason(path) for path in ("a.py", "not.bin", "new.py")] == [""] * 3
        write(root, {".gitattributes": "a.py filter=x\n"})
        commit_all(root)
        assert store.opaque_reason("a.py") == "Git converts it (filter=x)"
        assert store.opaque_reason("x.bin") == ""
    git(root, "branch", "bare")
    with Store.open(root, branch="bare") as store:
        assert store.opaque_reason("a.py") == "Git converts it (filter=x)"


UNCOMMITTED = {
    "unstaged": lambda root: write(root, {"a.py": "changed"}),
    "staged": lambda root: (write(root, {"a.py": "changed"}), git(root, "add", "a.py")),
    "staged and put back": lambda root: (
        write(root, {"a.py": "changed"}),
        git(root, "add", "a.py"),
        write(root, {"a.py": "1\n"}),
    ),
    "deleted": lambda root: (root / "a.py").unlink(),
    "removed from the index": lambda root: git(root, "rm", "-q", "--cached", "a.py"),
    "executable": lambda root: (root / "a.py").chmod(0o755),
    "assumed unchanged": lambda root: (
        git(root, "update-index", "--assume-unchanged", "a.py"),
        write(root, {"a.py": "changed"}),
    ),
    "a link": lambda root: ((root / "a.py").unlink(), (root / "a.py").symlink_to("b.py")),
    "a folder": lambda root: ((root / "a.py").unlink(), (root / "a.py").mkdir()),
}


@pytest.mark.parametrize("name", UNCOMMITTED)
def test_uncommitted_work_is_seen(make_repo: MakeRepo, name: str) -> None:
    root = make_repo({"a.py": "1\n", "b.py": "2\n"})
    UNCOMMITTED[name](root)
    with Store.open(root) as store:
        assert store.uncommitted(["b.py", "a.py", "new.py"]) == ["a.py"]


def test_new_files_in_the_way_are_seen(make_repo: MakeRepo) -> None:
    root = make_repo({".gitignore": "*.log\n"})
    write(root, {"untracked.py": "", "ignored.log": "", "intended.py": ""})
    git(root, "add", "--intent-to-add", "intended.py")
    asked = ["untracked.py", "ignored.log", "intended.py", "new.py", "untracked.py/x.py"]
    with Store.open(root) as store:
        assert store.uncommitted(asked) == [path for path in asked if path != "new.py"]


def test_a_touched_file_is_not_uncommitted_and_no_lock_is_taken(make_repo: MakeRepo) -> None:
    root = make_repo({"a.py": "1\n", "crlf.py": "x\r\n"})
    git(root, "config", "core.autocrlf", "true")
    os.utime(root / "a.py", (1, 1))
    (root / ".git/index.lock").touch()
    index = (root / ".git/index").read_bytes()
    with Store.open(root) as store:
        assert store.uncommitted(["a.py", "crlf.py"]) == []
    assert (root / ".git/index").read_bytes() == index


def test_trailers_are_read_between_two_commits(make_repo: MakeRepo) -> None:
    root = make_repo({"a.py": ""})
    base = git(root, "rev-parse", "HEAD").strip()
    for number in (1, 2):
        text = f"wave {number}\n\nbody: not a trailer\n\nMAK-Run: r{number}\nMAK-Tasks: a, b\n"
        git(root, "commit", "-q", "--allow-empty", "-F", "-", text=text)
    git(root, "commit", "-q", "--allow-empty", "-m", "by hand")
    with Store.open(root) as store:
        found = store.trailers(store.tip(), base)
        assert [trailers for _, trailers in found] == [
            {"MAK-Run": "r2", "MAK-Tasks": "a, b"},
            {"MAK-Run": "r1", "MAK-Tasks": "a, b"},
        ]
        assert found[1][0] == git(root, "rev-parse", "HEAD~2").strip()
        assert store.trailers(found[1][0], found[1][0]) == []
        assert len(store.trailers(store.tip(), "1234" * 10)) == 2
        assert store.trailers("", "") == []
