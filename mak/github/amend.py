"""What a command makes of a plan under review, and how its tasks are called there: all of it pure.

People see `T1`, `T2`, … or, of repairs, `R1`, `R2`, …; the kernel has ids of its own. An id that
was shown never comes to mean another task.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from mak.errors import MakBug
from mak.github.commands import Command
from mak.github.state import Dropped
from mak.model import NodeId, Plan, Task
from mak.plan import parse_plan, plan_document, without
from mak.plan.dag import circle
from mak.schedule import levels

_NUMBER = re.compile(r"([A-Z])(\d+)", re.ASCII)


class Refused(Exception):
    """A plan stays as it is; carries why, in a sentence for whoever asked."""

    def __init__(self, says: str) -> None:
        super().__init__(says)
        self.says = says


def amend(
    plan: Plan,
    dropped: tuple[Dropped, ...],
    command: Command,
    login: str,
    *,
    files: Collection[str] | None = None,
    taken: Collection[str] = (),
) -> tuple[Plan, tuple[Dropped, ...], str]:
    """Return a plan after `edit`, `drop`, `keep`, `add` or `skip`, and what that was: `T3 edited`.

    Plan and dropped tasks have the ids that people see. `login` is who says so. `files` are those
    of the tree: a task makes what it is given that is not among them; None: all of it is there.
    `taken` are ids that the run's plans had before: an added task gets none of them.
    Raises `Refused` for what cannot be done; whether the plan fits the repository is for grounding
    to say.
    """
    case = _Case(plan, dropped, login, files, taken)
    change = _CHANGES.get(command.verb)
    if change is None:
        raise MakBug(f"amending a plan: {command.verb} changes none")
    what = change(case, command)
    if round_ := circle({task.id: task.depends_on for task in case.tasks}):
        raise Refused(f"Tasks would wait for each other: {' → '.join(round_)}.")
    amended = replace(plan, tasks=tuple(case.tasks))
    return without(amended, [*case.gone.values()]), tuple(case.dropped), what


def renamed(
    plan: Plan,
    letter: str,
    last: Plan | None,
    taken: Iterable[str] = (),
    names: Mapping[str, str] = MappingProxyType({}),
) -> tuple[Plan, dict[str, str]]:
    """Return a plan with ids for people, and the kernel's ids by these.

    Tasks are called `letter` and 1, 2, … in their order. A task of `names`, the kernel's ids by
    those that people know of this same plan, is called as there; so what was edited stays what it
    was. What is in `last`, the plan that was shown before, with the same goal and writes keeps that
    id. All others get ids that neither of these nor `taken` has. What a repair repairs is a task of
    the kernel and stays. Names of tasks that are not in the plan, since they were dropped, are in
    what is returned, too.
    """
    known = {kernel: id for id, kernel in names.items()}
    used = {*known.values()}
    shown: dict[object, list[str]] = {}
    for task in last.tasks if last else ():
        if task.id not in used:
            shown.setdefault(_likeness(task), []).append(task.id)
    before = (*(task.id for task in (last.tasks if last else ())), *taken, *used)
    number = _highest(before, letter)
    for task in plan.tasks:
        if task.id in known:
            continue
        if same := shown.get(_likeness(task)):
            known[task.id] = same.pop(0)
        else:
            number += 1
            known[task.id] = f"{letter}{number}"
    return _called(plan, known), {id: kernel for kernel, id in known.items()}


def original(plan: Plan, names: Mapping[str, str]) -> Plan:
    """Return a plan with the kernel's ids, from one with ids for people."""
    return _called(plan, with_added(plan, names))


def with_added(plan: Plan, names: Mapping[str, str]) -> dict[str, str]:
    """Return `names`, the kernel's ids by those for people, with all tasks of a plan among them.

    A task that somebody added is called in the kernel as it is for people, unless another is.
    """
    found = dict(names)
    used = {*names.values()}
    for task in plan.tasks:
        if task.id not in found:
            name, number = task.id, 1
            while name in used:
                number += 1
                name = f"{task.id}-{number}"
            found[task.id] = name
            used.add(name)
    return found


def _likeness(task: Task) -> object:
    return task.goal, frozenset(task.writes)


def _called(plan: Plan, names: Mapping[str, str]) -> Plan:
    tasks = (
        replace(
            task,
            id=names[task.id],
            depends_on=tuple(names.get(needed, needed) for needed in task.depends_on),
        )
        for task in plan.tasks
    )
    return replace(plan, tasks=tuple(tasks))


def _highest(ids: Iterable[str], letter: str) -> int:
    found = (_NUMBER.fullmatch(id) for id in ids)
    return max((int(match[2]) for match in found if match and match[1] == letter), default=0)


# ------------------------------------------------------------------------------ what commands do


class _Case:
    """A plan while it is changed."""

    def __init__(
        self,
        plan: Plan,
        dropped: tuple[Dropped, ...],
        login: str,
        files: Collection[str] | None,
        taken: Collection[str],
    ) -> None:
        self.plan = plan
        self.login = login
        self.files = files
        self.taken = taken
        self.tasks = [*plan.tasks]
        self.dropped = [*dropped]
        self.gone = {task.id: task for task in map(_task, dropped)}
        #: What ids of this plan begin with.
        self.letter = (*(task.id for task in plan.tasks), "T")[0][0]

    def task(self, id: str) -> Task:
        """Return a task of the plan; raise `Refused` where there is none."""
        for task in self.tasks:
            if task.id == id:
                return task
        if id in self.gone:
            raise Refused(f"{id} is dropped: `/mak keep {id}` takes it in again.")
        raise Refused(f"There is no {id}; there {_are(task.id for task in self.tasks)}.")

    def put(self, task: Task) -> None:
        """Put a task in place of the one with its id."""
        self.tasks = [task if each.id == task.id else each for each in self.tasks]

    def after(self, command: Command) -> tuple[str, ...] | None:
        """Return the tasks that `--after` names; None: it is not there."""
        value = command.flag("after")
        if value is None:
            return None
        return tuple(self.task(id).id for id in dict.fromkeys(value.upper().split(",")))

    def dependants(self, ids: Iterable[str]) -> list[str]:
        """Return all other tasks that wait for some of these, directly or not, in plan order."""
        first = {*ids}
        found = {*first}
        more = first
        while more:
            more = {
                task.id
                for task in self.tasks
                if task.id not in found and not more.isdisjoint(task.depends_on)
            }
            found |= more
        return [task.id for task in self.tasks if task.id in found - first]


def _edit(case: _Case, command: Command) -> str:
    before = case.task(command.ids[0])
    task = replace(before, goal=command.text or before.goal)
    if (files := command.flag("files")) is not None:
        task = _with_files(case, task, files.split(","))
    after, wave = case.after(command), command.flag("wave")
    if after is not None and wave is not None:
        raise Refused("`--after` and `--wave` both say when a task comes: give one of them.")
    if after is not None:
        task = replace(task, depends_on=after)
    if wave is not None:
        task = replace(task, depends_on=_in_wave(case, task, int(wave)))
    if task == before:
        raise Refused(f"{task.id} is like that already: there is nothing to change.")
    case.put(task)
    return f"{task.id} edited"


def _with_files(case: _Case, task: Task, paths: Sequence[str]) -> Task:
    """Return the task with these files as all that it writes.

    A file that it was to make is still made; what else it was to make would be in a file that is
    written as a whole, or is no longer its.
    """
    named = dict.fromkeys(map(NodeId, paths))
    new = {node for node in task.creates if node.is_file} | _missing(case, named)
    was = (node for node in task.creates if node.file in named and node.file in new)
    creates = tuple(dict.fromkeys((*was, *(node for node in named if node in new))))
    writes = tuple(node for node in named if node not in new)
    reads = tuple(node for node in task.reads if node.file not in named)
    return replace(task, writes=writes, creates=creates, reads=reads)


def _missing(case: _Case, named: Iterable[NodeId]) -> set[NodeId]:
    """Return those of the files that neither the tree has nor a task makes."""
    if case.files is None:
        return set()
    made = {node for each in case.tasks for node in each.creates}
    return {node for node in named if node.path not in case.files and node not in made}


def _in_wave(case: _Case, task: Task, number: int) -> tuple[str, ...]:
    """Return what a task is to come after, so that it is in wave `number`, from 1."""
    # Whoever waits for it moves along, and can be no reason for it to wait.
    moving = {task.id, *case.dependants((task.id,))}
    others = [each for each in case.tasks if each.id not in moving]
    waves = levels(replace(case.plan, tasks=tuple(others)))
    if number > len(waves) + 1:
        why = "it and what waits for it" if len(moving) > 1 else "it"
        raise Refused(
            f"{task.id} cannot be in wave {number}, as no task would be in wave {number - 1}:"
            f" without {why}, the plan has {len(waves) or 'no'}"
            f" wave{'' if len(waves) == 1 else 's'}."
        )
    early = {id for wave in waves[: number - 1] for id in wave}
    for other in others:
        late = other.id in task.depends_on and other.id not in early
        if late and (made := _used(task, other.creates)):
            raise Refused(
                f"{task.id} cannot be in wave {number}: it builds on {made}, which {other.id}"
                " creates there or later."
            )
    needed = tuple(id for id in task.depends_on if id in early)
    if number == 1 or not {*waves[number - 2]}.isdisjoint(needed):
        return needed
    return (*needed, waves[number - 2][0])


def _used(task: Task, made: Iterable[NodeId]) -> NodeId | None:
    """Return the first of these that a task cannot do without."""
    nodes = [*task.writes, *task.reads, *task.creates]
    for each in made:
        if any(each.node in (node.node, *(c.node for c in node.containers)) for node in nodes):
            return each
    return None


def _drop(case: _Case, command: Command) -> str:
    return _left_out(case, command, "dropped", cascade=command.flag("cascade") is not None)


def _skip(case: _Case, command: Command) -> str:
    return _left_out(case, command, "skipped", cascade=False)


def _left_out(case: _Case, command: Command, how: str, *, cascade: bool) -> str:
    asked = [case.task(id).id for id in command.ids if id not in case.gone]
    if not asked:
        verb = "is" if len(command.ids) == 1 else "are"
        raise Refused(f"{_listed(command.ids)} {verb} dropped already.")
    orphans = case.dependants(asked)
    if orphans and not cascade:
        wait = "waits" if len(orphans) == 1 else "wait"
        flag = " --cascade" if command.verb == "drop" else f" {' '.join(orphans)}"
        raise Refused(
            f"{_listed(orphans)} {wait} for {_listed(asked)}:"
            f" `/mak {command.verb} {' '.join(asked)}{flag}` leaves out all of them."
        )
    out = {*asked, *orphans}
    leaving = [task for task in case.tasks if task.id in out]
    case.tasks = [task for task in case.tasks if task.id not in out]
    if not case.tasks:
        instead = (
            "`/mak skip all` goes on without repairs"
            if case.letter == "R"
            else "`/mak cancel` ends the run"
        )
        raise Refused(f"That would leave nothing of the plan: {instead}.")
    document = plan_document(replace(case.plan, tasks=tuple(leaving)))
    case.dropped += [Dropped(task, case.login) for task in document["tasks"]]
    case.gone |= {task.id: task for task in leaving}
    return f"{', '.join(task.id for task in leaving)} {how}"


def _keep(case: _Case, command: Command) -> str:
    ids = {task.id for task in case.tasks}
    for id in command.ids:
        if id not in case.gone:
            missing = f"{id} is not dropped" if id in ids else f"There is no {id}"
            raise Refused(f"{missing}; dropped {_are(case.gone)}.")
    back = {id: case.gone[id] for id in command.ids}
    if more := _also(case, back):
        builds = "builds" if len(back) == 1 else "build"
        raise Refused(
            f"{_listed(back)} {builds} on {_listed(more)}, dropped too:"
            f" `/mak keep {' '.join((*back, *more))}` takes in all of them."
        )
    for task in back.values():
        known = tuple(id for id in task.depends_on if id in {*back, *ids})
        lower = [each for each in case.tasks if _order(each.id) < _order(task.id)]
        nearest = max(lower, key=lambda each: _order(each.id), default=None)
        place = case.tasks.index(nearest) + 1 if nearest else 0
        case.tasks.insert(place, replace(task, depends_on=known))
        del case.gone[task.id]
    case.dropped = [each for each in case.dropped if each.task["id"] in case.gone]
    return f"{', '.join(back)} kept"


def _also(case: _Case, back: Mapping[str, Task]) -> list[str]:
    """Return the dropped tasks that these build on, directly or not."""
    found: dict[str, None] = {}
    ahead = list(back)
    while ahead:
        for id in case.gone[ahead.pop()].depends_on:
            if id in case.gone and id not in back and id not in found:
                found[id] = None
                ahead.append(id)
    return sorted(found, key=_order)


def _add(case: _Case, command: Command) -> str:
    if case.letter == "R":
        raise Refused("A plan of repairs takes no other tasks: `/mak edit` changes one of them.")
    used = (*(task.id for task in case.tasks), *case.gone, *case.taken)
    number = _highest(used, case.letter) + 1
    id = f"{case.letter}{number}"
    task = Task(id, command.text, depends_on=case.after(command) or ())
    if (files := command.flag("files")) is not None:
        task = _with_files(case, task, files.split(","))
    case.tasks.append(task)
    return f"{id} added"


_CHANGES: dict[str, Callable[[_Case, Command], str]] = {
    "edit": _edit,
    "drop": _drop,
    "keep": _keep,
    "add": _add,
    "skip": _skip,
}


# ------------------------------------------------------------------------------ words


def _task(dropped: Dropped) -> Task:
    return parse_plan({"tasks": [dict(dropped.task)]}).tasks[0]


def _order(id: str) -> tuple[str, int]:
    match = _NUMBER.fullmatch(id)
    return (match[1], int(match[2])) if match else (id, 0)


def _listed(ids: Iterable[str]) -> str:
    *most, last = ids
    return f"{', '.join(most)} and {last}" if most else last


def _are(ids: Iterable[str]) -> str:
    names = [*ids]
    if not names:
        return "is none"
    return f"{'is' if len(names) == 1 else 'are'} {', '.join(names)}"
