"""A store that fails its n-th write, for every n, and a disk with other things going on."""

from __future__ import annotations

import errno
import itertools
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from mak.errors import StoreError
from mak.model import Lock, Mode, NodeId
from mak.store import Committed, Store, WaveWrite, objects
from mak.store.repository import Repository
from tests.conftest import git
from tests.store.writers import count, open_state, started, step, write_blobs

MakeRepo = Callable[..., Path]

OLD, NEW = b"def f():\n    return 1\n", b"def f():\n    return 2\n"


class Full:
    """Fails the n-th write, and only that one or all from there on."""

    def __init__(self, n: int, *, for_good: bool) -> None:
        self.left = n
        self.for_good = for_good
        self.happened = False

    def __call__(self, what: str) -> None:
        self.left -= 1
        if self.left == 0 or (self.left < 0 and self.for_good):
            self.happened = True
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), what)


def _work(store: Store, done: list[str]) -> None:
    """Use everything that writes; note what was acknowledged."""
    with store.enter("r1"):
        store.start_run("r1", {"meta.json": b"{}"})
        done.append("started")
        refused = store.acquire(
            {t: (Lock(NodeId("a.py", t), Mode.X),) for t in ("f", "g")}
            | {"many": tuple(Lock(NodeId("b.py", f"n{i}"), Mode.S) for i in range(1200))}
        )
        assert refused == {}
        store.record("r1", {"replies/f/1.json": b"1", "replies/g/1.json": b"2"})
        done.append("parked")
        store.release(["g", "many"])
        result = store.commit_wave(
            WaveWrite(
                run="r1",
                number=1,
                parent=store.tip(),
                files={"a.py": NEW, "new/b.py": b""},
                message="change f\n\nMAK-Run: r1\n",
                nodes={"a.py": (("f", NEW),), "new/b.py": (("@header", b""),)},
                tasks=("f",),
            )
        )
        assert isinstance(result, Committed)
        done.append("committed")
        store.record("r1", {"outcome.json": b"{}"})
        done.append("ended")


def _check(root: Path, done: list[str]) -> None:
    """What was acknowledged is there, the branch is old or new, and work can go on."""
    with Store.open(root) as store:
        with store.enter("r2"):
            assert store.locks() == []
            nodes = (NodeId("a.py"), NodeId("b.py"))
            assert store.acquire({"t": tuple(Lock(node, Mode.X) for node in nodes)}) == {}
        documents = store.run_documents("r1", "")
        if "parked" in done:
            assert documents["replies/f/1.json"] == b"1"
            assert documents["replies/g/1.json"] == b"2"
        assert ("meta.json" in documents) or "started" not in done
        assert ("outcome.json" in documents) or "ended" not in done
        text = store.read(store.entries(store.tip())["a.py"])
    assert text in (OLD, NEW)
    assert text == NEW or "committed" not in done
    assert (root / "a.py").read_bytes() == text
    assert git(root, "status", "--porcelain") == ""
    left = {path.name for path in (root / ".git").rglob("*.lock")}
    assert left <= {"store.lock", "wave.lock"}


@pytest.mark.parametrize(
    "for_good",
    [
        pytest.param(False, id="one write fails"),
        pytest.param(True, id="all from there on", marks=pytest.mark.slow),
    ],
)
def test_whichever_write_fails_nothing_acknowledged_is_lost(
    make_repo: MakeRepo, tmp_path: Path, for_good: bool
) -> None:
    template = make_repo({"a.py": OLD}, "template")
    for n in itertools.count(1):
        root = tmp_path / f"repo{n}"
        shutil.copytree(template, root)
        git(root, "update-index", "-q", "--refresh")
        full = Full(n, for_good=for_good)
        done: list[str] = []
        with Store.open(root) as store:
            store.repository.before_write = full
            try:
                _work(store, done)
            except StoreError as error:
                assert full.happened, error
                assert "No space left" in str(error)
        _check(root, done)
        if n % 10 == 0:
            assert git(root, "fsck", "--strict", "--no-dangling") == ""
        if not full.happened:
            break
    assert n > 20
    assert done == ["started", "parked", "committed", "ended"]


def test_a_wave_writes_files_that_were_only_touched(make_repo: MakeRepo) -> None:
    """In a copied repository the index remembers the times of other files."""
    root = make_repo({"a.py": OLD, "b.py": "1\n"})
    for name in ("a.py", "b.py"):
        os.utime(root / name, (5, 5))
    (root / "b.py").write_text("mine\n")
    done: list[str] = []
    with Store.open(root) as store:
        assert store.uncommitted(["a.py", "b.py"]) == ["b.py"]
        _work(store, done)
    assert done[-1] == "ended"
    assert (root / "a.py").read_bytes() == NEW
    assert git(root, "status", "--porcelain") == " M b.py\n"


def test_a_write_into_a_folder_that_was_just_pruned_is_tried_again() -> None:
    """libgit2 makes the fan-out folder and renames into it; `git prune-packed` comes between."""
    answers = iter([OSError("failed to rename lockfile: No such file or directory")] * 2)

    def write() -> str:
        for error in answers:
            raise error
        return "written"

    assert objects.put(write) == "written"


def test_a_full_disk_is_not_tried_again() -> None:
    tries = []

    def write() -> str:
        tries.append(1)
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(StoreError, match="No space left on device"):
        objects.put(write)
    assert tries == [1]


# ----------------------------------------------------------------- git's own housekeeping


def _keep_house(root: Path, seconds: float, commands: list[list[str]]) -> int:
    """Run these git commands over and over; return how many went through."""
    through = 0
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        for command in commands:
            done = subprocess.run(["git", *command], cwd=root, capture_output=True)
            through += done.returncode == 0
    return through


def _count_beside(
    root: Path, tmp_path: Path, seconds: float, times: int, commands: list[list[str]]
) -> int:
    with Store.open(root) as store:
        refs = {}
        for number in range(100):  # refs that nobody touches: deleting would lose some of them
            name = f"refs/mak/test/{number}"
            store.repository.git.run("update-ref", name, store.tip())
            refs[name] = store.tip()
        said = tmp_path / "said"
        open_state(root).cas(step)
        with store.enter("r1"):
            running = [started(count, root, times, said) for _ in range(3)]
            blobs = [started(write_blobs, root, times, tmp_path / "blobs")]
            through = _keep_house(root, seconds, commands)
            for process in [*running, *blobs]:
                process.join()
            assert [process.exitcode for process in [*running, *blobs]] == [0] * 4
        assert open_state(root).read()[1].fence == 3 * times + 1
    listed = git(root, "for-each-ref", "--format=%(refname)", "refs/mak/test").split()
    assert sorted(listed) == sorted(refs)
    assert git(root, "fsck", "--no-dangling") == ""
    return through


LOOSE_ENDS = [["pack-refs", "--all"], ["repack", "-adq"], ["prune-packed"]]
COLLECT = [["gc", "--quiet", "--prune=now"], ["pack-refs", "--all"]]


def test_packing_beside_writers_loses_nothing(make_repo: MakeRepo, tmp_path: Path) -> None:
    assert _count_beside(make_repo({"a.py": ""}), tmp_path, 1.0, 60, LOOSE_ENDS)


# I12
def test_collecting_beside_writers_loses_nothing(make_repo: MakeRepo, tmp_path: Path) -> None:
    assert _count_beside(make_repo({"a.py": ""}), tmp_path, 1.0, 60, COLLECT)


@pytest.mark.slow
@pytest.mark.parametrize("commands", [LOOSE_ENDS, COLLECT], ids=["pack", "collect"])
def test_a_minute_of_housekeeping_beside_writers_loses_nothing(
    make_repo: MakeRepo, tmp_path: Path, commands: list[list[str]]
) -> None:
    assert _count_beside(make_repo({"a.py": ""}), tmp_path, 60.0, 2500, commands)


def test_threads_with_handles_of_their_own_do_not_disturb_each_other(make_repo: MakeRepo) -> None:
    """One handle for all threads crashes the process within seconds."""
    root = make_repo({f"m{i}.py": f"{i}\n" for i in range(30)})
    repository = Repository.open(root)
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for i in range(40):
                handle = repository.handle
                oid = repository.put(b"%d %d" % (number, i))
                assert handle[oid].data == b"%d %d" % (number, i)
                assert str(handle.hashfile("m1.py")) in handle
                assert handle.status() == {}
                handle.config["core.bare"]
        except BaseException as error:  # noqa: BLE001, told to the main thread
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
