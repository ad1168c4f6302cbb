"""A person does anything at any moment of a run: nothing is lost, nothing by halves committed."""

from __future__ import annotations

import random
import re
import subprocess

import pytest

from mak.errors import MakError
from mak.events import Event
from mak.model import Outcome, RunState, TaskState
from tests.conftest import git, write
from tests.road.conftest import Road, edited, reply, task

FILES = ("a.py", "pkg/b.py")
NAMES = ("one", "two", "three", "four", "idle")
#: How often a run that is held is recovered; at the end, in peace.
TRIES = 8


def function(name: str, value: object = 0) -> str:
    return f"def {name}():\n    return {value}\n"


TEXT = "import os\n\n\n" + "\n\n".join(function(name) for name in NAMES)


class Person:
    """Does something now and then, and knows what must not be lost."""

    def __init__(self, road: Road, rng: random.Random) -> None:
        self.road = road
        self.rng = rng
        self.root = road.root
        self.marks: list[str] = []
        self.done: list[str] = []

    def sees(self, event: Event) -> None:
        if self.rng.random() < 0.25:
            act = self.rng.choice(
                [
                    *[self.types] * 4,
                    self.commits,
                    self.stages,
                    self.stashes,
                    self.adds_a_function,
                    self.adds_a_file,
                    self.deletes,
                ]
            )
            self.done.append(f"{type(event).__name__}: {act.__name__}")
            act()

    def mark(self) -> str:
        self.marks.append(f"# mark {len(self.marks)}")
        return self.marks[-1]

    def change(self, path: str, old: str, new: str) -> None:
        file = self.root / path
        if file.exists() and old in (text := file.read_text()):
            file.write_text(text.replace(old, new, 1))

    def types(self) -> None:
        name = self.rng.choice(NAMES)
        path = self.rng.choice(FILES)
        if (self.root / path).exists() and f"def {name}()" in (self.root / path).read_text():
            self.change(path, f"def {name}():\n", f"def {name}():\n    {self.mark()}\n")

    def adds_a_function(self) -> None:
        path = self.root / self.rng.choice(FILES)
        if path.exists():
            mark = self.mark()
            name = f"mine{len(self.marks)}"
            path.write_text(f"{path.read_text()}\n\ndef {name}():\n    {mark}\n    return 1\n")

    def adds_a_file(self) -> None:
        mark = self.mark()
        write(self.root, {f"mine{len(self.marks)}.txt": f"{mark}\n"})

    def git(self, *args: str) -> int:
        identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        return subprocess.run(
            ["git", *identity, *args], cwd=self.root, capture_output=True
        ).returncode

    def commits(self) -> None:
        self.git("commit", "-qam", "mine")

    def stages(self) -> None:
        self.git("add", "-A")

    def stashes(self) -> None:
        self.git("stash", "-u")

    def deletes(self) -> None:
        """Deletes a function that no task is about, and commits that."""
        path = self.rng.choice(FILES)
        file = self.root / path
        if file.exists() and "# mark" not in file.read_text():
            self.change(path, f"\n\n{function('idle')}", "")
            self.git("commit", "-qm", "mine: no idle", "--", path)

    def tidies(self) -> None:
        """Comes back to a run that is held: commits what is there."""
        self.git("add", "-A")
        self.git("commit", "-qm", "mine: tidy")


def everything(road: Road) -> str:
    """Return every text that is anywhere: in files, in the index, in history, in stashes."""
    texts = [p.read_text() for p in road.root.rglob("*") if p.is_file() and ".git" not in p.parts]
    texts.append(git(road.root, "diff", "--cached"))
    texts.append(git(road.root, "log", "-p", "--branches"))
    for stash in git(road.root, "stash", "list", "--format=%H").split():
        # Its parents: what was checked out, what was staged, what was untracked.
        _, *parents = git(road.root, "log", "-1", "--format=%P", stash).split()
        texts += [git(road.root, "show", "-m", commit) for commit in (stash, *parents)]
    return "\n".join(texts)


def tasks_of(path: str) -> list[tuple[str, str, int]]:
    """Return the tasks on a file: id, the function that each rewrites, and what it returns then."""
    stem = path[:-3].replace("/", "-")
    first = 10 * (1 + FILES.index(path))
    return [(f"{stem}-{name}", name, first + n) for n, name in enumerate(NAMES[:4], 1)]


def carried_out(road: Road, person: Person, max_agents: int) -> Outcome | None:
    """Carry out eight tasks in two waves, recovering until they have ended; None: refused."""
    tasks, script = [], {}
    for path in FILES:
        ids = [id for id, _, _ in tasks_of(path)]
        for n, (id, name, value) in enumerate(tasks_of(path)):
            tasks.append(
                task(id, f"{path}::{name}", depends_on=ids[n - 2 : n - 1] if n > 1 else [])
            )
            script[id] = [reply(edited("n1", function(name, value)))] * 20
    road.watchers.append(person.sees)
    try:
        outcome = road.run(tasks, script, max_agents=max_agents)
    except MakError as error:
        assert "uncommitted changes" in str(error), error
        return None
    for left in reversed(range(TRIES)):
        if outcome.state is not RunState.HELD:
            break
        assert outcome.reason and left
        if left == 2:
            road.watchers.clear()
        person.tidies()
        outcome = road.recover()
    return outcome


def check_nothing_lost(road: Road, person: Person) -> None:
    """What was typed is somewhere; what is not committed is the person's and nobody else's."""
    found = everything(road)
    assert [mark for mark in person.marks if mark not in found] == [], person.done
    changed = (
        line
        for line in git(road.root, "diff", "HEAD").splitlines()
        if line[:1] in "+-" and not line.startswith(("+++", "---"))
    )
    mine = ("", "return 1")
    strange = [x for x in changed if x[1:].strip() not in mine and not re.search("mark|mine", x)]
    assert strange == [], person.done


def check_commits(road: Road, person: Person) -> None:
    """Every commit compiles; those of the run hold nothing that the person had not committed."""
    for commit in git(road.root, "rev-list", "HEAD").split():
        for path in git(road.root, "ls-tree", "-r", "--name-only", commit, "--", *FILES).split():
            compile(git(road.root, "show", f"{commit}:{path}"), path, "exec")
    for commit in git(road.root, "rev-list", "--grep=MAK-Run", "HEAD").split():
        shown = git(road.root, "show", "--format=", commit)
        assert not re.search(r"^\+.*# mark", shown, re.MULTILINE), person.done


def check_outcome(road: Road, outcome: Outcome) -> None:
    """The commits are the tasks that are said to be done, with their edits."""
    edits = {id: (path, name, n) for path in FILES for id, name, n in tasks_of(path)}
    for wave in outcome.waves:
        for id in wave.tasks:
            path, name, value = edits[id]
            assert function(name, value) in git(road.root, "show", f"{wave.commit}:{path}")
    done = {id for id, how in outcome.tasks.items() if how.state is TaskState.DONE}
    assert {id for wave in outcome.waves for id in wave.tasks} == done
    assert (outcome.state is RunState.DONE) == (done == edits.keys())


def anything(road: Road, seed: int) -> None:
    rng = random.Random(seed)
    person = Person(road, rng)
    outcome = carried_out(road, person, max_agents=rng.choice((1, 2, 4)))
    check_nothing_lost(road, person)
    check_commits(road, person)
    if outcome is not None:
        check_outcome(road, outcome)
    assert git(road.root, "fsck", "--no-dangling") == ""


# I13, I14
@pytest.mark.parametrize("seed", range(3))
def test_a_person_who_does_anything_loses_nothing(make_road, seed):
    anything(make_road({**dict.fromkeys(FILES, TEXT), "notes.txt": "notes\n"}), seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_a_person_who_does_anything_often_loses_nothing(make_repo, block):
    for seed in range(100 + 20 * block, 120 + 20 * block):
        files = {**dict.fromkeys(FILES, TEXT), "notes.txt": "notes\n"}
        anything(Road(make_repo(files, name=f"seed{seed}/repo")), seed)
