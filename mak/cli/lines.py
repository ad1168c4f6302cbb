"""Events as one line each, for logs, pipes and the scrollback above the live view."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

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
from mak.model import Usage, branch_name

#: Names of nodes shown in one line; the rest is counted.
SHOWN = 3


class Line(NamedTuple):
    """What to say about an event, and in which rich style."""

    label: str
    text: str
    style: str = ""

    def __str__(self) -> str:
        return f"{self.label:<8} {self.text}"


def line(event: Event) -> Line:
    """Say what happened."""
    match event:
        case RunStarted(run, branch, base, recovered):
            at = f" at {base[:10]}" if base else " (no commit yet)"
            text = f"{run} on {branch_name(branch)}{at}"
            return Line("recover" if recovered else "run", text, "bold")
        case PlanAsked(model, attempt, reason):
            again = f", attempt {attempt}: {reason}" if attempt > 1 else ""
            return Line("plan", f"asking {spec(model)}{again}")
        case Planned(levels, _, usage, _):
            tasks = sum(len(level) for level in levels)
            waves = count(len(levels), "wave")
            return Line("plan", f"{count(tasks, 'task')} in {waves}{_after(tokens(usage))}")
        case Reviewed(approved, dropped):
            text = "approved" if approved else "declined"
            return Line("review", text + (f", dropped {', '.join(dropped)}" if dropped else ""))
        case TaskWaiting(task, node, holder):
            return Line("wait", f"{task}: {node} is held by {holder}", "yellow")
        case TaskStarted(task, attempt, model, nodes, _):
            again = f" (attempt {attempt})" if attempt > 1 else ""
            return Line("start", f"{task}{again}: {spec(model)} on {some(nodes)}")
        case ReplyParked(task, attempt, status, usage, reused):
            text = f"{task}: {status}{_after(tokens(usage))}"
            return Line("reply", text + (", kept from before" if reused else ""))
        case Spent(task, wave, model, usage):
            what = f"{task} in wave {wave}" if task else "planning"
            return Line(
                "spent", f"{what}: {spec(model)}{_after(tokens(usage))}, {money(usage.cost)}"
            )
        case ReplyRejected(task, attempt, check, reason):
            # What a command wrote may follow: `mak show` tells it.
            first_line, *more = reason.splitlines() or [""]
            rest = f" … ({count(len(more), 'more line')})" if more else ""
            text = f"{task} (attempt {attempt}): {check}: {first_line}{rest}"
            return Line("reject", text, "yellow")
        case TaskWidened(task, nodes, queued):
            return Line("widen", f"{task}: {some(nodes)}{', queued' if queued else ''}")
        case TaskSettled(task, changed):
            return Line("ok", f"{task}: {some(changed) if changed else 'no change'}", "green")
        case TaskFailed(task, reason):
            return Line("fail", f"{task}: {reason}", "red")
        case TaskSkipped(task, because):
            return Line("skip", f"{task}: depends on {because}", "red")
        case WaveMerged(wave, paths):
            return Line(
                "merge", f"wave {wave + 1}: merged with edits made meanwhile in {some(paths)}"
            )
        case WaveHeld(wave, paths, reason):
            return Line("hold", f"wave {wave + 1}: {some(paths)}: {reason}", "bold red")
        case WaveCommitted(wave, commit, subject, tasks):
            text = f"wave {wave + 1}: {commit[:10]} {subject} ({count(len(tasks), 'task')})"
            return Line("commit", text, "bold green")
        case GateStarted(gate, tasks):
            return Line("gate", judging(gate, tasks))
        case GateRan(gate, _, passed, verdict, took, tasks):
            of = f" ({count(len(tasks), 'task')})" if tasks else ""
            text = f"{gate}: {verdict}{of}, {seconds(took)}"
            return Line("gate", text, "green" if passed else "yellow")
        case TaskTakenOut(task, _, check, subject, _):
            return Line("out", f"{task}: {check}: {subject}", "yellow")
        case TaskHeld(task, reason):
            return Line("hold", f"{task}: {reason}", "bold red")
        case RepairPlanned(number, levels, obligations):
            repairs = count(sum(len(level) for level in levels), "task")
            return Line("repair", f"plan {number}: {repairs}; {some(obligations)}", "bold")
        case RepairStopped(why, outstanding):
            return Line("repair", f"{why}: {some(outstanding)}", "bold red")
        case ReplyUnused(task, attempt, reason, where):
            return Line("unused", f"{task} (attempt {attempt}): {reason}; kept: {where}")
        case Remark(text):
            return Line("note", text)
        case RunFinished(state, reason):
            return Line("end", f"{state}: {reason}" if reason else state, "bold")


def judging(gate: str, tasks: Sequence[str]) -> str:
    """Return what a command of the project does while it runs."""
    return f"{gate} judges {count(len(tasks), 'task')}" if tasks else f"{gate} runs"


def some(names: tuple[str, ...]) -> str:
    """Return the first names, and how many more there are."""
    text = ", ".join(names[:SHOWN])
    return f"{text} and {len(names) - SHOWN} more" if len(names) > SHOWN else text


def first(texts: Iterable[str], most: int = 20) -> Iterator[str]:
    """Yield each text once, at most `most` of them, and how many more there are."""
    each = list(dict.fromkeys(texts))
    yield from each[:most]
    if len(each) > most:
        yield f"and {len(each) - most} more"


def count(number: int, noun: str) -> str:
    """Return ``1 task``, ``2 tasks``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def tokens(usage: Usage) -> str:
    """Return what was used; empty when nothing was."""
    if not usage.input and not usage.output:
        return ""
    about = "about " if usage.estimated else ""
    return f"{about}{short(usage.input)} tokens in, {short(usage.output)} out"


def money(cost: float | None) -> str:
    """Return US dollars with the digits that matter; ``cost unknown`` when there is no price."""
    if cost is None:
        return "cost unknown"
    return f"${cost:.2f}" if cost >= 1 or not cost else f"${cost:.4f}"


def short(number: int) -> str:
    """Return a count in at most four figures: ``950``, ``12.3k``, ``4.0M``."""
    if number < 1_000:
        return str(number)
    if number < 999_950:
        return f"{number / 1_000:.1f}k"
    return f"{number / 1_000_000:.1f}M"


def spec(text: str) -> str:
    """Return a model spec without the folder of a file, or the host of a server."""
    name, colon, rest = text.partition(":")
    rest = rest.rpartition("/")[2] if name in ("scripted", "replay") else rest
    return f"{name}{colon}{rest.partition('@')[0]}"


def bare(text: str) -> str:
    """Return the model of a spec without its endpoint."""
    return spec(text).partition(":")[2] or text


def seconds(value: float) -> str:
    """Return a duration: ``0.4s``, ``12s``, ``3m05s``, ``2h10m``."""
    if value < 9.95:
        return f"{value:.1f}s"
    whole = round(value)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02}s"
    return f"{whole // 3600}h{whole % 3600 // 60:02}m"


def _after(text: str) -> str:
    return f", {text}" if text else ""
