"""A person works in the clone while MAK does: nothing of theirs is overwritten or committed."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from mak.cli.main import main
from mak.errors import MakError, RepositoryRefused
from mak.events import (
    ReplyParked,
    ReplyRejected,
    TaskSettled,
    TaskStarted,
    WaveCommitted,
    WaveHeld,
    WaveMerged,
)
from mak.model import RunState, TaskState
from tests.conftest import git, write
from tests.road.conftest import Road, edited, reply, snapshot, task

A = '''"""A."""


def one():
    return 1


def two():
    return 2


def three():
    return 3
'''
ONE, TWO, THREE = (
    f"def {name}():\n    return {n}\n" for n, name in enumerate(("one", "two", "three"), 1)
)
TEN = ONE.replace("1", "10")
MINE = "a = 'mine'\n"


@pytest.fixture
def road(make_road) -> Road:
    return make_road(
        {"a.py": A, "b.py": A, "c.py": A, "notes.txt": "notes\n", ".gitignore": "*.log\n"}
    )


def removal(node: str) -> dict[str, Any]:
    return reply(deletes=[{"node": node, "reason": "it is not used"}])


def edit(road: Road, path: str, old: str, new: str) -> None:
    text = road.text(path)
    assert old in text
    (road.root / path).write_text(text.replace(old, new))


def one_becomes_ten(road: Road, **more):
    return road.run([task("t", "a.py::one")], {"t": [reply(edited("n1", TEN))] * 3}, **more)


def asked(road: Road) -> int:
    """Return how many answers came from an agent, not from what was kept of an earlier run."""
    return sum(not event.reused for event in road.of(ReplyParked))


# ------------------------------------------------------------------ before a run


# I14
def test_unrelated_work_is_left_exactly_as_it_is(road):
    edit(road, "b.py", "return 2", "return 'unstaged'")
    write(road.root, {"new.py": MINE, "deep/new.py": MINE, "build.log": "ignored\n"})
    write(road.root, {"staged.py": MINE, "half.py": MINE})
    git(road.root, "add", "staged.py", "half.py")
    write(road.root, {"half.py": MINE + MINE})
    git(road.root, "rm", "-q", "--cached", "notes.txt")
    git(road.root, "mv", "c.py", "moved.py")
    git(road.root, "add", "-N", "new.py")
    before = snapshot(road.root)
    assert one_becomes_ten(road).state is RunState.DONE
    assert snapshot(road.root) == before
    assert git(road.root, "show", "--format=", "--name-only", "HEAD").split() == ["a.py"]


@pytest.mark.parametrize("staged", [False, True])
def test_a_target_with_uncommitted_changes_is_refused_before_an_agent_is_asked(road, staged):
    edit(road, "a.py", "return 3", "return 'mine'")
    if staged:
        git(road.root, "add", "a.py")
    before = snapshot(road.root)
    with pytest.raises(MakError) as refused:
        one_becomes_ten(road)
    assert "a.py" in str(refused.value)
    assert refused.value.hint == "commit or stash them first: git stash push -u -- a.py"
    assert road.of(TaskStarted) == []
    assert snapshot(road.root) == before
    git(road.root, *refused.value.hint.partition(": git ")[2].split())
    assert one_becomes_ten(road).state is RunState.DONE
    git(road.root, "stash", "pop")
    assert "return 10" in road.text("a.py") and "return 'mine'" in road.text("a.py")


def test_an_untracked_file_where_a_task_creates_one_is_refused(road):
    write(road.root, {"fresh.py": MINE})
    created = {"fresh": [reply(edited("n1", "def f():\n    return 1\n"))]}
    with pytest.raises(MakError, match=r"fresh\.py"):
        road.run([task("fresh", creates=["fresh.py"])], created)
    assert road.text("fresh.py") == MINE


# ------------------------------------------------------------------ an edit during a run


# I14
def test_an_edit_of_another_node_of_the_file_is_merged_and_stays_uncommitted(road):
    road.when(TaskSettled, lambda: edit(road, "a.py", "return 3", "return 'mine'"))
    outcome = one_becomes_ten(road)
    assert outcome.state is RunState.DONE
    assert road.text("a.py") == A.replace("return 1", "return 10").replace(
        "return 3", "return 'mine'"
    )
    assert git(road.root, "show", "HEAD:a.py") == A.replace("return 1", "return 10")
    assert git(road.root, "diff", "--numstat").split() == ["1", "1", "a.py"]
    assert git(road.root, "diff", "--cached") == ""
    assert [event.paths for event in road.of(WaveMerged)] == [("a.py",)]


def test_an_edit_of_another_file_is_left_alone(road):
    road.when(TaskSettled, lambda: edit(road, "b.py", "return 1", "return 'mine'"))
    assert one_becomes_ten(road).state is RunState.DONE
    assert git(road.root, "status", "--porcelain") == " M b.py\n"


def held(road: Road, *, stage: bool = False) -> None:
    """Have a person edit the very node that a task rewrites; the wave is held."""

    def act() -> None:
        edit(road, "a.py", "return 1", "return 'mine'")
        if stage:
            git(road.root, "add", "a.py")

    road.when(TaskSettled, act)
    outcome = one_becomes_ten(road)
    assert outcome.state is RunState.HELD
    assert "a.py" in outcome.reason and "commit" in outcome.reason
    assert [event.paths for event in road.of(WaveHeld)] == [("a.py",)]
    assert outcome.tasks["t"].state is TaskState.SETTLED
    assert git(road.root, "log", "--format=%s").splitlines() == ["base"]
    assert road.text("a.py") == A.replace("return 1", "return 'mine'")
    assert asked(road) == 1


@pytest.mark.parametrize("stage", [False, True])
def test_a_held_run_goes_on_without_asking_once_the_person_takes_the_edit_back(road, stage):
    held(road, stage=stage)
    git(road.root, "restore", "--staged", "--worktree", "a.py")
    assert road.recover().state is RunState.DONE
    assert asked(road) == 1
    assert road.text("a.py") == A.replace("return 1", "return 10")


def test_a_held_run_asks_again_once_the_person_commits_the_edit(road):
    held(road)
    git(road.root, "commit", "-qam", "mine")
    assert road.recover().state is RunState.DONE
    assert asked(road) == 2
    assert [event.check for event in road.of(ReplyRejected)] == ["stale"]
    assert road.text("a.py") == A.replace("return 1", "return 10")
    assert git(road.root, "log", "--format=%s").splitlines() == ["do t", "mine", "base"]


def test_a_held_run_stays_held_while_the_edit_is_there(road):
    held(road)
    outcome = road.recover()
    assert outcome.state is RunState.HELD
    assert road.text("a.py") == A.replace("return 1", "return 'mine'")
    git(road.root, "stash")
    assert road.recover().state is RunState.DONE
    assert asked(road) == 1


def test_a_file_that_the_person_deletes_is_not_brought_back(road):
    road.when(TaskSettled, (road.root / "a.py").unlink)
    outcome = one_becomes_ten(road)
    assert outcome.state is RunState.HELD
    assert "a.py: it was deleted" in outcome.reason
    assert not (road.root / "a.py").exists()
    git(road.root, "restore", "a.py")
    assert road.recover().state is RunState.DONE


def test_a_file_whose_deletion_is_committed_stays_deleted(road):
    def act() -> None:
        git(road.root, "rm", "-q", "a.py")
        git(road.root, "commit", "-qm", "mine")

    road.when(TaskSettled, act)
    outcome = one_becomes_ten(road)
    assert outcome.state is RunState.FAILED
    assert "a.py::one" in outcome.tasks["t"].reason and "not there" in outcome.tasks["t"].reason
    assert not (road.root / "a.py").exists()
    assert git(road.root, "status", "--porcelain") == ""


def test_a_file_that_the_person_makes_where_a_task_creates_one_is_kept(road):
    road.when(TaskSettled, lambda: write(road.root, {"fresh.py": MINE}))
    script = {"f": [reply(edited("n1", "def f():\n    return 1\n"))] * 2}
    outcome = road.run([task("f", creates=["fresh.py"])], script)
    assert outcome.state is RunState.HELD
    assert "fresh.py" in outcome.reason
    assert road.text("fresh.py") == MINE


def test_a_file_that_the_person_commits_where_a_task_creates_one_is_kept(road):
    def act() -> None:
        write(road.root, {"fresh.py": MINE})
        git(road.root, "add", "fresh.py")
        git(road.root, "commit", "-qm", "mine")

    road.when(TaskSettled, act)
    script = {"f": [reply(edited("n1", "def f():\n    return 1\n"))] * 3}
    outcome = road.run([task("f", creates=["fresh.py"])], script)
    assert outcome.state is RunState.FAILED
    assert "fresh.py" in outcome.tasks["f"].reason
    assert road.text("fresh.py") == MINE


def test_half_a_merged_edit_of_the_person_is_never_committed_by_the_next_wave(road):
    """The first wave merges the edit; the second touches the same file again."""
    road.when(TaskSettled, lambda: edit(road, "a.py", "return 3", "return 'mine'"), task="t")
    outcome = road.run(
        [task("t", "a.py::one"), task("u", "a.py::two", depends_on=["t"])],
        {"t": [reply(edited("n1", TEN))], "u": [reply(edited("n1", TWO.replace("2", "20")))]},
    )
    assert outcome.state is RunState.DONE
    landed = A.replace("return 1", "return 10").replace("return 2", "return 20")
    assert git(road.root, "show", "HEAD:a.py") == landed
    assert road.text("a.py") == landed.replace("return 3", "return 'mine'")


def test_what_the_person_stages_during_a_run_stays_staged(road):
    def act() -> None:
        edit(road, "b.py", "return 1", "return 'mine'")
        git(road.root, "add", "b.py")
        edit(road, "b.py", "return 2", "return 'later'")

    road.when(TaskSettled, act)
    assert one_becomes_ten(road).state is RunState.DONE
    assert git(road.root, "status", "--porcelain") == "MM b.py\n"
    assert git(road.root, "diff", "--cached", "--numstat").split() == ["1", "1", "b.py"]


# ------------------------------------------------------------------ commits during a run


def commit(road: Road, path: str, old: str, new: str) -> None:
    edit(road, path, old, new)
    git(road.root, "commit", "-qam", "mine")


def test_a_commit_on_another_node_is_built_upon(road):
    road.when(TaskSettled, lambda: commit(road, "a.py", "return 3", "return 'mine'"))
    outcome = one_becomes_ten(road)
    assert outcome.state is RunState.DONE
    assert asked(road) == 1
    assert road.text("a.py") == A.replace("return 1", "return 10").replace(
        "return 3", "return 'mine'"
    )
    assert git(road.root, "log", "--format=%s").splitlines() == ["do t", "mine", "base"]
    assert git(road.root, "status", "--porcelain") == ""


@pytest.mark.parametrize("kind", [TaskStarted, TaskSettled])
def test_a_commit_on_the_same_node_has_the_agent_asked_again(road, kind):
    road.when(kind, lambda: commit(road, "a.py", "return 1", "return 'mine'"))
    outcome = road.run(
        [task("t", "a.py::one")],
        {"t": [reply(edited("n1", TEN)), reply(edited("n1", ONE.replace("1", "'mine' + ' 10'")))]},
    )
    assert outcome.state is RunState.DONE
    assert asked(road) == 2
    assert "a.py::one" in road.of(ReplyRejected)[0].reason
    assert road.text("a.py") == A.replace("return 1", "return 'mine' + ' 10'")


def early(road: Road, last: dict[str, Any]) -> tuple[list[Any], dict[str, list[Any]]]:
    """Return a plan whose task of the second level settles, or is asked, before its first is over.

    When it settles, the person commits another `one` than task a, which it depends on, has made.
    """

    def commit() -> None:
        edit(road, "a.py", ONE, ONE.replace("1", "'mine'"))
        git(road.root, "commit", "-qam", "mine")

    road.when(TaskSettled, commit, task="a")
    tasks = [task("a", "a.py::one"), task("b", "b.py::one"), task("c", "a.py::three")]
    tasks[2]["depends_on"] = ["a"]
    slow = {**reply(edited("n1", TEN)), "delay_s": 0.3}
    return tasks, {"a": [reply(edited("n1", TEN))] * 2, "b": [slow], "c": [last] * 2}


def test_what_settled_early_is_asked_again_with_what_it_builds_on_when_a_person_commits(road):
    """A wave that did not fit the moved branch did not know what had settled on top of it."""
    thirty = THREE.replace("3", "30")
    outcome = road.run(*early(road, reply(edited("n1", thirty))))
    assert outcome.state is RunState.DONE
    assert {name: t.attempts for name, t in outcome.tasks.items()} == {"a": 2, "b": 1, "c": 2}
    assert [wave.tasks for wave in outcome.waves] == [("a", "b"), ("c",)]
    assert road.text("a.py") == A.replace(ONE, TEN).replace(THREE, thirty)
    assert thirty not in git(road.root, "show", "HEAD~:a.py")


def test_a_task_that_was_skipped_at_work_may_still_meet_a_wrong_key(road):
    """Its error came in when it was at work no more, which nobody expected."""
    tasks, script = early(road, {"error": {"kind": "auth"}, "delay_s": 1.0})
    script["a"][1] = {"status": "refused"}
    tasks.append(task("d", "c.py::one", depends_on=["b"]))
    script["d"] = [{**reply(edited("n1", TEN)), "delay_s": 1.5}]
    outcome = road.run(tasks, script)
    states = {name: str(t.state) for name, t in outcome.tasks.items()}
    assert states == {"a": "failed", "b": "done", "c": "skipped", "d": "done"}
    assert outcome.state is RunState.FAILED


def test_a_commit_inside_a_class_is_not_undone_by_a_reply_that_holds_the_whole_class(make_road):
    """A class given whole for its shell holds the methods as the agent saw them."""
    text = 'class C:\n    """C."""\n\n    def one(self):\n        return 1\n'
    road = make_road({"a.py": text})
    road.when(TaskSettled, lambda: commit(road, "a.py", "return 1", "return 'mine'"))
    whole = text.replace('"""C."""', '"""A new C."""')
    outcome = road.run(
        [task("t", "a.py::C", "a.py::C.one")],
        {
            "t": [
                reply(edited("n1", whole.replace("1", "2"))),
                reply(edited("n1", 'class C:\n    """A new C."""\n')),
            ]
        },
    )
    assert outcome.state is RunState.DONE
    assert road.text("a.py") == whole.replace("return 1", "return 'mine'")


def test_an_amended_or_reset_branch_is_built_upon(road):
    commit(road, "b.py", "return 2", "return 'first'")

    def act() -> None:
        git(road.root, "reset", "-q", "--hard", "HEAD~1")
        commit(road, "b.py", "return 2", "return 'second'")

    road.when(TaskSettled, act)
    assert one_becomes_ten(road).state is RunState.DONE
    assert "return 'second'" in git(road.root, "show", "HEAD:b.py")
    assert git(road.root, "log", "--format=%s").splitlines() == ["do t", "mine", "base"]
    assert git(road.root, "status", "--porcelain") == ""


# ------------------------------------------------------------------ the branch


@pytest.mark.parametrize("kind", [TaskStarted, TaskSettled])
def test_a_branch_that_is_left_during_a_run_still_gets_its_commit_and_the_other_none(road, kind):
    road.when(kind, lambda: git(road.root, "switch", "-qc", "other"))
    base = git(road.root, "rev-parse", "HEAD").strip()
    outcome = one_becomes_ten(road)
    assert git(road.root, "rev-parse", "other").strip() == base
    assert git(road.root, "status", "--porcelain") == ""
    assert road.text("a.py") == A
    if outcome.state is RunState.DONE:
        assert "return 10" in git(road.root, "show", "main:a.py")
    else:
        assert outcome.state is RunState.HELD
        git(road.root, "switch", "-q", "main")
        assert road.recover().state is RunState.DONE


def test_recovery_on_another_branch_is_refused_and_says_where(road):
    held(road)
    git(road.root, "stash")
    git(road.root, "switch", "-qc", "other")
    with pytest.raises(MakError) as refused:
        road.recover()
    assert "main" in f"{refused.value} {refused.value.hint}"
    git(road.root, "switch", "-q", "main")
    assert road.recover().state is RunState.DONE


@pytest.mark.parametrize(
    "commands", [["branch -m main trunk"], ["switch -qc other HEAD~1", "branch -qD main"]]
)
def test_a_branch_that_is_renamed_or_deleted_is_not_made_anew(road, commands):
    """It came back to life at HEAD, wherever that was, and the run was said to have landed."""
    git(road.root, "commit", "-q", "--allow-empty", "-m", "one more")
    tip = git(road.root, "rev-parse", "HEAD").strip()
    road.when(TaskSettled, lambda: [git(road.root, *line.split()) for line in commands])
    outcome = one_becomes_ten(road)
    assert outcome.state is RunState.HELD
    assert "the branch main is gone" in outcome.reason
    assert git(road.root, "branch", "--list", "main") == ""
    git(road.root, *outcome.reason.partition("; git ")[2].split()[:3])
    git(road.root, "switch", "-q", "main")
    assert road.recover().state is RunState.DONE
    assert git(road.root, "rev-parse", "HEAD~1").strip() == tip


def test_a_merge_that_the_person_begins_is_waited_out(road):
    git(road.root, "switch", "-qc", "other")
    commit(road, "b.py", "return 1", "return 'other'")
    git(road.root, "switch", "-q", "main")
    commit(road, "b.py", "return 1", "return 'main'")

    def act() -> None:
        with pytest.raises(AssertionError):
            git(road.root, "merge", "other")

    road.when(TaskSettled, act)
    outcome = one_becomes_ten(road)
    assert outcome.state is RunState.HELD
    assert "merge" in outcome.reason
    assert "<<<<<<<" in road.text("b.py")
    with pytest.raises(RepositoryRefused, match="merge"):
        road.recover()
    git(road.root, "merge", "--abort")
    assert road.recover().state is RunState.DONE


# ------------------------------------------------------------------ killed, then edited


# I14
@pytest.mark.parametrize(
    ("phase", "old", "path"),
    [
        ("parked", "return 1", "a.py"),
        ("P4", "return 1", "a.py"),
        ("P4", "return 3", "a.py"),
        pytest.param("parked", "return 3", "a.py", marks=pytest.mark.slow),
        pytest.param("parked", "return 1", "b.py", marks=pytest.mark.slow),
        pytest.param("P4", "return 1", "b.py", marks=pytest.mark.slow),
    ],
)
def test_an_edit_between_kill_and_recovery_is_kept(road, phase, old, path):
    script = {"t": [reply(edited("n1", TEN))] * 3}
    assert road.killed(phase, [task("t", "a.py::one")], script) == -signal.SIGKILL
    landed = old.replace("1", "10")
    edit(road, path, landed if landed in road.text(path) else old, "return 'mine'")
    outcome = road.recover()
    assert "return 'mine'" in road.text(path)
    assert "mine" not in git(road.root, "show", "HEAD:a.py", "HEAD:b.py")
    if (path, old) == ("a.py", "return 1"):
        assert outcome.state is RunState.HELD
        assert "a.py" in outcome.reason
        git(road.root, "restore", "a.py")
        outcome = road.recover()
    assert outcome.state is RunState.DONE
    assert git(road.root, "show", "HEAD:a.py") == A.replace("return 1", "return 10")


@pytest.mark.parametrize(("phase", "title"), [("P2", "a wave"), ("P4", "wave 1 of r")])
def test_what_a_kill_leaves_is_told_and_goes_with_the_next_run(road, capsys, phase, title):
    """Until then Git refuses to commit and says to remove a lock, which is the wrong advice."""
    script = {"t": [reply(edited("n1", TEN))]}
    assert road.killed(phase, [task("t", "a.py::one")], script) == -signal.SIGKILL
    lock = road.root / ".git/refs/heads/main.lock"
    with pytest.raises(AssertionError):
        git(road.root, "commit", "-q", "--allow-empty", "-m", "mine")
    assert main(["doctor", "--work-dir", str(road.root)]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert f"{title}" in told and "cut off half way" in told and str(lock) in told.replace(" ", "")
    assert "mak run --recover" in told and lock.exists()
    assert road.recover().state is RunState.DONE
    assert not lock.exists()
    assert main(["doctor", "--work-dir", str(road.root)]) == 0
    assert "unfinished" not in capsys.readouterr().out


def test_what_a_killed_run_deleted_stays_deleted_when_it_is_recovered(road):
    tasks = [task("d", "a.py::two"), task("t", "a.py::one", depends_on=["d"])]
    script = {"d": [removal("n1")], "t": [reply(edited("n1", TEN))]}
    assert road.killed("P6", tasks, script) == -signal.SIGKILL
    assert road.recover().state is RunState.DONE
    assert road.text("a.py") == A.replace("return 1", "return 10").replace(f"{TWO}\n\n", "")
    assert git(road.root, "status", "--porcelain") == ""
    assert len(road.of(WaveCommitted)) == 1


# I10
def test_what_failed_in_a_killed_run_has_still_failed_when_it_is_recovered(road):
    """It is killed between the commit of the wave and the record of it."""
    tasks = [
        task("bad", "b.py::one"),
        task("t", "a.py::one"),
        task("after", "b.py::two", depends_on=["bad"]),
    ]
    broken = {"error": {"kind": "bad_request", "message": "no such key"}}
    script = {"bad": [broken] * 2, "t": [reply(edited("n1", TEN))], "after": [removal("n1")]}
    assert road.killed("P6", tasks, script) == -signal.SIGKILL
    outcome = road.recover()
    assert outcome.state is RunState.FAILED
    states = {name: found.state for name, found in outcome.tasks.items()}
    assert states == {
        "bad": TaskState.FAILED,
        "t": TaskState.DONE,
        "after": TaskState.SKIPPED,
    }
    assert "no such key" in outcome.tasks["bad"].reason
