"""From what a plan says to what is there: every id exact, every task sound, no circle.

An id that names nothing is corrected when exactly one thing can be meant, and the correction is
reported; everything else that is wrong is a reason to refuse the plan, and all of them are given
at once. Only files that the plan names are cut, unless one of its ids fits none of them.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from mak.model import Aspect, NodeId, Plan, Task
from mak.plan.dag import Ancestry, circle
from mak.plan.document import bad_task_id
from mak.plan.follow import Follow, placed, unseen
from mak.plan.targets import Targets
from mak.plan.untrusted import clean
from mak.source import Sources

#: Nodes that one task may write and create: a reply has a slot for each.
MAX_SLOTS = 24


@dataclass(frozen=True, slots=True)
class Grounded:
    """A plan that can be carried out, and what was corrected or is worth a look."""

    plan: Plan
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ungrounded:
    """Why a plan cannot be carried out: one line for each thing that is wrong."""

    reasons: tuple[str, ...]


def ground(
    plan: Plan, sources: Sources, *, check_path: Callable[[str], str] = lambda path: path
) -> Grounded | Ungrounded:
    """Check a plan against a tree, and make its ids exact.

    `check_path` returns a path as the tree has it, and raises `UsageError` for one that MAK must
    not touch. A grounded plan is acyclic; whatever a task uses that another creates comes after it;
    a file that is written as a whole is written by nobody else at the same time. Unless the plan is
    `complete`, what calls a definition whose signature a task changes comes after that, with a task
    of its own when no task writes it, and declared dependencies that nothing shows are remarked on.
    Grounding it again changes nothing.
    """
    reasons = list(_wrong_ids(plan.tasks))
    if reasons:
        # Names of tasks that mean nothing or two things: nothing else can be told.
        return Ungrounded(tuple(reasons))
    depends_on = {task.id: task.depends_on for task in plan.tasks}
    if round_ := circle(depends_on):
        reasons.append(f"tasks depend on each other in a circle: {' → '.join(round_)}")
    targets = Targets(sources, check_path, _frees(plan.tasks, {} if round_ else depends_on))
    named = {node.path for task in plan.tasks for node in (*task.writes, *task.reads)}
    sources.recall(path for path in named if path in sources)
    targets.declare(plan.tasks)
    remarks: list[str] = []
    tasks = []
    for task in plan.tasks:
        goal = clean(task.goal, comments=False)
        if goal.removed:
            remarks.append(f"{task.id}: {goal.removed} taken out of its goal")
        if not goal.text.strip():
            reasons.append(f"{task.id}: its goal is empty")
        if not task.writes and not task.creates:
            reasons.append(f"{task.id}: writes and creates nothing")
        task = _targeted(replace(task, goal=goal.text.strip()), targets)
        reasons.extend(_wrong_writes(task))
        tasks.append(task)
    reasons = [*targets.reasons, *reasons]
    remarks = [*targets.remarks, *remarks]
    if not reasons:
        tasks = _ordered(tasks, targets, reasons, remarks)
    if not reasons and not plan.complete:
        tasks = _followed(plan, tasks, sources, targets, check_path, remarks)
    if reasons:
        return Ungrounded(tuple(dict.fromkeys(reasons)))
    decisions = tuple(clean(text, comments=False).text for text in plan.decisions)
    grounded = replace(plan, tasks=tuple(tasks), decisions=decisions, complete=True)
    return Grounded(grounded, tuple(dict.fromkeys(remarks)))


# ------------------------------------------------------------------------------------ one task


def _wrong_ids(tasks: Sequence[Task]) -> Iterator[str]:
    if not tasks:
        yield "the plan has no task"
    counts = Counter(task.id for task in tasks)
    for name, count in counts.items():
        if reason := bad_task_id(name):
            yield reason
        elif count > 1:
            yield f"{count} tasks are called {name}"
    for task in tasks:
        for needed in task.depends_on:
            if needed not in counts:
                close = difflib.get_close_matches(needed, list(counts), n=1)
                did = f"; did you mean {close[0]}?" if close else ""
                yield f"{task.id}: depends on {needed!r}, which is no task of this plan{did}"


def _targeted(task: Task, targets: Targets) -> Task:
    """Return the task with exact ids; what it creates or writes anyway is left out elsewhere."""
    creates = targets.created(task)
    writes = targets.found(task, "writes", task.writes)
    reads = targets.found(task, "reads", task.reads)
    written = set(writes)
    writes = tuple(
        node
        for node in dict.fromkeys(writes)
        if node.node not in creates and not _is_implied(node, written)
    )
    mine = {*creates, *writes}
    reads = tuple(
        node
        for node in dict.fromkeys(reads)
        if node.node not in mine and node.node.api not in mine and mine.isdisjoint(node.containers)
    )
    return replace(
        task,
        writes=writes,
        reads=reads,
        creates=creates,
        depends_on=tuple(dict.fromkeys(task.depends_on)),
    )


def _is_implied(node: NodeId, written: set[NodeId]) -> bool:
    """Whether a wider write of the same task covers it: ``#api`` its node, ``#all`` its members."""
    if node.aspect is Aspect.TEXT and not node.is_file and node.api in written:
        return True
    return any(c in written for c in node.containers if not c.is_file and c != node)


def _wrong_writes(task: Task) -> Iterator[str]:
    new_files = {node.path for node in task.creates if node.is_file}
    slots = len({node.node for node in task.writes}) + sum(
        node.is_file or node.path not in new_files for node in task.creates
    )
    if slots > MAX_SLOTS:
        yield f"{task.id}: writes {slots} nodes, and one task takes {MAX_SLOTS}: split it"
    whole = {node.path for node in task.writes if node.is_file}
    for node in (*task.writes, *task.creates):
        if not node.is_file and node.path in whole:
            yield f"{task.id}: writes all of {node.path} and {node} too: name one of them"


# ------------------------------------------------------------------------------------ all tasks


def _frees(
    tasks: Sequence[Task], depends_on: Mapping[str, Sequence[str]]
) -> Callable[[str, NodeId], bool]:
    """Return what says whether a node may have lost its name when a task has run.

    A definition loses it to a write of its signature by an earlier task, other statements also to
    a write by the task itself. Without `depends_on` nothing is earlier.
    """
    ancestry = Ancestry(depends_on)
    writers: dict[NodeId, list[str]] = {}
    for task in tasks:
        for node in task.writes:
            writers.setdefault(node, []).append(task.id)

    def frees(task: str, node: NodeId) -> bool:
        if "@" in node.symbol and task in writers.get(node, ()):
            return True
        changed = (
            *writers.get(node.api, ()),
            *(writers.get(node, ()) if "@" in node.symbol else ()),
        )
        return any(other in depends_on and ancestry.is_before(other, task) for other in changed)

    return frees


def _ordered(
    tasks: Sequence[Task], targets: Targets, reasons: list[str], remarks: list[str]
) -> list[Task]:
    """Put every task after those that create what it uses; nobody beside a whole-file writer."""
    asked = {task.id: task.depends_on for task in tasks}
    needed = {task.id: targets.needed(task) for task in tasks}
    order = {id: tuple(dict.fromkeys((*asked[id], *needed[id]))) for id in asked}
    if round_ := circle(order):
        reasons.append(f"tasks use what each other create, in a circle: {' → '.join(round_)}")
        return list(tasks)
    ancestry = Ancestry(order)
    reasons.extend(_wrong_owners(tasks, ancestry))
    ordered = []
    for task in tasks:
        added = [
            creator
            for creator in needed[task.id]
            if creator not in task.depends_on
            and not any(ancestry.is_before(creator, other) for other in order[task.id])
        ]
        for creator in added:
            made = needed[task.id][creator]
            remarks.append(f"{task.id}: made to depend on {creator}, which creates {made}")
        ordered.append(replace(task, depends_on=(*task.depends_on, *added)))
    return ordered


def _followed(
    plan: Plan,
    tasks: list[Task],
    sources: Sources,
    targets: Targets,
    check_path: Callable[[str], str],
    remarks: list[str],
) -> list[Task]:
    """Move callers along with the signatures that tasks change."""
    follow = Follow(tasks, sources)
    orders = [*follow.orders()]
    shown = {task.id: {*targets.needed(task)} for task in tasks}
    for task, before, _ in orders:
        shown[task].add(before)
    remarks.extend(unseen(plan.tasks, sources, shown))
    tasks = placed(tasks, orders, remarks.append)
    added = [*follow.added(check_path, remarks.append)]
    remarks.extend(f"{task.id}: added by MAK, because it {task.added}" for task in added)
    return [*tasks, *added]


def _wrong_owners(tasks: Sequence[Task], ancestry: Ancestry) -> Iterator[str]:
    writers: dict[str, dict[str, bool]] = {}
    for task in tasks:
        for node in (*task.writes, *task.creates):
            at = writers.setdefault(node.path, {})
            at[task.id] = at.get(task.id, False) or node.is_file
    for path, owners in writers.items():
        group = ancestry.group(owners) if any(owners.values()) and len(owners) > 1 else 0
        for owner in (task for task, whole in owners.items() if whole and group):
            other = ancestry.unordered(owner, group)
            if other and owners[other]:
                yield f"{owner} and {other} both write all of {path}: {_ADVICE}"
                break
            if other:
                yield f"{owner} writes all of {path} and {other} a node of it: {_ADVICE}"


_ADVICE = "let one depend on the other, or give both to one task"
