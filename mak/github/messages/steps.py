"""What of a plan is on the branch, and what is still to come, wave by wave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mak.github.messages.words import code, inert
from mak.github.reduce import ALLOWED
from mak.github.state import Landed, Phase, Proposal, RunState


@dataclass(frozen=True, slots=True)
class Step:
    """A wave of the plan, or a repair."""

    #: `Wave 2`, `Repair 1`.
    label: str
    #: As people were shown them.
    tasks: tuple[str, ...]
    #: Its commits: more than one where a part had to be repaired first.
    landed: tuple[Landed, ...] = ()
    #: Whether something of it is not on the branch.
    open: bool = False
    #: Whether it is what is worked on.
    runs: bool = False
    #: Of which plan of repairs; 0: a wave of the plan.
    repair: int = 0


def steps(state: RunState, proposal: Proposal | None) -> list[Step]:
    """Return waves and repairs in their order; `proposal` is the plan that was offered last.

    What landed of an earlier plan comes first; a repair stands behind the wave that it came after.
    """
    names = {kernel: shown for shown, kernel in (proposal.names if proposal else {}).items()}
    waves = [tuple(wave) for wave in proposal.waves] if proposal else []
    place = {task: index for index, wave in enumerate(waves) for task in wave}
    commits: list[list[Landed]] = [[] for _ in waves]
    #: By the wave that they came after; -1: before the first.
    repairs: dict[int, list[Step]] = {}
    before: list[Step] = []
    done: set[str] = set()
    last = -1
    for landed in state.waves:
        tasks = tuple(names.get(task, task) for task in landed.tasks)
        there = repairs.setdefault(last, []) if last >= 0 else before
        if landed.repair:
            if there and there[-1].repair == landed.repair:
                old = there.pop()
                again = replace(old, tasks=old.tasks + tasks, landed=(*old.landed, landed))
            else:
                again = Step(f"Repair {landed.repair}", tasks, (landed,), repair=landed.repair)
            there.append(again)
            continue
        done |= {*tasks}
        index = min((place[task] for task in tasks if task in place), default=-1)
        if index >= 0:
            commits[index].append(landed)
            last = max(last, index)
        else:
            number = sum(not step.repair for step in before) + 1
            label = f"Wave {number}{' of an earlier plan' if waves else ''}"
            before.append(Step(label, tasks, (landed,)))
    runs = state.phase is Phase.RUNNING
    if number := approved_repair(state):
        there = repairs.setdefault(last, []) if last >= 0 else before
        there.append(Step(f"Repair {number}", (), (), True, runs, number))
        runs = False
    rows = before
    for index, wave in enumerate(waves):
        # What a repair does again is landed with it; a wave with later ones behind it is over.
        is_open = index > last and not {*wave} <= done and state.phase is not Phase.DONE
        rows.append(Step(f"Wave {index + 1}", wave, (*commits[index],), is_open, is_open and runs))
        runs = runs and not is_open
        rows += repairs.get(index, ())
    return rows


def next_wave(state: RunState, proposal: Proposal | None) -> str:
    """Return what runs or is to come next, such as `wave 2`, `repair 1`; empty: nothing is."""
    found = next((step.label for step in steps(state, proposal) if step.open), "")
    return found[:1].lower() + found[1:]


def last_wave(state: RunState, proposal: Proposal | None) -> str:
    """Return the last wave of the plan that is on the branch; empty: none is."""
    landed = [step.label for step in steps(state, proposal) if step.landed and not step.repair]
    return landed[-1][:1].lower() + landed[-1][1:] if landed else ""


def approved_repair(state: RunState) -> int:
    """Return which plan of repairs is approved and not on the branch; 0: none is."""
    offer = state.offer
    if offer is None or state.phase is Phase.DONE or state.approved != offer.digest:
        return 0
    return 0 if any(each.repair == offer.repair for each in state.waves) else offer.repair


def waiting_repair(state: RunState) -> int:
    """Return which plan of repairs waits for somebody, or is being changed; 0: none is."""
    replans = any(todo.command.verb in ("replan", "add") for todo in state.todo)
    changes = state.phase is Phase.PLANNING and not replans
    waits = state.phase is Phase.REPAIR_REVIEW or changes
    return state.offer.repair if waits and state.offer else 0


def heard(state: RunState, verb: str) -> bool:
    """Tell whether a command does something where the run stands, so that it is worth typing."""
    goes_on = bool(state.approved or state.skipped)
    return state.phase in ALLOWED[verb] and (goes_on or verb not in ("resume", "retry"))


def tasks(names: Sequence[str], most: int = 240) -> str:
    """Return ids in a row, as many as fit in `most` characters, and how many more there are."""
    shown: list[str] = []
    for name in names:
        if sum(map(len, shown)) + len(name) > most and shown:
            return f"{' '.join(shown)} and {len(names) - len(shown)} more"
        shown.append(inert(name, 64))
    return " ".join(shown)


def branch(state: RunState) -> str:
    """Return the run's branch as code."""
    return code(state.branch)
