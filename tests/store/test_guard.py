"""Locks that die with their process, holders that live as long as theirs, and git's gc.pid."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from mak.store import Store
from mak.store.guard import FileLock, GcGuard, Liveness
from tests.conftest import git
from tests.store.writers import hold, hold_through_a_fork, lock_file, started, wait_for

MakeRepo = Callable[..., Path]


# --------------------------------------------------------------------------------- file locks


def test_a_lock_keeps_threads_and_other_files_out(tmp_path: Path) -> None:
    lock, other = FileLock(tmp_path / "x.lock"), FileLock(tmp_path / "x.lock")
    with lock.held():
        assert not other.acquire()
        taken: list[bool] = []
        thread = threading.Thread(target=lambda: taken.append(lock.acquire(0.01)))
        thread.start()
        thread.join()
        assert taken == [False]
    assert other.acquire()
    other.release()
    assert lock.acquire()


def test_a_lock_dies_with_its_process(tmp_path: Path) -> None:
    process = started(lock_file, tmp_path / "x.lock", tmp_path / "ready")
    wait_for(tmp_path / "ready")
    assert not FileLock(tmp_path / "x.lock").acquire(0.05)
    process.kill()
    process.join()
    assert FileLock(tmp_path / "x.lock").acquire(5.0)


# ---------------------------------------------------------------------------------- liveness


def test_a_holder_lives_until_it_is_killed(tmp_path: Path) -> None:
    liveness = Liveness(tmp_path)
    process = started(hold, tmp_path, "h-1", tmp_path / "ready")
    wait_for(tmp_path / "ready")
    assert liveness.is_alive("h-1")
    assert liveness.pids() == {process.pid}
    process.kill()
    process.join()
    assert not liveness.is_alive("h-1")
    assert liveness.pids() == set()


def test_a_forked_child_does_not_keep_a_dead_holder_alive(tmp_path: Path) -> None:
    child = tmp_path / "child"
    process = started(hold_through_a_fork, tmp_path, "h-1", tmp_path / "ready", child)
    wait_for(tmp_path / "ready")
    assert Liveness(tmp_path).is_alive("h-1")
    process.kill()
    process.join()
    try:
        os.kill(int(child.read_text()), 0)  # the child is still there
        assert not Liveness(tmp_path).is_alive("h-1")
    finally:
        os.kill(int(child.read_text()), signal.SIGKILL)


def test_a_subprocess_does_not_keep_a_dead_holder_alive(tmp_path: Path) -> None:
    liveness = Liveness(tmp_path)
    alive = liveness.begin("h-1", "r1")
    with subprocess.Popen(["sleep", "60"], close_fds=False) as child:
        alive.close()
        assert not liveness.is_alive("h-1")
        child.kill()


def test_sweeping_removes_only_the_files_of_the_dead(tmp_path: Path) -> None:
    liveness = Liveness(tmp_path)
    alive = liveness.begin("h-alive", "r1")
    liveness.begin("h-dead", "r1").close()
    liveness.sweep()
    assert [path.name for path in (tmp_path / "mak/holders").iterdir()] == ["h-alive"]
    liveness.end("h-alive", alive)
    assert not any((tmp_path / "mak/holders").iterdir())


def test_a_holder_whose_file_was_never_there_is_dead(tmp_path: Path) -> None:
    assert not Liveness(tmp_path).is_alive("h-1")


# ---------------------------------------------------------------------------------- gc.pid


def guard(root: Path) -> GcGuard:
    return GcGuard(root / ".git", Liveness(root / ".git"))


def collect(root: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["git", "gc", "--quiet", "--prune=now", *args], cwd=root, capture_output=True, text=True
    )


def test_git_does_not_collect_while_we_write(make_repo: MakeRepo) -> None:
    root = make_repo({"a.py": ""})
    loose = git(root, "hash-object", "-w", "--stdin", text="nobody refers to this").strip()
    ours = guard(root)
    ours.enter()
    refused = collect(root)
    assert refused.returncode == 128
    assert "gc is already running" in refused.stderr
    assert git(root, "cat-file", "-t", loose) == "blob\n"
    ours.leave()
    assert not (root / ".git/gc.pid").exists()
    assert collect(root).returncode == 0
    with pytest.raises(AssertionError, match="git cat-file"):
        git(root, "cat-file", "-t", loose)


def test_the_gc_pid_of_a_dead_process_is_taken_over(make_repo: MakeRepo) -> None:
    root = make_repo({"a.py": ""})
    with subprocess.Popen(["true"]) as dead:
        pass
    (root / ".git/gc.pid").write_text(f"{dead.pid} {socket.gethostname()}")
    ours = guard(root)
    ours.enter()
    assert (root / ".git/gc.pid").read_text() == f"{os.getpid()} {socket.gethostname()}"
    ours.leave()
    assert not (root / ".git/gc.pid").exists()


@pytest.mark.parametrize("owner", ["1 another-host", f"{os.getppid()} {socket.gethostname()}"])
def test_the_gc_pid_of_another_process_is_respected_and_kept(
    make_repo: MakeRepo, owner: str
) -> None:
    root = make_repo({"a.py": ""})
    (root / ".git/gc.pid").write_text(owner)
    ours = guard(root)
    ours.enter(timeout=0.05)
    ours.keep()
    ours.leave()
    assert (root / ".git/gc.pid").read_text() == owner


def test_a_gc_pid_of_yesterday_counts_for_nothing(make_repo: MakeRepo) -> None:
    root = make_repo({"a.py": ""})
    old = root / ".git/gc.pid"
    old.write_text("1 another-host")
    os.utime(old, (time.time() - 13 * 3600,) * 2)
    ours = guard(root)
    ours.enter()
    assert old.read_text().startswith(f"{os.getpid()} ")
    ours.leave()


def test_the_guard_of_a_killed_run_does_not_outlive_it(make_repo: MakeRepo, tmp_path: Path) -> None:
    """Its pid, or its host name, may be another's by then: a container that was thrown away."""
    root = make_repo({"a.py": ""})
    killed = started(hold, root / ".git", "h-1", tmp_path / "ready")
    wait_for(tmp_path / "ready")
    killed.kill()
    killed.join()
    about = root / ".git/mak/holders/h-1"
    about.write_text(about.read_text().replace(socket.gethostname(), "container"))
    (root / ".git/gc.pid").write_text(f"{killed.pid} container")
    ours = guard(root)
    ours.enter(timeout=0.05)
    assert (root / ".git/gc.pid").read_text().startswith(f"{os.getpid()} ")
    ours.leave()


def test_a_collection_that_ends_lets_us_in(make_repo: MakeRepo) -> None:
    root = make_repo({"a.py": ""})
    pid = root / ".git/gc.pid"
    with subprocess.Popen(["sleep", "0.1"]) as collector:
        pid.write_text(f"{collector.pid} {socket.gethostname()}")
        waiter = threading.Thread(target=collector.wait)
        waiter.start()
        ours = guard(root)
        ours.enter(timeout=10.0)
        waiter.join()
    assert pid.read_text().startswith(f"{os.getpid()} ")
    ours.leave()


def test_the_guard_passes_to_the_run_that_goes_on(make_repo: MakeRepo, tmp_path: Path) -> None:
    root = make_repo({"a.py": ""})
    ours = guard(root)
    ours.enter()
    other = started(hold, root / ".git", "h-2", tmp_path / "ready")
    wait_for(tmp_path / "ready")
    ours.leave()
    assert (root / ".git/gc.pid").read_text() == f"{other.pid} {socket.gethostname()}"
    other.kill()
    other.join()


def test_a_second_run_does_not_wait_for_the_guard_of_the_first(make_repo: MakeRepo) -> None:
    root = make_repo({"a.py": ""})
    with Store.open(root) as first, Store.open(root) as second, first.enter("r1"):
        began = time.monotonic()
        with second.enter("r2"):
            assert time.monotonic() - began < 5.0
            assert collect(root).returncode == 128
        assert collect(root).returncode == 128
    assert collect(root).returncode == 0


def test_the_dead_are_dead_also_while_they_are_swept_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever looked in that very moment took them for alive, and did not go on with their run."""
    liveness = Liveness(tmp_path)
    liveness.begin("h-1", "r1").close()
    seen = []
    unlink = Path.unlink

    def look(path: Path, missing_ok: bool = False) -> None:
        seen.append((liveness.is_alive("h-1"), liveness.carrying_out("r1")))
        unlink(path, missing_ok=missing_ok)

    monkeypatch.setattr(Path, "unlink", look)
    liveness.sweep()
    assert seen == [(False, None)]
    assert list((tmp_path / "mak/holders").iterdir()) == []
