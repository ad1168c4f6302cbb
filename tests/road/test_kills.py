"""Several runs on one branch, killed and recovered in any order: each task lands in one run."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from mak import runlog
from mak.store import Store
from tests.conftest import git
from tests.road.conftest import edited, environment, reply, task

FILES = ("a.py", "pkg/b.py", "pkg/c.py")
#: Every run has functions of its own in the same files.
RUNS = ("red", "blue", "green")


def function(name: str, value: int) -> str:
    return f"def {name}():\n    return {value}\n"


def text(value: int, idle: int = 0) -> str:
    """Return a file: the functions of all runs, and one that only the person changes."""
    functions = [function(f"{run}{wave}", value) for run in RUNS for wave in (1, 2)]
    return "\n\n".join([*functions, function("idle", idle)])


TEXT = text(0)


@dataclass
class Branch:
    """A repository, and the processes that work on it."""

    root: Path
    random: random.Random
    #: Plans whose run has a plan in Git, and those that are to be started.
    begun: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=lambda: list(RUNS))
    alive: list[subprocess.Popen[str]] = field(default_factory=list)
    #: What the person committed last.
    notes: str = "mine\n"
    #: What the person typed into files, committed or not; whether it is.
    typed: dict[str, int] = field(default_factory=dict)
    is_dirty: bool = False

    def files(self, run: str) -> tuple[Path, Path]:
        """Write the plan of a run and what its agents answer: two waves, a task per file each."""
        tasks, script = [], {}
        for number, path in enumerate(FILES):
            for wave in (1, 2):
                name = f"{run}-{wave}-{number}"
                after = {"depends_on": [f"{run}-1-{number}"]} if wave == 2 else {}
                tasks.append(task(name, f"{path}::{run}{wave}", **after))
                answer = reply(edited("n1", function(f"{run}{wave}", number + 1)))
                delay = self.random.choice([0, 0, 0.05, 0.2])
                script[name] = [{**answer, "delay_s": delay}]
        plan, answers = (self.root.parent / f"{run}.{kind}.json" for kind in ("plan", "script"))
        plan.write_text(json.dumps({"request": run, "complete": True, "tasks": tasks}))
        answers.write_text(json.dumps({"tasks": script}))
        return plan, answers

    def mak(self, *words: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "mak", "run", *words, "--no-review"],
            cwd=self.root,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env=environment(),
        )
        self.alive.append(process)
        return process

    def start(self) -> None:
        """Start a plan; it counts as begun once its plan is in Git."""
        run = self.waiting.pop(0)
        plan, answers = self.files(run)
        self.mak("--plan", str(plan), "--models", f"scripted:{answers}")
        self.begun.append(run)

    def recover(self) -> None:
        self.mak("--recover")

    def person(self) -> None:
        """Commit something, or be told that a wave is being committed: git's own locks say so."""
        (self.root / "notes.txt").write_text(str(self.random.random()))
        identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        done = subprocess.run(
            ["git", *identity, "commit", "-qm", "a person's", "notes.txt"],
            cwd=self.root,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            assert ".lock': File exists" in done.stderr, done.stderr
            (self.root / "notes.txt").write_text(self.notes)
        else:
            self.notes = (self.root / "notes.txt").read_text()

    def type_text(self) -> None:
        """Change a file that runs write to, and save it, while nobody is at work on it."""
        if not self.alive:
            path, value = self.random.choice(FILES), self.random.randrange(1, 10_000)
            file = self.root / path
            was = function("idle", self.typed.get(path, 0))
            assert was in file.read_text(), "what was typed before is gone"
            file.write_text(file.read_text().replace(was, function("idle", value)))
            self.typed[path], self.is_dirty = value, True

    def commit_typed(self) -> None:
        """Commit what was typed, once nothing of a run is left in the files."""
        while self.is_dirty and not self.alive:
            if not self.unfinished():
                git(self.root, "commit", "-qm", "typed", *self.typed)
                self.is_dirty = False
            else:
                self.recover()
                self.alive[0].wait(60)
                self.sort_out()

    def pause(self) -> None:
        """Let what is alive work for a while, then kill some of it."""
        for process in list(self.alive):
            try:
                process.wait(self.random.uniform(0.05, 1.2))
            except subprocess.TimeoutExpired:
                if self.random.random() < 0.8:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
        self.sort_out()

    def sort_out(self) -> None:
        """Look at who has ended: none may have met a bug; a plan that nobody kept comes again."""
        for process in [p for p in self.alive if p.poll() is not None]:
            self.alive.remove(process)
            _, said = process.communicate()
            assert process.returncode in (0, 1, 2, -signal.SIGKILL), said
            assert "Traceback" not in said, said
        if not self.alive:
            kept = {plan.request for plan in self.plans().values()}
            self.waiting += [run for run in self.begun if run not in kept]
            self.begun = [run for run in self.begun if run in kept]

    def plans(self) -> dict[str, runlog.Plan]:
        with Store.open(self.root, write=False) as store:
            found = {run: runlog.read_plan(store, run) for run in store.runs()}
        return {run: plan for run, plan in found.items() if plan is not None}

    def unfinished(self) -> list[str]:
        with Store.open(self.root, write=False) as store:
            return [run for run in store.runs() if runlog.is_recoverable(store, run)]

    def landed(self) -> Iterator[tuple[str, str]]:
        """Yield run and task of every task that a commit on the branch says it holds."""
        form = "%(trailers:key=MAK-Run,valueonly,separator=)|%(trailers:key=MAK-Tasks,valueonly)"
        for line in git(self.root, "log", f"--format={form}").splitlines():
            run, bar, tasks = line.partition("|")
            if bar and run:
                yield from ((run, name.strip()) for name in tasks.replace(",", " ").split())


def carry_on(branch: Branch, steps: int) -> None:
    """Do anything, in any order, and then let everything come to its end."""
    for _ in range(steps):
        doing = branch.random.choice(["start", "recover", "both", "person", "type"])
        if doing in ("start", "both") and branch.waiting:
            branch.start()
        if doing in ("recover", "both"):
            branch.recover()
        if doing == "person":
            branch.person()
        if doing == "type":
            branch.type_text()
        branch.pause()
    for _ in range(20):
        while branch.alive:
            branch.alive[0].wait(60)
            branch.sort_out()
        branch.commit_typed()
        if branch.waiting:
            branch.start()
        elif branch.unfinished():
            branch.recover()
        else:
            break
    assert not branch.unfinished() and not branch.waiting


def check(branch: Branch) -> None:
    homes: dict[str, list[str]] = defaultdict(list)
    for run, name in branch.landed():
        homes[name].append(run)
    wanted = [f"{run}-{wave}-{n}" for run in RUNS for wave in (1, 2) for n in range(len(FILES))]
    assert sorted(homes) == sorted(wanted)
    assert all(len(runs) == 1 for runs in homes.values()), homes
    for number, path in enumerate(FILES):
        wanted_text = text(number + 1, branch.typed.get(path, 0))
        assert (branch.root / path).read_text() == wanted_text
        assert git(branch.root, "show", f"HEAD:{path}") == wanted_text
    assert git(branch.root, "show", "HEAD:notes.txt") == branch.notes
    assert git(branch.root, "status", "--porcelain") == ""
    with Store.open(branch.root, write=False) as store:
        assert sorted(store.runs(), reverse=True) == store.runs()


@pytest.mark.parametrize(
    "seed",
    [1, 2, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 40))],
)
def test_every_task_lands_once_whatever_is_killed(make_repo, seed: int) -> None:
    root = make_repo({**dict.fromkeys(FILES, TEXT), "notes.txt": "mine\n"})
    branch = Branch(root, random.Random(seed))
    try:
        carry_on(branch, steps=6)
        check(branch)
    finally:
        for process in branch.alive:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def test_runs_of_one_second_are_listed_in_the_order_in_which_they_began(make_road) -> None:  # type: ignore[no-untyped-def]
    road = make_road({"a.py": function("one", 0)})
    begun = []
    for value in (1, 2, 3):
        script = {"t": [reply(edited("n1", function("one", value)))]}
        begun.append(road.run([task("t", "a.py::one")], script).run)
    with Store.open(road.root, write=False) as store:
        assert store.runs() == begun[::-1]


def test_of_two_who_go_on_with_one_run_at_the_same_instant_one_does(make_repo) -> None:  # type: ignore[no-untyped-def]
    root = make_repo({**dict.fromkeys(FILES, TEXT), "notes.txt": "mine\n"})
    branch = Branch(root, random.Random(5), waiting=["red"])
    plan, answers = branch.files("red")
    slow = json.loads(answers.read_text())
    for attempts in slow["tasks"].values():
        attempts[0]["delay_s"] = 1.0
    answers.write_text(json.dumps(slow))
    first = branch.mak("--plan", str(plan), "--models", f"scripted:{answers}")
    while not branch.unfinished():
        assert first.poll() is None
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate()
    (run,) = branch.unfinished()
    both = [branch.mak("--recover", run) for _ in range(2)]
    said = [process.communicate(timeout=60)[1] for process in both]
    assert sorted(process.returncode for process in both) == [0, 1], said
    loser = said[0] if both[0].returncode else said[1]
    assert "it is being carried out by" in loser and "mak locks" in loser
    branch.alive.clear()
    assert sorted(name for _, name in branch.landed()) == sorted(slow["tasks"])
