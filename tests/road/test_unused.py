"""Nothing that an agent returned is dropped without a word: which, why, and where it is kept."""

from __future__ import annotations

import pytest

from mak.cli.main import main
from mak.config import Checks, Config, Gate, Repair
from mak.events import ReplyUnused
from mak.model import RunState
from tests.road.conftest import edited, reply, task, unchanged

NAMES = ("a", "b", "c", "x", "y", "z")
STUBS = "\n\n".join(f"def {name}():\n    return 0\n" for name in NAMES)


def one(name: str, value: object = 1, delay: float = 0.0) -> dict:  # type: ignore[type-arg]
    answer = reply(edited("n1", f"def {name}():\n    return {value}\n"))
    return {**answer, "delay_s": delay} if delay else answer


def test_answers_of_tasks_that_are_skipped_meanwhile_are_named(make_road, capsys) -> None:
    """The gate turns `a` down when `b` has settled upon it and `c` is still at work."""
    road = make_road({"shop.py": STUBS})
    gate = Gate(name="no-bad", command="! grep -q BAD shop.py")
    outcome = road.run(
        [
            task("a", "shop.py::a"),
            task("x", "shop.py::x"),
            task("b", "shop.py::b", depends_on=["a"]),
            task("c", "shop.py::c", depends_on=["a"]),
            task("y", "shop.py::y", depends_on=["x"]),
        ],
        {
            "a": [one("a", "'BAD'")],
            "x": [one("x", delay=0.5)],
            "b": [one("b")],
            "c": [one("c", delay=1.2)],
            "y": [one("y", delay=2.0)],
        },
        config=Config(checks=Checks(commands=(gate,)), repair=Repair(max_waves=0)),
        max_agents=8,
    )
    assert outcome.state is RunState.FAILED
    told = {(event.task, event.attempt): event for event in road.of(ReplyUnused)}
    assert told.keys() == {("a", 1), ("b", 1), ("c", 1)}
    assert "gate:no-bad" in told["a", 1].reason
    assert told["b", 1].reason == told["c", 1].reason == "depends on a, which failed"
    assert told["c", 1].where == f"mak show {outcome.run} --task c"
    where = ["--work-dir", str(road.root)]
    assert main(["show", outcome.run, "--task", "c", *where]) == 0
    shown = capsys.readouterr().out
    assert "def c():\n    return 1" in shown
    assert "unused  depends on a, which failed" in shown
    assert main(["show", outcome.run, "--events", *where]) == 0
    assert f"c (attempt 1): depends on a, which failed; kept: mak show {outcome.run}" in (
        capsys.readouterr().out
    )


def test_an_answer_that_another_one_replaces_is_named_with_its_reason(make_road) -> None:
    road = make_road({"shop.py": STUBS})
    outcome = road.run(
        [task("a", "shop.py::a"), task("b", "shop.py::b")],
        {
            "a": [reply(edited("n1", "def a(:\n")), one("a")],
            "b": [
                reply(
                    {"node": "n1", "status": "needs_locks", "new_source": "", "reason": "z"},
                    needs_locks=[{"symbol": "shop.py::z", "mode": "write", "why": "it calls it"}],
                ),
                reply(
                    edited("n1", "def b():\n    return z()\n"),
                    edited("n2", "def z():\n    return 1\n"),
                ),
            ],
        },
    )
    assert outcome.state is RunState.DONE, outcome.reason
    told = {(event.task, event.attempt): event.reason for event in road.of(ReplyUnused)}
    assert told.keys() == {("a", 1), ("b", 1)}
    assert told["a", 1].startswith("syntax: ")
    assert told["b", 1] == "asked again with shop.py::z"


def test_what_settled_in_a_plan_that_lands_whole_or_not_at_all_is_named(make_road) -> None:
    road = make_road({"shop.py": STUBS})
    outcome = road.run(
        [task("a", "shop.py::a"), task("b", "shop.py::b")],
        {
            "a": [one("a")],
            "b": [{"error": {"kind": "bad_request", "message": "no"}, "delay_s": 0.3}],
        },
        atomic=True,
    )
    assert outcome.state is RunState.FAILED
    (event,) = road.of(ReplyUnused)
    assert (event.task, event.attempt) == ("a", 1)
    assert "lands as a whole" in event.reason


@pytest.mark.parametrize("answer", [one("a"), reply(unchanged("n1"))])
def test_a_run_that_uses_all_of_its_answers_names_none(make_road, answer) -> None:
    road = make_road({"shop.py": STUBS})
    assert road.run([task("a", "shop.py::a")], {"a": [answer]}).state is RunState.DONE
    assert not road.of(ReplyUnused)


def test_a_recovered_run_names_what_was_turned_down_before_it_was_killed(make_road) -> None:
    road = make_road({"shop.py": STUBS})
    script = {"a": [reply(edited("n1", "def a(:\n")), one("a")]}
    road.killed("P6", [task("a", "shop.py::a")], script)
    assert road.recover().state is RunState.DONE
    (event,) = road.of(ReplyUnused)
    assert (event.task, event.attempt) == ("a", 1)
    assert event.reason.startswith("syntax: ")
