"""The wave commit: branch, index, files and state move together or not at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from mak.errors import RepositoryRefused, StoreError
from mak.model import Lock, Mode, NodeId
from mak.store import Committed, Moved, Store, WaveHeld, treeops
from mak.store.wave import commit_wave
from tests.conftest import git, write
from tests.store.waving import PHASES, crash, is_sound, node_paths, status, wave

MakeRepo = Callable[..., Path]

A, B = "a.py", "pkg/b.py"
TEXT = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n"


def committed(result: Committed | Moved | WaveHeld) -> Committed:
    assert isinstance(result, Committed), result
    return result


def held(result: Committed | Moved | WaveHeld) -> WaveHeld:
    assert isinstance(result, WaveHeld), result
    return result


# ------------------------------------------------------------------------------- what it does


# I13
def test_wave_moves_branch_index_and_files_together(make_repo: MakeRepo) -> None:
    root = make_repo({A: TEXT, B: TEXT, "gone.py": "x\n", "kept.py": "k\n"})
    with Store.open(root) as store:
        base = store.tip()
        files = {A: TEXT + "eight\n", B: None, "gone.py": None, "new/deep/c.py": "c\n"}
        result = committed(commit_wave(store, wave(store, files)))
        assert store.tip() == result.commit
        assert git(root, "rev-parse", "HEAD~").strip() == base
        is_sound(store)
        assert sorted(node_paths(store)) == [A, "new/deep/c.py"]
        assert store.state.read()[1].head == result.commit
    assert status(root) == []
    assert (root / A).read_text() == TEXT + "eight\n"
    assert (root / "new/deep/c.py").read_text() == "c\n"
    assert not (root / "pkg").exists() and not (root / "gone.py").exists()
    assert git(root, "log", "-1", "--format=%(trailers:key=MAK-Run,valueonly)").strip() == "r1"


def test_reflog_of_branch_and_head_name_the_wave(make_repo: MakeRepo) -> None:
    root = make_repo({A: TEXT})
    with Store.open(root) as store:
        commit_wave(store, wave(store, {A: "x\n"}))
    for name in ("main", "HEAD"):
        assert "mak: wave 1 of r1" in git(root, "reflog", "-1", name)


def test_wave_gives_up_the_locks_of_its_tasks_only(make_repo: MakeRepo) -> None:
    root = make_repo({A: TEXT})
    with Store.open(root) as store, store.enter("r1"):
        locks = {t: [Lock(NodeId(A, f"f{t}"), Mode.X)] for t in ("t1", "t2")}
        assert store.acquire(locks) == {}
        committed(store.commit_wave(wave(store, {A: "x\n"})))
        assert [row.task for row in store.locks()] == ["t2"]


# I8
def test_wave_whose_locks_were_taken_away_is_refused(make_repo: MakeRepo) -> None:
    root = make_repo({A: TEXT})
    with Store.open(root) as store, store.enter("r1"):
        with pytest.raises(StoreError, match="its locks were taken away"):
            store.commit_wave(wave(store, {A: "x\n"}))
        is_sound(store)
    assert status(root) == []


def test_branch_that_moved_is_reported_and_nothing_changes(make_repo: MakeRepo) -> None:
    root = make_repo({A: TEXT})
    with Store.open(root) as store:
        stale = wave(store, {A: "x\n"})
        git(root, "commit", "-q", "--allow-empty", "-m", "more")
        assert commit_wave(store, stale) == Moved(store.tip())
        is_sound(store)
    assert (root / A).read_text() == TEXT


def test_commit_between_look_and_lock_is_reported(make_repo: MakeRepo) -> None:
    root = make_repo({A: TEXT})

    def fault(phase: str) -> None:
        if phase == "P1":
            git(root, "commit", "-q", "--allow-empty", "-m", "more")

    with Store.open(root) as store:
        result = commit_wave(store, wave(store, {A: "x\n"}, fault=fault))
        assert result == Moved(store.tip())
        is_sound(store)
    assert status(root) == []


def test_persons_commit_waits_or_fails_while_the_branch_is_locked(make_repo: MakeRepo) -> None:
    root = make_repo({A: TEXT})
    refusals: list[str] = []

    def fault(phase: str) -> None:
        if phase == "P4":
            with pytest.raises(AssertionError, match="cannot lock ref"):
                git(root, "commit", "-q", "-m", "swallow")
            refusals.append(phase)

    with Store.open(root) as store:
        committed(commit_wave(store, wave(store, {A: "x\n"}, fault=fault)))
        is_sound(store)
    assert refusals == ["P4"]
    assert git(root, "log", "--format=%s").split("\n")[0] == "wave 1"


def test_switching_branches_in_the_middle_takes_the_wave_back(make_repo: MakeRepo) -> None:
    root = make_repo({A: TEXT, B: TEXT})
    git(root, "branch", "other")

    def fault(phase: str) -> None:
        if phase == "P4":
            git(root, "switch", "-q", "other")

    with Store.open(root) as store:
        base = store.tip()
        result = committed(commit_wave(store, wave(store, {A: "x\n"}, fault=fault)))
        # The person went elsewhere, so from the second attempt on only the branch moves.
        assert git(root, "rev-parse", "main").strip() == result.commit
        assert git(root, "rev-parse", "other").strip() == base
        is_sound(store)
    assert status(root) == []
    assert (root / A).read_text() == TEXT


def test_many_files_go_into_one_pack(make_repo: MakeRepo) -> None:
    files = {f"p{i % 7}/f{i}.py": f"a = {i}\n" * 6 for i in range(200)}
    root = make_repo(files)
    with Store.open(root) as store:
        after = {path: text + "z = 1\n" for path, text in files.items()}
        committed(commit_wave(store, wave(store, after)))
        is_sound(store)
        assert len(list(node_paths(store))) == 200
    assert status(root) == []
    assert git(root, "count-objects", "-v").count("packs: 1") == 1


# --------------------------------------------------------------------------- where it commits


def test_unborn_branch_gets_its_first_commit(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    write(tmp_path, {"staged.txt": "s\n"})
    git(tmp_path, "add", "staged.txt")
    with Store.open(tmp_path) as store:
        committed(commit_wave(store, wave(store, {A: TEXT})))
        is_sound(store)
    assert git(tmp_path, "ls-tree", "-r", "--name-only", "HEAD").split() == [A]
    assert status(tmp_path) == ["A  staged.txt"]


def test_detached_head_moves_and_branches_do_not(make_repo: MakeRepo) -> None:
    root = make_repo({A: TEXT})
    git(root, "checkout", "-q", "--detach")
    with Store.open(root) as store:
        base = store.tip()
        result = committed(commit_wave(store, wave(store, {A: "x\n"})))
        is_sound(store)
    assert git(root, "rev-parse", "HEAD").strip() == result.commit
    assert git(root, "rev-parse", "main").strip() == base
    assert status(root) == []


def test_detached_head_that_went_to_a_branch_holds_the_wave(make_repo: MakeRepo) -> None:
    root = make_repo({A: TEXT})
    git(root, "checkout", "-q", "--detach")
    with Store.open(root) as store:
        write_ = wave(store, {A: "x\n"})
        git(root, "switch", "-q", "main")
        assert "HEAD was detached and is on main" in held(commit_wave(store, write_)).reason
    assert status(root) == [] and (root / A).read_text() == TEXT


def test_bare_repository_gets_the_commit_only(make_repo: MakeRepo, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(make_repo({A: TEXT})), "bare.git")
    with Store.open(tmp_path / "bare.git") as store:
        committed(commit_wave(store, wave(store, {A: "x\n", B: "b\n"})))
        is_sound(store)
    assert git(tmp_path / "bare.git", "show", "main:a.py") == "x\n"


def test_branch_that_is_not_checked_out_leaves_files_alone(make_repo: MakeRepo) -> None:
    root = make_repo({A: TEXT})
    git(root, "branch", "other")
    write(root, {A: "edited\n"})
    with Store.open(root, branch="other") as store:
        committed(commit_wave(store, wave(store, {A: "x\n"})))
        is_sound(store)
    assert git(root, "show", "other:a.py") == "x\n"
    assert status(root) == [" M a.py"] and (root / A).read_text() == "edited\n"


def test_branch_that_does_not_exist_is_made_from_head(make_repo: MakeRepo) -> None:
    root = make_repo({A: TEXT})
    with Store.open(root, branch="fresh") as store:
        result = committed(commit_wave(store, wave(store, {A: "x\n"})))
        is_sound(store)
    assert git(root, "rev-parse", "fresh").strip() == result.commit
    assert git(root, "rev-parse", "fresh~").strip() == git(root, "rev-parse", "main").strip()


def test_branch_checked_out_elsewhere_meanwhile_is_refused(
    make_repo: MakeRepo, tmp_path: Path
) -> None:
    root = make_repo({A: TEXT})
    git(root, "branch", "other")
    with Store.open(root, branch="other") as store:
        git(root, "worktree", "add", "-q", str(tmp_path / "w"), "other")
        with pytest.raises(RepositoryRefused, match="is checked out at"):
            commit_wave(store, wave(store, {A: "x\n"}))
        is_sound(store)


def test_linked_worktree_commits_for_itself(make_repo: MakeRepo, tmp_path: Path) -> None:
    root, linked = make_repo({A: TEXT}), tmp_path / "linked"
    git(root, "worktree", "add", "-q", "-b", "other", str(linked))
    with Store.open(linked) as store:
        committed(commit_wave(store, wave(store, {A: "x\n"})))
    assert status(linked) == [] and status(root) == []
    assert (linked / A).read_text() == "x\n" and (root / A).read_text() == TEXT


def test_operation_in_progress_holds_the_wave(make_repo: MakeRepo) -> None:
    root = make_repo({A: TEXT})
    with Store.open(root) as store:
        write_ = wave(store, {A: "x\n"})
        git(root, "bisect", "start")
        assert "git bisect reset" in held(commit_wave(store, write_)).reason


def test_variables_of_a_hook_point_git_nowhere_else(
    make_repo: MakeRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, other = make_repo({A: TEXT}), make_repo({A: "other\n"}, "other")
    for name, value in {
        "GIT_DIR": other / ".git",
        "GIT_WORK_TREE": other,
        "GIT_INDEX_FILE": other / ".git/index",
        "GIT_OBJECT_DIRECTORY": other / ".git/objects",
    }.items():
        monkeypatch.setenv(name, str(value))
    with Store.open(root) as store:
        committed(commit_wave(store, wave(store, {A: "x\n"})))
    monkeypatch.undo()
    assert status(root) == [] == status(other)
    assert (root / A).read_text() == "x\n" and (other / A).read_text() == "other\n"


def test_text_that_a_partial_clone_lacks_is_fetched(make_repo: MakeRepo, tmp_path: Path) -> None:
    """The parent's text is needed to merge a person's, and was never downloaded."""
    origin = make_repo({A: TEXT, B: TEXT + "b\n"})
    git(origin, "config", "uploadpack.allowFilter", "true")
    clone = ["clone", "-q", "--filter=blob:none", "--no-checkout", f"file://{origin}", "partial"]
    git(tmp_path, *clone)
    root = tmp_path / "partial"
    git(root, "read-tree", "HEAD")
    write(root, {A: TEXT.replace("seven", "SEVEN"), B: TEXT + "b\n"})
    with Store.open(root) as store:
        files = {A: TEXT.replace("one", "ONE"), B: TEXT + "c\n"}
        assert committed(commit_wave(store, wave(store, files))).merged == (A,)
    assert status(root) == [" M a.py"]
    assert (root / A).read_text() == TEXT.replace("one", "ONE").replace("seven", "SEVEN")


def test_path_below_a_submodule_is_refused(make_repo: MakeRepo) -> None:
    root, inner = make_repo({A: TEXT}), make_repo({A: TEXT}, "inner")
    commit = git(inner, "rev-parse", "HEAD").strip()
    git(root, "update-index", "--add", "--cacheinfo", f"160000,{commit},sub")
    git(root, "commit", "-q", "-m", "submodule")
    with Store.open(root, branch="other") as store, pytest.raises(StoreError, match="sub"):
        commit_wave(store, wave(store, {"sub/x.py": "x\n"}))


# -------------------------------------------------------------------------- what may not be


@pytest.mark.parametrize(
    ("have", "want", "why"),
    [
        ("a", "a/b.py", "a is a file"),
        ("a/b.py", "a", "it is a directory"),
        ("Mod.py", "mod.py", "Mod.py differs only in case"),
        ("Pkg/a.py", "pkg/b.py", "Pkg differs only in case"),
        ("caf\u00e9.py", "cafe\u0301.py", "Unicode form"),
    ],
)
def test_tree_that_not_every_file_system_can_hold_is_refused(
    make_repo: MakeRepo, have: str, want: str, why: str
) -> None:
    root = make_repo({have: "x\n"})
    with Store.open(root, branch="other") as store, pytest.raises(StoreError, match=why):
        commit_wave(store, wave(store, {want: "y\n"}))


def test_file_becomes_a_folder_only_where_no_files_follow(make_repo: MakeRepo) -> None:
    root = make_repo({"a": "x\n", "b/c": "y\n"})
    files = {"a": None, "a/in.py": "1\n", "b/c": None, "b": "2\n"}
    with Store.open(root) as store:
        result = held(commit_wave(store, wave(store, files)))
        assert result.paths == ("a/in.py", "b")
        is_sound(store)
    with Store.open(root, branch="other") as store:
        committed(commit_wave(store, wave(store, files)))
        is_sound(store)
    assert git(root, "ls-tree", "-r", "--name-only", "other").split() == ["a/in.py", "b"]
    assert status(root) == []


def test_symbolic_link_in_the_branch_is_never_written(make_repo: MakeRepo, tmp_path: Path) -> None:
    root = make_repo({A: TEXT})
    (root / "link.py").symlink_to("a.py")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "link")
    with Store.open(root) as store, pytest.raises(StoreError, match="no regular file"):
        commit_wave(store, wave(store, {"link.py": "x\n"}))
    assert (root / A).read_text() == TEXT


def test_executable_stays_executable_and_a_new_one_becomes_so(make_repo: MakeRepo) -> None:
    root = make_repo({"run.py": "old\n"})
    (root / "run.py").chmod(0o755)
    git(root, "commit", "-qam", "mode")
    with Store.open(root) as store:
        files = {"run.py": "new\n", "more.py": "m\n"}
        committed(commit_wave(store, wave(store, files, modes={"more.py": 0o100755})))
        is_sound(store)
    assert status(root) == []
    for name in files:
        assert (root / name).stat().st_mode & stat.S_IXUSR
        assert git(root, "ls-tree", "HEAD", name).startswith("100755")


# ------------------------------------------------------------------------- who and what signs


def _format(root: Path, form: str) -> str:
    return git(root, "log", "-1", f"--format={form}").strip()


def test_author_is_the_person_and_committer_mak(make_repo: MakeRepo) -> None:
    root = make_repo({A: TEXT})
    git(root, "config", "user.name", "Grace <x> Hopper")
    git(root, "config", "user.email", "grace@example.org")
    with Store.open(root) as store:
        commit_wave(store, wave(store, {A: "x\n"}))
    assert _format(root, "%an %ae / %cn %ce") == (
        "Grace x Hopper grace@example.org / MAK mak@localhost"
    )


def test_without_an_identity_the_author_is_mak(make_repo: MakeRepo) -> None:
    root = make_repo({A: TEXT})
    with Store.open(root) as store:
        commit_wave(store, wave(store, {A: "x\n"}))
    assert _format(root, "%an %ae") == "MAK mak@localhost"


def _sign_with_ssh(root: Path, folder: Path) -> None:
    key = folder / "key"
    done = os.spawnlp(
        os.P_WAIT, "ssh-keygen", "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)
    )
    if done:
        pytest.fail("ssh-keygen is needed")
    (folder / "allowed").write_text(f"g@example.org {key.with_suffix('.pub').read_text()}")
    for name, value in {
        "user.name": "Grace",
        "user.email": "g@example.org",
        "commit.gpgsign": "true",
        "gpg.format": "ssh",
        "user.signingkey": str(key),
        "gpg.ssh.allowedSignersFile": str(folder / "allowed"),
    }.items():
        git(root, "config", name, value)


def test_commit_is_signed_when_the_persons_are(make_repo: MakeRepo, tmp_path: Path) -> None:
    root = make_repo({A: TEXT})
    _sign_with_ssh(root, tmp_path)
    with Store.open(root) as store:
        result = committed(commit_wave(store, wave(store, {A: "x\n"})))
        is_sound(store)
    git(root, "verify-commit", result.commit)
    assert _format(root, "%cn") == "Grace"


def test_signing_that_goes_wrong_changes_nothing(make_repo: MakeRepo, tmp_path: Path) -> None:
    root = make_repo({A: TEXT})
    _sign_with_ssh(root, tmp_path)
    (tmp_path / "key").unlink()
    with Store.open(root) as store:
        base = store.tip()
        with pytest.raises(StoreError, match="signing the commit") as raised:
            commit_wave(store, wave(store, {A: "x\n"}))
        assert "commit.gpgsign" in raised.value.hint
        assert store.tip() == base
        is_sound(store)
    assert status(root) == []


# -------------------------------------------------------------------------------------- hooks


def _hook(root: Path, name: str, script: str) -> None:
    file = root / ".git/hooks" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(script)
    file.chmod(0o755)


def test_hooks_are_skipped_with_a_remark(make_repo: MakeRepo) -> None:
    root = make_repo({A: TEXT})
    _hook(root, "pre-commit", "#!/bin/sh\nexit 1\n")
    with Store.open(root) as store:
        result = committed(commit_wave(store, wave(store, {A: "x\n"})))
    assert result.remarks == ("the pre-commit hook was not run",)


def test_hook_sees_the_wave_and_not_the_persons_files(make_repo: MakeRepo, tmp_path: Path) -> None:
    root = make_repo({A: TEXT, "other.py": "o\n"})
    write(root, {"other.py": "mine\n", "untracked.py": "u\n"})
    script = f"#!/bin/sh\ngit diff --cached --name-only > {tmp_path}/seen\nls >> {tmp_path}/seen\n"
    _hook(root, "pre-commit", script)
    with Store.open(root) as store:
        committed(commit_wave(store, wave(store, {A: "x\n"}, hooks=True)))
        is_sound(store)
    assert (tmp_path / "seen").read_text().split() == ["a.py", "a.py", "other.py"]
    assert status(root) == [" M other.py", "?? untracked.py"]
    assert git(root, "worktree", "list").count("\n") == 1


@pytest.mark.parametrize(
    ("name", "script", "said"),
    [
        ("pre-commit", "#!/bin/sh\necho no tabs please; exit 1\n", "no tabs please"),
        ("pre-commit", "echo plain >&2; exit 3\n", "plain"),
        ("pre-commit", "#!/bin/sh\necho more >> a.py\n", "it changes files:\na.py"),
        (
            "commit-msg",
            '#!/bin/sh\ngrep -q JIRA "$1" || { echo no ticket; exit 1; }\n',
            "no ticket",
        ),
    ],
)
def test_hook_that_refuses_holds_the_wave(
    make_repo: MakeRepo, name: str, script: str, said: str
) -> None:
    root = make_repo({A: TEXT})
    _hook(root, name, script)
    with Store.open(root) as store:
        base = store.tip()
        result = held(commit_wave(store, wave(store, {A: "x\n"}, hooks=True)))
        assert f"the {name} hook refused" in result.reason and said in result.reason
        assert store.tip() == base
        is_sound(store)
    assert status(root) == []


def test_message_of_the_commit_msg_hook_is_taken(make_repo: MakeRepo) -> None:
    root = make_repo({A: TEXT})
    _hook(root, "commit-msg", '#!/bin/sh\necho "Change-Id: I123" >> "$1"\n')
    with Store.open(root) as store:
        committed(commit_wave(store, wave(store, {A: "x\n"}, hooks=True)))
    assert "Change-Id: I123" in _format(root, "%B")


# ------------------------------------------------------------------------ what may go wrong


class WriteFails(OSError):
    """The disk is full."""


def _fail_at(store: Store, number: int) -> Callable[[], int]:
    count = 0

    def before(what: str) -> None:
        nonlocal count
        count += 1
        if count == number:
            raise WriteFails(f"writing {what}: no space left")

    store.repository.before_write = before
    return lambda: count


# I13
def test_wave_survives_the_failure_of_any_write(make_repo: MakeRepo) -> None:
    """Whichever write fails, the branch is old or new and the files are what it says."""
    root = make_repo({A: TEXT, B: TEXT})
    (root / A).write_text(TEXT.replace("seven", "SEVEN"))
    number, over = 0, False
    while not over:
        number += 1
        with Store.open(root) as store:
            files = {A: TEXT.replace("one", f"ONE {number}"), B: f"{number}\n"}
            base = store.tip()
            build = wave(store, files, number=number)
            count = _fail_at(store, number)
            try:
                commit_wave(store, build)
            except (WriteFails, StoreError):
                assert count() >= number
            store.repository.before_write = lambda what: None
            over = count() < number
            store.recover()
            is_sound(store)
            moved = store.tip() != base
        text = git(root, "show", "HEAD:a.py")
        assert (text == files[A]) == moved
        assert (root / A).read_text() == text.replace("seven", "SEVEN")
        assert status(root) == [" M a.py"]
        assert (git(root, "show", f"HEAD:{B}") == files[B]) == moved
    assert number > 15


@pytest.mark.parametrize("phase", ["P2", "P3", "P4.index", "P4.tree", "P4.file", "P4", "P5"])
def test_error_in_the_middle_takes_everything_back(make_repo: MakeRepo, phase: str) -> None:
    root = make_repo({A: TEXT, B: TEXT, "d.py": "d\n"})
    write(root, {A: TEXT.replace("seven", "SEVEN")})

    def fault(reached: str) -> None:
        if reached == phase:
            raise WriteFails("no space left")

    with Store.open(root) as store:
        files = {A: TEXT.replace("one", "ONE"), B: "b\n", "d.py": None, "new/e.py": "e\n"}
        base = store.tip()
        with pytest.raises(WriteFails):
            commit_wave(store, wave(store, files, fault=fault))
        assert store.tip() == base
        is_sound(store)
        assert status(root) == [" M a.py"]
        assert (root / A).read_text() == TEXT.replace("seven", "SEVEN")
        assert not (root / "new").exists()
        committed(commit_wave(store, wave(store, files)))
        is_sound(store)
    assert status(root) == [" M a.py"]


# I12
def test_state_of_a_wave_survives_a_collection(make_repo: MakeRepo) -> None:
    """The texts that only the journal knows are there for recovery after ``gc --prune=now``."""
    root = make_repo({A: TEXT, B: TEXT})
    write(root, {A: TEXT.replace("seven", "SEVEN")})
    assert "P4.tree" in PHASES
    assert crash(root, {A: TEXT.replace("one", "ONE"), B: "b\n"}, "P4.tree")
    for lock in root.glob(".git/refs/heads/*.lock"):
        lock.rename(tmp := root / "kept.lock")
    git(root, "gc", "-q", "--prune=now")
    tmp.rename(lock)
    with Store.open(root) as store:
        assert "finished wave 1 of r1" in store.recover()[0]
        is_sound(store)
    assert (root / A).read_text() == TEXT.replace("one", "ONE").replace("seven", "SEVEN")


def test_node_versions_of_files_that_others_changed_are_dropped(make_repo: MakeRepo) -> None:
    root = make_repo({A: TEXT, B: TEXT})
    with Store.open(root) as store:
        committed(commit_wave(store, wave(store, {A: "1\n", B: "2\n"})))
        write(root, {A: "person\n"})
        git(root, "commit", "-qam", "person")
        committed(commit_wave(store, wave(store, {"c.py": "3\n"})))
        assert sorted(node_paths(store)) == ["c.py", B]
        is_sound(store)
        assert treeops.entry(store.repository, store.state.tree(), "v") is not None
