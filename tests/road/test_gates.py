"""The project's own commands judge every wave: what fails with them is not committed."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from mak.config import Checks, Config, Gate, Repair, When
from mak.events import GateRan, RepairPlanned, ReplyRejected, TaskTakenOut
from mak.model import RepairStop, RunState, TaskState
from tests.conftest import git
from tests.gates.test_process import is_gone, pid_in
from tests.road.conftest import Road, edited, environment, reply, snapshot, task

UNITTEST = f"{shlex.quote(sys.executable)} -m unittest -q"


def config(*gates: Gate, waves: int = 3, **checks: Any) -> Config:
    return Config(checks=Checks(commands=gates, **checks), repair=Repair(max_waves=waves))


def gate(command: str, name: str = "tests", **more: Any) -> Gate:
    return Gate(name=name, command=command, **more)


def module(**functions: int) -> str:
    return "\n\n".join(f"def {name}():\n    return {value}\n" for name, value in functions.items())


def asserting(**values: int) -> str:
    lines = ["import unittest", "import shop", "", "", "class T(unittest.TestCase):"]
    for name, value in values.items():
        lines += [
            f"    def test_{name}(self):",
            f"        self.assertEqual(shop.{name}(), {value})",
        ]
    return "\n".join([*lines, ""])


def becomes(name: str, value: int) -> dict[str, Any]:
    return reply(edited("n1", f"def {name}():\n    return {value}\n"))


SHOP = module(one=1, two=2, three=3, four=4)
FILES = {"shop.py": SHOP, "test_shop.py": asserting(one=1, two=2), ".gitignore": "__pycache__\n"}


def test_a_green_wave_is_committed_as_it_is(make_road) -> None:
    road = make_road(FILES)
    outcome = road.run(
        [task("a", "shop.py::three")], {"a": [becomes("three", 30)]}, config=config(gate(UNITTEST))
    )
    assert outcome.state is RunState.DONE and outcome.findings == ()
    assert [(run.gate, run.passed) for run in road.of(GateRan)] == [("tests", True)]


# I22
def test_of_a_red_wave_the_green_part_lands_and_the_culprit_comes_back(make_road) -> None:
    road = make_road(FILES)
    names = ("one", "two", "three", "four")
    outcome = road.run(
        [task(name, f"shop.py::{name}") for name in names],
        {
            "one": [becomes("one", 1)],
            "two": [becomes("two", 20)],
            "three": [becomes("three", 30)],
            "four": [becomes("four", 40)],
            "repair1-two": [becomes("two", 2), unchanged_reply(), becomes("two", 22)],
        },
        config=config(gate(UNITTEST)),
    )
    first, *_ = outcome.waves
    assert {"three", "four"} <= {*first.tasks} and "two" not in first.tasks
    assert [out.task for out in road.of(TaskTakenOut)] == ["two", "repair1-two"]
    assert "test_two" in road.of(TaskTakenOut)[0].subject
    assert road.text("shop.py") == module(one=1, two=2, three=30, four=40)
    assert outcome.state is RunState.FAILED and outcome.stopped is RepairStop.STALLED
    assert outcome.tasks["two"].state is TaskState.FAILED
    refused = [event.reason for event in road.of(ReplyRejected)]
    assert ["a change is required" in reason for reason in refused] == [True, True]
    assert "test_two" in outcome.findings[0].message and "gate:tests" in outcome.reason


def test_a_culprit_is_repaired_and_its_dependants_follow(make_road) -> None:
    road = make_road(FILES)
    tests = asserting(one=1, two=20)
    outcome = road.run(
        [
            task("t", "shop.py::two"),
            task("u", "shop.py::four", depends_on=["t"]),
            task("v", "shop.py::three"),
        ],
        {
            "t": [becomes("two", 20)],
            "v": [becomes("three", 30)],
            "repair1-t": [
                reply(
                    {"node": "n1", "status": "needs_locks", "new_source": "", "reason": "the test"},
                    needs_locks=[
                        {"symbol": "test_shop.py::T.test_two", "mode": "write", "why": "expects 2"}
                    ],
                ),
                reply(
                    edited("n1", "def two():\n    return 20\n"),
                    edited(
                        "n2",
                        "    def test_two(self):\n        self.assertEqual(shop.two(), 20)\n",
                    ),
                ),
            ],
            "repair1-u": [becomes("four", 40)],
        },
        config=config(gate(UNITTEST)),
    )
    assert outcome.state is RunState.DONE, outcome.reason
    assert road.text("shop.py") == module(one=1, two=20, three=30, four=40)
    assert road.text("test_shop.py") == tests
    assert [wave.tasks for wave in outcome.waves] == [("v",), ("repair1-t",), ("repair1-u",)]
    assert outcome.tasks["t"].state is outcome.tasks["u"].state is TaskState.DONE
    log = git(road.root, "log", "--format=%(trailers:key=MAK-Kind,valueonly)", "-3").split()
    assert log == ["repair", "repair", "wave"]
    (planned,) = road.of(RepairPlanned)
    assert planned.levels == (("repair1-t",), ("repair1-u",))


def test_what_was_red_before_is_nobodys_fault(make_road) -> None:
    road = make_road({**FILES, "test_shop.py": asserting(one=100, two=2)})
    road.run(
        [task("a", "shop.py::one"), task("b", "shop.py::two")],
        {"a": [becomes("one", 5)], "b": [becomes("two", 20)], "repair1-b": []},
        config=config(gate(UNITTEST)),
    )
    assert [out.task for out in road.of(TaskTakenOut)][:1] == ["b"]
    assert "test_one" not in road.of(TaskTakenOut)[0].subject
    assert road.text("shop.py") == SHOP.replace("return 1\n", "return 5\n")


def test_tasks_that_need_each_other_are_left_out_together(make_road) -> None:
    """The caller's edit only fits the new signature: no subset may hold one of the two."""
    shop = "def price(x):\n    return x\n\n\ndef pay():\n    return price(1)\n"
    road = make_road({"shop.py": shop, "other.py": module(a=1), "test_shop.py": TEST_PAY})
    outcome = road.run(
        [task("p", "shop.py::price#api"), task("q", "shop.py::pay"), task("o", "other.py::a")],
        {
            "p": [reply(edited("n1", "def price(x, y):\n    return x + y\n"))],
            "q": [reply(edited("n1", "def pay():\n    return price(1, 7)\n"))],
            "o": [reply(edited("n1", "def a():\n    return 2\n"))],
        },
        config=config(gate(UNITTEST), waves=0),
    )
    assert [wave.tasks for wave in outcome.waves] == [("o",)]
    assert {out.task for out in road.of(TaskTakenOut)} == {"p", "q"}
    assert road.text("shop.py") == shop
    assert outcome.state is RunState.FAILED and outcome.stopped is RepairStop.LIMIT
    assert "gate:tests" in outcome.reason


TEST_PAY = """\
import unittest
import shop


class T(unittest.TestCase):
    def test_pay(self):
        self.assertEqual(shop.pay(), 1)
"""


def test_a_task_to_come_may_see_to_what_fails(make_road) -> None:
    """The behaviour first, its test in the next wave, as the plan says: no word about it."""
    road = make_road(FILES)
    outcome = road.run(
        [
            task("t", "shop.py::two"),
            task("u", "test_shop.py::T.test_two", depends_on=["t"]),
        ],
        {
            "t": [becomes("two", 20)],
            "u": [
                reply(
                    edited(
                        "n1", "    def test_two(self):\n        self.assertEqual(shop.two(), 20)\n"
                    )
                )
            ],
        },
        config=config(gate(UNITTEST)),
    )
    assert outcome.state is RunState.DONE and outcome.findings == ()
    assert road.of(TaskTakenOut) == [] and road.of(RepairPlanned) == []


def test_what_was_put_off_and_never_seen_to_becomes_a_repair(make_road) -> None:
    road = make_road(FILES)
    same = "    def test_two(self):\n        self.assertEqual(shop.two(), 2 + 0)\n"
    good = same.replace("2 + 0", "20")
    outcome = road.run(
        [task("t", "shop.py::two"), task("u", "test_shop.py::T.test_two", depends_on=["t"])],
        {
            "t": [becomes("two", 20)],
            "u": [reply(edited("n1", same))],
            "repair1-1": [reply(unchanged_slot("n1"), edited("n2", good))],
        },
        config=config(gate(UNITTEST)),
    )
    (planned,) = road.of(RepairPlanned)
    assert planned.obligations == ("gate:tests: test_two (test_shop.T.test_two)",)
    assert outcome.state is RunState.DONE, outcome
    assert road.text("test_shop.py") == asserting(one=1, two=20)
    assert [wave.tasks for wave in outcome.waves] == [("t",), ("u",), ("repair1-1",)]


def unchanged_reply() -> dict[str, Any]:
    return reply(unchanged_slot("n1"))


def unchanged_slot(node: str) -> dict[str, str]:
    return {"node": node, "status": "no_changes_required", "new_source": "", "reason": "it is so"}


def test_gates_see_the_tree_and_never_a_key(make_road, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-very-secret")
    monkeypatch.setenv("ALLOWED", "yes")
    road = make_road(FILES)
    before = snapshot(road.root)
    command = 'env | grep -c secret > /dev/null && exit 1; test "$ALLOWED" = yes && grep 30 shop.py'
    outcome = road.run(
        [task("a", "shop.py::three")],
        {"a": [becomes("three", 30)]},
        config=config(gate(command), env=("ALLOWED", "ANTHROPIC_API_KEY")),
    )
    assert outcome.state is RunState.DONE, [run.output for run in road.of(GateRan)]
    assert snapshot(road.root) == before
    assert not (road.root / ".git/worktrees").exists()


REACHING = (
    "git config core.bare true; git config core.worktree /; git config --local user.name gate",
    "git config --global user.name gate; git config --global --add safe.directory '*'",
    "git config core.hooksPath /tmp; git sparse-checkout set none; git branch -D other",
    "git -c user.name=g -c user.email=g@g commit -qam gate; git stash; git tag -d v1",
    "git reflog expire --all --expire=now; git gc -q --prune=now; git worktree prune",
    "rm -rf .git; git config user.name gate; git init -q; git add -A; git reset -q --hard",
    'rm -rf "$(git rev-parse --absolute-git-dir)"; git config user.name gate',
)


def standing(root: Path) -> dict[str, Any]:
    """Return what a person has set, their index and files, and all refs but what MAK moves."""
    kept = {name: (root / name).read_bytes() for name in (".git/config", ".git/HEAD", "mine.txt")}
    kept |= {"home": Path.home().joinpath(".gitconfig").read_bytes(), **snapshot(root)}
    moved = ("refs/heads/main", "refs/mak/")
    refs = git(root, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    return kept | {
        "refs": [ref for ref in refs if not ref.startswith(moved)],
        "worktrees": git(root, "worktree", "list", "--porcelain").split("worktree ")[2:],
        "folder": sorted(path.name for path in root.iterdir()),
        "broken": git(root, "fsck", "--no-dangling"),
    }


@pytest.mark.parametrize("is_inside", [False, True])
def test_a_gate_that_does_anything_with_git_does_it_to_its_copy(
    make_road, monkeypatch: pytest.MonkeyPatch, is_inside: bool
) -> None:
    """Settings of a linked worktree are the person's, and so is what lies around a folder."""
    road = make_road(FILES)
    Path.home().joinpath(".gitconfig").write_text('[alias]\n\tx = "log\\n"\n[user]\n\tname = Ada\n')
    git(road.root, "tag", "v1")
    git(road.root, "worktree", "add", "-q", str(road.root.parent / "beside"), "-b", "other")
    road.root.joinpath("mine.txt").write_text("mine\n")
    if is_inside:
        road.root.joinpath(".git/info/exclude").write_text("tmp/\n")
        road.root.joinpath("tmp").mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(road.root / "tmp"))
    git(road.root, "add", "mine.txt")
    before = standing(road.root)
    outcome = road.run(
        [task("a", "shop.py::three"), task("b", "shop.py::two", depends_on=["a"])],
        {"a": [becomes("three", 30)], "b": [becomes("two", 20)]},
        config=config(
            *(gate(f"({what}) >&2; true", name=f"g{n}") for n, what in enumerate(REACHING))
        ),
    )
    assert outcome.state is RunState.DONE, outcome.reason
    assert len(outcome.waves) == 2
    assert standing(road.root) == before


def test_a_gate_reads_what_the_person_has_set(make_road) -> None:
    road = make_road(FILES)
    home = Path.home()
    home.joinpath("more").write_text('[user]\n\temail = "a\\\\b\\"c"\n[branch "x.y"]\n\tflag\n')
    home.joinpath(".gitconfig").write_text("[include]\n\tpath = more\n")
    git(road.root, "config", "mak.test", "theirs")
    asked = (
        'test "$(git config --global user.email)" = \'a\\b"c\' && git config --bool branch.x.y.flag'
        ' && test "$(git config mak.test)" = theirs'
        ' && test "$(git rev-parse --show-toplevel)" = "$PWD"'
        " && git diff --quiet"
    )
    # As in a submodule, whose files are told by its settings.
    git(road.root, "config", "core.worktree", str(road.root))
    outcome = road.run(
        [task("a", "shop.py::three")],
        {"a": [becomes("three", 30)]},
        config=config(gate("set -x; " + asked)),
    )
    assert outcome.state is RunState.DONE, (outcome.reason, road.of(GateRan))
    assert [run.verdict for run in road.of(GateRan)] == ["passed"], road.of(GateRan)


def test_a_gate_that_runs_too_long_is_a_gate_that_fails(make_road) -> None:
    road = make_road(FILES)
    outcome = road.run(
        [task("a", "shop.py::three")],
        {"a": [becomes("three", 30)]},
        config=config(gate("grep -q 30 shop.py && sleep 60; true", timeout=1.0), waves=0),
    )
    assert outcome.waves == () and outcome.stopped is RepairStop.LIMIT
    assert any("ran out of time" in run.verdict for run in road.of(GateRan))


def test_a_failure_that_does_not_come_twice_is_not_believed(make_road) -> None:
    road = make_road(FILES)
    flaky = "grep -q 30 shop.py || exit 0; test -e once.cache || { touch once.cache; exit 1; }"
    road.root.joinpath(".gitignore").write_text("*.cache\n__pycache__\n")
    git(road.root, "commit", "-qam", "ignore")
    outcome = road.run(
        [task("a", "shop.py::three")], {"a": [becomes("three", 30)]}, config=config(gate(flaky))
    )
    assert outcome.state is RunState.DONE
    assert "failed once of two times" in [run.verdict for run in road.of(GateRan)]


def test_a_gate_at_the_end_judges_once_and_finds_the_wave(make_road) -> None:
    road = make_road(FILES)
    outcome = road.run(
        [
            task("a", "shop.py::three"),
            task("b", "shop.py::two", depends_on=["a"]),
            task("c", "shop.py::four", depends_on=["b"]),
        ],
        {
            "a": [becomes("three", 30)],
            "b": [becomes("two", 20)],
            "c": [becomes("four", 40)],
            "repair1-1": [becomes("two", 2)],
        },
        config=config(gate(UNITTEST, when=When.END)),
    )
    assert outcome.state is RunState.DONE
    assert [wave.tasks for wave in outcome.waves] == [("a",), ("b",), ("c",), ("repair1-1",)]
    (planned,) = road.of(RepairPlanned)
    assert planned.obligations[0].startswith("gate:tests")
    plan = git(road.root, "show", f"refs/mak/runs/{outcome.run}:repair-001.json")
    assert '"shop.py::two"' in plan and '"shop.py::three"' not in plan


def test_an_atomic_plan_is_not_halved(make_road) -> None:
    road = make_road(FILES)
    outcome = road.run(
        [task("a", "shop.py::three"), task("b", "shop.py::two")],
        {"a": [becomes("three", 30)], "b": [becomes("two", 20)]},
        config=config(gate(UNITTEST)),
        atomic=True,
    )
    assert outcome.waves == () and outcome.state is RunState.FAILED
    assert "gate:tests" in outcome.reason
    assert road.text("shop.py") == SHOP


def test_pytest_runs_what_the_change_reaches_first(make_road) -> None:
    files = {
        **FILES,
        "test_shop.py": "import shop\n\n\ndef test_two():\n    assert shop.two() == 2\n",
        "test_other.py": "def test_other():\n    assert True\n",
    }
    road = make_road(files)
    command = f"{shlex.quote(sys.executable)} -m pytest -q -p no:cacheprovider"
    outcome = road.run(
        [task("t", "shop.py::two")],
        {"t": [becomes("two", 20)]},
        config=config(gate(command), waves=0),
    )
    assert outcome.waves == ()
    verdicts = [run.verdict for run in road.of(GateRan)]
    assert all("on the tests that the change reaches" in verdict for verdict in verdicts)
    assert "test_shop.py::test_two" in outcome.findings[0].message


# ------------------------------------------------------------------------------- round and round

PARITY = """\
import unittest
import shop


class T(unittest.TestCase):
    def test_even(self):
        self.assertEqual(shop.two() % 2, 0)

    def test_positive(self):
        self.assertGreater(shop.two(), 0)
"""


def test_from_one_failure_to_another_and_back_is_oscillating(make_road) -> None:
    road = make_road({**FILES, "test_shop.py": PARITY})
    outcome = road.run(
        [task("t", "shop.py::two")],
        {
            "t": [becomes("two", 3)],
            "repair1-t": [becomes("two", -2)],
            "repair2-t": [becomes("two", 5)],
        },
        config=config(gate(UNITTEST)).model_copy(update={"attempts": 1}),
    )
    assert outcome.stopped is RepairStop.OSCILLATING and outcome.waves == ()
    assert [event.subject for event in road.of(TaskTakenOut)] == [
        "test_even (test_shop.T.test_even)",
        "test_positive (test_shop.T.test_positive)",
        "test_even (test_shop.T.test_even)",
    ]


def test_what_is_answered_while_a_gate_runs_is_in_git_before_the_gate_ends(make_road) -> None:
    road = make_road(FILES)
    # The gate ends when the answer of another level is in Git, and fails if that never comes.
    theirs = f"git --git-dir={road.root}/.git"
    waits = (
        f"for i in $(seq 300); do {theirs} grep -q 'return 40' $({theirs} for-each-ref "
        "--format='%(objectname)' refs/mak/runs) && exit 0; sleep 0.1; done; exit 1"
    )
    late = {**becomes("four", 40), "delay_s": 0.5}
    outcome = road.run(
        [task("a", "shop.py::three"), task("b", "shop.py::four", depends_on=["a"])],
        {"a": [becomes("three", 30)], "b": [late]},
        config=config(gate(waits)),
    )
    assert outcome.state is RunState.DONE
    assert [run.verdict for run in road.of(GateRan)][:1] == ["passed"]


# ------------------------------------------------------------------------------ ends from outside


def started(road: Road, command: str) -> subprocess.Popen[bytes]:
    """Start a run whose gate leaves its process id in a file and takes long."""
    (road.root / ".mak").mkdir()
    settings = {"checks": {"commands": [{"name": "slow", "command": command}]}}
    (road.root / ".mak/config.yaml").write_text(json.dumps(settings))
    arguments = road.command([task("a", "shop.py::three")], {"a": [becomes("three", 30)]})
    return subprocess.Popen(
        [sys.executable, "-m", "mak", *arguments],
        cwd=road.root,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_nothing_is_left_of_a_gate_when_mak_ends(make_road, tmp_path: Path, number: int) -> None:
    road = make_road(FILES)
    pid_file, folder_file = tmp_path / "pid", tmp_path / "folder"
    process = started(road, f"pwd > {folder_file}; echo $$ > {pid_file}; sleep 300")
    pid = pid_in(pid_file)
    folder = Path(folder_file.read_text().strip())
    process.send_signal(number)
    assert process.wait(60) == (-number if number == signal.SIGKILL else 130)
    assert is_gone(pid)
    assert folder.is_dir() is (number == signal.SIGKILL)
    outcome = road.recover()  # with the defaults: no gate
    assert outcome.state is RunState.DONE and road.text("shop.py").count("return 30") == 1
    assert not folder.exists() and not folder.parent.exists()
    assert not (road.root / ".git/worktrees").exists()
    assert list((road.root / ".git/mak/scratch").iterdir()) == []


def test_a_second_ctrl_c_ends_a_gate_that_does_not_mind_the_first(make_road, tmp_path) -> None:
    road = make_road(FILES)
    pid_file = tmp_path / "pid"
    process = started(
        road, f"trap '' INT TERM HUP; echo $$ > {pid_file}; while :; do sleep 1; done"
    )
    pid = pid_in(pid_file)
    for _ in range(2):
        process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    assert is_gone(pid)
    assert git(road.root, "status", "--porcelain", "-uno") == "" and road.text("shop.py") == SHOP
    assert road.recover().state is RunState.DONE


def test_a_kill_while_culprits_are_looked_for_changes_nothing(make_road, tmp_path: Path) -> None:
    """Killed in the first gate; taken up, the replies are judged again from the record."""
    road = make_road(FILES)
    pid_file = tmp_path / "pid"
    process = started(road, f"echo $$ > {pid_file}; sleep 300")
    pid_in(pid_file)
    process.kill()
    process.wait(60)
    checks = Checks(commands=(gate("! grep -q 30 shop.py"),))
    outcome = road.recover(config=Config(checks=checks, repair=Repair(max_waves=0)))
    assert outcome.stopped is RepairStop.LIMIT and outcome.waves == ()
    assert outcome.tasks["a"].state is TaskState.FAILED and outcome.tasks["a"].attempts == 1
    assert road.text("shop.py") == SHOP
