"""Accepted replies and the tree they make on a commit: all of them, or those that can go alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property

from mak.judge import References, check_wave, stale, touches
from mak.model import Finding, NodeId, Reply, Task
from mak.source import Draft, Rejected, Shown, Sources, path_of


@dataclass(frozen=True)
class Settled:
    """An accepted reply, as it can be applied again when the wave's base moves."""

    task: Task
    reply: Reply
    shown: Shown
    #: Its place among the tasks of the plan: by level, then as they are in the plan.
    rank: int

    @cached_property
    def paths(self) -> frozenset[str]:
        """The files that it edits."""
        return frozenset(map(path_of, self.reply.edits))

    @cached_property
    def locked(self) -> frozenset[str]:
        """The files in which its task held locks."""
        task = self.task
        return frozenset(node.path for node in (*task.writes, *task.creates, *task.reads))


def assemble(base: Sources, entries: Mapping[str, Settled]) -> tuple[Draft, dict[str, str]]:
    """Apply accepted replies, in order; return the draft and why some of them do not fit it."""
    draft = Draft(base)
    misfits: dict[str, str] = {}
    for task, entry in entries.items():
        moved = stale(draft, entry.shown, entry.reply.edits)
        granted = frozenset((*entry.task.writes, *entry.task.creates))
        result = draft.propose(entry.reply.edits, granted, view=entry.shown.view, rank=entry.rank)
        if isinstance(result, Rejected):
            misfits[task] = ", ".join(map(str, moved)) or result.reason
        elif moved:
            misfits[task] = ", ".join(map(str, moved))
        else:
            draft.accept(result)
    return draft, misfits


def units(
    base: Sources,
    entries: Mapping[str, Settled],
    planned: Set[NodeId],
    references: References,
) -> list[tuple[str, ...]]:
    """Return the tasks in groups of which each applies, and passes the checks, without the others.

    Groups and the tasks in them are in the order of `entries`.
    """
    order = {task: i for i, task in enumerate(entries)}
    groups: list[tuple[str, ...]] = [(task,) for task in entries]
    done = 0
    while done < len(groups):
        group = groups[done]
        needed = _needed(base, entries, group, planned, references)
        if not needed:
            done += 1
            continue
        joined = [g for g in groups if g is group or not needed.isdisjoint(g)]
        merged = tuple(sorted((task for g in joined for task in g), key=order.__getitem__))
        groups = sorted(
            [*(g for g in groups if g not in joined), merged], key=lambda g: order[g[0]]
        )
        done = 0 if groups.index(merged) <= done else done
    return groups


def _needed(
    base: Sources,
    entries: Mapping[str, Settled],
    group: Sequence[str],
    planned: Set[NodeId],
    references: References,
) -> set[str]:
    """Return the tasks that a group cannot do without."""
    others = {task: entry for task, entry in entries.items() if task not in group}
    if not others:
        return set()
    draft, misfits = assemble(base, {task: entries[task] for task in group})
    paths = {path_of(edit) for task in misfits for edit in entries[task].reply.edits}
    if misfits:
        return _in_files(others, paths) or {*others}
    findings = check_wave(draft, planned, references)
    if not findings:
        return set()
    return blamed(findings, others) or {*others}


def blamed(findings: Sequence[Finding], entries: Mapping[str, Settled]) -> set[str]:
    """Return the tasks that edit what findings are about, else those that edit the same files."""
    found = {task for finding in findings for task in of_finding(finding, entries)}
    return found or _in_files(entries, {finding.node.path for finding in findings})


def of_finding(finding: Finding, entries: Mapping[str, Settled]) -> list[str]:
    """Return the tasks to ask again: who edited what is left behind, else what it relied on."""
    behind = [need.node.node for need in finding.needs]
    places = [behind, [finding.node.node]]
    for nodes in places:
        tasks = [
            task
            for task, entry in entries.items()
            if any(touches(entry.reply.edits, node) for node in nodes)
        ]
        if tasks:
            return tasks
    return sorted(_in_files(entries, {finding.node.path}), key=[*entries].index)


def _in_files(entries: Mapping[str, Settled], paths: Collection[str]) -> set[str]:
    return {
        task
        for task, entry in entries.items()
        if any(path_of(edit) in paths for edit in entry.reply.edits)
    }
