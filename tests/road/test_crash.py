"""SIGKILL a real ``mak run`` anywhere: the branch is old or new; no reply and no edit is lost."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import anyio
import pytest

from mak import kernel, runlog
from mak.config import Config
from mak.errors import UsageError
from mak.events import ReplyParked
from mak.model import Outcome, RunState
from mak.store import Store
from tests.conftest import git
from tests.road.conftest import edited, reply, task

FILES = ("a.py", "pkg/b.py", "pkg/c.py")
PHASES = ("P0", "P1", "P2", "P3", "P4.index", "P4.tree", "P4", "P5", "P6", "P7", "parked")


def function(name: str, value: int) -> str:
    return f"def {name}():\n    return {value}\n"


BEFORE = "\n\n".join(["import os\n", function("one", 0), function("two", 0), function("idle", 0)])
#: The text of every file after each wave.
AFTER = (
    BEFORE,
    BEFORE.replace(function("one", 0), function("one", 1)),
    BEFORE.replace(function("one", 0), function("one", 1)).replace(
        function("two", 0), function("two", 2)
    ),
)


def plan_and_script(folder: Path) -> tuple[Path, Path]:
    """Six tasks in two waves: first ``one`` of every file, then ``two`` of every file."""
    tasks, script = [], {}
    for number, path in enumerate(FILES):
        first, second = f"one{number}", f"two{number}"
        tasks.append(task(first, f"{path}::one"))
        tasks.append(task(second, f"{path}::two", depends_on=[first]))
        script[first] = [{**reply(edited("n1", function("one", 1))), "delay_s": 0.01 * number}]
        script[second] = [{**reply(edited("n1", function("two", 2))), "delay_s": 0.01 * number}]
    plan, replies = folder / "plan.json", folder / "script.json"
    plan.write_text(json.dumps({"request": "one and two", "tasks": tasks}))
    replies.write_text(json.dumps({"tasks": script}))
    return plan, replies


class Crash:
    """One repository, one run that dies, what a person does then, and the recovery."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.plan, self.script = plan_and_script(root.parent)
        self.events: list[object] = []
        self.person: dict[str, str] = {}

    def run(self, phase: str, nth: int, delay: float | None = None) -> int:
        """Run until it dies; `delay`: kill it from outside after so many seconds."""
        driver = Path(__file__).with_name("killed.py")
        command = [sys.executable, str(driver), phase, str(nth), "run", "--plan", str(self.plan)]
        command += ["--no-review", "--models", f"scripted:{self.script}", "--work-dir", "."]
        process = subprocess.Popen(
            command,
            cwd=self.root,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        )
        if delay is not None:
            time.sleep(delay)
            process.kill()
        _, stderr = process.communicate(timeout=60)
        assert process.returncode in (0, -signal.SIGKILL), stderr.decode()
        return process.returncode

    def type_text(self, path: str, old: str, new: str) -> None:
        """Edit a file in the working tree as a person does, and remember it."""
        file = self.root / path
        text = file.read_text()
        if old in text:
            file.write_text(text.replace(old, new))
            self.person[path] = new

    def parked(self) -> set[tuple[str, int]]:
        """Return the replies that are in Git."""
        with Store.open(self.root, write=False) as store:
            return {key for run in store.runs() for key in runlog.read_replies(store, run)}

    def recover(self) -> Outcome | None:
        """Recover in a fresh process' stead; None when there was nothing to recover."""
        options = kernel.Options(
            config=Config(), models=(), planner="builtin", emit=self.events.append
        )

        async def main() -> Outcome:
            with Store.open(self.root) as store:
                return await kernel.recover(store, "", options)

        try:
            return anyio.run(main)
        except UsageError as error:
            assert "was cut off" in str(error)
            return None

    def committed(self, revision: str = "HEAD") -> list[str]:
        return [git(self.root, "show", f"{revision}:{path}") for path in FILES]

    def assert_old_or_new(self) -> None:
        """Every commit on the branch is one of the wave's trees, never something between."""
        for commit in git(self.root, "rev-list", "HEAD").split():
            texts = self.committed(commit)
            assert any(all(text == after for text in texts) for after in AFTER), texts

    def assert_nothing_lost(self) -> None:
        """What the person typed is in the working tree, whatever else became of it."""
        for path, new in self.person.items():
            assert new in (self.root / path).read_text(), path


@pytest.fixture
def crash(make_repo) -> Crash:
    return Crash(make_repo({**dict.fromkeys(FILES, BEFORE), "notes.txt": "mine\n"}))


def check_recovery(crash: Crash) -> None:
    """Recover, and check everything that may never be broken."""
    crash.assert_old_or_new()
    crash.assert_nothing_lost()
    kept = crash.parked()
    outcome = crash.recover()
    crash.assert_old_or_new()
    crash.assert_nothing_lost()
    if outcome is None:
        return
    asked_again = {
        (event.task, event.attempt)
        for event in crash.events
        if isinstance(event, ReplyParked) and not event.reused
    }
    assert not asked_again & kept
    if outcome.state is RunState.HELD:
        assert crash.person
        return
    assert outcome.state is RunState.DONE, outcome.reason
    assert crash.committed() == [AFTER[2]] * len(FILES)
    if not crash.person:
        assert git(crash.root, "status", "--porcelain") == ""
        assert [(crash.root / path).read_text() for path in FILES] == [AFTER[2]] * len(FILES)


@pytest.mark.parametrize("phase", PHASES)
def test_run_killed_at_a_phase_is_recovered_whole(crash, phase):
    nth = 2 if phase in ("P6", "P4.tree") else 1
    assert crash.run(phase, nth) == -signal.SIGKILL
    check_recovery(crash)


@pytest.mark.parametrize(
    ("phase", "path", "old"),
    [
        ("P3", "notes.txt", "mine"),
        ("P4.index", "pkg/b.py", "idle():\n    return 0"),
        ("P4", "pkg/b.py", "idle():\n    return 0"),
        ("P6", "pkg/c.py", "two():\n    return 0"),
        ("parked", "a.py", "one():\n    return 0"),
    ],
)
def test_edit_made_after_a_kill_is_kept(crash, phase, path, old):
    assert crash.run(phase, 1) == -signal.SIGKILL
    crash.type_text(path, old, f"{old} + 41")
    check_recovery(crash)


def random_kill(crash: Crash, seed: int) -> None:
    rng = random.Random(seed)
    crash.run("never", 0, delay=rng.uniform(0.3, 1.6))
    if rng.random() < 0.4:
        path = rng.choice((*FILES, "notes.txt"))
        old = "mine" if path == "notes.txt" else rng.choice(("idle", "two")) + "():\n    return 0"
        crash.type_text(path, old, f"{old} + 41")
    check_recovery(crash)


# I10, I13
@pytest.mark.parametrize("seed", range(4))
def test_run_killed_at_a_random_moment_is_recovered_whole(crash, seed):
    random_kill(crash, seed)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("block", range(20))
def test_run_killed_anywhere_many_times(make_repo, block):
    for seed in range(1000 + 10 * block, 1010 + 10 * block):
        files = {**dict.fromkeys(FILES, BEFORE), "notes.txt": "mine\n"}
        random_kill(Crash(make_repo(files, name=f"seed{seed}/repo")), seed)
