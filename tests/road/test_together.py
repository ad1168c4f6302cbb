"""Two processes on one clone, and git's own commands beside a run: nothing is lost."""

from __future__ import annotations

import hashlib
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mak import runlog
from mak.errors import MakError, UsageError
from mak.events import ReplyParked, TaskStarted, TaskWaiting
from mak.model import NodeId, Outcome, RunState
from mak.source import split
from mak.store import Store
from tests.conftest import git, write
from tests.road.conftest import Road, edited, environment, reply, task, unchanged

NAMES = ("one", "two", "three", "four", "five", "six")


def function(name: str, value: object = 0) -> str:
    return f"def {name}():\n    return {value}\n"


A = "\n\n".join(function(name) for name in NAMES)
#: Seconds that a process may take to come to where a test waits for it.
PATIENCE = 60.0


class Other:
    """Another run on the same clone, in a process of its own that stands still at an event."""

    def __init__(
        self, road: Road, kind: type, tasks: list[Any], script: dict[str, Any], nth: int = 1
    ) -> None:
        self.gate = road.root.parent / "gate"
        there = Road(road.root)
        there.name = "other"
        driver = str(Path(__file__).with_name("gated.py"))
        self.process = subprocess.Popen(
            [
                *(sys.executable, driver, kind.__name__, str(nth), str(self.gate)),
                *there.command(tasks, script),
            ],
            cwd=road.root,
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        until(lambda: self.gate.with_suffix(".reached").exists() or self.has_ended)

    @property
    def has_ended(self) -> bool:
        return self.process.poll() is not None

    @property
    def pid(self) -> str:
        return f"pid {self.process.pid}"

    def go_on(self) -> None:
        self.gate.touch()

    def end(self) -> str:
        """Wait for its end; return what it told the person."""
        self.go_on()
        _, told = self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == 0, told
        return told


def until(condition: Callable[[], bool]) -> None:
    """Wait for something that another process does."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.005)


def digest_of(text: str, name: str) -> str:
    """Return the digest of a function in a file, as a reply's record has it."""
    return hashlib.sha1(split(text.encode(), "a.py").text(NodeId("a.py", name))).hexdigest()


def becomes(name: str, value: object, **more: Any) -> dict[str, Any]:
    return {**reply(edited("n1", function(name, value))), **more}


@pytest.fixture
def road(make_road) -> Iterator[Road]:
    road = make_road({"a.py": A, "b.py": A})
    yield road
    assert git(road.root, "fsck", "--no-dangling") == ""
    with Store.open(road.root) as store:
        assert store.locks() == []


def landed(road: Road) -> list[str]:
    """Return the tasks of each commit, oldest first; check that each changed one line a task."""
    found = []
    for commit in git(road.root, "rev-list", "--reverse", "HEAD").split()[1:]:
        names = git(
            road.root, "log", "-1", "--format=%(trailers:key=MAK-Tasks,valueonly)", commit
        ).strip()
        plus, minus = 0, 0
        for line in git(road.root, "show", "--format=", "--numstat", commit).splitlines():
            plus, minus = plus + int(line.split()[0]), minus + int(line.split()[1])
        assert plus == minus == len(names.split(", "))
        found.append(names)
    return found


# ------------------------------------------------------------------ two runs


# I7
def test_the_second_of_two_runs_on_a_node_waits_is_told_for_whom_and_builds_on_the_first(road):
    other = Other(road, ReplyParked, [task("a", "a.py::one")], {"a": [becomes("one", 1)]})
    road.when(TaskWaiting, other.go_on)
    outcome = road.run([task("b", "a.py::one")], {"b": [becomes("one", 2)] * 2})
    other.end()
    assert outcome.state is RunState.DONE
    first = road.of(TaskWaiting)[0]
    with Store.open(road.root, write=False) as store:
        (run,) = set(store.runs()) - {outcome.run}
        shown = runlog.read_replies(store, outcome.run)["b", outcome.tasks["b"].attempts].shown
    assert (first.task, first.node) == ("b", "a.py::one")
    assert run in first.holder and other.pid in first.holder
    assert landed(road) == ["a", "b"]
    assert road.text("a.py") == A.replace(function("one"), function("one", 2))
    text = A.replace(function("one"), function("one", 1))
    assert shown.digests == {"a.py::one": digest_of(text, "one")}
    assert [event.attempt for event in road.of(TaskStarted)] == [1]
    assert git(road.root, "status", "--porcelain") == ""


def test_two_runs_at_the_command_line_tell_who_holds_what(road):
    """Both as a person starts them."""
    other = Other(road, ReplyParked, [task("a", "a.py::one")], {"a": [becomes("one", 1)]})
    command = road.command([task("b", "a.py::one")], {"b": [becomes("one", 2)] * 2})
    mine = subprocess.Popen(
        [sys.executable, "-m", "mak", *command],
        cwd=road.root,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert mine.stderr is not None
    told = next(line for line in mine.stderr if "is held by" in line)
    other.end()
    mine.communicate(timeout=PATIENCE)
    assert mine.returncode == 0
    assert "a.py::one is held by run r" in told and other.pid in told
    assert landed(road) == ["a", "b"]


def test_two_runs_on_different_nodes_of_a_file_both_land_without_waiting(road):
    other = Other(road, ReplyParked, [task("a", "a.py::one")], {"a": [becomes("one", 1)]})
    outcome = road.run([task("b", "a.py::two")], {"b": [becomes("two", 2)]})
    assert outcome.state is RunState.DONE
    assert not other.has_ended
    other.end()
    assert road.of(TaskWaiting) == []
    assert landed(road) == ["b", "a"]
    after = A.replace(function("one"), function("one", 1))
    assert road.text("a.py") == after.replace(function("two"), function("two", 2))
    assert git(road.root, "status", "--porcelain") == ""


@pytest.mark.slow
def test_a_node_that_was_left_as_it_is_is_free_once_its_wave_is_over(road):
    other = Other(
        road,
        TaskStarted,
        [task("look", "a.py::one"), task("a", "a.py::two", depends_on=["look"])],
        {"look": [reply(unchanged("n1"))], "a": [becomes("two", 1)]},
        nth=2,
    )
    outcome = road.run([task("b", "a.py::one")], {"b": [becomes("one", 2)]})
    assert outcome.state is RunState.DONE
    assert road.of(TaskWaiting) == []
    other.end()
    assert landed(road) == ["b", "a"]


def test_runs_that_hold_what_the_other_wants_do_not_wait_for_each_other_for_ever(road):
    """Each runs one task at a time, in opposite order: both hold one node and want the other's."""
    mine = [task("b1", "a.py::two"), task("b2", "a.py::one")]
    script = {"b1": [becomes("two", 4)] * 3, "b2": [becomes("one", 3)] * 3}
    theirs = [task("a1", "a.py::one"), task("a2", "a.py::two")]
    answers = {"a1": [becomes("one", 1)] * 3, "a2": [becomes("two", 2)] * 3}
    other = Other(road, ReplyParked, theirs, answers)
    road.when(TaskWaiting, other.go_on)
    outcome = road.run(mine, script, max_agents=1)
    other.end()
    assert outcome.state is RunState.DONE
    assert sorted(landed(road)) == ["a1, a2", "b1, b2"]
    assert git(road.root, "status", "--porcelain") == ""


def test_a_run_takes_over_from_one_that_was_killed_and_that_one_is_recovered_upon_it(road):
    other = Other(road, ReplyParked, [task("a", "a.py::one")], {"a": [becomes("one", 1)] * 2})
    road.when(TaskWaiting, other.process.kill)
    outcome = road.run([task("b", "a.py::one")], {"b": [becomes("one", 2)]})
    other.process.communicate(timeout=PATIENCE)
    assert outcome.state is RunState.DONE
    again = road.recover()
    assert again.run != outcome.run
    assert again.state is RunState.DONE
    assert again.tasks["a"].attempts == 2
    assert landed(road) == ["b", "a"]


def test_a_run_that_is_alive_is_not_recovered_and_in_nobodys_way(road):
    assert road.killed("P1", [task("c", "b.py::one")], {"c": [becomes("one", 3)]}) != 0
    other = Other(road, ReplyParked, [task("a", "a.py::one")], {"a": [becomes("one", 1)]})
    assert road.recover().tasks.keys() == {"c"}
    with pytest.raises(MakError, match="being carried out") as refused:
        road.recover()
    assert other.pid in str(refused.value)
    other.end()
    assert landed(road) == ["c", "a"]


def test_of_two_recoveries_at_one_instant_the_second_says_who_recovers(road):
    tasks = [task("c", "b.py::one"), task("d", "b.py::two", depends_on=["c"])]
    script = {"c": [becomes("one", 3)], "d": [becomes("two", 4, delay_s=3)]}
    assert road.killed("P1", tasks, script) != 0
    both = [
        subprocess.Popen(
            [sys.executable, "-m", "mak", "run", "--recover", "--work-dir", str(road.root)],
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    told = {process.pid: process.communicate(timeout=PATIENCE)[1] for process in both}
    first, second = sorted(both, key=lambda process: process.returncode)
    assert (first.returncode, second.returncode) == (0, 1), told
    assert "being carried out by run r" in told[second.pid]
    assert f"(pid {first.pid} " in told[second.pid]
    assert landed(road) == ["c", "d"]


@pytest.mark.slow
def test_runs_on_two_branches_do_not_meet(road):
    other = Other(road, ReplyParked, [task("a", "a.py::one")], {"a": [becomes("one", 1)]})
    outcome = road.run([task("b", "a.py::one")], {"b": [becomes("one", 2)]}, branch="topic")
    assert outcome.state is RunState.DONE
    assert road.of(TaskWaiting) == []
    other.end()
    assert "return 2" in git(road.root, "show", "topic:a.py")
    assert "return 1" in git(road.root, "show", "main:a.py")


# ------------------------------------------------------------------ git beside a run


def in_waves(path: str) -> tuple[list[dict[str, Any]], dict[str, list[Any]]]:
    """Six tasks in three waves."""
    tasks, script = [], {}
    for number, name in enumerate(NAMES):
        before = [NAMES[number - 2]] if number > 1 else []
        tasks.append(task(name, f"{path}::{name}", depends_on=before))
        script[name] = [becomes(name, number + 1, delay_s=0.05)]
    return tasks, script


@contextmanager
def loop(act: Callable[[], object]) -> Iterator[list[object]]:
    """Do something again and again, in a thread, while the block runs; at least once."""
    done, results = threading.Event(), []

    def again() -> None:
        while not done.is_set():
            results.append(act())

    thread = threading.Thread(target=again, daemon=True)
    thread.start()
    try:
        yield results
    finally:
        done.set()
        thread.join(PATIENCE)
    assert results


def tried(road: Road, *args: str) -> int:
    return subprocess.run(["git", *args], cwd=road.root, capture_output=True).returncode


def check(road: Road, outcome: Outcome) -> None:
    assert outcome.state is RunState.DONE, outcome.reason
    after = A
    for number, name in enumerate(NAMES):
        after = after.replace(function(name), function(name, number + 1))
    assert road.text("a.py") == git(road.root, "show", "HEAD:a.py") == after
    assert landed(road) == ["one, two", "three, four", "five, six"]
    with Store.open(road.root) as store:
        assert len(runlog.read_replies(store, outcome.run)) == len(NAMES)


# I12
@pytest.mark.parametrize(
    "command",
    [
        ("gc", "-q", "--prune=now"),
        ("pack-refs", "--all", "--prune"),
        pytest.param(("repack", "-adq"), marks=pytest.mark.slow),
    ],
)
def test_git_tidies_up_beside_a_run_and_nothing_is_lost(road, command):
    for number in range(5):
        git(road.root, "branch", f"b{number}")
    with loop(lambda: tried(road, *command)):
        outcome = road.run(*in_waves("a.py"))
    check(road, outcome)
    assert git(road.root, "status", "--porcelain") == ""
    assert len(git(road.root, "branch").split()) == 7


def test_git_add_beside_a_run_keeps_what_it_stages(road):
    write(road.root, {"mine.py": ""})
    count = iter(range(1_000_000))

    def add() -> int:
        number = next(count)
        write(road.root, {"mine.py": f"x = {number}\n", "b.py": f"{A}# {number}\n"})
        return tried(road, "add", "mine.py", "b.py")

    with loop(add):
        outcome = road.run(*in_waves("a.py"))
    check(road, outcome)
    assert tried(road, "add", "mine.py", "b.py") == 0
    assert git(road.root, "status", "--porcelain") == "M  b.py\nA  mine.py\n"
    assert git(road.root, "show", ":mine.py") == road.text("mine.py")


@pytest.mark.slow
def test_a_person_commits_beside_a_run_and_both_histories_are_there(road):
    count = iter(range(1_000_000))

    def commit() -> int:
        number = next(count)
        write(road.root, {"b.py": f"{A}# {number}\n"})
        said = tried(
            road, "-c", "user.name=Ada", "-c", "user.email=a@b.c", "commit", "-qm", "mine", "b.py"
        )
        time.sleep(0.05)
        return said

    with loop(commit) as said:
        outcome = road.run(*in_waves("a.py"))
    assert outcome.state is RunState.DONE
    subjects = git(road.root, "log", "--format=%s").splitlines()
    assert subjects.count("mine") == said.count(0)
    assert len(subjects) == said.count(0) + 4
    assert git(road.root, "log", "--merges", "--format=%s") == ""
    for number, name in enumerate(NAMES):
        assert function(name, number + 1) in git(road.root, "show", "HEAD:a.py")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_many_runs_at_once_lose_no_update(road, seed):
    """Four or eight processes, each with four tasks on nodes that others want too; some die."""
    rng = random.Random(seed)
    tasks: dict[str, str] = {}
    processes = []
    for number in range(rng.choice((4, 8))):
        there = Road(road.root, name=f"run{number}")
        nodes = rng.sample([(path, name) for path in ("a.py", "b.py") for name in NAMES], 4)
        plan, script = [], {}
        for k, (path, name) in enumerate(nodes):
            id = f"run{number}-{k}"
            tasks[id] = f"run{number}"
            plan.append(
                task(id, f"{path}::{name}", depends_on=[f"run{number}-{k - 2}"] if k > 1 else [])
            )
            script[id] = [becomes(name, f"{number + 1}{k}", delay_s=rng.uniform(0, 0.1))] * 40
        agents = ["--max-agents", str(rng.choice((1, 2, 4)))]
        processes.append(
            subprocess.Popen(
                [sys.executable, "-m", "mak", *there.command(plan, script), *agents],
                cwd=road.root,
                env=environment(),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        )
    with Store.open(road.root, write=False) as store:
        until(lambda: len(store.runs()) == len(processes))
    for process in rng.sample(processes, rng.choice((0, 1, 2))):
        time.sleep(rng.uniform(0.05, 0.6))
        process.kill()
    told = [process.communicate(timeout=240)[0] for process in processes]
    ends = {process.returncode for process in processes}
    assert ends <= {0, -signal.SIGKILL}, "\n".join(told)
    while True:
        try:
            assert road.recover().state is RunState.DONE
        except UsageError:
            break
    done = [id for names in landed(road) for id in names.split(", ")]
    assert len(done) == len({*done})
    # A process that was killed before it had a plan has nothing to be recovered.
    whole = {run for run in tasks.values() if any(tasks[id] == run for id in done)}
    assert {*done} == {id for id, run in tasks.items() if run in whole}
    dead = [process for process in processes if process.returncode]
    assert len(whole) >= len(processes) - len(dead)
    assert git(road.root, "status", "--porcelain") == ""
