"""The embedded default: a planner and an agent that refactor by rule, without a model or a key.

The planner turns a request that it understands into one task per file (several for a big one); the
goal of each is a sentence that the agent reads back. Both ask the same code where what changes, so
that a plan names exactly the nodes that its agents edit.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from anyio.lowlevel import checkpoint

from mak.agents.assignment import Ask, Asked, Assignment, Slot, Told
from mak.errors import MakBug, PlanError
from mak.model import LEFT, AddImport, Aspect, NodeId, NodeKind, Reply, ReplyStatus, Task, Usage
from mak.source import Draft, Rejected, decode
from mak.source.names import names_of
from mak.source.refactor import Intent, Refusal, Sites, find, forms, nearest, parse, read

if TYPE_CHECKING:
    from mak.source import Sources

NAME = "builtin"
#: Nodes that one task writes, at most; more go to further tasks, which run side by side.
_NODES = 8
#: Remarks that a plan carries, before the rest is only counted.
_REMARKS = 30
_HINT = (
    "set a model: mak keys set anthropic, then mak run --models anthropic, or a local one, which "
    "mak local finds; without one, say one or more of: {forms}"
)


def planner(sources: Sources) -> Ask:
    """Return a planner for requests that the refactorings understand.

    It raises `PlanError` for others, and for what cannot be done safely.
    """

    async def ask(system: str, told: Told, schema: Mapping[str, Any], request: str) -> Asked:
        await checkpoint()
        return Asked(json.dumps(_plan(request, sources)), ReplyStatus.EDITED, Usage(), NAME)

    return ask


class BuiltinAgent:
    """Carries out tasks whose goal is a sentence that a refactoring understands."""

    is_steady = True

    def __init__(self, spec: str = NAME) -> None:
        self.spec = spec

    async def answer(self, assignment: Assignment) -> Reply:
        """Return the edits of the assignment's nodes, or why there are none."""
        await checkpoint()
        intent = _intent(assignment.task)
        if intent is None:
            return _refused(f"{_not_understood(assignment.task.goal)}; {_understood()}")
        # Other parts of the same change may have gone ahead, so the wave's base is what counts;
        # what another change of this wave made of the slots, though, is the text to edit.
        tree = assignment.sources
        if any(_has_moved(tree, slot) for slot in assignment.slots):
            tree = assignment.current
        sites = _found(tree, intent)
        if isinstance(sites, Refusal):
            return _refused(str(sites))
        granted = {slot.node for slot in assignment.slots}
        if left := sites.missed([slot.node for slot in assignment.slots if slot.exists]):
            return _refused(f"{sites.sentence} needs {_list(left)} too, which it may not write")
        edits = sites.edits(tree, granted)
        if not edits:
            why = f"{sites.sentence} changes nothing in what this task may write"
            return Reply(ReplyStatus.UNCHANGED, reason=why, model=NAME)
        told = " ".join((*sites.notes, *sites.remarks))
        return Reply(ReplyStatus.EDITED, edits, notes=told, model=NAME)


# ------------------------------------------------------------------------------------ planning


def _plan(request: str, sources: Sources) -> dict[str, Any]:
    """Return a plan reply; raise `PlanError` with the one thing that is in the way."""
    intents = parse(request)
    if isinstance(intents, str):
        raise PlanError(_not_understood(intents), hint=_understood())
    steps = _steps(intents, sources)
    for sites, _ in steps:
        _see_that_all_is_shared(sites)
    tasks: list[dict[str, Any]] = []
    decisions: list[str] = []
    made: list[list[str]] = []
    for sites, needs in steps:
        before = [task for step in needs for task in made[step]]
        made.append([])
        for writes, creates, path in _shares(sites):
            task_id = f"t{len(tasks) + 1}"
            made[-1].append(task_id)
            tasks.append(
                {
                    "id": task_id,
                    "goal": _goal(sites.sentence, path),
                    "writes": [str(node) for node in writes],
                    "reads": [],
                    "creates": [str(node) for node in creates],
                    "depends_on": before,
                }
            )
        decisions += (_decision(sites), *sites.notes)
        shown = sites.remarks[:_REMARKS]
        decisions.extend(f"{LEFT}{remark}" for remark in shown)
        if len(sites.remarks) > len(shown):
            decisions.append(f"{LEFT}{len(sites.remarks) - len(shown)} more places like these")
    return {
        "decisions": decisions,
        "atomic": True,
        "tasks": tasks,
        "questions": [],
        "complete": True,
    }


def _steps(intents: Sequence[Intent], sources: Sources) -> list[tuple[Sites, list[int]]]:
    """Return what each intent changes, and the earlier ones that it has to wait for.

    An intent that touches nothing that an earlier one touches runs beside it; the others are found
    in the tree as it will be after those before them.
    """
    found: list[tuple[Sites, list[int]]] = []
    after = sources
    for number, intent in enumerate(intents):
        first = _found(sources, intent)
        needs: list[int] = []
        if number and not isinstance(first, Refusal):
            mine = _touched(first)
            needs = [i for i, (other, _) in enumerate(found) if _meet(mine, _touched(other))]
        elif number:
            needs = list(range(number))
        tree = after if needs else sources
        sites = _found(tree, intent) if needs else first
        if isinstance(sites, Refusal):
            raise PlanError(sites.told, hint=sites.hint)
        if not sites.paths:
            raise PlanError(f"{sites.sentence}: there is nothing to change")
        sites, changed = _rehearsed(sites, tree)
        found.append((sites, needs))
        if tree is after:
            after = changed
        elif number + 1 < len(intents):
            after = _applied(after, intent)
    return found


def _touched(sites: Sites) -> frozenset[NodeId]:
    """Return the nodes that a change writes, makes or may add imports to."""
    headers = (
        NodeId(path, "@header")
        for path, edits in sites.additions.items()
        if any(isinstance(edit, AddImport) for edit in edits)
    )
    return frozenset((*sites.units, *sites.creates, *headers))


def _meet(these: frozenset[NodeId], those: frozenset[NodeId]) -> bool:
    """Whether two sets of nodes share one, or one lies in another."""
    plain = {node.node for node in these}
    others = {node.node for node in those}
    if not plain.isdisjoint(others):
        return True
    return any(not others.isdisjoint(_outer(node)) for node in these) or any(
        not plain.isdisjoint(_outer(node)) for node in those
    )


def _outer(node: NodeId) -> Iterable[NodeId]:
    return (container.node for container in node.containers)


def _applied(sources: Sources, intent: Intent) -> Sources:
    """Return the tree with a change carried out."""
    sites = _found(sources, intent)
    if isinstance(sites, Refusal):
        raise PlanError(str(sites))
    return _rehearsed(sites, sources)[1]


def _rehearsed(sites: Sites, sources: Sources) -> tuple[Sites, Sources]:
    """Carry out a change to see that it can be; return it with all signatures it changes, and then.

    A class has another signature with another base, a function with another decorator.
    """
    draft = Draft(sources)
    granted = frozenset((*sites.units, *(unit.node.api for unit in sites.api), *sites.creates))
    units = (*sites.units, *(NodeId(path) for path in sites.additions))
    proposal = draft.propose(sites.edits(sources, units), granted)
    if isinstance(proposal, Rejected):
        raise PlanError(f"{sites.sentence}: it cannot be carried out: {proposal.reason}")
    draft.accept(proposal)
    after = draft.sources
    before, names = names_of(sources), names_of(after)
    for path in proposal.files:
        if path in sources and before.facts(path) and path in after and not names.facts(path):
            raise PlanError(f"{sites.sentence}: it cannot be carried out: {path} would not parse")
    seen = {
        unit
        for unit in sites.units
        if unit.node in proposal.api_changed and _defines(unit, sources)
    }
    return replace(sites, api=sites.api | seen), after


def _defines(unit: NodeId, sources: Sources) -> bool:
    node = sources.node(unit.node)
    return node is not None and node.kind in (NodeKind.FUNCTION, NodeKind.METHOD, NodeKind.CLASS)


def _shares(sites: Sites) -> Iterable[tuple[tuple[NodeId, ...], tuple[NodeId, ...], str]]:
    """Yield the writes, the creates and the file of each task."""
    writes: dict[str, list[NodeId]] = {path: [] for path in sites.paths}
    for unit in sites.units:
        writes[unit.path].append(unit)
    creates: dict[str, list[NodeId]] = defaultdict(list)
    for node in sites.creates:
        if NodeId(node.path) not in writes[node.path]:
            creates[node.path].append(node)
    for path, units in writes.items():
        made = tuple(creates[path])
        for begin in range(0, max(len(units), 1), _NODES):
            share = units[begin : begin + _NODES]
            named = tuple(_written(unit, sites) for unit in share)
            if not named and not made:
                named = (NodeId(path, "@header"),)
            yield named, made if begin == 0 else (), path


def _see_that_all_is_shared(sites: Sites) -> None:
    """See that the tasks write every unit, and each of them once."""
    shares = [write for writes, _, _ in _shares(sites) for write in writes]
    wanted = {_written(unit, sites) for unit in sites.units}
    if not wanted <= set(shares) or len(shares) != len(set(shares)):
        raise MakBug(f"planning {sites.sentence}: tasks do not write what changes, once each")
    holders = {holder for unit in sites.units for holder in unit.containers}
    if twice := sorted(holders.intersection(sites.units)):
        raise MakBug(f"planning {sites.sentence}: {_list(twice)} holds what else is written")


def _written(unit: NodeId, sites: Sites) -> NodeId:
    """Return what a task has to be granted to change a unit as it does."""
    if unit in sites.api and unit.aspect is Aspect.TEXT and not unit.is_file:
        return unit.api
    return unit


def _goal(sentence: str, path: str) -> str:
    return f"{sentence}, in {path}"


def _decision(sites: Sites) -> str:
    nodes, files = len(sites.units), len(sites.paths)
    return f"{sites.sentence}: {_count(nodes, 'node')} in {_count(files, 'file')}"


def _list(nodes: Sequence[NodeId]) -> str:
    return ", ".join(map(str, nodes))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


# ----------------------------------------------------------------------------------- answering

_memo: WeakKeyDictionary[Sources, dict[Intent, Sites | Refusal]] = WeakKeyDictionary()


def _found(sources: Sources, intent: Intent) -> Sites | Refusal:
    """Return what an intent changes in a tree; worked out once for all tasks of a wave."""
    known = _memo.setdefault(sources, {})
    if intent not in known:
        known[intent] = find(sources, intent)
    return known[intent]


def _intent(task: Task) -> Intent | None:
    """Read the goal of a task; the planner's name the file too."""
    for node in (*task.writes, *task.creates):
        if task.goal.endswith(f", in {node.path}"):
            return read(task.goal.removesuffix(f", in {node.path}"))
    return read(task.goal)


def _has_moved(tree: Sources, slot: Slot) -> bool:
    """Whether a slot shows another text than the tree has."""
    if not slot.exists:
        return False
    if slot.node.path not in tree:
        return True
    try:
        text = decode(tree.file(slot.node.path), slot.node)
    except KeyError:
        return True
    return text.strip("\n") != slot.source.strip("\n")


def _refused(reason: str) -> Reply:
    return Reply(ReplyStatus.REFUSED, reason=reason, model=NAME)


def _not_understood(text: str) -> str:
    shown = text if len(text) <= 80 else f"{text[:79]}…"
    near = nearest(text)
    asked = f"; what comes nearest is: {near}" if near else ""
    return f"the built-in planner does not understand {' '.join(shown.split())!r}{asked}"


def _understood() -> str:
    return _HINT.format(forms="; ".join(forms()))
