"""What of a plan is on the branch, and what is still to come, wave by wave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mak.github.messages.words import code, inert
from mak.github.state import ACTIVE, Landed, Phase, Proposal, RunState


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
    before: list[Step] = []
    commits: dict[int, list[Landed]] = {}
    repairs: dict[int, list[Step]] = {}
    done: set[str] = set()
    last = -1
    for landed in state.waves:
        tasks = tuple(names.get(task, task) for task in landed.tasks)
        if landed.repair:
            step = Step(f"Repair {landed.repair}", tasks, (landed,), repair=landed.repair)
            (repairs.setdefault(last, []) if last >= 0 else before).append(step)
            continue
        done |= {*tasks}
        index = min((place[task] for task in tasks if task in place), default=-1)
        if index < 0:
            before.append(Step(f"Wave {landed.number} of an earlier plan", tasks, (landed,)))
        else:
            commits.setdefault(index, []).append(landed)
            last = max(last, index)
    rows, idle = before, state.phase is not Phase.RUNNING
    for index, wave in enumerate(waves):
        landed_here = tuple(commits.get(index, ()))
        # What a repair does again is landed with it; a wave with later ones behind it is over.
        is_open = index > last and not {*wave} <= done
        runs = is_open and not idle
        idle = idle or runs
        rows.append(Step(f"Wave {index + 1}", wave, landed_here, is_open, runs))
        rows += repairs.get(index, ())
    return rows


def next_wave(state: RunState, proposal: Proposal | None) -> str:
    """Return what is to come next, such as `wave 2`; empty: nothing of the plan is."""
    found = next((step.label for step in steps(state, proposal) if step.open), "")
    return found[:1].lower() + found[1:]


def last_wave(state: RunState, proposal: Proposal | None) -> str:
    """Return the last wave of the plan that is on the branch; empty: none is."""
    landed = [step.label for step in steps(state, proposal) if step.landed and not step.repair]
    return landed[-1][:1].lower() + landed[-1][1:] if landed else ""


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


def waiting_repair(state: RunState) -> int:
    """Return which plan of repairs waits for somebody; 0: none does."""
    waits = state.phase in ACTIVE and state.offer is not None and state.phase in _UNDECIDED
    return state.offer.repair if waits and state.offer else 0


_UNDECIDED = frozenset({Phase.REPAIR_REVIEW, Phase.PLANNING})
