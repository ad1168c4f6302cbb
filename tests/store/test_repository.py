"""Kinds of repositories: what works, and what is refused with the sentence that helps."""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mak.errors import RepositoryRefused, UsageError
from mak.store import Store
from mak.store.repository import Repository
from tests.conftest import git, write
from tests.store.writers import nobody, started

MakeRepo = Callable[..., Path]


def refused(root: Path, *, branch: str | None = None) -> RepositoryRefused:
    with pytest.raises(RepositoryRefused) as caught:
        Store.open(root, branch=branch)
    assert caught.value.hint
    return caught.value


def commit(root: Path, name: str, text: str) -> None:
    write(root, {name: text})
    git(root, "add", name)
    git(root, "commit", "-qm", name)


def fails(root: Path, *args: str) -> None:
    """Run a git command that is known to stop half way."""
    done = subprocess.run(
        ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", *args],
        cwd=root,
        capture_output=True,
    )
    assert done.returncode != 0


# ----------------------------------------------------------------------------- what works


def test_a_plain_repository(make_repo: MakeRepo) -> None:
    root = make_repo({"a.py": ""})
    with Store.open(root) as store:
        assert (store.root, store.prefix, store.branch) == (root, "", "refs/heads/main")
        assert store.tip() == git(root, "rev-parse", "HEAD").strip()
        assert store.repository.is_checked_out


def test_a_sub_folder_of_a_monorepo_is_worked_on_from_its_top(make_repo: MakeRepo) -> None:
    root = make_repo({"a.py": "", "pkg/sub/b.py": "", "pkg/c.py": ""})
    with Store.open(root / "pkg/sub") as store:
        assert (store.root, store.prefix) == (root, "pkg/sub/")
        assert list(store.entries(store.tip())) == ["pkg/sub/b.py"]
    assert not (root / "pkg/sub/.git").exists()


def test_a_repository_below_another_one_is_its_own(make_repo: MakeRepo) -> None:
    outer = make_repo({"a.py": ""})
    inner = make_repo({"b.py": ""}, "repo/inner")
    with Store.open(inner) as store:
        assert store.root == inner
        assert list(store.entries(store.tip())) == ["b.py"]
        with store.enter("r1"):
            store.start_run("r1", {"a": b""})
    assert git(outer, "for-each-ref", "refs/mak") == ""


def test_an_unborn_branch_is_empty(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "trunk")
    write(tmp_path, {"a.py": ""})
    with Store.open(tmp_path) as store, store.enter("r1"):
        assert (store.branch, store.tip()) == ("refs/heads/trunk", "")
        assert store.entries("") == {}
        assert store.uncommitted(["a.py", "b.py"]) == ["a.py"]
        store.start_run("r1", {"a": b""})


def test_a_detached_head_is_its_own_branch(make_repo: MakeRepo, tmp_path: Path) -> None:
    root = make_repo({"a.py": ""})
    git(root, "checkout", "-q", "--detach")
    git(root, "worktree", "add", "-q", "--detach", str(tmp_path / "side"))
    here, there = Repository.open(root), Repository.open(tmp_path / "side")
    assert (here.branch, there.branch) == ("detached:.", "detached:side")
    assert here.branch_ref == "HEAD"
    assert here.key != there.key
    assert here.tip() == git(root, "rev-parse", "HEAD").strip()
    with Store.open(root) as store, store.enter("r1"):
        assert store.locks() == []


def test_a_linked_worktree_shares_runs_with_its_repository(
    make_repo: MakeRepo, tmp_path: Path
) -> None:
    root = make_repo({"a.py": ""})
    git(root, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    with Store.open(tmp_path / "side") as store, store.enter("r1"):
        assert (store.root, store.branch) == (tmp_path / "side", "refs/heads/side")
        store.start_run("r1", {"a": b"1"})
    with Store.open(root) as store:
        assert store.run_document("r1", "a") == b"1"


def test_a_branch_that_another_worktree_shows_is_refused(
    make_repo: MakeRepo, tmp_path: Path
) -> None:
    root = make_repo({"a.py": ""})
    side = tmp_path / "side"
    git(root, "worktree", "add", "-q", "-b", "side", str(side))
    assert f"side is checked out at {side}" in str(refused(root, branch="side"))
    assert f"main is checked out at {root}" in str(refused(side, branch="main"))
    assert Store.open(root, branch="side", write=False).branch == "refs/heads/side"
    git(side, "checkout", "-q", "--detach")
    assert Store.open(root, branch="side").branch == "refs/heads/side"
    git(side, "checkout", "-q", "side")
    commit(side, "a.py", "1\n")
    git(root, "checkout", "-q", "--detach")
    commit(root, "a.py", "2\n")
    fails(side, "rebase", git(root, "rev-parse", "HEAD").strip())
    assert "side is checked out" in str(refused(root, branch="side"))


def test_another_branch_is_read_and_never_shown(make_repo: MakeRepo) -> None:
    root = make_repo({"a.py": ""})
    git(root, "branch", "other")
    commit(root, "b.py", "")
    write(root, {"a.py": "changed"})
    with Store.open(root, branch="other") as store:
        assert not store.repository.is_checked_out
        assert list(store.entries(store.tip())) == ["a.py"]
        assert store.uncommitted(["a.py"]) == []
    assert Store.open(root, branch="refs/heads/other").key == store.key


def test_a_branch_that_does_not_exist_begins_at_head(make_repo: MakeRepo) -> None:
    root = make_repo({"a.py": ""})
    with Store.open(root, branch="new/one") as store:
        assert store.tip() == git(root, "rev-parse", "HEAD").strip()
    assert git(root, "branch", "--list", "new/one") == ""


@pytest.mark.parametrize("branch", ["a..b", "-x", "", "refs/tags/x", "a b", "main/below", "x.lock"])
def test_branches_that_cannot_be_are_refused(make_repo: MakeRepo, branch: str) -> None:
    root = make_repo({"a.py": ""})
    with pytest.raises(UsageError, match=r"^--branch"):
        Store.open(root, branch=branch)


def test_a_bare_repository_is_commit_only(make_repo: MakeRepo, tmp_path: Path) -> None:
    root = make_repo({"a.py": "", ".gitattributes": "*.bin filter=lfs\n", "x.bin": "1"})
    git(tmp_path, "clone", "-q", "--bare", str(root), "bare.git")
    with Store.open(tmp_path / "bare.git") as store, store.enter("r1"):
        assert (store.root, store.prefix) == (None, "")
        assert "a.py" in store.entries(store.tip())
        assert store.check_path("new.py") == "new.py"
        assert (store.uncommitted(["a.py"]), store.ignored(["a.py"])) == ([], [])
        assert store.opaque_reason("x.bin") == "Git converts it (filter=lfs)"
        assert store.opaque_reason("a.py") == ""
        store.start_run("r1", {"a": b""})


def test_a_shallow_clone_works(make_repo: MakeRepo, tmp_path: Path) -> None:
    root = make_repo({"a.py": ""})
    commit(root, "b.py", "")
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{root}", "copy")
    with Store.open(tmp_path / "copy") as store, store.enter("r1"):
        assert list(store.entries(store.tip())) == ["a.py", "b.py"]
        assert store.trailers(store.tip(), "") == []
        store.start_run("r1", {"a": b""})


def test_a_partial_clone_fetches_what_it_reads_at_once(make_repo: MakeRepo, tmp_path: Path) -> None:
    root = make_repo({f"m{i}.py": f"{i}\n" for i in range(20)} | {"big.bin": "0" * 1000})
    git(root, "config", "uploadpack.allowFilter", "true")
    git(root, "config", "uploadpack.allowAnySHA1InWant", "true")
    git(tmp_path, "clone", "-q", "--no-checkout", "--filter=blob:none", f"file://{root}", "copy")
    copy = tmp_path / "copy"
    with Store.open(copy) as store:
        assert store.repository.is_partial
        files = store.entries(store.tip())
        assert store.read(files["m3.py"]) == b"3\n"
        git(root.parent, "config", "--global", "protocol.file.allow", "never")
        try:  # the others came along, and what is not like them did not
            assert [store.read(files[f"m{i}.py"]) for i in range(20)] == [
                b"%d\n" % i for i in range(20)
            ]
            assert files["big.bin"] not in store.repository.handle.odb
        finally:
            git(root.parent, "config", "--global", "--unset", "protocol.file.allow")
        assert store.read(files["big.bin"]) == b"0" * 1000


def test_a_clone_without_trees_is_refused(make_repo: MakeRepo, tmp_path: Path) -> None:
    root = make_repo({"a.py": ""})
    git(root, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--no-checkout", "--filter=tree:0", f"file://{root}", "copy")
    error = refused(tmp_path / "copy")
    assert "cloned without trees" in str(error)
    assert error.hint == "git fetch --refetch --filter=blob:none"


@pytest.mark.parametrize("setting", ["--split-index", "--untracked-cache", "--index-version=4"])
def test_indexes_that_libgit2_cannot_read_are_read_by_git(
    make_repo: MakeRepo, setting: str
) -> None:
    root = make_repo({"a.py": "", "b.py": "", ".gitignore": "*.log\n"})
    git(root, "update-index", setting)
    write(root, {"a.py": "changed"})
    with Store.open(root) as store, store.enter("r1"):
        assert store.uncommitted(["a.py", "b.py"]) == ["a.py"]
        assert store.ignored(["x.log", "b.py"]) == ["x.log"]
        assert store.opaque_reason("b.py") == ""
        assert store.check_path("b.py") == "b.py"


@pytest.mark.parametrize("cone", ["--cone", "--no-cone", "--sparse-index"])
def test_a_sparse_checkout_writes_only_what_it_shows(make_repo: MakeRepo, cone: str) -> None:
    root = make_repo({"top.py": "", "in/a.py": "", "out/b.py": "", "out/deep/c.py": ""})
    words = ["--cone", "--sparse-index"] if cone == "--sparse-index" else [cone]
    git(root, "sparse-checkout", "init", *words)
    git(root, "sparse-checkout", "set", "in")
    assert not (root / "out").exists()
    with Store.open(root) as store:
        assert "out/b.py" in store.entries(store.tip())
        for path in ("in/a.py", "in/new.py", "in/new/deep.py"):
            assert store.check_path(path) == path
        for path in ("out/b.py", "out/new.py", "out/new/deep.py"):
            with pytest.raises(UsageError, match="left out of this sparse checkout") as caught:
                store.check_path(path)
            assert caught.value.hint.startswith("git sparse-checkout add out")
        assert store.uncommitted(["in/a.py", "out/b.py"]) == []


def test_alternates_are_read(make_repo: MakeRepo, tmp_path: Path) -> None:
    root = make_repo({"a.py": "1\n"})
    git(tmp_path, "clone", "-q", "--shared", str(root), "copy")
    with Store.open(tmp_path / "copy") as store, store.enter("r1"):
        files = store.entries(store.tip())
        assert store.read(files["a.py"]) == b"1\n"
        store.start_run("r1", {"a": b"1"})


def test_each_thread_has_a_handle_of_its_own(make_repo: MakeRepo) -> None:
    repository = Repository.open(make_repo({"a.py": ""}))
    handles = [repository.handle]
    thread = threading.Thread(target=lambda: handles.append(repository.handle))
    thread.start()
    thread.join()
    assert handles[0] is repository.handle
    assert handles[0] is not handles[1]


# ------------------------------------------------------------------------- what is refused


def test_no_repository_at_all(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        Store.open(tmp_path)
    assert str(caught.value) == f"opening {tmp_path}: not in a Git repository"
    assert caught.value.hint.startswith("git init && ")


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such folder"):
        Store.open(tmp_path / "none")


def test_the_inside_of_a_git_directory(make_repo: MakeRepo) -> None:
    assert "it is inside" in str(refused(make_repo({"a.py": ""}) / ".git"))


def test_sha256(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--object-format=sha256")
    assert "SHA-256 repositories are not supported by libgit2" in str(refused(tmp_path))


def test_reftable(make_repo: MakeRepo) -> None:
    root = make_repo({"a.py": ""})
    with (root / ".git/config").open("a") as config:
        config.write("[core]\nrepositoryformatversion = 1\n[extensions]\nrefStorage = reftable\n")
    assert refused(root).hint == "git refs migrate --ref-format=files"


def test_an_extension_that_nobody_knows(make_repo: MakeRepo) -> None:
    root = make_repo({"a.py": ""})
    with (root / ".git/config").open("a") as config:
        config.write("[core]\nrepositoryformatversion = 1\n[extensions]\nwhatever = true\n")
    assert "unsupported extension name extensions.whatever" in str(refused(root))


def test_a_configuration_that_does_not_parse(make_repo: MakeRepo) -> None:
    root = make_repo({"a.py": ""})
    with (root / ".git/config").open("a") as config:
        config.write("[broken")
    assert "failed to parse config file" in str(refused(root))


def test_a_head_that_is_garbage(make_repo: MakeRepo) -> None:
    root = make_repo({"a.py": ""})
    (root / ".git/HEAD").write_text("garbage\n")
    assert "reading HEAD" in str(refused(root))


def test_a_head_that_is_not_on_a_branch(make_repo: MakeRepo) -> None:
    root = make_repo({"a.py": ""})
    (root / ".git/HEAD").write_text("ref: refs/remotes/origin/main\n")
    assert "is not a branch" in str(refused(root))


def test_a_branch_that_is_another_name_of_one(make_repo: MakeRepo) -> None:
    root = make_repo({"a.py": ""})
    git(root, "symbolic-ref", "refs/heads/alias", "refs/heads/main")
    error = refused(root, branch="alias")
    assert "only another name of refs/heads/main" in str(error)
    assert error.hint == "git switch main"


def test_unresolved_conflicts_without_a_merge(make_repo: MakeRepo) -> None:
    root = make_repo({"a.py": "1\n"})
    write(root, {"a.py": "2\n"})
    git(root, "stash", "-q")
    commit(root, "a.py", "3\n")
    fails(root, "stash", "pop")
    assert "unresolved conflicts" in str(refused(root))


OPERATIONS = {
    "merge": (["merge", "side"], "a merge is in progress", "git merge --continue"),
    "rebase": (["rebase", "side"], "a rebase is in progress", "git rebase --continue"),
    "rebase --apply": (["rebase", "--apply", "side"], "a rebase is", "git rebase --continue"),
    "cherry-pick": (["cherry-pick", "side"], "a cherry-pick is", "git cherry-pick --continue"),
    "revert": (["revert", "--no-edit", "HEAD~1"], "a revert is", "git revert --continue"),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_in_progress(make_repo: MakeRepo, name: str) -> None:
    args, text, hint = OPERATIONS[name]
    root = make_repo({"a.py": "1\n"})
    git(root, "checkout", "-qb", "side")
    commit(root, "a.py", "2\n")
    git(root, "checkout", "-q", "main")
    commit(root, "a.py", "3\n")
    commit(root, "a.py", "4\n")
    fails(root, *args)
    error = refused(root)
    assert text in str(error)
    assert error.hint.startswith(hint)
    Store.open(root, write=False).close()
    git(root, name.split()[0], "--abort")
    Store.open(root).close()


def test_a_sequence_that_waits_for_its_next_commit(make_repo: MakeRepo) -> None:
    """After `git commit` in the middle of a cherry-pick, only the sequencer folder is left."""
    root = make_repo({"a.py": "1\n"})
    git(root, "checkout", "-qb", "side")
    commit(root, "a.py", "2\n")
    commit(root, "b.py", "")
    git(root, "checkout", "-q", "main")
    commit(root, "a.py", "3\n")
    fails(root, "cherry-pick", "side~1", "side")
    commit(root, "a.py", "4\n")
    assert not (root / ".git/CHERRY_PICK_HEAD").exists()
    assert "a cherry-pick or revert is in progress" in str(refused(root))


def test_a_bisection(make_repo: MakeRepo) -> None:
    root = make_repo({"a.py": "1\n"})
    commit(root, "a.py", "2\n")
    git(root, "bisect", "start")
    assert refused(root).hint == "git bisect reset"


# ------------------------------------------------------------ what depends on who one is


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[Path]:
    """A folder that every user of the machine can read."""
    if os.getuid() != 0:
        pytest.skip("only root can be somebody else")
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def _said_to_nobody(root: Path) -> str:
    said = root.parent / "said"
    said.touch()
    said.chmod(0o666)
    process = started(nobody, root, said)
    process.join()
    assert process.exitcode == 0
    return said.read_text()


def test_the_repository_of_another_user(shared: Path, make_repo: MakeRepo) -> None:
    root = shared / "repo"
    make_repo({"a.py": ""}).rename(root)
    said = _said_to_nobody(root)
    assert "the repository belongs to another user" in said
    assert f"git config --global --add safe.directory '{root}" in said


def test_a_repository_that_cannot_be_written(shared: Path, make_repo: MakeRepo) -> None:
    root = shared / "repo"
    make_repo({"a.py": ""}).rename(root)
    for path in (root, *root.rglob("*")):
        os.chown(path, 65534, 65534)
        if path.is_dir():
            path.chmod(0o555)
    said = _said_to_nobody(root)
    assert "is read-only" in said
    assert "read: ['a.py'] {'k': b'v'}" in said
