from __future__ import annotations

import typing

import pytest

from mak.cli.lines import line, money, seconds, short, some, tokens
from mak.cli.progress import Progress
from mak.cli.terminal import clean, columns, fitting, fold
from mak.events import (
    Event,
    GateRan,
    GateStarted,
    PlanAsked,
    Planned,
    Remark,
    RepairPlanned,
    RepairStopped,
    ReplyParked,
    ReplyRejected,
    ReplyUnused,
    Reviewed,
    RunFinished,
    RunStarted,
    Spent,
    TaskFailed,
    TaskHeld,
    TaskSettled,
    TaskSkipped,
    TaskStarted,
    TaskTakenOut,
    TaskWaiting,
    TaskWidened,
    WaveCommitted,
    WaveHeld,
    WaveMerged,
)
from mak.model import TaskState, Usage

SPENT = Usage(input=1200, output=340, calls=1, cost=0.0123)
COMMIT = "0123456789abcdef0123456789abcdef01234567"

#: A run with everything that can happen in one, and what is said about it.
STORY: list[tuple[Event, str]] = [
    (RunStarted("r1", "refs/heads/main", COMMIT), "run      r1 on main at 0123456789"),
    (PlanAsked("anthropic", 1), "plan     asking anthropic"),
    (
        PlanAsked("anthropic", 2, "no node a.py::x"),
        "plan     asking anthropic, attempt 2: no node a.py::x",
    ),
    (
        Planned((("a", "b", "c", "d", "e"), ("f",)), (), SPENT),
        "plan     6 tasks in 2 waves, 1.2k tokens in, 340 out",
    ),
    (Reviewed(True, ("f",)), "review   approved, dropped f"),
    (
        TaskStarted("a", 1, "builtin", ("x.py::f", "x.py::g", "x.py::h", "x.py::i")),
        "start    a: builtin on x.py::f, x.py::g, x.py::h and 1 more",
    ),
    (TaskWaiting("b", "x.py::f", "a"), "wait     b: x.py::f is held by a"),
    (ReplyParked("a", 1, "edited", SPENT), "reply    a: edited, 1.2k tokens in, 340 out"),
    (
        Spent("a", 1, "claude", SPENT),
        "spent    a in wave 1: claude, 1.2k tokens in, 340 out, $0.0123",
    ),
    (
        ReplyRejected("a", 1, "elision", "the body is left out"),
        "reject   a (attempt 1): elision: the body is left out",
    ),
    (
        TaskStarted("a", 2, "builtin", ("x.py::f",)),
        "start    a (attempt 2): builtin on x.py::f",
    ),
    (ReplyParked("a", 2, "edited", Usage(), reused=True), "reply    a: edited, kept from before"),
    (TaskWidened("a", ("y.py::k",), True), "widen    a: y.py::k, queued"),
    (TaskSettled("a", ("x.py::f",)), "ok       a: x.py::f"),
    (TaskSettled("c", ()), "ok       c: no change"),
    (GateStarted("tests", ("a", "b")), "gate     tests judges 2 tasks"),
    (
        GateRan("tests", COMMIT, False, "failed", 2.0, ("a", "b"), "1 failed"),
        "gate     tests: failed (2 tasks), 2.0s",
    ),
    (
        TaskTakenOut("b", 1, "gate:tests", "tests fails with it", "1 failed"),
        "out      b: gate:tests: tests fails with it",
    ),
    (TaskHeld("c", "HTTP 401: no key"), "hold     c: HTTP 401: no key"),
    (TaskFailed("b", "refused"), "fail     b: refused"),
    (TaskSkipped("d", "b"), "skip     d: depends on b"),
    (
        WaveMerged(0, ("x.py",)),
        "merge    wave 1: merged with edits made meanwhile in x.py",
    ),
    (WaveHeld(0, ("x.py",), "both changed f"), "hold     wave 1: x.py: both changed f"),
    (
        WaveCommitted(0, COMMIT, "change f", ("a", "c")),
        "commit   wave 1: 0123456789 change f (2 tasks)",
    ),
    (
        RepairPlanned(1, (("repair1-b",),), ("gate:tests",)),
        "repair   plan 1: 1 task; gate:tests",
    ),
    (RepairStopped("stalled", ("gate:tests",)), "repair   stalled: gate:tests"),
    (
        ReplyUnused("a", 1, "elision: the body is left out", "mak show r1 --task a"),
        "unused   a (attempt 1): elision: the body is left out; kept: mak show r1 --task a",
    ),
    (Remark("a wave was finished"), "note     a wave was finished"),
    (RunFinished("failed", "b failed"), "end      failed: b failed"),
]


@pytest.mark.parametrize(("event", "said"), STORY, ids=lambda value: type(value).__name__)
def test_every_event_is_one_line(event: Event, said: str) -> None:
    assert str(line(event)) == said


def test_every_kind_of_event_is_in_the_story() -> None:
    assert {type(event) for event, _ in STORY} == set(typing.get_args(Event))


def test_progress_knows_who_works_who_waits_and_what_it_cost() -> None:
    progress = Progress()
    for second, (event, _) in enumerate(STORY[:11]):
        progress.update(event, float(second))
    assert progress.run == "r1" and progress.approved
    assert (progress.total, progress.waves) == (5, 2)
    working, waiting = progress.active.values()
    assert (working.task, working.state, working.attempt) == ("a", TaskState.RUNNING, 2)
    assert working.since == 10.0
    assert (waiting.task, waiting.state) == ("b", TaskState.PENDING)
    assert (waiting.phase, waiting.node) == ("waits:", "a holds x.py::f")
    before = progress.usage
    for task in ("", "a"):
        progress.update(Spent(task, 0, "m", SPENT), 11.0)
    assert progress.usage.input == before.input + 2 * SPENT.input
    assert progress.usage.cost == pytest.approx((before.cost or 0) + 2 * 0.0123)


def test_progress_counts_how_tasks_ended() -> None:
    progress = Progress()
    for event, _ in STORY:
        progress.update(event, 0.0)
    assert progress.active == {}
    assert progress.ended == {
        "a": TaskState.DONE,
        "b": TaskState.FAILED,
        "c": TaskState.DONE,
        "d": TaskState.SKIPPED,
    }
    assert progress.count(TaskState.FAILED, TaskState.SKIPPED) == 2
    assert progress.subjects == {COMMIT: "change f"}
    assert progress.finished


def test_task_that_is_asked_again_after_it_settled_works_again() -> None:
    progress = Progress()
    progress.update(TaskSettled("a", ()), 0.0)
    progress.update(ReplyRejected("a", 1, "moved", "the branch moved"), 1.0)
    progress.update(TaskStarted("a", 2, "builtin", ()), 2.0)
    assert progress.ended == {}
    assert progress.active["a"].state is TaskState.RUNNING


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (999, "999"), (1_000, "1.0k"), (12_345, "12.3k"), (999_960, "1.0M")],
)
def test_counts_are_short(number: int, text: str) -> None:
    assert short(number) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.04, "0.0s"),
        (9.94, "9.9s"),
        (9.96, "10s"),
        (59.7, "1m00s"),
        (185, "3m05s"),
        (7800, "2h10m"),
    ],
)
def test_durations_are_short(value: float, text: str) -> None:
    assert seconds(value) == text


@pytest.mark.parametrize(
    ("cost", "text"),
    [(None, "cost unknown"), (0.0, "$0.00"), (0.0042, "$0.0042"), (12.345, "$12.35")],
)
def test_money_shows_the_digits_that_matter(cost: float | None, text: str) -> None:
    assert money(cost) == text


def test_tokens_that_were_estimated_say_so() -> None:
    assert tokens(Usage()) == ""
    assert tokens(Usage(input=5, output=6, estimated=True)) == "about 5 tokens in, 6 out"


def test_few_names_are_all_shown() -> None:
    assert some(("a", "b", "c")) == "a, b, c"
    assert some(()) == ""


def test_clean_shows_what_could_steer_a_terminal() -> None:
    assert clean("a\x1b]0;x\x07b\u202ec\ud800\td\ne") == "a\\x1b]0;x\\x07b\\u202ec\\ud800\td\ne"
    assert clean("grüße, 你好") == "grüße, 你好"


def test_columns_align_and_clean_their_cells() -> None:
    assert columns([("a", "bb", "c"), ("dddd", "e"), ("\x07", "f", "")]) == [
        "a     bb  c",
        "dddd  e",
        "\\x07  f",
    ]
    assert columns([]) == []


def test_rows_are_cut_to_the_terminal_and_whole_anywhere_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert fitting(["x" * 500]) == ["x" * 500]
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "40")
    assert fitting(["x" * 500, "y"]) == ["x" * 39 + "…", "y"]


def test_line_that_is_too_long_goes_on_below_its_last_column() -> None:
    assert fold("ok       one: a.py::f, b.py::g", 20).splitlines() == [
        "ok       one:",
        "         a.py::f,",
        "         b.py::g",
    ]
    assert fold("  added by MAK: it calls", 15).splitlines() == [
        "  added by MAK:",
        "    it calls",
    ]
    assert fold(f"see {'long' * 9} there", 20).splitlines() == [
        "see",
        f"  {'long' * 9}",
        "  there",
    ]
    assert fold("as it is", 8) == "as it is"
