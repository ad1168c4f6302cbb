"""What the checks say of a whole wave, whose tasks they have judged one by one."""

from __future__ import annotations

from dataclasses import replace

from mak.checks import Change, run_checks
from mak.model import NodeId, Task
from mak.source import split
from mak.source.names import Reference, ReferenceKind

PATH = "a.py"
LONG = "def f(x):\n    y = x + 1\n    z = y * 2\n    w = z - 3\n    return w\n"
FIRST = "def g():\n    return 1\n"


def change(before: str, after: str, goal: str | None = None) -> Change:
    task = Task("t", goal, (NodeId(PATH, "f"),)) if goal is not None else None
    return Change(
        {PATH: split(before.encode(), PATH)}, {PATH: split(after.encode(), PATH)}, task=task
    )


def test_body_that_a_task_was_to_empty_stays_empty_in_its_wave() -> None:
    stub = "def f(x):\n    ...\n"
    assert run_checks(change(LONG, stub, goal="tidy f up"))
    assert not run_checks(change(LONG, stub, goal="make f a stub"))
    assert not run_checks(change(LONG, stub))


def test_file_that_two_tasks_changed_is_checked_as_a_whole() -> None:
    twice = change(FIRST, f"{FIRST}\n\ndef f():\n    return 2\n\n\ndef f():\n    return 3\n")
    assert [finding.check for finding in run_checks(twice)] == ["duplicate-symbol"]
    assert not run_checks(replace(twice, checked=frozenset({PATH})))


def test_definition_that_goes_is_missed_also_after_its_task_was_judged() -> None:
    """The task that was to change the caller may have failed meanwhile."""
    caller = NodeId("b.py", "caller")
    user = Reference("b.py", 0, 1, ReferenceKind.CALL, caller)
    gone = replace(change(f"{FIRST}\n\n{LONG}", LONG), references=lambda node, files: [user])
    for seen in (gone, replace(gone, checked=frozenset({PATH}))):
        assert [finding.check for finding in run_checks(seen)] == ["interface"]
    assert not run_checks(replace(gone, planned={caller}))
