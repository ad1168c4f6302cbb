"""The person's word on a plan: approve it, change it, have it made anew, or abort."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from mak.cli import render, terminal
from mak.cli.editing import edit
from mak.cli.interrupt import read_line
from mak.cli.lines import count
from mak.model import Plan

if TYPE_CHECKING:
    from mak.kernel import Decision, Review

WORDS = ("a", "approve", "y", "yes", "q", "quit", "abort", "n", "no", "e", "edit", "b", "back")
#: What does not touch an edit that is no plan yet.
BESIDE = ("e", "edit", "b", "back", "q", "quit", "abort", "n", "no", "s", "show", "?", "h", "help")
#: Nodes of a task that are shown, lines of each, and characters of a line.
NODES, LINES, WIDTH = 8, 12, 96
HELP = "[a]pprove  [e]dit  [d]rop TASK…  [k]eep TASK…  [s]how TASK  [q]uit"
EDITING = "[e]dit again  [b]ack to the plan as it was  [s]how TASK  [q]uit"
AGAIN = "[r]emark TEXT: have it planned again"

#: Waits for a line about a review; None: there will be none.
AskLine = Callable[["Review"], Awaitable[str | None]]


async def ask_line(review: Review) -> str | None:
    """Ask on stderr for a line from stdin."""
    sys.stderr.write(f"\n{choices(review)}\n> ")
    sys.stderr.flush()
    return await read_line()


def choices(review: Review) -> str:
    """Return what can be said about a plan."""
    return f"{HELP}\n{AGAIN}" if review.planned else HELP


def words(review: Review) -> list[str]:
    """Return the words that an answer is made of: what to do, and the tasks."""
    verbs = ["approve", "edit", "drop", "keep", "show", "quit", "back", "help"]
    return [*verbs, *(["remark"] if review.planned else []), *(t.id for t in review.plan.tasks)]


class Reviewer:
    """Asks at the terminal.

    `paused` takes a live view off the screen meanwhile, `lent` leaves the keyboard to an editor.
    """

    def __init__(
        self,
        paused: Callable[[], AbstractContextManager[None]],
        ask: AskLine = ask_line,
        lent: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._paused = paused
        self._ask = ask
        self._lent = lent

    async def __call__(self, review: Review) -> Decision:
        """Show the plan and wait for a decision; a changed plan comes back to be shown again."""
        from mak.kernel import Decision

        #: What the person wrote, where it is no plan yet.
        draft: Path | None = None
        with self._paused():
            show(review)
            while True:
                line = await self._ask(review)
                words = None if line is None else line.replace(",", " ").split()
                if draft and words and words[0] not in BESIDE:
                    terminal.write_note(f"your edit is no plan yet: {EDITING}", "red")
                    continue
                match words:
                    case ["a" | "approve" | "y" | "yes"]:
                        return Decision(approved=True)
                    case None | ["q" | "quit" | "abort" | "n" | "no"]:
                        return Decision(approved=False)
                    case ["e" | "edit"]:
                        with self._lent():
                            edited = edit(review.plan, review.problems, draft)
                        if isinstance(edited, Plan):
                            return Decision(approved=True, plan=edited)
                        draft = edited.path if edited else None
                        if edited:
                            _objections(edited.reasons)
                            terminal.write_note(f"{EDITING}\nkept: mak run --plan {edited.path}")
                        else:
                            terminal.write_note("the plan is as it was")
                    case ["b" | "back"]:
                        if draft:
                            draft.unlink(missing_ok=True)
                        draft = None
                        terminal.write_note("the plan is as it was")
                    case ["?" | "h" | "help"]:
                        terminal.write_note(EDITING if draft else choices(review))
                    case ["d" | "drop", *names] if names:
                        plan = drop(review.plan, names)
                        if plan is not None and not _objections(review.problems(plan)):
                            return Decision(approved=True, plan=plan)
                    case ["k" | "keep", *names] if names:
                        plan = keep(review.plan, names)
                        if plan is not None and not _objections(review.problems(plan)):
                            return Decision(approved=True, plan=plan)
                    case ["r" | "remark", _, *_] if review.planned and line is not None:
                        return Decision(approved=True, remark=line.strip().split(None, 1)[1])
                    case ["r" | "remark"] if review.planned:
                        terminal.write_note("say what the planner should do otherwise: r TEXT")
                    case ["s" | "show", *names] if names:
                        _tell(review, names)
                    case ["d" | "drop" | "k" | "keep" | "s" | "show" as word]:
                        tasks = ", ".join(task.id for task in review.plan.tasks)
                        terminal.write_note(f"{word} which task? {tasks}")
                    case [word, *_] if word not in WORDS:
                        terminal.write_note(f"unknown command {word!r}", "red")
                    case [word, *_]:
                        terminal.write_note(f"{word} stands alone", "red")


def show(review: Review) -> None:
    """Write the plan to stderr."""
    terminal.write_note("")
    for line in render.plan(review):
        terminal.write_note(line.text, line.style)


def _tell(review: Review, names: Collection[str]) -> None:
    """Show the goals of tasks, and how what they write begins."""
    for task in review.plan.tasks:
        if task.id not in names:
            continue
        terminal.write_note(f"{task.id}: {task.goal.strip()}")
        for node in task.writes[:NODES]:
            terminal.write_note("")
            terminal.write_note(f"  {node}", "bold")
            for line in head(review.text(node)):
                terminal.write_note(f"    {line}", exact=True)
        if len(task.writes) > NODES:
            terminal.write_note(f"  and {count(len(task.writes) - NODES, 'node')} more")
    _unknown(review.plan, names)


def head(text: str) -> Iterator[str]:
    """Yield the first lines of a text, cut to a screen's width, and how many more there are."""
    lines = text.strip("\n").expandtabs(4).splitlines()
    for line in lines[:LINES]:
        yield line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}…"
    if len(lines) > LINES:
        yield f"… {count(len(lines) - LINES, 'more line')}"


def _unknown(plan: Plan, names: Collection[str]) -> bool:
    missing = sorted(set(names) - {task.id for task in plan.tasks})
    if missing:
        terminal.write_note(f"the plan has no task {', '.join(missing)}", "red")
    return bool(missing)


def _objections(reasons: Collection[str]) -> bool:
    for reason in reasons:
        terminal.write_note(reason, "red")
    return bool(reasons)


def drop(plan: Plan, names: Collection[str]) -> Plan | None:
    """Take tasks out of a plan, and every task that depends on them; None: nothing is left."""
    if _unknown(plan, names):
        return None
    gone = set(names)
    while more := {t.id for t in plan.tasks if t.id not in gone and gone & set(t.depends_on)}:
        terminal.write_note(f"dropped too, for what they depend on: {', '.join(sorted(more))}")
        gone |= more
    kept = tuple(task for task in plan.tasks if task.id not in gone)
    if not kept:
        terminal.write_note("that is all of it; type q to abort the run", "red")
        return None
    terminal.write_note(f"dropped {count(len(gone), 'task')}")
    return _only(plan, {task.id for task in kept})


def keep(plan: Plan, names: Collection[str]) -> Plan | None:
    """Take out all tasks but these and those that they depend on; None: that is nothing."""
    if _unknown(plan, names):
        return None
    kept = set(names)
    while more := {on for id in kept for on in plan.task(id).depends_on if on not in kept}:
        terminal.write_note(f"kept too, for it builds on them: {', '.join(sorted(more))}")
        kept |= more
    return _only(plan, kept)


def _only(plan: Plan, kept: Collection[str]) -> Plan:
    """Return a plan with these of its tasks, which knows what the others were to write."""
    from mak.plan import without

    gone = [task for task in plan.tasks if task.id not in kept]
    left = tuple(task for task in plan.tasks if task.id in kept)
    return without(dataclasses.replace(plan, tasks=left), gone)
