"""Plans and outcomes as lines for a person."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from mak.cli.lines import count, first, money, short, some
from mak.cli.progress import Progress
from mak.cli.runs import next_command
from mak.cli.story import shares, used
from mak.events import Planned
from mak.model import LEFT, NodeId, Outcome, Plan, RunState, Task, TaskState, branch_name

if TYPE_CHECKING:
    from mak.kernel import Review
    from mak.plan import Estimate

#: Files of a task, and hot nodes of a plan, that are listed one by one.
SHOWN = 8
#: From so many tasks on that do one thing, a line for each file is shown; nodes on that line.
MANY, FEW = 6, 4
#: How much faster several agents are to be than one, to be worth it.
WORTH_IT = 1.3


class Styled(NamedTuple):
    """A line and its rich style."""

    text: str
    style: str = ""


def plan(review: Review) -> Iterator[Styled]:
    """Show a plan: tasks by wave with targets, remarks, hot nodes, tokens and cost."""
    tasks, waves = len(review.plan.tasks), len(review.levels)
    what = "Repairs" if any(task.obligations for task in review.plan.tasks) else "Plan"
    yield Styled(f"{what}: {count(tasks, 'task')} in {count(waves, 'wave')}", "bold")
    for decision in first(review.plan.decisions):
        yield Styled(f"  {decided(review.plan)}: {decision}")
    if review.plan.atomic:
        yield Styled("  all or nothing: when one task fails, no more is committed")
    for number, level in enumerate(review.levels, 1):
        yield Styled("")
        yield Styled(f"Wave {number}", "bold")
        yield from _wave([review.plan.task(task_id) for task_id in level])
    if review.remarks:
        yield Styled("")
        yield Styled("Remarks", "bold yellow")
        yield from (Styled(f"  {remark}", "yellow") for remark in first(review.remarks))
    if review.hot:
        yield Styled("")
        yield Styled("Hot nodes", "bold")
        for node, number in review.hot[:SHOWN]:
            how = "which append side by side" if node in review.appended else "which take turns"
            yield Styled(f"  {node}  {count(number, 'task')}, {how}")
        if len(review.hot) > SHOWN:
            yield Styled(f"  and {len(review.hot) - SHOWN} more")
    yield Styled("")
    yield Styled(f"Estimate: {estimate(review.estimate)}", "bold")
    yield from _forecast(review)


def decided(plan: Plan) -> str:
    """Return how a planner's decisions are headed: they speak of the tasks that it planned."""
    return "decided before tasks were dropped" if plan.dropped else "decided"


def _forecast(review: Review) -> Iterator[Styled]:
    """Tell how many rounds it takes, and what several agents are worth."""
    found = review.forecast
    rounds = f"{count(found.rounds, 'round')} of agents"
    yield Styled(f"Forecast: {rounds}, {found.speedup:.1f} x as fast as one agent")
    if len(review.plan.tasks) > 1 and found.speedup < WORTH_IT:
        yield Styled("  its tasks hardly run side by side; one agent would do", "yellow")


def _wave(tasks: Sequence[Task]) -> Iterator[Styled]:
    """Show the tasks of a wave; where many do one thing in a file each, a line for each file."""
    shares: dict[str, list[Task]] = {}
    for task in tasks:
        shares.setdefault(_one_thing(task), []).append(task)
    for what, group in shares.items():
        if what and len(group) >= MANY:
            yield from _shared(what, group)
        else:
            for task in group:
                yield from _task(task)


def _one_thing(task: Task) -> str:
    """Return what a task does its share of, in the only file that it names; else nothing."""
    paths = {node.path for node in (*task.writes, *task.creates)}
    goal, sep, path = task.goal.rpartition(", in ")
    is_plain = not (task.reads or task.model or task.added or task.repairs or task.obligations)
    return goal if sep and is_plain and paths == {path} else ""


def _shared(what: str, tasks: Sequence[Task]) -> Iterator[Styled]:
    files: dict[str, list[Task]] = {}
    for task in tasks:
        files.setdefault(task.goal.rpartition(", in ")[2], []).append(task)
    nodes = sum(len(task.writes) for task in tasks)
    size = f"{count(len(tasks), 'task')}, {count(nodes, 'node')} in {count(len(files), 'file')}"
    yield Styled(f"  {what}: {size}", "cyan")
    names = {path: _span([task.id for task in group]) for path, group in files.items()}
    width = max(map(len, names.values()))
    for path, group in files.items():
        (line,) = _by_file(tuple(n for task in group for n in (*task.writes, *task.creates)), FEW)
        yield Styled(f"      {names[path]:<{width}}  {line}")
    after = dict.fromkeys(name for task in tasks for name in task.depends_on)
    if after:
        yield Styled(f"      {'after':<{width}}  {_span(list(after))}")


def _span(names: Sequence[str]) -> str:
    """Write task ids that follow one another as the first and the last."""
    if len(names) < 3:
        return ", ".join(names)
    numbers = [int(name[1:]) if name[:1] == "t" and name[1:].isdigit() else -1 for name in names]
    in_order = numbers == [*range(numbers[0], numbers[0] + len(numbers))] and numbers[0] >= 0
    return f"{names[0]} to {names[-1]}" if in_order else some(tuple(names))


def _task(task: Task) -> Iterator[Styled]:
    goal = task.goal.strip().splitlines() or [""]
    more = " …" if len(goal) > 1 else ""
    yield Styled(f"  {task.id}  {goal[0]}{more}", "cyan")
    for label, nodes in (
        ("writes", task.writes),
        ("creates", task.creates),
        ("reads", task.reads),
    ):
        for line in _by_file(nodes):
            yield Styled(f"      {label:<8} {line}")
            label = ""
    if task.depends_on:
        yield Styled(f"      {'after':<8} {', '.join(task.depends_on)}")
    if task.model:
        yield Styled(f"      {'model':<8} {task.model}")
    if task.added:
        yield Styled(f"      {'added':<8} by MAK: it {task.added}", "yellow")
    if task.repairs:
        yield Styled(f"      {'repairs':<8} {task.repairs}")
    for owed in task.obligations:
        at = f" at {owed.site}" if owed.site else ""
        yield Styled(f"      {'owes':<8} {owed.check}{at}: {owed.subject}", "yellow")


def _by_file(nodes: tuple[NodeId, ...], most: int = 0) -> Iterator[str]:
    """Return nodes as a line for each file, ``path::one, two``; at most so many on it (0: all)."""
    files: dict[str, list[str]] = {}
    for node in nodes:
        symbol = str(node).removeprefix(node.path)
        files.setdefault(node.path, []).append(symbol.removeprefix("::"))
    for path, symbols in list(files.items())[:SHOWN]:
        named = [symbol for symbol in dict.fromkeys(symbols) if symbol]
        text = ", ".join(named[: most or None])
        if most and len(named) > most:
            text += f" and {len(named) - most} more"
        yield f"{path}::{text}" if text else path
    if len(files) > SHOWN:
        yield f"and {count(len(files) - SHOWN, 'more file')}"


def estimate(guess: Estimate) -> str:
    """Return the range of tokens and of cost."""
    if not guess.tokens_high:
        return "no tokens, no LLM is asked"
    tokens = f"{short(guess.tokens_low)} to {short(guess.tokens_high)} tokens"
    if guess.cost_low is None or guess.cost_high is None:
        return f"{tokens}, {money(None)}"
    if not guess.cost_high:
        return f"{tokens}, no cost"
    return f"{tokens}, {money(guess.cost_low)} to {money(guess.cost_high)}"


def noted(event: Planned) -> Iterator[Styled]:
    """Tell what a person would have been shown at the review."""
    for text in first((*event.decisions, *event.remarks)):
        yield Styled(f"         {text}")


def outcome(
    ended: Outcome, progress: Progress, branch: str, decisions: Sequence[str] = ()
) -> Iterator[Styled]:
    """Tell how a run ended: what landed, what did not and why, what it used, what comes next.

    Of the plan's decisions, what is left to a person.
    """
    landed = sum(task.state is TaskState.DONE for task in ended.tasks.values())
    commits = count(len(ended.waves), "commit")
    style = "bold green" if ended.state is RunState.DONE else "bold red"
    text = f"Run {ended.run} {_ENDED[ended.state]}"
    if ended.tasks:
        total = count(len(ended.tasks), "task")
        text += f": {landed} of {total} landed in {commits} on {branch_name(branch)}"
    yield Styled(text, style)
    if ended.reason and ended.state is not RunState.DONE:
        yield Styled(f"  {ended.reason}")
    for wave in ended.waves:
        subject = progress.subjects.get(wave.commit, "")
        yield Styled(f"  {wave.commit[:10]}  {subject}")
        yield Styled(f"              {', '.join(wave.tasks)}")
    if ended.state in (RunState.INTERRUPTED, RunState.HELD) and ended.tasks:
        yield Styled(f"  {_standing(ended)}")
    yield from _lost(ended)
    yield from _findings(ended)
    left = [text.removeprefix(LEFT) for text in decisions if text.startswith(LEFT)]
    if left:
        of = " (so planned before tasks were dropped)" if progress.dropped else ""
        yield Styled(f"Left to a person{of}", "bold yellow")
        yield from (Styled(f"  {text}", "yellow") for text in first(left))
    yield Styled(f"Used: {used(ended.usage)}")
    yield from (Styled(f"  {text}") for text in shares(ended.spent))
    yield Styled(f"Next: {next_command(ended.run, ended.state)}")


def _standing(ended: Outcome) -> str:
    """Say how far an unfinished run got."""
    states = [task.state for task in ended.tasks.values()]
    settled = sum(state in (TaskState.SETTLED, TaskState.DONE) for state in states)
    parts = [f"{settled} of {count(len(states), 'task')} {_were(settled)} settled"]
    if begun := states.count(TaskState.RUNNING):
        parts.append(f"{begun} {_were(begun)} under way")
    if waiting := states.count(TaskState.PENDING):
        parts.append(f"{waiting} not started")
    return f"{', '.join(parts)}; nothing is lost"


def _were(number: int) -> str:
    return "was" if number == 1 else "were"


#: The number of attempts stands beside the reason.
_ASKED = re.compile(r" \(asked \d+ times\)$")


def _lost(ended: Outcome) -> Iterator[Styled]:
    """Name the tasks that ended without a commit, those with one reason together."""
    groups: dict[tuple[TaskState, str], list[str]] = {}
    for name, task in ended.tasks.items():
        if task.state in (TaskState.FAILED, TaskState.SKIPPED):
            reason = _ASKED.sub("", task.reason)
            groups.setdefault((task.state, reason), []).append(name)
    if not groups:
        return
    # What is told above as the reason of the run took these tasks with it.
    along = groups.pop((TaskState.FAILED, ended.reason), []) if ended.reason else []
    yield Styled("Not landed", "bold")
    for (state, reason), names in groups.items():
        tries = max(ended.tasks[name].attempts for name in names)
        tried = f" after {count(tries, 'attempt')}" if tries > 1 else ""
        why = f": {reason}" if reason else ""
        yield Styled(f"  {names[0]}  {state}{tried}{why}")
        if len(names) > 1:
            yield Styled(f"  and {_others(names[1:])} likewise")
    if along and groups:
        yield Styled(f"  and {_others(along)} with it")
    elif along:
        yield Styled(f"  {some(tuple(along))}")


def _others(names: Sequence[str]) -> str:
    return f"{count(len(names), 'other')} ({some(tuple(names))})"


def _findings(ended: Outcome) -> Iterator[Styled]:
    """Tell the findings that no task's reason tells already."""
    told = {ended.reason, *(_ASKED.sub("", task.reason) for task in ended.tasks.values())}
    rest = [
        finding
        for finding in dict.fromkeys(ended.findings)
        if told.isdisjoint((finding.message, f"{finding.check}: {finding.message}"))
    ]
    if rest:
        yield Styled("Findings", "bold")
    for finding in rest:
        line = f":{finding.line}" if finding.line else ""
        yield Styled(f"  {finding.node}{line}  {finding.check}: {finding.message}")


_ENDED = {
    RunState.PLANNING: "did not begin",
    RunState.RUNNING: "goes on",
    RunState.DONE: "is done",
    RunState.FAILED: "failed",
    RunState.HELD: "is held",
    RunState.DECLINED: "was declined",
    RunState.INTERRUPTED: "was interrupted",
}
