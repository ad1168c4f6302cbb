"""After a kill, whenever, the branch is old or new, the files fit, and no edit is lost."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from mak.errors import StoreError
from mak.store import Committed, Moved, Store, WaveHeld
from mak.store.journal import Journal, Touched
from mak.store.treeops import Entry
from mak.store.wave import commit_wave
from tests.conftest import git, write
from tests.store.killing import ended, forked, kill_at_random
from tests.store.waving import PHASES, crash, is_sound, status, wave

MakeRepo = Callable[..., Path]

MERGED, CLEAN, GONE, FRESH, OTHER = "a.py", "pkg/b.py", "gone.py", "new/c.py", "other.py"
TEXT = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n"
NEW = TEXT.replace("one", "ONE")
FILES = {MERGED: NEW, CLEAN: NEW, GONE: None, FRESH: "fresh\n"}

#: Whether the journal is there when the process dies after a phase.
JOURNALED = PHASES[PHASES.index("P3") : PHASES.index("P7")]


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing else is at work here, so what does not move is dead soon."""
    monkeypatch.setattr("mak.store.recover._ORPHAN", 1.0)
    monkeypatch.setattr("mak.store.refs.STALE_AFTER", 0.3)
    monkeypatch.setattr("mak.store.note._UNSURE", 0.3)


@pytest.fixture
def root(make_repo: MakeRepo) -> Path:
    """A repository in which a person has edited the end of one file of the wave."""
    root = make_repo({MERGED: TEXT, CLEAN: TEXT, GONE: "g\n", OTHER: "o\n"})
    write(root, {MERGED: TEXT.replace("seven", "SEVEN")})
    return root


def recovered(root: Path) -> list[str]:
    with Store.open(root) as store:
        sentences = store.recover()
        assert store.recover() == []
        is_sound(store)
    return sentences


def land(root: Path) -> Committed | Moved | WaveHeld:
    with Store.open(root) as store:
        result = commit_wave(store, wave(store, FILES))
        is_sound(store)
    return result


def head(root: Path, path: str) -> str | None:
    done = subprocess.run(["git", "show", f"HEAD:{path}"], cwd=root, capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None


def landed(root: Path) -> bool:
    """Whether the wave is in HEAD; it must be all of it or nothing."""
    files = {path: head(root, path) for path in FILES}
    if files == FILES:
        return True
    assert files == {MERGED: TEXT, CLEAN: TEXT, GONE: "g\n", FRESH: None}
    return False


# --------------------------------------------------------------- a kill after every phase


# I13
@pytest.mark.parametrize("phase", PHASES)
def test_kill_leaves_the_wave_done_or_undone(root: Path, phase: str) -> None:
    assert crash(root, FILES, phase)
    sentences = recovered(root)
    assert landed(root) == (phase in (*JOURNALED, "P7"))
    if phase in JOURNALED:
        assert sentences == [
            f"finished wave 1 of r1, which had been cut off: main is at "
            f"{git(root, 'rev-parse', 'HEAD')[:10]}"
        ]
    else:
        assert sentences == []
    _is_as_head_but_for_the_edit(root)


def _is_as_head_but_for_the_edit(root: Path) -> None:
    assert status(root) == [f" M {MERGED}"]
    text = head(root, MERGED)
    assert text is not None
    assert (root / MERGED).read_text() == text.replace("seven", "SEVEN")


# I14
@pytest.mark.parametrize("phase", PHASES)
def test_edit_of_a_clean_file_after_the_kill_is_kept(root: Path, phase: str) -> None:
    assert crash(root, FILES, phase)
    edited = (root / CLEAN).read_text() + "eight\n"
    write(root, {CLEAN: edited})
    sentences = recovered(root)
    assert (root / CLEAN).read_text() == edited
    assert landed(root) == (phase in ("P6", "P7"))
    if phase in JOURNALED and phase != "P6":
        assert f"took back wave 1 of r1, which had been cut off: {CLEAN} changed" in sentences[0]
        assert git(root, "diff", "--cached", "--name-only") == ""
    if phase == "P6":
        assert f"your change of {CLEAN} is kept" in sentences[0]
    if not landed(root):
        assert isinstance(land(root), Committed)
    assert landed(root)
    assert (root / CLEAN).read_text() == NEW + "eight\n"
    assert (root / MERGED).read_text() == NEW.replace("seven", "SEVEN")
    assert status(root) == [f" M {MERGED}", f" M {CLEAN}"]


@pytest.mark.parametrize("phase", PHASES)
def test_edit_of_the_merged_file_after_the_kill_is_kept(root: Path, phase: str) -> None:
    assert crash(root, FILES, phase)
    write(root, {MERGED: (root / MERGED).read_text() + "eight\n"})
    recovered(root)
    if not landed(root):
        assert isinstance(land(root), Committed)
    assert (root / MERGED).read_text() == NEW.replace("seven", "SEVEN") + "eight\n"
    assert status(root) == [f" M {MERGED}"]


@pytest.mark.parametrize("phase", PHASES)
def test_edit_elsewhere_after_the_kill_is_kept(root: Path, phase: str) -> None:
    assert crash(root, FILES, phase)
    write(root, {OTHER: "mine\n", "untracked.py": "u\n"})
    recovered(root)
    assert landed(root) == (phase in (*JOURNALED, "P7"))
    assert (root / OTHER).read_text() == "mine\n"
    assert status(root) == [f" M {MERGED}", f" M {OTHER}", "?? untracked.py"]


@pytest.mark.parametrize("phase", PHASES)
def test_commit_after_the_kill_is_refused_or_kept(root: Path, phase: str) -> None:
    assert crash(root, FILES, phase)
    write(root, {OTHER: "mine\n"})
    locked = (root / ".git/refs/heads/main.lock").exists()
    identity = ["-c", "user.name=Ada", "-c", "user.email=a@b"]
    done = subprocess.run(
        ["git", *identity, "commit", "-qm", "mine", "--", OTHER], cwd=root, capture_output=True
    )
    assert (done.returncode != 0) == locked, done.stderr
    assert locked == (phase in JOURNALED[:-1] or phase == "P2")
    sentences = recovered(root)
    if phase == "P6":
        assert sentences == [
            "finished wave 1 of r1, which had been cut off: it is in the branch's history"
        ]
    if not landed(root):
        assert isinstance(land(root), Committed)
    assert landed(root) and (root / OTHER).read_text() == "mine\n"
    assert status(root) == [f" M {MERGED}", *([f" M {OTHER}"] if locked else [])]
    assert (root / MERGED).read_text() == NEW.replace("seven", "SEVEN")


@pytest.mark.parametrize("phase", PHASES)
def test_file_deleted_after_the_kill_stays_deleted(root: Path, phase: str) -> None:
    assert crash(root, FILES, phase)
    (root / CLEAN).unlink()
    recovered(root)
    assert landed(root) == (phase in ("P6", "P7"))
    assert f" D {CLEAN}" in status(root)
    if not landed(root):
        result = land(root)
        assert isinstance(result, WaveHeld) and "it was deleted" in result.reason
        git(root, "restore", CLEAN)
        assert isinstance(land(root), Committed)
    assert landed(root)


@pytest.mark.parametrize("phase", PHASES)
def test_staging_after_the_kill_is_kept(root: Path, phase: str) -> None:
    assert crash(root, FILES, phase)
    edited = (root / CLEAN).read_text() + "eight\n"
    write(root, {CLEAN: edited})
    git(root, "add", CLEAN)
    recovered(root)
    assert landed(root) == (phase in ("P6", "P7"))
    assert git(root, "show", f":{CLEAN}") == edited == (root / CLEAN).read_text()
    assert set(status(root)) == {f" M {MERGED}", f"M  {CLEAN}"}


@pytest.mark.parametrize("phase", ["P3", "P4.tree", "P4", "P5"])
def test_branch_moved_by_force_supersedes_the_wave(root: Path, phase: str) -> None:
    assert crash(root, FILES, phase)
    (root / ".git/refs/heads/main.lock").unlink()
    base = git(root, "rev-parse", "HEAD").strip()
    moved = git(root, "commit-tree", f"{base}^{{tree}}", "-p", base, "-m", "forced").strip()
    git(root, "update-ref", "refs/heads/main", moved)
    before = (root / CLEAN).read_text(), (root / MERGED).read_text()
    assert "gave up wave 1 of r1" in recovered(root)[0]
    assert ((root / CLEAN).read_text(), (root / MERGED).read_text()) == before
    assert not landed(root)


@pytest.mark.parametrize("phase", ["P3", "P4.tree", "P5", "P6"])
def test_switched_branch_is_left_alone(root: Path, phase: str) -> None:
    git(root, "branch", "side")
    git(root, "checkout", "-q", "--", MERGED)
    assert crash(root, FILES, phase)
    git(root, "symbolic-ref", "HEAD", "refs/heads/side")
    before = status(root), (root / CLEAN).read_text()
    with Store.open(root, branch="main") as store:
        sentence = store.recover()[0]
        assert store.recover() == []
    assert ("finished" in sentence) == (phase == "P6")
    assert (status(root), (root / CLEAN).read_text()) == before


# --------------------------------------------------------------------- other repositories


@pytest.mark.parametrize("phase", ["P2", "P3", "P5", "P6"])
@pytest.mark.parametrize("kind", ["bare", "other", "fresh", "detached", "unborn", "linked"])
def test_kill_in_every_kind_of_repository(
    make_repo: MakeRepo, tmp_path: Path, kind: str, phase: str
) -> None:
    files: dict[str, str | None] = {CLEAN: NEW, FRESH: "fresh\n"}
    where, branch = make_repo({CLEAN: TEXT}), None
    name = "HEAD"
    match kind:
        case "bare":
            git(tmp_path, "clone", "-q", "--bare", str(where), "bare.git")
            where = tmp_path / "bare.git"
        case "other":
            git(where, "branch", "other")
            branch = name = "other"
        case "fresh":
            branch = name = "fresh"
        case "detached":
            git(where, "checkout", "-q", "--detach")
        case "unborn":
            git(tmp_path, "init", "-q", "-b", "main", "unborn")
            where = tmp_path / "unborn"
        case "linked":
            git(where, "worktree", "add", "-q", "-b", "linked", str(tmp_path / "linked"))
            where = tmp_path / "linked"

    def die() -> None:
        def fault(reached: str) -> None:
            if reached == phase:
                os.kill(os.getpid(), signal.SIGKILL)

        with Store.open(where, branch=branch) as store:
            commit_wave(store, wave(store, files, fault=fault))

    assert ended(forked(die)) == -signal.SIGKILL
    with Store.open(where, branch=branch) as store:
        assert bool(store.recover()) == (phase != "P2")
        if phase == "P2":
            assert isinstance(commit_wave(store, wave(store, files)), Committed)
        is_sound(store)
        assert {p: store.read(b).decode() for p, b in store.entries(store.tip()).items()} == files
    assert git(where, "show", f"{name}:{CLEAN}") == NEW
    if kind != "bare":
        assert status(where) == []


def test_worktree_that_is_gone_gives_up_its_wave(make_repo: MakeRepo, tmp_path: Path) -> None:
    root, linked = make_repo({CLEAN: TEXT}), tmp_path / "linked"
    git(root, "worktree", "add", "-q", "-b", "linked", str(linked))
    assert crash(linked, {CLEAN: NEW}, "P4.tree")
    (root / ".git/refs/heads/linked.lock").unlink()
    git(root, "worktree", "remove", "--force", str(linked))
    with Store.open(root, branch="linked") as store:
        assert "gave up wave 1 of r1" in store.recover()[0]
        assert isinstance(commit_wave(store, wave(store, {CLEAN: NEW})), Committed)
        is_sound(store)


def test_wave_is_recovered_from_another_worktree(make_repo: MakeRepo, tmp_path: Path) -> None:
    root, linked = make_repo({CLEAN: TEXT}), tmp_path / "linked"
    git(root, "branch", "side")
    git(root, "worktree", "add", "-q", "-b", "linked", str(linked))

    def die() -> None:
        def fault(reached: str) -> None:
            if reached == "P3":
                os.kill(os.getpid(), signal.SIGKILL)

        with Store.open(linked, branch="side") as store:
            commit_wave(store, wave(store, {CLEAN: NEW}, fault=fault))

    assert ended(forked(die)) == -signal.SIGKILL
    with Store.open(root, branch="side") as store:
        assert "finished wave 1 of r1" in store.recover()[0]
        is_sound(store)
    assert git(root, "show", f"side:{CLEAN}") == NEW


# ------------------------------------------------------------------------------ what remains


def test_next_wave_recovers_by_itself(root: Path) -> None:
    assert crash(root, FILES, "P4.tree")
    with Store.open(root) as store:
        result = commit_wave(store, wave(store, {OTHER: "2\n"}))
        assert isinstance(result, Moved) and result.tip == store.tip()
        is_sound(store)
    assert landed(root)


def test_entering_says_what_was_recovered(root: Path) -> None:
    assert crash(root, FILES, "P4.tree")
    with Store.open(root) as store, store.enter("r2"):
        assert len(store.recovered) == 1 and "finished wave 1 of r1" in store.recovered[0]


#: What a kill leaves beside a file, and what becomes of file and neighbour.
NEIGHBOURS = {
    "our text, cut short": (TEXT, NEW[:5], NEW, None),
    "nothing yet": (TEXT, "", NEW, None),
    "our text, whole": (TEXT, NEW, NEW, None),
    "the old text, out": (NEW, TEXT, NEW, None),
    "a text saved in that moment": (NEW, TEXT + "eight\n", TEXT + "eight\n", None),
    "the same, where the file was deleted": (None, TEXT + "eight\n", TEXT + "eight\n", None),
    "the same, and saved again": (NEW + "nine\n", TEXT + "8\n", NEW + "nine\n", TEXT + "8\n"),
}


@pytest.mark.parametrize("case", NEIGHBOURS)
def test_what_was_being_swapped_is_put_in_order(root: Path, case: str) -> None:
    there, beside, after, left = NEIGHBOURS[case]
    assert crash(root, {**FILES, CLEAN: NEW if there else None}, "P4.tree")
    commit = git(root, "log", "--all", "--format=%H", "--grep=^wave 1$").split()[0]
    neighbour = f"pkg/.b.py.mak-{commit[:10]}"
    write(root, {neighbour: beside, CLEAN: there or ""})
    if there is None:
        (root / CLEAN).unlink()
    with Store.open(root) as store:
        sentence = store.recover()[0]
    assert (root / CLEAN).read_text() == after
    assert (root / neighbour).exists() == (left is not None)
    assert ("what you saved in that very moment is in" in sentence) == (left is not None)
    assert sentence.startswith("finished" if after == NEW else "took back")


def test_index_lock_of_a_dead_git_is_removed(root: Path) -> None:
    assert crash(root, FILES, "P4.tree")
    (root / ".git/index.lock").touch()
    assert "finished" in recovered(root)[0]
    _is_as_head_but_for_the_edit(root)


def test_index_lock_of_the_person_is_not(root: Path) -> None:
    """``git commit -a`` holds it for as long as the editor is open."""
    assert crash(root, FILES, "P4.tree")
    lock = root / ".git/index.lock"
    lock.touch()
    os.utime(lock, (time.time() + 60, time.time() + 60))
    with Store.open(root) as store:
        with pytest.raises(StoreError, match="another git command holds"):
            store.recover()
        assert lock.exists()
        lock.unlink()
        assert "finished" in store.recover()[0]
        is_sound(store)


def test_branch_lock_of_another_git_is_left_alone(root: Path) -> None:
    assert crash(root, FILES, "P1")
    lock = root / ".git/refs/heads/main.lock"
    lock.touch()
    with Store.open(root) as store:
        assert store.recover() == []
    assert lock.exists()


def test_recovery_may_be_killed_at_any_write(root: Path) -> None:
    """However often recovery itself is cut off, the next one ends what it began."""
    base = git(root, "rev-parse", "HEAD").strip()
    number, over = 0, False
    while not over:
        number += 1
        assert crash(root, FILES, "P4.tree")

        def die_at(count: int = number) -> None:
            left = iter(range(count - 1))

            def before(what: str) -> None:
                if next(left, None) is None:
                    os.kill(os.getpid(), signal.SIGKILL)

            with Store.open(root) as store:
                store.repository.before_write = before
                store.recover()

        over = ended(forked(die_at)) == 0
        recovered(root)
        assert landed(root)
        _is_as_head_but_for_the_edit(root)
        write(root, {MERGED: TEXT.replace("seven", "SEVEN"), CLEAN: TEXT, GONE: "g\n"})
        git(root, "reset", "-q", base)
        (root / FRESH).unlink()
    assert number > 5


def test_journal_is_read_as_it_was_written() -> None:
    entry = Entry("a" * 40, 0o100644)
    touched = (Touched("ü.py", entry, None, entry, None), Touched("b", None, entry, None, entry))
    journal = Journal("r", "wave 1", "refs/heads/x", "", "c" * 40, "/g", "", "", ("t",), touched)
    assert Journal.from_json(journal.to_json()) == journal


# ------------------------------------------------------------------------- kills at random

#: Files of the random waves: large enough that a write may be cut.
MANY = [f"m{i}/f{i}.py" for i in range(8)]


def _content(number: int, marks: str = "") -> str:
    return f"wave = {number}\n" + "x = 1\n" * 3000 + "# marks\n" + marks


def _next_wave(store: Store) -> dict[str, str | None]:
    """Return the files of the wave after the one in HEAD: the same, whoever commits it."""
    entries = store.entries(store.tip())
    texts = {path: store.read(entries[path]).decode() for path in MANY}
    number = int(texts[MANY[0]].split("\n")[0].removeprefix("wave = ")) + 1
    return {p: f"wave = {number}\n{text.split(chr(10), 1)[1]}" for p, text in texts.items()}


def _wave_on(root: Path) -> None:
    with Store.open(root) as store:
        store.recover()
        while True:
            commit_wave(store, wave(store, _next_wave(store)))


class Person:
    """Somebody who does things between a kill and the recovery, and wants them kept."""

    def __init__(self, root: Path, chance: random.Random) -> None:
        self.root = root
        self.chance = chance
        self.marks: dict[str, list[str]] = {path: [] for path in MANY}

    def act(self) -> None:
        path = self.chance.choice(MANY)
        match self.chance.choice(["nothing", "edit", "edit", "stage", "commit", "delete"]):
            case "edit":
                self._mark(path)
            case "stage":
                self._mark(path)
                self._git("add", path)
            case "commit":
                write(self.root, {"notes.txt": f"{self.chance.random()}\n"})
                self._git("add", "notes.txt")
                self._git("commit", "-qm", "mine", "--", "notes.txt")
            case "delete":
                (self.root / path).unlink(missing_ok=True)

    def _mark(self, path: str) -> None:
        file = self.root / path
        if file.exists() and "# marks\n" in file.read_text():
            self.marks[path].append(f"# {self.chance.random()}\n")
            with file.open("a") as stream:
                stream.write(self.marks[path][-1])

    def _git(self, *args: str) -> None:
        identity = ["-c", "user.name=Ada", "-c", "user.email=a@b"]
        subprocess.run(["git", *identity, *args], cwd=self.root, capture_output=True)


def _kill_at_random(root: Path, kills: int, seed: int) -> None:
    git(root, "config", "gc.auto", "0")  # fsck stumbles over one beside it
    write(root, {path: _content(0) for path in MANY})
    git(root, "add", "-A")
    git(root, "commit", "-qm", "start")
    chance = random.Random(seed)
    person = Person(root, chance)
    for _ in range(kills):
        kill_at_random(forked(lambda: _wave_on(root)), chance, 0.25)
        person.act()
        if chance.random() < 0.3:
            kill_at_random(forked(lambda: _recover(root)), chance, 0.05)
        with Store.open(root) as store:
            store.recover()
            is_sound(store)
        _check(root, person)
        for path in MANY:  # what a person would do about a held wave
            git(root, "restore", "--staged", path)
            if not (root / path).exists():
                git(root, "restore", path)
        with Store.open(root) as store:
            result = commit_wave(store, wave(store, _next_wave(store)))
            assert isinstance(result, Committed), result
            is_sound(store)
        _check(root, person)
        git(root, "add", "-A")
        git(root, "commit", "-q", "--allow-empty", "-m", "person")


def _recover(root: Path) -> None:
    with Store.open(root) as store:
        store.recover()


def _check(root: Path, person: Person) -> None:
    waves = {(head(root, path) or "").split("\n")[0] for path in MANY}
    assert len(waves) == 1, "a wave is in HEAD in part"
    for path in MANY:
        if (root / path).exists():
            text = (root / path).read_text()
            assert [m for m in person.marks[path] if m not in text] == []
            assert len(text.splitlines()) == 3002 + len(person.marks[path])


# I13
def test_twenty_kills_at_random(make_repo: MakeRepo) -> None:
    _kill_at_random(make_repo({}), 20, seed=1)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_two_hundred_kills_at_random(make_repo: MakeRepo) -> None:
    _kill_at_random(make_repo({}), 200, seed=2)


# --------------------------------------------------------------------- git beside the waves


def _beside(root: Path, pause: float, *commands: list[str]) -> int:
    def loop() -> None:
        count = 0
        while True:
            count += 1
            write(root, {"theirs.txt": f"{count}\n"})
            time.sleep(pause)
            for command in commands:
                subprocess.run(["git", *command], cwd=root, capture_output=True)

    return forked(loop)


#: Seconds between two rounds of a person's, and what is in one.
BESIDE = {
    "add": (0.005, [["add", "theirs.txt"]]),
    "commit": (
        0.1,
        [
            ["add", "theirs.txt"],
            ["-c", "user.name=A", "-c", "user.email=a@b", "commit", "-qm", "mine"],
        ],
    ),
    "gc": (0.0, [["pack-refs", "--all"], ["gc", "-q", "--prune=now"]]),
    "status": (0.0, [["status"], ["update-index", "--refresh"]]),
}


@pytest.mark.parametrize("count", [4, pytest.param(60, marks=pytest.mark.slow)])
@pytest.mark.parametrize("what", BESIDE)
def test_git_in_a_loop_beside_waves_loses_nothing(
    make_repo: MakeRepo, what: str, count: int
) -> None:
    root = make_repo({path: _content(0) for path in MANY})
    pause, commands = BESIDE[what]
    with Store.open(root) as store, store.enter("r1"):
        pid = _beside(root, pause, *commands)
        try:
            done = 0
            for _ in range(count * 20):
                try:
                    result = commit_wave(store, wave(store, _next_wave(store), tasks=()))
                except StoreError as error:
                    assert "somebody has held" in str(error) or "index.lock" in str(error)
                    continue
                done += isinstance(result, Committed)
                if done == count:
                    break
        finally:
            os.kill(pid, signal.SIGKILL)
            ended(pid)
        for name in ("index.lock", "refs/heads/main.lock", "HEAD.lock", "gc.pid.lock"):
            _gone(root / ".git" / name)
        assert done == count
    waves = git(root, "log", "--format=%s", "--grep=^wave").splitlines()
    assert len(waves) == count
    assert {(head(root, path) or "").split("\n")[0] for path in MANY} == {f"wave = {count}"}
    assert [line for line in status(root) if "theirs.txt" not in line] == []
    git(root, "fsck", "--strict")


def _gone(lock: Path) -> None:
    """Wait for an orphaned git to let go of a lock, or remove what a killed one left."""
    deadline = time.monotonic() + 1.0
    while lock.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    lock.unlink(missing_ok=True)
