"""What is left broken → a plan that puts it right, and when to stop; decides, never acts.

A repair carries obligations. They come from findings, and only the kernel takes them away, by
checking: whatever a person edits, a planner proposes or an agent answers, they stay.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from mak.model import (
    Finding,
    NodeId,
    NodeKind,
    Obligation,
    Plan,
    RepairStop,
    Task,
)
from mak.source import Sources

#: Nodes that one repair may be given; a reply has a slot for each.
MOST_NODES = 24
#: Characters of a task's id.
_ID = 64
_REPAIR = re.compile(r"^repair\d+-")
_DEFINITIONS = (NodeKind.FUNCTION, NodeKind.METHOD, NodeKind.CLASS)
#: Checks that say the same in other words: what is used is not what is there.
_USES = frozenset(
    {
        *("interface", "lost-symbol", "unbound-name"),
        *("unknown-import", "unknown-attribute", "unknown-export"),
        *("call-signature", "missing-field", "override"),
    }
)


@dataclass(frozen=True, slots=True)
class Left:
    """One thing that the waves of a plan leave broken, or left out because it would break."""

    obligation: Obligation
    #: The task whose share is done again; None: what is on the branch is put right.
    task: Task | None = None
    #: What the repair may have to write, see or create.
    writes: tuple[NodeId, ...] = ()
    reads: tuple[NodeId, ...] = ()
    creates: tuple[NodeId, ...] = ()
    #: What was asked for where it broke.
    goals: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.where}: {self.obligation.subject}"

    @property
    def where(self) -> str:
        """Which check finds it, and at what place; for where the finding itself is told too."""
        found = self.obligation
        return f"{found.check} at {found.site}" if found.site else found.check

    def finding(self) -> Finding:
        """Return it as a finding, for the outcome of the run."""
        node = self.obligation.site or next(iter((*self.writes, *self._of_task())), NodeId("."))
        return Finding(self.obligation.check, node, self.obligation.subject)

    def _of_task(self) -> tuple[NodeId, ...]:
        return (*self.task.writes, *self.task.creates) if self.task else ()


# ------------------------------------------------------------------------------------- the loop


def state(left: Iterable[Left]) -> frozenset[str]:
    """Return what is broken as something that can be told from other states."""
    return frozenset(map(str, left))


def stop(
    history: Sequence[frozenset[str]], broken: frozenset[str], waves: int, most: int
) -> RepairStop | None:
    """Say why no more repairs are to be tried; None: there may be another plan.

    `history` are the states that the repair plans of the run began with, `waves` those they took.
    """
    if history and history[-1] == broken:
        return RepairStop.STALLED
    if broken in history:
        return RepairStop.OSCILLATING
    return RepairStop.LIMIT if waves >= most else None


# ------------------------------------------------------------------------------------- the plan


def plan_repairs(
    number: int, of: Plan, left: Sequence[Left], again: Sequence[Task], sources: Sources
) -> Plan:
    """Return repair plan `number` of the run whose last plan is `of`.

    A task that comes back is one task, with all its obligations; what stands on the branch is put
    right place by place. `again` are tasks that were not begun because one of those failed: they
    follow. The request is the run's own, so that every agent knows what all this is about.
    """
    groups: dict[str, list[Left]] = {}
    for item in left:
        site = item.obligation.site
        key = item.task.id if item.task else f"{item.obligation.check} {site and site.node}"
        groups.setdefault(key, []).append(item)
    names = _names(number, groups, again)
    tasks = [_repair(names[key], items, sources) for key, items in groups.items()]
    tasks += [replace(task, id=names[task.id], repairs=task.id) for task in again]
    known = {key: name for key, name in names.items() if key in {t.repairs for t in tasks}}
    waiting = [
        replace(task, depends_on=tuple(known[d] for d in task.depends_on if d in known))
        for task in tasks
    ]
    return replace(of, tasks=_provided(waiting, sources), atomic=False)


def _names(
    number: int, groups: Mapping[str, Sequence[Left]], again: Iterable[Task]
) -> dict[str, str]:
    names: dict[str, str] = {}
    for index, (key, items) in enumerate(groups.items(), 1):
        root = _REPAIR.sub("", key) if items[0].task else str(index)
        names[key] = f"repair{number}-{root}"
    for task in again:
        names[task.id] = f"repair{number}-{_REPAIR.sub('', task.id)}"
    taken: set[str] = set()
    for index, (key, name) in enumerate(names.items(), 1):
        if len(name) > _ID or name in taken:
            names[key] = f"repair{number}-{index}-{_REPAIR.sub('', name)}"[:_ID].rstrip("._-")
        taken.add(names[key])
    return names


def _repair(name: str, items: Sequence[Left], sources: Sources) -> Task:
    task = items[0].task
    obligations = _merged(
        (*(task.obligations if task else ()), *(item.obligation for item in items))
    )
    wanted = [node for item in items for node in (*_of(task), *item.writes)]
    created = [node for item in items for node in (*(task.creates if task else ()), *item.creates)]
    # What was to be created may be there by now.
    writes = [n for n in dict.fromkeys((*wanted, *created)) if _exists(sources, n)]
    creates = [n for n in dict.fromkeys(created) if not _exists(sources, n)]
    reads = dict.fromkeys(
        node
        for node in (*(task.reads if task else ()), *(n for item in items for n in item.reads))
        if node not in writes and _exists(sources, node)
    )
    room = max(1, MOST_NODES - len(creates))
    return Task(
        name,
        task.goal if task else _goal(items),
        tuple(writes[:room]),
        (*reads, *writes[room:]),
        tuple(creates),
        task.depends_on if task else (),
        task.model if task else "",
        obligations,
        task.id if task else "",
    )


def _of(task: Task | None) -> tuple[NodeId, ...]:
    return task.writes if task else ()


def _goal(items: Sequence[Left]) -> str:
    found = "; ".join(dict.fromkeys(item.obligation.subject for item in items))
    goals = dict.fromkeys(goal for item in items for goal in item.goals)
    kept = f" Keep what was asked for there: {'; '.join(goals)}" if goals else ""
    return f"put right what {items[0].obligation.check} found: {found}.{kept}"


def _merged(obligations: Iterable[Obligation]) -> tuple[Obligation, ...]:
    """Return one obligation for each check and place, told by what was found last."""
    found: dict[tuple[str, NodeId | None], Obligation] = {}
    for each in obligations:
        key = each.check, each.site
        if known := found.get(key):
            keeps = tuple(dict.fromkeys((*known.keeps, *each.keeps)))
            each = replace(each, keeps=keeps, landed=known.landed and each.landed)
        found[key] = each
    return tuple(found.values())


def _provided(tasks: Sequence[Task], sources: Sources) -> tuple[Task, ...]:
    """Leave what is missing to one task only: the first that may create it."""
    makers: dict[NodeId, str] = {}
    found = []
    for task in tasks:
        mine = [node for node in task.creates if makers.setdefault(node, task.id) == task.id]
        others = {makers[node] for node in task.creates if node not in mine}
        later = tuple(dict.fromkeys((*task.depends_on, *sorted(others))))
        found.append(replace(task, creates=tuple(mine), depends_on=later))
    return tuple(found)


def _exists(sources: Sources, node: NodeId) -> bool:
    if node.path not in sources:
        return False
    return node.is_file or sources.node(node) is not None


def kept(planned: Plan, edited: Plan) -> tuple[Plan, tuple[str, ...]]:
    """Return an edited plan with the obligations of its repairs as they were, and what was done.

    Who drops a repair drops its obligations with it; who keeps it cannot weaken them.
    """
    known = {task.id: task for task in planned.tasks}
    tasks, remarks = [], []
    for task in edited.tasks:
        was = known.get(task.id)
        obligations = was.obligations if was else ()
        if obligations != task.obligations:
            remarks.append(
                f"{task.id}: what it has to put right stays as it is: "
                f"{', '.join(each.check for each in obligations) or 'nothing'}"
            )
        repairs = was.repairs if was else ""
        tasks.append(replace(task, obligations=obligations, repairs=repairs))
    return replace(edited, tasks=tuple(tasks), request=planned.request), tuple(remarks)


# ------------------------------------------------------------------------------ what still holds


def is_alike(check: str, other: str) -> bool:
    """Whether findings of two checks at one place count as the same: one error for another."""
    return check == other or {check, other} <= _USES


def places(finding: Finding) -> tuple[NodeId, ...]:
    """Return where a finding is to be put right: what is left behind, else what it is about."""
    behind = dict.fromkeys(need.node.node for need in finding.needs if need.write)
    return tuple(behind) or (finding.node.node,)


def live(
    obligations: Iterable[Obligation], findings: Sequence[Finding]
) -> Iterator[tuple[Obligation, Finding]]:
    """Yield the obligations that still hold, each with a finding that says so.

    The same kind of finding at the same place is the same, whatever it complains of there.
    """
    for obligation in obligations:
        for finding in findings:
            here = obligation.site is None or obligation.site.node in places(finding)
            if here and is_alike(finding.check, obligation.check):
                yield obligation, finding
                break


def lost(obligations: Iterable[Obligation], sources: Sources) -> tuple[NodeId, ...]:
    """Return what was added by the edits that are repaired, and is not in this tree."""
    keeps = dict.fromkeys(node for each in obligations for node in each.keeps)
    return tuple(node for node in keeps if not _exists(sources, node))


def taken_back(
    obligations: Iterable[Obligation], before: Sources, broken: Sources, after: Sources
) -> tuple[NodeId, ...]:
    """Return the places that a repair made what they were before the run: that undoes, and repairs
    nothing.
    """
    sites = [each.site for each in obligations if each.site is not None and each.landed]
    return tuple(
        site
        for site in dict.fromkeys(sites)
        if _text(before, site) is not None
        and _text(before, site) == _text(after, site) != _text(broken, site)
    )


def _text(sources: Sources, node: NodeId) -> bytes | None:
    return sources.file(node.path).text(node) if _exists(sources, node) else None


def added(paths: Collection[str], before: Sources, now: Sources) -> tuple[NodeId, ...]:
    """Return the definitions of these files that are new since `before`."""
    return tuple(
        node.id
        for path in sorted(paths)
        if path in now
        for node in now.nodes(path)
        if node.kind in _DEFINITIONS and not _exists(before, node.id)
    )


def touching(tasks: Iterable[Task], nodes: Collection[NodeId]) -> Iterator[Task]:
    """Yield the tasks that were to write some of these nodes."""
    wanted = {node.node for node in nodes}
    for task in tasks:
        mine = {node.node for node in (*task.writes, *task.creates)}
        if not mine.isdisjoint(wanted) or any(not mine.isdisjoint(n.containers) for n in wanted):
            yield task
