"""What follows from the signatures that a plan changes, as far as the graph can prove it.

Whoever calls what changes comes after the task that changes it, and a caller that no task writes
gets a task of its own, marked as added. Only a signature that a task declares to change (``#api``)
has callers to be moved along: that one piece of code mentions another orders nothing, or a registry
would make a chain of all that it lists.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from mak.errors import UsageError
from mak.model import Aspect, NodeId, Obligation, Plan, Task
from mak.source import Sources
from mak.source.graph import Graph, broken_by, graph_of

_NO_ID = re.compile(r"[^A-Za-z0-9._-]+")
#: Characters of a task's goal that are handed to the tasks of its callers.
_GOAL = 2_000
#: The check that finds who does not fit a signature.
_RELIES = "interface"


@dataclass(frozen=True, slots=True)
class Change:
    """A signature that a task declares to change, and the nodes that have to follow."""

    task: str
    node: NodeId
    followers: tuple[NodeId, ...]


@dataclass(slots=True)
class Follow:
    """What the graph says about the tasks of a plan."""

    tasks: Sequence[Task]
    sources: Sources
    changes: list[Change] = field(default_factory=list)

    def __post_init__(self) -> None:
        if any(_changed(task) for task in self.tasks):
            graph = graph_of(self.sources)
            self.changes = [
                Change(task.id, node, _followers(graph, node))
                for task in self.tasks
                for node in _changed(task)
                if node.path in self.sources
            ]

    def orders(self) -> Iterator[tuple[str, str, str]]:
        """Yield a task, one that it should come after, and why."""
        writers: dict[NodeId, list[str]] = {}
        readers: dict[NodeId, list[str]] = {}
        for task in self.tasks:
            for node in task.writes:
                writers.setdefault(node.node, []).append(task.id)
            for node in task.reads:
                readers.setdefault(node.node, []).append(task.id)
        for change in self.changes:
            for reader in readers.get(change.node, ()):
                if reader != change.task:
                    yield reader, change.task, f"changes {change.node}, which it reads"
            for node in change.followers:
                for writer in writers.get(node, ()):
                    if writer != change.task:
                        yield writer, change.task, f"changes {change.node}, which {node} calls"

    def added(
        self, check_path: Callable[[str], str], remark: Callable[[str], None]
    ) -> Iterator[Task]:
        """Yield a task for every follower that no task writes."""
        covered = {node for task in self.tasks for node in task.writes}
        wanted: dict[NodeId, list[Change]] = {}
        for change in self.changes:
            for node in change.followers:
                if not _is_covered(node, covered):
                    wanted.setdefault(node, []).append(change)
        taken = {task.id for task in self.tasks}
        goals = {task.id: task.goal for task in self.tasks}
        visible = {*self.sources.visible} if wanted else set()
        for node, changes in sorted(wanted.items()):
            if reason := _out_of_reach(node, visible, check_path):
                names = ", ".join(str(change.node) for change in changes)
                remark(f"{node} uses {names}, whose signature changes, but {reason}")
                continue
            id = _free_id(f"{changes[0].task}-{node.symbol or node.path}", taken)
            yield _task(id, node, changes, goals)


def due(plan: Plan, sources: Sources) -> dict[str, tuple[Obligation, ...]]:
    """Return what tasks owe that come after a change of a signature and write who relies on it.

    Nobody else has to see to it that such a node fits again: until the last task that writes it has
    answered, its findings are left to that one. `sources` are those before the plan.
    """
    order = {task.id: task.depends_on for task in plan.tasks}
    if not any(order.values()):
        return {}
    writers: dict[NodeId, list[str]] = {}
    for task in plan.tasks:
        for node in task.writes:
            writers.setdefault(node.node, []).append(task.id)
    found: dict[str, dict[NodeId, Obligation]] = {}
    for change in Follow(plan.tasks, sources).changes:
        for node in change.followers:
            after = [t for t in writers.get(node, ()) if _reaches(order, t, change.task)]
            for name in after:
                if not any(_reaches(order, other, name) for other in after):
                    subject = f"it relies on {change.node}, whose signature changes"
                    found.setdefault(name, {})[node] = Obligation(_RELIES, subject, node)
    return {task: tuple(owes.values()) for task, owes in found.items()}


def unseen(
    tasks: Sequence[Task], sources: Sources, known: Mapping[str, Iterable[str]]
) -> Iterator[str]:
    """Yield a remark for each declared dependency that nothing shows; `known` are those shown."""
    by_id = {task.id: task for task in tasks}
    for task in tasks:
        for needed in task.depends_on:
            other = by_id.get(needed)
            if other is None or needed in known.get(task.id, ()) or _meet(task, other):
                continue
            if not _are_linked(graph_of(sources), task, other):
                yield (
                    f"{task.id}: kept after {needed}, as the plan says, "
                    f"though nothing shows that it relies on it"
                )


def _changed(task: Task) -> list[NodeId]:
    """Return the nodes whose signature a task declares to change."""
    return [node.node for node in task.writes if node.aspect is Aspect.API]


def _followers(graph: Graph, node: NodeId) -> tuple[NodeId, ...]:
    found = dict.fromkeys(link.source for link in broken_by(graph, node))
    return tuple(sorted(other for other in found if other != node))


def _is_covered(node: NodeId, covered: set[NodeId]) -> bool:
    return (
        node in covered
        or node.api in covered
        or any(container in covered for container in node.containers)
    )


def _out_of_reach(node: NodeId, visible: set[str], check_path: Callable[[str], str]) -> str:
    """Return why MAK must not touch a node; empty: it may."""
    if node.path not in visible:
        return "it is hidden from agents: adapt it yourself"
    try:
        check_path(node.path)
    except UsageError as error:
        return f"it is out of reach ({error}): adapt it yourself"
    return ""


def _free_id(wanted: str, taken: set[str]) -> str:
    stem = _NO_ID.sub("-", wanted).strip("-.")[:58].rstrip("-.")
    id, number = stem, 1
    while id in taken:
        number += 1
        id = f"{stem}-{number}"
    taken.add(id)
    return id


def _task(id: str, node: NodeId, changes: Sequence[Change], goals: Mapping[str, str]) -> Task:
    names = ", ".join(f"`{change.node}`" for change in changes)
    makers = tuple(dict.fromkeys(change.task for change in changes))
    intents = "\n".join(f"- {goals[maker][:_GOAL]}" for maker in makers)
    return Task(
        id,
        f"`{node}` relies on {names}, whose signature another task has changed. Adapt it, and "
        f"change nothing else; if it fits already, say so. The change was:\n{intents}",
        writes=(node,),
        depends_on=makers,
        added=f"relies on {', '.join(str(c.node) for c in changes)}, whose signature changes",
    )


def _meet(task: Task, other: Task) -> bool:
    """Whether two tasks name the same node, or one that holds the other's."""
    mine, theirs = _named(task), _named(other)
    return (
        not mine.isdisjoint(theirs)
        or any(not theirs.isdisjoint(_outer(node)) for node in mine)
        or any(not mine.isdisjoint(_outer(node)) for node in theirs)
    )


def _named(task: Task) -> set[NodeId]:
    return {node.node for node in (*task.writes, *task.reads, *task.creates)}


def _outer(node: NodeId) -> set[NodeId]:
    return {container.node for container in node.containers}


def _are_linked(graph: Graph, task: Task, other: Task) -> bool:
    """Whether a node of one task relies on a node that the other writes."""
    mine, theirs = _existing(graph, task), _existing(graph, other)
    return any(
        link.target in goals
        for nodes, goals in ((mine, theirs), (theirs, mine))
        for node in nodes
        for link in graph.links_from(node)
    )


def _existing(graph: Graph, task: Task) -> set[NodeId]:
    nodes = {node.node for node in (*task.writes, *task.reads)}
    return {node for node in nodes if node.path in graph.sources}


def placed(
    tasks: Sequence[Task],
    wanted: Iterable[tuple[str, str, str]],
    remark: Callable[[str], None],
) -> list[Task]:
    """Return the tasks with more dependencies, except those that would close a circle."""
    order: dict[str, tuple[str, ...]] = {task.id: task.depends_on for task in tasks}
    for task, before, why in wanted:
        if before in order[task] or _reaches(order, task, before):
            continue
        if _reaches(order, before, task):
            remark(f"{task}: comes before {before}, which {why}")
            continue
        order[task] = (*order[task], before)
        remark(f"{task}: made to depend on {before}, which {why}")
    return [replace(task, depends_on=order[task.id]) for task in tasks]


def _reaches(order: Mapping[str, Sequence[str]], task: str, wanted: str) -> bool:
    """Whether a task depends on another, directly or not."""
    seen: set[str] = set()
    todo = [task]
    while todo:
        for needed in order.get(todo.pop(), ()):
            if needed == wanted:
                return True
            if needed not in seen:
                seen.add(needed)
                todo.append(needed)
    return False
