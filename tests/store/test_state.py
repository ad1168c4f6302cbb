"""The state ref: no step is ever lost, and what is written is what is read."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pygit2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mak.errors import RepositoryRefused, StoreError
from mak.model import Mode
from mak.store import refs, state
from mak.store.state import Claim, Holder, State, Update
from tests.conftest import git
from tests.store.writers import count, count_without_comparing, open_state, started, step, wait_for

MakeRepo = Callable[..., Path]


def log(root: Path, *args: str) -> list[str]:
    return git(root, "log", "--first-parent", *args, _name(root)).splitlines()


def _name(root: Path) -> str:
    return open_state(root).name


# ---------------------------------------------------------------------------- many at once


def _count_at_once(root: Path, tmp_path: Path, processes: int, times: int) -> None:
    open_state(root).cas(step)
    acknowledged = tmp_path / "acknowledged"
    running = [started(count, root, times, acknowledged) for _ in range(processes)]
    for process in running:
        process.join()
    assert [process.exitcode for process in running] == [0] * processes
    assert open_state(root).read()[1].fence == processes * times + 1
    assert acknowledged.stat().st_size == processes * times
    assert git(root, "fsck", "--strict", "--no-dangling") == ""


# I11
def test_no_step_of_eight_processes_is_lost(make_repo: MakeRepo, tmp_path: Path) -> None:
    _count_at_once(make_repo({"a.py": ""}), tmp_path, 8, 40)


@pytest.mark.slow
def test_no_step_of_eight_busy_processes_is_lost(make_repo: MakeRepo, tmp_path: Path) -> None:
    _count_at_once(make_repo({"a.py": ""}), tmp_path, 8, 2000)


def test_the_same_load_loses_steps_without_comparing(make_repo: MakeRepo, tmp_path: Path) -> None:
    """The control of the test above: a load that a wrong store would not survive."""
    root = make_repo({"a.py": ""})
    handle = pygit2.Repository(str(root))
    author = pygit2.Signature("test", "test@localhost")
    first = handle.create_commit(
        "refs/mak/control", author, author, "0", handle.TreeBuilder().write(), []
    )
    running = [started(count_without_comparing, root, 40) for _ in range(8)]
    for process in running:
        process.join()
    assert [process.exitcode for process in running] == [0] * 8
    last = handle.references["refs/mak/control"].target
    assert last != first
    assert int(handle[last].message) < 8 * 40


def _kill_counters(root: Path, tmp_path: Path, kills: int) -> int:
    open_state(root).cas(step)
    acknowledged = tmp_path / "acknowledged"
    acknowledged.touch()
    chance = random.Random(7)
    lock = root / ".git" / f"{_name(root)}.lock"
    stale = 0
    running = [started(count, root, 10**9, acknowledged, 0.1) for _ in range(3)]
    for _ in range(kills):
        time.sleep(chance.uniform(0.0, 0.03))
        victim = running.pop(0)
        victim.kill()
        victim.join()
        stale += lock.exists()
        running.append(started(count, root, 10**9, acknowledged, 0.1))
    for process in running:
        process.kill()
        process.join()
    before = open_state(root).read()[1].fence
    assert open_state(root, stale_after=0.1).cas(step).fence == before + 1
    # What was done but not said before the kill counts too, once for each kill.
    said = acknowledged.stat().st_size + 1
    assert said <= before <= said + kills + 3
    assert git(root, "fsck", "--strict", "--no-dangling") == ""
    return stale


def test_killed_writers_lose_nothing_and_block_nobody(make_repo: MakeRepo, tmp_path: Path) -> None:
    _kill_counters(make_repo({"a.py": ""}), tmp_path, 12)


@pytest.mark.slow
def test_hundreds_of_killed_writers_lose_nothing(make_repo: MakeRepo, tmp_path: Path) -> None:
    assert _kill_counters(make_repo({"a.py": ""}), tmp_path, 300)  # some locks were left


def test_a_lock_that_a_killed_writer_left_is_removed(make_repo: MakeRepo) -> None:
    root = make_repo({"a.py": ""})
    ref = open_state(root, stale_after=0.05)
    ref.cas(step)
    lock = root / ".git" / f"{ref.name}.lock"
    lock.touch()
    assert ref.cas(step).fence == 2
    assert not lock.exists()


def test_a_lock_that_somebody_keeps_taking_is_respected(make_repo: MakeRepo) -> None:
    """Each time it is another file, so its owner lives: waiting ends with who is in the way."""
    root = make_repo({"a.py": ""})
    ref = open_state(root, stale_after=0.1)
    ref.cas(step)
    lock = root / ".git" / f"{ref.name}.lock"
    lock.touch()
    signal.signal(signal.SIGALRM, lambda *_: os.utime(lock, ns=(time.time_ns(), time.time_ns())))
    signal.setitimer(signal.ITIMER_REAL, 0.005, 0.005)
    try:
        with pytest.raises(refs.RefBusy, match=r"\.lock for") as caught:
            ref.cas(step, timeout=0.4)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
    assert "rm " in caught.value.hint
    lock.unlink()
    assert ref.cas(step).fence == 2


def test_two_worktrees_share_objects_and_not_states(make_repo: MakeRepo, tmp_path: Path) -> None:
    root = make_repo({"a.py": ""})
    git(root, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    here, there = open_state(root), open_state(tmp_path / "side")
    here.cas(step)
    here.cas(step)
    there.cas(step)
    assert here.name != there.name
    assert (here.read()[1].fence, there.read()[1].fence) == (2, 1)
    assert open_state(tmp_path / "side").read()[1].branch == "refs/heads/side"


# ------------------------------------------------------------------------------- what is kept


words = st.text(max_size=12)
claims = st.builds(
    Claim, words, st.sampled_from([Mode.S, Mode.X, Mode.A]), words, st.integers(0, 10**12)
)
states = st.builds(
    State,
    op=words,
    fence=st.integers(0, 10**12),
    locks=st.dictionaries(words, st.lists(claims, min_size=1, max_size=3).map(tuple), max_size=4),
    holders=st.dictionaries(
        words,
        st.builds(Holder, words, st.integers(1, 2**22), words, st.integers(0, 2**33)),
        max_size=3,
    ),
    head=words,
    wave=st.none() | st.dictionaries(words, st.lists(words | st.integers()), max_size=3),
)


@settings(max_examples=50, deadline=None)
@given(new=states, subject=words)
def test_a_state_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, new: State, subject: str
) -> None:
    root = tmp_path_factory.getbasetemp() / "states"
    if not root.exists():
        root.mkdir()
        git(root, "init", "-q", "-b", "main")
    before = open_state(root).read()[1]
    open_state(root).cas(lambda old: Update(new, subject))
    read = open_state(root).read()[1]
    assert read == replace(
        new,
        seq=before.seq + 1,
        fence=max(new.fence, before.fence),
        branch="refs/heads/main",
        checkpoint=read.checkpoint,
    )


def test_many_claims_leave_the_message_and_come_back(make_repo: MakeRepo) -> None:
    root = make_repo({"a.py": ""})
    ref = open_state(root)
    many = {f"a.py::f{i}": (Claim("h", Mode.X, "t", 1),) for i in range(2000)}
    ref.cas(lambda old: Update(replace(old, locks=many), "take many"))
    assert len(log(root, "-1", "--format=%B")) < 10
    assert open_state(root).read()[1].locks == many
    ref.cas(lambda old: Update(replace(old, locks={}), "give all"))
    assert git(root, "ls-tree", "--name-only", ref.name).split() == ["v"]
    assert open_state(root).read()[1].locks == {}


def test_a_step_that_changes_nothing_writes_nothing(make_repo: MakeRepo) -> None:
    root = make_repo({"a.py": ""})
    ref = open_state(root)
    ref.cas(step)
    commit = ref.read()[0]
    assert ref.cas(lambda old: None).fence == 1
    assert ref.read()[0] == commit


def test_the_log_reads_as_sentences(make_repo: MakeRepo) -> None:
    root = make_repo({"a.py": ""})
    ref = open_state(root)
    ref.cas(lambda old: Update(old, "acquire a.py::f\nfor \x07agent  7 \udcff"))
    assert log(root, "--format=%s %an <%ae>") == [
        "acquire a.py::f for agent 7 ? MAK <mak@localhost>"
    ]


def test_commits_of_the_branch_never_come_before_the_last_step(make_repo: MakeRepo) -> None:
    """First parents are the steps, from the first on, whatever else must stay reachable."""
    root = make_repo({"a.py": ""})
    ref = open_state(root)
    tip = git(root, "rev-parse", "HEAD").strip()
    ref.cas(lambda old: Update(old, "one", parents=(tip,)))
    ref.cas(lambda old: Update(old, "two", parents=(tip, tip)))
    assert log(root, "--format=%s") == ["two", "one", "begin"]


def test_a_given_tree_stays_until_another_is_given(make_repo: MakeRepo) -> None:
    root = make_repo({"pkg/a.py": "x"})
    ref = open_state(root)
    tree = git(root, "rev-parse", "HEAD^{tree}").strip()
    ref.cas(lambda old: Update(old, "one", tree=tree))
    ref.cas(step)
    assert git(root, "ls-tree", "-r", "--name-only", ref.name).split() == ["pkg/a.py", "v"]
    assert ref.tree() == git(root, "rev-parse", f"{ref.name}^{{tree}}").strip()


def test_the_chain_begins_again_after_many_steps(
    make_repo: MakeRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "CHECKPOINT", 30)
    root = make_repo({"a.py": ""})
    ref = open_state(root)
    for _ in range(state.CHECKPOINT - 1):
        ref.cas(step)
    ref.cas(lambda old: Update(replace(old, wave={"n": 1}), "begin a wave"))
    assert len(log(root, "--format=%H")) == state.CHECKPOINT  # a wave's parents must stay
    ref.cas(lambda old: Update(replace(old, wave=None), "end the wave"))
    ref.cas(step)
    ref.cas(step)
    assert len(log(root, "--format=%H")) == 2
    assert open_state(root).read()[1].seq == state.CHECKPOINT + 3
    assert open_state(root).read()[1].fence == state.CHECKPOINT + 1
    older = ref.name.replace("/state/", "/log/")
    assert len(git(root, "log", "--format=%H", older).split()) == state.CHECKPOINT + 1


# ------------------------------------------------------------------------------- what is not


def test_the_state_of_a_newer_mak_is_refused(
    make_repo: MakeRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_repo({"a.py": ""})
    monkeypatch.setattr(state, "VERSION", 2)
    open_state(root).cas(step)
    monkeypatch.undo()
    with pytest.raises(RepositoryRefused, match="a newer mak wrote it") as caught:
        open_state(root).read()
    assert "upgrade" in caught.value.hint


@pytest.mark.parametrize("message", ["junk", "junk\n\n{}", "junk\n\n[]", "junk\n\n{"])
def test_what_somebody_else_put_in_its_place_is_named(make_repo: MakeRepo, message: str) -> None:
    root = make_repo({"a.py": ""})
    name = open_state(root).name
    git(root, "update-ref", name, git(root, "commit-tree", "-m", message, "HEAD^{tree}").strip())
    with pytest.raises(StoreError, match=f"reading {name}") as caught:
        open_state(root).read()
    assert f"git update-ref -d {name}" in caught.value.hint


def test_a_state_that_was_pruned_is_named_with_what_to_type(make_repo: MakeRepo) -> None:
    root = make_repo({"a.py": ""})
    commit = open_state(root)
    commit.cas(step)
    oid = commit.read()[0] or ""
    (root / ".git/objects" / oid[:2] / oid[2:]).unlink()
    with pytest.raises(StoreError, match="cannot be read") as caught:
        open_state(root).read()
    words = caught.value.hint.split(" forgets")[0].split()
    git(root, *words[1:])
    assert open_state(root).cas(step).fence == 1


def test_a_step_that_is_pruned_as_it_is_taken_is_written_again(make_repo: MakeRepo) -> None:
    """A prune that listed what is reachable before our step removes what it did not see."""
    root = make_repo({"a.py": ""})
    ref = open_state(root)
    ref.cas(step)
    objects = root / ".git/objects"
    before = {path for path in objects.rglob("*") if path.is_file()}

    def prune(what: str) -> None:
        if what.startswith("ref "):
            for path in set(objects.rglob("*")) - before:
                if path.is_file():
                    path.unlink()

    ref._repository.before_write = prune
    ref.cas(step)
    assert open_state(root).read()[1].fence == 2
    assert git(root, "fsck", "--strict", "--no-dangling") == ""


def test_a_writer_waits_for_the_one_before(make_repo: MakeRepo, tmp_path: Path) -> None:
    root = make_repo({"a.py": ""})
    ref = open_state(root)
    ref.cas(step)
    from tests.store.writers import lock_file

    process = started(lock_file, root / ".git/mak/store.lock", tmp_path / "ready")
    wait_for(tmp_path / "ready")
    with pytest.raises(StoreError, match="another mak process has held it") as caught:
        ref.cas(step, timeout=0.05)
    assert "mak locks" in caught.value.hint
    process.kill()
    process.join()
    assert ref.cas(step).fence == 2
