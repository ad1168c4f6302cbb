"""The trees of a run before its judges: what a repair still owes, and which gates fail."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from mak import repair
from mak.assembly import Settled
from mak.config import When
from mak.gates import Red
from mak.gates.narrow import narrow, reached
from mak.gates.reading import paths
from mak.judge import check_between, digest
from mak.model import Delete, Edit, Finding, Insert, NodeId, Obligation, Replace
from mak.repair import Left
from mak.run import Run
from mak.source import Draft, Sources
from mak.source.names import references

# -------------------------------------------------------------------------------- obligations


def owes(
    run: Run,
    draft: Draft,
    obligations: Sequence[Obligation],
    entry: Settled | None,
    found: Callable[[], Sequence[Finding]],
) -> tuple[Obligation, str] | None:
    """Return an obligation that an answer does not discharge, and why not.

    `entry` is the answer as it is part of the draft; None: it changes nothing. `found` gives what
    the checks find in the draft since the run began.
    """
    first = obligations[0]
    wants_change = not all(each.landed for each in obligations)
    if wants_change and not _changes_something(draft, entry):
        return first, "what was asked for is not on the branch, so a change is required"
    now = draft.sources
    if gone := repair.lost(obligations, now):
        return first, f"{_list(gone)} was asked for and has to stay; put it right instead"
    if back := repair.taken_back(obligations, run.before, draft.base, now):
        return first, f"{_list(back)} is as before the run; that takes back what was asked for"
    for obligation, finding in repair.live(obligations, found()):
        return obligation, finding.message
    return None


def found_since(run: Run, now: Sources, changes: Collection[str] = ()) -> Sequence[Finding]:
    """Return what the checks that look beyond a file find and did not when the run began.

    Looks at the files that the run has changed, and at `changes`.
    """
    return check_between(run.before, now, sorted({*run.touched, *changes}), references)


def _changes_something(draft: Draft, entry: Settled | None) -> bool:
    was, now = draft.base, draft.sources
    return entry is not None and any(
        not isinstance(edit, Replace) or digest(was, edit.node) != digest(now, edit.node)
        for edit in entry.reply.edits
    )


def _list(nodes: Sequence[NodeId]) -> str:
    return ", ".join(map(str, nodes))


# -------------------------------------------------------------------------------------- gates


async def judged(
    run: Run,
    draft: Draft,
    tip: str,
    names: Collection[str],
    tasks: tuple[str, ...],
    owed: Collection[str],
    *,
    confirm: bool,
) -> tuple[Red, ...]:
    """Let gates judge a draft on the commit `tip`, with the edits of these tasks.

    It is compared with the commit; for gates that are `owed`, with what they last passed.
    """
    files = {path: file.data if file else None for path, file in draft.changes.items()}
    tree = run.store.prospective(tip, files)
    parent = run.store.prospective(tip, {})
    tests: list[str] | None = None

    def narrowed(command: str) -> str:
        nonlocal tests
        if tests is None:
            tests = reached(draft.sources, draft.base, draft.changes)
        return narrow(command, run.store.prefix, draft.sources, tests)

    return await run.gates.judge(
        tree,
        lambda gate: run.owed[gate] if gate in owed else parent,
        names,
        tasks=tasks,
        narrowed=narrowed,
        confirm=confirm,
    )


def written(run: Run, draft: Draft, tip: str) -> dict[str, bytes | None]:
    """Return what the project's commands wrote in a draft that they have judged; None: deleted."""
    if not run.config.files.generated:
        return {}
    files = {path: file.data if file else None for path, file in draft.changes.items()}
    tree = run.store.prospective(tip, files)
    return run.store.difference(tree, run.gates.written(tree))


async def on_branch(run: Run, tip: str, now: Sources) -> list[Left]:
    """Let gates judge what is on the branch: those that judge at the end, or were put off."""
    names = {*run.gates.names(When.END), *run.owed}
    if not names or not run.landed:
        return []
    base = run.store.prospective(run.base, {})
    tree = run.store.prospective(tip, {})

    def against(gate: str) -> str:
        return run.owed.get(gate, base)

    reds = await run.gates.judge(tree, against, names, confirm=True)
    run.owed = {red.gate: against(red.gate) for red in reds}
    return [await _since(run, red, against(red.gate), now) for red in reds]


async def _since(run: Run, red: Red, base: str, now: Sources) -> Left:
    """Return what a gate fails with on the branch, with the tasks of the wave it began with."""
    low, high = 0, len(run.landed) - 1
    while low < high:
        middle = (low + high) // 2
        tree = run.store.prospective(run.landed[middle].commit, {})
        if await run.gates.judge(tree, lambda gate: base, [red.gate]):
            high = middle
        else:
            low = middle + 1
    return left_red(run, red, now, run.landed[low].tasks)


def left_red(run: Run, red: Red, now: Sources, tasks: Collection[str] = ()) -> Left:
    """Return a red gate with what these tasks changed, and what others did in files it names.

    Files that it names and nobody changed are there to be read.
    """
    files = named(run, red)
    landed = {task for wave in run.landed for task in wave.tasks}
    nodes: dict[NodeId, str] = {}
    for (task, _), parked in run.parked.items():
        for node in map(_edited, parked.reply.edits) if task in landed else ():
            if node is not None and (task in tasks or node.path in files):
                nodes[node] = run.goals[task]
    written = {node.path for node in nodes}
    reads = tuple(NodeId(p) for p in sorted(files) if p in now and p not in written)
    obligation = Obligation(red.check, red.subject, evidence=red.output)
    return Left(obligation, None, tuple(nodes), reads, goals=tuple(dict.fromkeys(nodes.values())))


def named(run: Run, red: Red) -> set[str]:
    """Return the files that fail, relative to the repository's top."""
    return {f"{run.store.prefix}{path}" for path in paths(red.new)}


def _edited(edit: Edit) -> NodeId | None:
    """Return the node that an edit changes, as far as it was there before."""
    match edit:
        case Replace(node) | Delete(node):
            return node
        case Insert(parent):
            return parent
    return None
