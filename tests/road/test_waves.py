"""A plan becomes wave commits: several agents in one file, retries, failures, order."""

from __future__ import annotations

from mak.events import ReplyRejected, TaskSkipped, TaskWaiting, WaveCommitted
from mak.model import RunState, TaskState
from tests.conftest import git
from tests.road.conftest import edited, reply, task

MODULE = '''"""Prices."""

RATE = 2


def net(x):
    return x


class Cart:
    """A cart."""

    def total(self):
        return 1

    def count(self):
        return 2
'''


def test_two_agents_edit_one_class_in_one_wave(make_road):
    road = make_road({"shop.py": MODULE})
    outcome = road.run(
        [task("a", "shop.py::Cart.total"), task("b", "shop.py::Cart.count")],
        {
            "a": [reply(edited("n1", "    def total(self):\n        return 10\n"))],
            "b": [reply(edited("n1", "    def count(self):\n        return 20\n"))],
        },
    )
    assert outcome.state is RunState.DONE
    assert road.text("shop.py") == MODULE.replace("return 1\n", "return 10\n").replace(
        "return 2\n", "return 20\n"
    )
    assert len(outcome.waves) == 1
    assert git(road.root, "rev-parse", "HEAD").strip() == outcome.head == outcome.waves[0].commit
    assert git(road.root, "status", "--porcelain") == ""


def test_commit_names_run_wave_plan_and_tasks(make_road):
    road = make_road({"shop.py": MODULE})
    outcome = road.run(
        [task("a", "shop.py::net")],
        {"a": [reply(edited("n1", "def net(x):\n    return x + 1\n"))]},
    )
    trailers = git(road.root, "log", "-1", "--format=%(trailers:only,unfold)").splitlines()
    named = dict(line.split(": ", 1) for line in trailers if line)
    assert named["MAK-Run"] == outcome.run
    assert named["MAK-Wave"] == "1"
    assert named["MAK-Kind"] == "wave"
    assert named["MAK-Tasks"] == "a"
    assert len(named["MAK-Plan"]) == 64


def test_a_dependent_task_sees_the_commit_before_it(make_road):
    road = make_road({"shop.py": MODULE})
    outcome = road.run(
        [task("a", "shop.py::net"), task("b", "shop.py::net", depends_on=["a"])],
        {
            "a": [reply(edited("n1", "def net(x):\n    return x + 1\n"))],
            "b": [reply(edited("n1", "def net(x):\n    return x + 2\n"))],
        },
    )
    assert [wave.tasks for wave in outcome.waves] == [("a",), ("b",)]
    assert "return x + 2" in road.text("shop.py")


def test_two_tasks_on_one_node_run_one_after_the_other(make_road):
    road = make_road({"shop.py": MODULE})
    outcome = road.run(
        [task("a", "shop.py::net"), task("b", "shop.py::net")],
        {
            "a": [{**reply(edited("n1", "def net(x):\n    return x + 1\n")), "delay_s": 0.05}],
            "b": [reply(edited("n1", "def net(x):\n    return x + 2\n"))],
        },
    )
    assert outcome.state is RunState.DONE
    assert [(w.task, w.holder) for w in road.of(TaskWaiting)] == [("b", "a")]
    assert "return x + 2" in road.text("shop.py")
    assert len(outcome.waves) == 1


def test_a_failed_task_skips_its_dependants_and_the_rest_lands(make_road):
    road = make_road({"shop.py": MODULE})
    outcome = road.run(
        [
            task("a", "shop.py::net"),
            task("b", "shop.py::Cart.total", depends_on=["a"]),
            task("c", "shop.py::Cart.count"),
        ],
        {
            "a": [{"error": {"kind": "bad_request", "message": "no such key"}}],
            "c": [reply(edited("n1", "    def count(self):\n        return 20\n"))],
        },
    )
    assert outcome.state is RunState.FAILED
    states = {name: result.state for name, result in outcome.tasks.items()}
    assert states == {"a": TaskState.FAILED, "b": TaskState.SKIPPED, "c": TaskState.DONE}
    assert "no such key" in outcome.tasks["a"].reason
    assert [event.because for event in road.of(TaskSkipped)] == ["a"]
    assert road.text("shop.py") == MODULE.replace("return 2\n", "return 20\n")


def test_a_rejected_reply_is_asked_again_with_the_reason(make_road):
    road = make_road({"shop.py": MODULE})
    outcome = road.run(
        [task("a", "shop.py::net")],
        {
            "a": [
                reply(edited("n1", "def net(x):\n    return (x\n")),
                reply(edited("n1", "def net(x):\n    return -x\n")),
            ]
        },
    )
    assert outcome.state is RunState.DONE
    assert outcome.tasks["a"].attempts == 2
    assert len(road.of(ReplyRejected)) == 1
    assert "return -x" in road.text("shop.py")


# I6
def test_an_edit_outside_the_grant_never_lands(make_road):
    road = make_road({"shop.py": MODULE})
    stray = reply(edited("n1", "def net(x):\n    return x\n\n\ndef gross(x):\n    return x\n"))
    outcome = road.run([task("a", "shop.py::net")], {"a": [stray, stray, stray]})
    assert outcome.state is RunState.FAILED
    assert outcome.tasks["a"].attempts == 3
    assert road.text("shop.py") == MODULE
    assert git(road.root, "log", "--format=%s").splitlines() == ["base"]


def test_an_atomic_plan_lands_nothing_when_one_task_fails(make_road):
    road = make_road({"shop.py": MODULE})
    outcome = road.run(
        [task("a", "shop.py::net"), task("b", "shop.py::Cart.total")],
        {
            "a": [reply(edited("n1", "def net(x):\n    return x + 1\n"))],
            "b": [{"error": {"kind": "bad_request", "message": "no such key"}}],
        },
        atomic=True,
    )
    assert outcome.state is RunState.FAILED
    assert road.of(WaveCommitted) == []
    assert road.text("shop.py") == MODULE


# I10
def test_nothing_to_change_is_a_result_that_needs_a_reason(make_road):
    road = make_road({"shop.py": MODULE})
    same = {"node": "n1", "status": "no_changes_required", "new_source": "", "reason": "it is so"}
    outcome = road.run([task("a", "shop.py::net")], {"a": [reply(same)]})
    assert outcome.state is RunState.DONE
    assert outcome.waves == ()
    assert outcome.tasks["a"].reason == "it is so"


def test_a_chain_of_1100_tasks_ends(make_road):
    road = make_road({"shop.py": MODULE})
    same = {"node": "n1", "status": "no_changes_required", "new_source": "", "reason": "it is so"}
    names = [f"t{i}" for i in range(1100)]
    tasks = [
        task(name, "shop.py::net", depends_on=[names[i - 1]] if i else [])
        for i, name in enumerate(names)
    ]
    outcome = road.run(tasks, {name: [reply(same)] for name in names})
    assert outcome.state is RunState.DONE
    assert len(outcome.tasks) == 1100
