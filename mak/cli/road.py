"""Carry out one run in front of a person: progress, Ctrl-C, the end, and the exit code."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from mak.cli import render, terminal
from mak.cli.command import EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED
from mak.cli.interrupt import Interrupts
from mak.cli.live import View
from mak.model import Outcome, RunState

if TYPE_CHECKING:
    from mak.store import Store

T = TypeVar("T")


def carry_out(
    store: Store, view: View, start: Callable[[], Awaitable[Outcome]], *, json: bool = False
) -> int:
    """Run `start` under `view`, tell how it ended, and return the exit code."""
    return tell(store, view, walk(view, start), json=json)


def walk(
    view: View, start: Callable[[], Awaitable[T]], leaving: Callable[[], None] = lambda: None
) -> T | None:
    """Run `start` under `view`; None: it was interrupted before it had an outcome.

    `leaving` is called before a second Ctrl-C ends the process.
    """
    try:
        return Interrupts(view.say, leaving).run(start)
    finally:
        view.close()


def tell(store: Store, view: View, outcome: Outcome | None, *, json: bool = False) -> int:
    """Tell how a run ended and return the exit code.

    The outcome is the data of a run: on stdout, as text or as one JSON document.
    """
    if outcome is None:
        terminal.write_note(f"Run {view.progress.run} was interrupted".replace("  ", " "), "bold")
        if view.progress.approved:
            terminal.write_note(f"Next: mak run --recover {view.progress.run}")
        else:
            terminal.write_note("Nothing was changed: its plan was not approved yet")
        if json:
            approved = view.progress.approved
            hint = f"mak run --recover {view.progress.run}" if approved else ""
            terminal.write_failure("interrupted", hint)
        return EXIT_INTERRUPTED
    from mak.runlog import read_plan

    plan = read_plan(store, outcome.run)
    decisions = plan.decisions if plan else ()
    lines = list(render.outcome(outcome, view.progress, store.branch, decisions))
    if json:
        from mak.kernel import outcome_json

        for line in lines:
            terminal.write_note(line.text, line.style)
        told = {"decisions": list(decisions), "remarks": list(view.progress.remarks)}
        terminal.write_json({**outcome_json(outcome), **told})
    else:
        terminal.write_data("\n".join(terminal.clean(line.text) for line in lines))
    return exit_code(outcome)


def exit_code(outcome: Outcome) -> int:
    """Return 0 only when everything landed."""
    match outcome.state:
        case RunState.DONE:
            return EXIT_DONE
        case RunState.INTERRUPTED:
            return EXIT_INTERRUPTED
        case _:
            return EXIT_FAILED
