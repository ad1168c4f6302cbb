"""The records of runs: what was recorded is there, whatever was killed since."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mak.errors import StoreError, UsageError
from mak.store import Store
from mak.store.guard import FileLock
from mak.store.repository import Repository
from mak.store.runs import Runs
from tests.conftest import git
from tests.store.writers import record_documents, started

MakeRepo = Callable[..., Path]


def test_documents_come_back_by_path_and_by_folder(make_repo: MakeRepo) -> None:
    with Store.open(make_repo({"a.py": ""})) as store:
        store.start_run("r1", {"meta.json": b"{}"})
        store.record("r1", {"replies/t1/1.json": b"one", "replies/t2/1.json": b"\0\xff"})
        store.record("r1", {"replies/t1/2.json": b"two", "meta.json": b"[]"})
        store.record("r1", {})
        assert store.run_document("r1", "meta.json") == b"[]"
        assert store.run_document("r1", "replies/t1") is None
        assert store.run_document("r1", "none") is None
        assert store.run_documents("r1", "replies/") == {
            "replies/t1/1.json": b"one",
            "replies/t1/2.json": b"two",
            "replies/t2/1.json": b"\0\xff",
        }
        assert set(store.run_documents("r1", "replies/t1/")) == {
            "replies/t1/1.json",
            "replies/t1/2.json",
        }
        assert len(store.run_documents("r1", "")) == 4


def test_documents_recorded_together_are_one_commit(make_repo: MakeRepo) -> None:
    root = make_repo({"a.py": ""})
    with Store.open(root) as store:
        store.start_run("r1", {"meta.json": b"{}", "plan.json": b"{}"})
        store.record("r1", {f"replies/t{i}/1.json": b"%d" % i for i in range(30)})
    assert git(root, "log", "--format=%s", "refs/mak/runs/r1").splitlines() == [
        "mak r1: replies/t0/1.json and 29 more",
        "mak r1: meta.json and 1 more",
    ]
    shown = git(root, "show", "refs/mak/runs/r1:replies/t7/1.json")
    assert shown == "7"


names = st.text(min_size=1, max_size=10).filter(lambda name: "/" not in name)
hard = st.sampled_from([".", "..", ".git", "git~1", "a.lock", "é", "a b", "x" * 80, "-n", "%2E"])
paths = st.lists(names | hard, min_size=1, max_size=3).map("/".join)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.dictionaries(paths, st.binary(max_size=20), min_size=1), min_size=1, max_size=4))
def test_a_record_is_a_dictionary_of_documents(
    tmp_path_factory: pytest.TempPathFactory, batches: list[dict[str, bytes]]
) -> None:
    root = tmp_path_factory.getbasetemp() / "records"
    if not root.exists():
        root.mkdir()
        git(root, "init", "-q", "-b", "main")
    repository = Repository.open(root, write=False)
    lock = FileLock(tmp_path_factory.getbasetemp() / "records.lock")
    run = f"r{time.monotonic_ns()}"
    expected: dict[str, bytes] = {}
    writer, reader = Runs(repository, lock), Runs(repository, lock)
    writer.start(run, {})
    for batch in batches:
        if any(_clash(path, other) for path in batch for other in (*expected, *batch)):
            continue
        # Now and then another process goes on with the record.
        if len(batch) % 2:
            writer = Runs(repository, lock)
        writer.record(run, batch)
        expected.update(batch)
    assert reader.documents(run, "") == expected
    for path, data in expected.items():
        assert reader.document(run, path) == data


def test_git_finds_nothing_wrong_with_hard_names(make_repo: MakeRepo) -> None:
    root = make_repo({"a.py": ""})
    hard = [".", "..", ".git", "git~1", "a.lock", "é", "a b", "x" * 80, "-n", "%2E", ".gitmodules"]
    with Store.open(root) as store:
        store.start_run("r1", {f"{name}/{name}": b"" for name in hard})
        store.record("r1", {f"replies/{name}": b"" for name in hard})
        assert len(store.run_documents("r1", "")) == 2 * len(hard)
    assert git(root, "fsck", "--strict", "--no-dangling") == ""


def _clash(path: str, other: str) -> bool:
    return other.startswith(f"{path}/") or path.startswith(f"{other}/")


def test_a_document_cannot_also_be_a_folder(make_repo: MakeRepo) -> None:
    with Store.open(make_repo({"a.py": ""})) as store:
        store.start_run("r1", {"a": b"", "b/c": b""})
        with pytest.raises(StoreError, match="a is a document, not a folder"):
            store.record("r1", {"a/x": b""})
        with pytest.raises(StoreError, match="b: it is a folder"):
            store.record("r1", {"b": b""})
        with pytest.raises(StoreError, match="not the name of a document"):
            store.record("r1", {"b//d": b""})
        store.record("r1", {"b/d": b"1"})
        assert store.run_documents("r1", "") == {"a": b"", "b/c": b"", "b/d": b"1"}


def test_runs_are_listed_newest_first(make_repo: MakeRepo) -> None:
    with Store.open(make_repo({"a.py": ""})) as store:
        for run in ("r-b", "r-c", "r-a"):
            store.start_run(run, {"meta.json": b"{}"})
        store.record("r-b", {"more": b""})
        assert store.runs() == ["r-a", "r-c", "r-b"]
        assert Store.open(store.root or Path()).runs() == ["r-a", "r-c", "r-b"]


def test_a_repository_without_runs_has_none(make_repo: MakeRepo) -> None:
    with Store.open(make_repo({"a.py": ""})) as store:
        assert store.runs() == []
        assert store.run_document("r1", "meta.json") is None
        assert store.run_documents("r1", "") == {}


def test_a_record_with_a_missing_object_is_named(make_repo: MakeRepo) -> None:
    root = make_repo({"a.py": ""})
    with Store.open(root) as store:
        store.start_run("r1", {"a": b"1", "b/c": b"2"})
    oid = git(root, "rev-parse", "refs/mak/runs/r1:b").strip()
    (root / ".git/objects" / oid[:2] / oid[2:]).unlink()
    with Store.open(root) as store:
        assert store.run_document("r1", "a") == b"1"
        for read in (store.run_document, store.run_documents):
            with pytest.raises(StoreError, match=f"reading run r1: .*{oid}"):
                read("r1", "b/c")
        with pytest.raises(StoreError, match=oid):
            store.record("r1", {"d": b""})


def test_a_run_is_started_once_and_before_it_is_recorded(make_repo: MakeRepo) -> None:
    with Store.open(make_repo({"a.py": ""})) as store:
        with pytest.raises(StoreError, match="never started"):
            store.record("r1", {"a": b""})
        store.start_run("r1", {"a": b"1"})
        with pytest.raises(StoreError, match="one of that name already"):
            store.start_run("r1", {"a": b"2"})
        assert store.run_document("r1", "a") == b"1"


@pytest.mark.parametrize("run", ["", "../x", "a/b", "-x", "a b", "x.lock", "a..b", ".", "é"])
def test_names_that_are_no_run_are_refused(make_repo: MakeRepo, run: str) -> None:
    store = Store.open(make_repo({"a.py": ""}))
    with store, pytest.raises(UsageError, match="not the name of a run"):
        store.start_run(run, {})


def _kill_recorders(root: Path, tmp_path: Path, kills: int) -> None:
    chance = random.Random(3)
    for number in range(kills):
        run, acknowledged = f"r{number}", tmp_path / f"said{number}"
        acknowledged.touch()
        with Store.open(root) as store:
            store.start_run(run, {"meta.json": b"{}"})
        process = started(record_documents, root, run, acknowledged)
        while not acknowledged.stat().st_size:
            time.sleep(0.001)
        time.sleep(chance.uniform(0, 0.03))
        process.kill()
        process.join()
        said = acknowledged.stat().st_size
        with Store.open(root) as store:
            store._runs.stale_after = 0.1
            found = store.run_documents(run, "replies/")
            assert found.keys() >= {f"replies/t{i}/1.json" for i in range(said)}
            store.record(run, {"outcome.json": b"{}"})
            assert len(store.run_documents(run, "")) == len(found) + 2
    assert git(root, "fsck", "--strict", "--no-dangling") == ""


# I10
def test_a_killed_run_loses_no_document(make_repo: MakeRepo, tmp_path: Path) -> None:
    _kill_recorders(make_repo({"a.py": ""}), tmp_path, 8)


@pytest.mark.slow
def test_many_killed_runs_lose_no_document(make_repo: MakeRepo, tmp_path: Path) -> None:
    _kill_recorders(make_repo({"a.py": ""}), tmp_path, 200)
