"""What happens during a run, as typed events: the run log records them, a launcher renders them."""

from __future__ import annotations

import dataclasses
import typing
from dataclasses import dataclass
from typing import Any

from mak.errors import MakBug
from mak.model import Usage


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run began, or was taken up again (`recovered`)."""

    run: str
    branch: str
    base: str
    recovered: bool = False


@dataclass(frozen=True, slots=True)
class PlanAsked:
    """The planner was asked; `reason` says why again."""

    model: str
    attempt: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan was grounded: tasks by level, and what grounding changed or flagged."""

    levels: tuple[tuple[str, ...], ...]
    remarks: tuple[str, ...]
    usage: Usage
    #: What the planner decided, and left to a person.
    decisions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reviewed:
    """A person (or ``--no-review``) decided on the plan."""

    approved: bool
    dropped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TaskWaiting:
    """A task is held up by a lock; `holder` is a task of this run or another run."""

    task: str
    node: str
    holder: str


@dataclass(frozen=True, slots=True)
class TaskStarted:
    """An agent was given a task."""

    task: str
    attempt: int
    model: str
    nodes: tuple[str, ...]
    #: Bytes of source shown, by layer (``own``, ``reads``, ``outline``, …).
    context: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class ReplyParked:
    """A reply is in Git; nothing has judged it yet. `reused`: it was there from before a crash."""

    task: str
    attempt: int
    status: str
    usage: Usage
    reused: bool = False


@dataclass(frozen=True, slots=True)
class Spent:
    """What one question took, answered or not; see `mak.model.Spend`."""

    task: str
    wave: int
    model: str
    usage: Usage


@dataclass(frozen=True, slots=True)
class ReplyRejected:
    """A check (or the merge) turned a reply down; the task is asked again while it may be."""

    task: str
    attempt: int
    check: str
    reason: str


@dataclass(frozen=True, slots=True)
class TaskWidened:
    """A task asked for more nodes: granted at once, or queued until they are free."""

    task: str
    nodes: tuple[str, ...]
    queued: bool


@dataclass(frozen=True, slots=True)
class TaskSettled:
    """A task's edit is accepted (or it needed none) and waits for its wave."""

    task: str
    changed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TaskFailed:
    """A task ended without an edit."""

    task: str
    reason: str


@dataclass(frozen=True, slots=True)
class TaskSkipped:
    """A task was not started because one it depends on failed."""

    task: str
    because: str


@dataclass(frozen=True, slots=True)
class WaveMerged:
    """The branch or the working tree had moved in files of the wave; the nodes differ."""

    wave: int
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WaveHeld:
    """A wave could not be committed; everything is kept. `reason` says what to do."""

    wave: int
    paths: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class WaveCommitted:
    """One commit landed."""

    wave: int
    commit: str
    subject: str
    tasks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GateStarted:
    """A command of the project begins to judge a tree; `tasks` are those whose edits are in it."""

    gate: str
    tasks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GateRan:
    """A command of the project judged a tree; `tasks` are those whose edits are in it."""

    gate: str
    #: The tree's id.
    tree: str
    passed: bool
    #: What it was, in a few words: ``passed``, ``failed``, ``fails without the wave, too``, ….
    verdict: str
    seconds: float
    tasks: tuple[str, ...] = ()
    #: What it wrote, cut to size; empty when it passed.
    output: str = ""


@dataclass(frozen=True, slots=True)
class TaskTakenOut:
    """A task's edit was left out of its wave, for a gate fails with it; a repair brings it back."""

    task: str
    attempt: int
    check: str
    subject: str
    evidence: str


@dataclass(frozen=True, slots=True)
class TaskHeld:
    """A task's model cannot be asked until a person has done something; the others go on."""

    task: str
    reason: str


@dataclass(frozen=True, slots=True)
class RepairPlanned:
    """What is left broken became a plan: tasks by level, and what they have to put right."""

    #: 1 for the first repair plan of the run.
    number: int
    levels: tuple[tuple[str, ...], ...]
    obligations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RepairStopped:
    """No more repairs are tried; `outstanding` is what is left broken."""

    #: ``stalled``, ``oscillating`` or ``limit``.
    why: str
    outstanding: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReplyUnused:
    """A run ended, and an answer is no part of what came of it; it stays in the run's record."""

    task: str
    attempt: int
    #: What it was turned down or left out for.
    reason: str
    #: The command that shows it whole.
    where: str


@dataclass(frozen=True, slots=True)
class Remark:
    """Something a person should read once."""

    text: str


@dataclass(frozen=True, slots=True)
class RunFinished:
    """The run ended."""

    state: str
    reason: str


Event = (
    RunStarted
    | PlanAsked
    | Planned
    | Reviewed
    | TaskWaiting
    | TaskStarted
    | ReplyParked
    | Spent
    | ReplyRejected
    | TaskWidened
    | TaskSettled
    | TaskFailed
    | TaskSkipped
    | WaveMerged
    | WaveHeld
    | WaveCommitted
    | GateStarted
    | GateRan
    | TaskTakenOut
    | TaskHeld
    | RepairPlanned
    | RepairStopped
    | ReplyUnused
    | Remark
    | RunFinished
)

_BY_NAME: dict[str, type] = {cls.__name__: cls for cls in typing.get_args(Event)}
_FIELDS = {cls: tuple(f.name for f in dataclasses.fields(cls)) for cls in typing.get_args(Event)}


def to_json(event: Event) -> dict[str, Any]:
    """Return the event as JSON-ready data; ``event`` names its type."""
    data: dict[str, Any] = {"event": type(event).__name__}
    for name in _FIELDS[type(event)]:
        value = getattr(event, name)
        data[name] = dataclasses.asdict(value) if isinstance(value, Usage) else value
    return data


def from_json(data: dict[str, Any]) -> Event:
    """Read what `to_json` wrote."""
    fields = dict(data)
    cls = _BY_NAME.get(fields.pop("event", ""))
    if cls is None:
        raise MakBug(f"reading the run log: unknown event in {data!r}")
    values = {
        name: Usage(**value) if name == "usage" else _tuples(value)
        for name, value in fields.items()
    }
    return typing.cast(Event, cls(**values))


def _tuples(value: Any) -> Any:
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value
