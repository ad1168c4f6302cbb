"""Undo is a new commit that takes back exactly what the run did, or a refusal that says why."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from mak.errors import StoreError
from mak.store import Committed, Store
from mak.store.undo import Undone, undo
from mak.store.wave import commit_wave
from tests.conftest import git, write
from tests.store.killing import ended, forked
from tests.store.waving import (
    crash,
    is_sound,
    merge_lines,
    node_paths,
    nodes_of,
    status,
    wave,
)

MakeRepo = Callable[..., Path]

A, B, OTHER = "a.py", "pkg/b.py", "other.py"
TEXT = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n"
NEW = TEXT.replace("one", "ONE")


def by_lines(path: str, base: bytes, ours: bytes, theirs: bytes) -> bytes | tuple[str, ...]:
    merged = merge_lines(path, base, ours, theirs)
    return (f"{path}::f",) if merged is None else merged


def land(root: Path, files: dict[str, str | None], number: int = 0, run: str = "r1") -> str:
    with Store.open(root) as store:
        result = commit_wave(store, wave(store, files, number=number, run=run))
        assert isinstance(result, Committed)
        return result.commit


def take_back(root: Path, run: str = "r1") -> Undone:
    with Store.open(root) as store:
        tip = store.tip()
        result = undo(store, run, by_lines, lambda path, data: nodes_of(data))
        is_sound(store)
        assert git(root, "rev-parse", "HEAD~").strip() == tip, "history was rewound"
    return result


def refused(root: Path, run: str = "r1") -> StoreError:
    before = git(root, "rev-parse", "HEAD"), status(root)
    with Store.open(root) as store:
        with pytest.raises(StoreError) as raised:
            undo(store, run, by_lines)
        is_sound(store)
    assert (git(root, "rev-parse", "HEAD"), status(root)) == before
    return raised.value


def tree(root: Path, name: str = "HEAD") -> str:
    return git(root, "rev-parse", f"{name}^{{tree}}").strip()


def test_waves_of_a_run_are_taken_back_in_one_commit(make_repo: MakeRepo) -> None:
    root = make_repo({A: TEXT, B: TEXT, "gone.py": "g\n", OTHER: "o\n"})
    (root / "gone.py").chmod(0o755)
    git(root, "commit", "-qam", "mode")
    before = tree(root)
    first = land(root, {A: NEW, "gone.py": None, "new/c.py": "c\n"})
    second = land(root, {A: NEW + "eight\n", B: NEW}, number=1)
    result = take_back(root)
    assert result.waves == (second, first)
    assert result.paths == (A, "gone.py", "new/c.py", B)
    assert tree(root) == before and status(root) == []
    assert (root / "gone.py").stat().st_mode & 0o100
    assert not (root / "new").exists()
    message = git(root, "log", "-1", "--format=%B")
    assert f"- {second[:10]} wave 2\n- {first[:10]} wave 1\n" in message
    assert "MAK-Undoes: r1" in message and "MAK-Run" not in message


def test_node_versions_follow(make_repo: MakeRepo) -> None:
    root = make_repo({A: TEXT, B: TEXT})
    land(root, {A: NEW, "c.py": "c\n"})
    take_back(root)
    with Store.open(root) as store:
        assert list(node_paths(store)) == [A]


def test_work_of_others_in_other_places_is_kept(make_repo: MakeRepo) -> None:
    root = make_repo({A: TEXT, B: TEXT, OTHER: "o\n"})
    land(root, {A: NEW, B: NEW})
    write(root, {A: NEW.replace("seven", "SEVEN"), OTHER: "o2\n"})
    git(root, "commit", "-qam", "person")
    land(root, {B: NEW.replace("six", "SIX")}, run="r2")
    write(root, {OTHER: "uncommitted\n"})
    take_back(root)
    assert (root / A).read_text() == TEXT.replace("seven", "SEVEN")
    assert (root / B).read_text() == TEXT.replace("six", "SIX")
    assert (root / OTHER).read_text() == "uncommitted\n" and status(root) == [f" M {OTHER}"]


def test_node_that_was_changed_since_is_named_with_its_commit(make_repo: MakeRepo) -> None:
    root = make_repo({A: TEXT, B: TEXT})
    commit = land(root, {A: NEW, B: NEW})
    write(root, {A: NEW.replace("ONE", "Uno")})
    git(root, "commit", "-qam", "say it in Spanish")
    later = git(root, "rev-parse", "HEAD")[:10]
    error = refused(root)
    assert str(error) == (f"undoing r1: changed since: a.py::f (by {later} say it in Spanish)")
    assert error.hint == f"git revert {commit[:10]}"


@pytest.mark.parametrize(
    ("first", "then"), [({"new.py": "n\n"}, {"new.py": "n2\n"}), ({A: None}, {A: "again\n"})]
)
def test_file_made_or_deleted_by_the_run_and_changed_since_is_in_the_way(
    make_repo: MakeRepo, first: dict[str, str | None], then: dict[str, str]
) -> None:
    root = make_repo({A: TEXT})
    land(root, first)
    write(root, then)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "again")
    assert f"changed since: {next(iter(then))} (by " in str(refused(root))


def test_what_somebody_took_back_already_is_no_obstacle(make_repo: MakeRepo) -> None:
    root = make_repo({A: TEXT, B: TEXT})
    land(root, {A: NEW, B: NEW})
    write(root, {A: TEXT})
    git(root, "commit", "-qam", "by hand")
    assert take_back(root).paths == (B,)
    assert (root / B).read_text() == TEXT


def test_all_taken_back_by_hand_leaves_nothing_to_undo(make_repo: MakeRepo) -> None:
    root = make_repo({A: TEXT})
    land(root, {A: NEW})
    git(root, "revert", "--no-edit", "HEAD")
    assert "its files are as they were before it" in str(refused(root))


def test_undoing_twice_is_refused(make_repo: MakeRepo) -> None:
    root = make_repo({A: TEXT})
    land(root, {A: NEW})
    result = take_back(root)
    error = refused(root)
    assert f"undone already, by {result.commit[:10]}" in str(error)
    assert error.hint == f"git revert {result.commit[:10]}"


def test_run_that_went_on_after_an_undo_can_be_undone_again(make_repo: MakeRepo) -> None:
    root = make_repo({A: TEXT, B: TEXT})
    land(root, {A: NEW})
    take_back(root)
    second = land(root, {B: NEW}, number=1)
    assert take_back(root).waves == (second,)
    assert (root / A).read_text() == TEXT == (root / B).read_text()


def test_run_that_is_not_on_the_branch_is_refused(make_repo: MakeRepo) -> None:
    assert "no commit of it is on main" in str(refused(make_repo({A: TEXT}), "r9"))


def test_rebased_waves_are_found(make_repo: MakeRepo) -> None:
    root = make_repo({A: TEXT, B: TEXT})
    git(root, "switch", "-q", "-c", "work")
    land(root, {A: NEW})
    git(root, "switch", "-q", "main")
    write(root, {B: NEW})
    git(root, "commit", "-qam", "main goes on")
    git(root, "rebase", "-q", "main", "work")
    take_back(root)
    assert (root / A).read_text() == TEXT and (root / B).read_text() == NEW


def test_first_commit_of_a_branch_can_be_undone(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    land(tmp_path, {A: TEXT, B: TEXT})
    take_back(tmp_path)
    assert git(tmp_path, "ls-tree", "-r", "HEAD") == "" and not (tmp_path / A).exists()


@pytest.mark.parametrize("staged", [False, True])
def test_uncommitted_changes_are_in_the_way(make_repo: MakeRepo, staged: bool) -> None:
    root = make_repo({A: TEXT, B: TEXT})
    land(root, {A: NEW, B: NEW})
    write(root, {A: NEW + "mine\n"})
    if staged:
        git(root, "add", A)
    error = refused(root)
    assert "uncommitted changes in a.py" in str(error)
    assert error.hint == "commit or stash them first: git stash push -u -- a.py"


def test_run_that_is_going_on_is_refused(make_repo: MakeRepo) -> None:
    root = make_repo({A: TEXT})
    land(root, {A: NEW})
    ready, go = os.pipe(), os.pipe()

    def stay() -> None:
        from mak.model import Lock, Mode, NodeId

        with Store.open(root) as store, store.enter("r1"):
            assert store.acquire({"t": [Lock(NodeId(A), Mode.X)]}) == {}
            os.write(ready[1], b".")
            os.read(go[0], 1)

    pid = forked(stay)
    try:
        os.read(ready[0], 1)
        assert f"being carried out by run r1 (pid {pid} " in str(refused(root))
    finally:
        os.kill(pid, signal.SIGKILL)
        ended(pid)


def test_run_that_was_cut_off_is_refused_until_it_has_ended(make_repo: MakeRepo) -> None:
    root = make_repo({A: TEXT})
    with Store.open(root) as store:
        store.start_run("r1", {"meta.json": b"{}"})
    land(root, {A: NEW})
    error = refused(root)
    assert "cut off" in str(error) and "mak run --recover r1" in error.hint
    with Store.open(root) as store:
        store.record("r1", {"outcome.json": b"{}"})
    take_back(root)
    assert (root / A).read_text() == TEXT


def test_half_done_wave_is_finished_before_it_is_undone(make_repo: MakeRepo) -> None:
    root = make_repo({A: TEXT})
    assert crash(root, {A: NEW}, "P4.tree")
    with Store.open(root) as store:
        assert len(undo(store, "r1").waves) == 1
        is_sound(store)
    assert git(root, "log", "--format=%s").splitlines() == ["Undo r1", "wave 1", "base"]
    assert (root / A).read_text() == TEXT and status(root) == []


def test_bare_repository_can_be_undone(make_repo: MakeRepo, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(make_repo({A: TEXT})), "bare.git")
    bare = tmp_path / "bare.git"
    land(bare, {A: NEW})
    take_back(bare)
    assert git(bare, "show", f"HEAD:{A}") == TEXT
