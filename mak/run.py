"""What the plans of one run share, and how a run ends early."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from anyio.abc import TaskGroup

from mak import events
from mak.agents import Agent, Reach
from mak.config import Config
from mak.gates import Gates
from mak.model import Finding, Locking, RunState, Spend, WaveOutcome
from mak.runlog import Parked, RunLog
from mak.source import Sources
from mak.store import Store


class Stop(Exception):
    """The walk ends early; what landed stays, what was answered is kept."""

    def __init__(self, state: RunState, reason: str) -> None:
        super().__init__(reason)
        self.state = state


@dataclass(slots=True)
class Run:
    """What the plans of one run share."""

    store: Store
    log: RunLog
    config: Config
    agents: Sequence[Agent]
    max_agents: int
    hooks: bool
    #: The commit that the run began with (empty: none), and its files.
    base: str
    before: Sources
    gates: Gates
    group: TaskGroup
    reach: Reach
    #: What the run took so far, planning first.
    spent: list[Spend]
    parked: dict[tuple[str, int], Parked]
    landed: list[WaveOutcome] = field(default_factory=list)
    #: Files that the run's commits changed.
    touched: set[str] = field(default_factory=set)
    findings: list[Finding] = field(default_factory=list)
    #: What every task of the run was to do.
    goals: dict[str, str] = field(default_factory=dict)
    locking: Locking = Locking.APPEND
    #: Gates that failed on what was committed, since a task to come is to see to it, with the tree
    #: that they are compared with.
    owed: dict[str, str] = field(default_factory=dict)
    remarks: set[str] = field(default_factory=set)
    #: Which wave of the run, from 1, is the last to be begun; None: all are.
    last_wave: Callable[[], int | None] = lambda: None
    #: What every wave's commit is told besides.
    trailers: tuple[tuple[str, str], ...] = ()
    #: What a goal is called in a commit's message.
    wording: Callable[[str], str] = str

    def remark(self, text: str) -> None:
        """Say something once."""
        if text not in self.remarks:
            self.remarks.add(text)
            self.log.emit(events.Remark(text))
