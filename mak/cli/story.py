"""The record of a run told in lines."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from mak.cli.lines import count, first, line, money, seconds, short, some, tokens
from mak.cli.record import Record
from mak.cli.reports.report import page
from mak.cli.runs import next_command, when
from mak.events import ReplyRejected, ReplyUnused, RunFinished
from mak.model import (
    AddImport,
    Delete,
    Edit,
    Finding,
    Insert,
    Replace,
    Reply,
    RunState,
    Spend,
    Usage,
    branch_name,
)
from mak.runlog import spent_by

#: Nodes of a task that are listed one by one.
NODES = 8


def run(record: Record) -> Iterator[str]:
    """Tell the whole run."""
    meta, outcome = record.meta, record.outcome
    at = meta.base[:10] or "an unborn branch"
    yield f"run      {meta.run} ({record.standing})"
    yield f"request  {_indented(meta.request, 9)}"
    yield f"branch   {branch_name(meta.branch)}, from {at}"
    yield f"started  {when(meta.started)}{_took(record)}"
    yield f"models   {', '.join(meta.models)}; planner {meta.planner}"
    if record.plan.dropped:
        yield "dropped  some tasks, at the review; what was decided before speaks of them too"
    for number, decision in enumerate(first(record.plan.decisions)):
        yield f"{'' if number else 'decided':<8} {_indented(decision, 9)}"
    if outcome and outcome.reason:
        yield f"ended    {_indented(outcome.reason, 9)}"
    if outcome and outcome.stopped:
        yield f"stopped  repairs: {outcome.stopped}"
    yield ""
    for wave in record.waves:
        yield f"wave {wave.wave + 1}   {wave.commit[:10]}  {wave.subject}"
        yield f"         {', '.join(wave.tasks)}"
    if not record.waves:
        yield "nothing was committed"
    for each in record.plan.tasks:
        yield ""
        yield from _task(record, each.id)
    for number, plan in enumerate(record.repairs, 1):
        yield ""
        yield f"repair plan {number}"
        for each in plan.tasks:
            yield ""
            yield from _task(record, each.id)
    if outcome and outcome.findings:
        yield ""
        yield from findings(outcome.findings)
    yield ""
    usage = outcome.usage if outcome else record.progress().usage
    yield f"used     {used(usage)}"
    yield from (f"{'':<8} {text}" for text in shares(record.spent))
    if record.undone:
        yield f"undone   by {record.undone[:10]}"
    elif following := _next(record):
        yield f"next     {following}"


def shares(spent: Sequence[Spend]) -> Iterator[str]:
    """Tell who took how much, where it was more than one: models, waves, then the largest tasks."""
    models, waves, tasks = (
        {key: usage for key, usage in spent_by(spent, name).items() if key and _size(usage)}
        for name in ("model", "wave", "task")
    )
    if len(models) > 1:
        yield from (f"{model}: {used(usage)}" for model, usage in models.items())
    if len(waves) > 1:
        for wave, usage in waves.items():
            yield f"{'planning' if wave == '0' else f'wave {wave}'}: {used(usage)}"
    if len(tasks) > 1:
        largest = sorted(tasks.items(), key=lambda item: (-_size(item[1]), item[0]))
        told = tuple(f"{task} {short(_size(usage))}" for task, usage in largest)
        yield f"tokens by task: {some(told)}"


def _size(usage: Usage) -> int:
    return usage.input + usage.output


def findings(found: Sequence[Finding]) -> Iterator[str]:
    """Tell findings by check, each check with its page."""
    from mak.checks import CHECKS

    known = {check.id for check in CHECKS}
    yield "findings"
    for check in dict.fromkeys(finding.check for finding in found):
        yield f"  {check}  {page(check)}" if check in known else f"  {check}"
        for finding in found:
            if finding.check == check:
                at = f":{finding.line}" if finding.line else ""
                yield f"    {finding.node}{at}  {finding.message}"


def _next(record: Record) -> str:
    """Return what a person is likely to type who has seen the run; empty: that is their affair."""
    state = record.outcome.state if record.outcome else None
    if state is RunState.DONE:
        return f"mak undo {record.run}" if record.waves else ""
    if state is RunState.FAILED:
        again = f"mak show {record.run} --plan > plan.yaml; mak run --plan plan.yaml"
        return again if record.plan.tasks else ""
    return next_command(record.run, state)


def task(record: Record, task_id: str) -> Iterator[str]:
    """Tell one task, with the full text of its replies."""
    yield from _task(record, task_id)
    for (owner, attempt), reply in sorted(record.replies.items()):
        if owner != task_id:
            continue
        for edit in reply.edits:
            yield ""
            yield f"--- attempt {attempt}: {_what(edit)}"
            match edit:
                case Replace(_, source) | Insert(_, source):
                    yield source.rstrip("\n")
                case AddImport(_, statement):
                    yield statement
        if reply.raw and not reply.edits:
            yield ""
            yield f"--- attempt {attempt}: as it came"
            yield reply.raw


def events(record: Record) -> Iterator[str]:
    """Tell everything that happened, each with its time."""
    for at, event in record.events:
        yield f"{time.strftime('%H:%M:%S', time.localtime(at))}  {line(event)}"


def used(usage: Usage) -> str:
    """Return tokens, calls and cost; says so when no model was called."""
    text = tokens(usage)
    if not text:
        return "no tokens"
    cached = f", {usage.cache_hit_rate:.0%} of the input from a cache" if usage.cached else ""
    return f"{text}, {count(usage.calls, 'call')}, {money(usage.cost)}{cached}"


def _task(record: Record, task_id: str) -> Iterator[str]:
    each = record.task(task_id)
    outcome = record.outcome.tasks.get(task_id) if record.outcome else None
    goal = each.goal.strip().splitlines() or [""]
    yield f"{task_id}  {record.task_state(task_id)}  {goal[0]}"
    yield from (f"  {more}" for more in goal[1:])
    for label, nodes in (("writes", each.writes), ("creates", each.creates)):
        if nodes:
            more = f" and {len(nodes) - NODES} more" if len(nodes) > NODES else ""
            yield f"  {label:<8} {', '.join(map(str, nodes[:NODES]))}{more}"
    if each.depends_on:
        yield f"  {'after':<8} {', '.join(each.depends_on)}"
    if each.repairs:
        yield f"  {'repairs':<8} {each.repairs}"
    for owed in each.obligations:
        at = f" at {owed.site}" if owed.site else ""
        yield f"  {'owes':<8} {owed.check}{at}: {_indented(owed.subject, 11)}"
    of_run = record.outcome.reason if record.outcome else ""
    if outcome and outcome.reason and outcome.reason != of_run:
        yield f"  {'reason':<8} {_indented(outcome.reason, 11)}"
    told_above = (of_run, outcome.reason if outcome else "")
    told = [event for _, event in record.events]
    rejections = {
        event.attempt: event
        for event in told
        if isinstance(event, ReplyRejected) and event.task == task_id
    }
    unused = {
        event.attempt: event
        for event in told
        if isinstance(event, ReplyUnused) and event.task == task_id
    }
    for (owner, attempt), reply in sorted(record.replies.items()):
        if owner == task_id:
            yield from _attempt(attempt, reply, rejections.get(attempt))
            why = unused[attempt].reason if attempt in unused else ""
            if why and attempt not in rejections and why not in told_above:
                yield f"    unused  {_indented(why, 12)}"


def _attempt(attempt: int, reply: Reply, rejected: ReplyRejected | None) -> Iterator[str]:
    spent = tokens(reply.usage)
    cost = f", {money(reply.usage.cost)}" if spent else ""
    yield f"  attempt {attempt}: {reply.model} {reply.status}{f', {spent}{cost}' if spent else ''}"
    if reply.reason:
        yield f"    says    {_indented(reply.reason, 12)}"
    for edit in reply.edits:
        yield f"    edit    {_what(edit)}"
    for need in reply.needs:
        why = f": {need.why}" if need.why else ""
        yield f"    needs   {need.node} to {'write' if need.write else 'read'}{why}"
    if reply.notes:
        yield f"    notes   {_indented(reply.notes, 12)}"
    if rejected:
        yield f"    refused {rejected.check}: {_indented(rejected.reason, 12)}"


def _what(edit: Edit) -> str:
    match edit:
        case Replace(node, source):
            return f"{node} ({count(len(source.splitlines()), 'line')})"
        case Insert(parent, source, after):
            place = f"after {after}" if after else f"in {parent}"
            return f"new, {place} ({count(len(source.splitlines()), 'line')})"
        case AddImport(path, statement):
            return f"{path}: {statement}"
        case Delete(node):
            return f"delete {node}"


def _took(record: Record) -> str:
    ends = [at for at, event in record.events if isinstance(event, RunFinished)]
    if not ends or len(ends) > 1:
        return ""
    return f", took {seconds(max(0.0, ends[-1] - record.meta.started))}"


def _indented(text: str, width: int) -> str:
    return f"\n{' ' * width}".join(text.strip().splitlines())
