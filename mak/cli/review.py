"""The person's word on a plan: approve it, change it, have it made anew, or abort."""

from __future__ import annotations

import dataclasses
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from mak.cli import render, terminal
from mak.cli.interrupt import ignored, read_line
from mak.cli.lines import count
from mak.errors import UsageError
from mak.model import Plan

if TYPE_CHECKING:
    from mak.kernel import Decision, Review

HEADER = """\
# The plan of this run. Save and close to have it checked and shown again;
# leave it as it is, or empty it, to go back without a change.
# writes: nodes to rewrite (#api: with their signature); reads: nodes to look at;
# creates: new files and symbols; depends_on: tasks whose wave comes first.
# The format: mak schema plan
"""
#: Where to put what is wrong with a plan, above the header.
ERROR = "# WRONG: "
WORDS = ("a", "approve", "y", "yes", "q", "quit", "abort", "n", "no", "e", "edit")
#: Nodes of a task that are shown, lines of each, and characters of a line.
NODES, LINES, WIDTH = 8, 12, 96
HELP = "[a]pprove  [e]dit  [d]rop TASK…  [k]eep TASK…  [s]how TASK  [q]uit"
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
    verbs = ["approve", "edit", "drop", "keep", "show", "quit"]
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

        with self._paused():
            show(review)
            while True:
                line = await self._ask(review)
                words = None if line is None else line.replace(",", " ").split()
                match words:
                    case ["a" | "approve" | "y" | "yes"]:
                        return Decision(approved=True)
                    case None | ["q" | "quit" | "abort" | "n" | "no"]:
                        return Decision(approved=False)
                    case ["e" | "edit"]:
                        with self._lent():
                            plan = edit(review.plan, review.problems)
                        if plan is not None:
                            return Decision(approved=True, plan=plan)
                        terminal.write_note("the plan is as it was")
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
    return dataclasses.replace(plan, tasks=kept)


def keep(plan: Plan, names: Collection[str]) -> Plan | None:
    """Take out all tasks but these and those that they depend on; None: that is nothing."""
    if _unknown(plan, names):
        return None
    kept = set(names)
    while more := {on for id in kept for on in plan.task(id).depends_on if on not in kept}:
        terminal.write_note(f"kept too, for it builds on them: {', '.join(sorted(more))}")
        kept |= more
    return dataclasses.replace(plan, tasks=tuple(task for task in plan.tasks if task.id in kept))


def edit(plan: Plan, problems: Callable[[Plan], tuple[str, ...]] = lambda plan: ()) -> Plan | None:
    """Let the person edit a plan as YAML until it is one that can be carried out.

    None: it is as it was. A text that is wrong and comes back as it was is kept in its file.
    """
    from mak.cli import planfile

    rejected = ""
    text = HEADER + planfile.write(plan)
    descriptor, name = tempfile.mkstemp(prefix="mak-plan-", suffix=".yaml")
    os.close(descriptor)
    path = Path(name)
    kept = False
    try:
        while True:
            path.write_text(text, encoding="utf-8")
            if not _run_editor(path):
                return None
            changed = path.read_text(encoding="utf-8", errors="replace")
            if changed == text or not changed.strip():
                return None
            try:
                edited = planfile.parse(changed, path.name)
                reasons = problems(edited)
            except UsageError as error:
                reasons = tuple(str(error).splitlines())
            if not reasons:
                return None if edited == plan else edited
            lines = changed.splitlines(keepends=True)
            body = "".join(line for line in lines if not line.startswith(ERROR))
            if body == rejected:
                _objections(reasons)
                terminal.write_note(f"your text is kept: mak run --plan {path}")
                kept = True
                return None
            rejected = body
            text = "".join(f"{ERROR}{line}\n" for line in reasons) + body
    finally:
        if not kept:
            path.unlink(missing_ok=True)


def _run_editor(path: Path) -> bool:
    """Open the person's editor on the terminal; whether it ended well."""
    command = _editor()
    if not command:
        terminal.write_note("no editor found: set EDITOR", "red")
        return False
    try:
        with ignored():
            # stdout may be a pipe that wants data.
            done = subprocess.run([*command, str(path)], stdout=sys.stderr.fileno(), check=False)
    except OSError as error:
        terminal.write_note(f"starting {command[0]}: {(error.strerror or '').lower()}", "red")
        return False
    if done.returncode:
        terminal.write_note(f"{command[0]} ended with {done.returncode}", "red")
    return done.returncode == 0


def _editor() -> list[str]:
    for name in ("VISUAL", "EDITOR"):
        if os.environ.get(name, "").strip():
            return shlex.split(os.environ[name])
    for program in ("sensible-editor", "nano", "vi"):
        if shutil.which(program):
            return [program]
    return []
