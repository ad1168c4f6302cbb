"""Agents at work: what each task was asked, and what came back, in Git before it is judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import anyio
from anyio.abc import TaskGroup

from mak import events
from mak.agents import Agent, Assignment
from mak.errors import AgentError, AgentErrorKind, MakError
from mak.model import Obligation, Reply, Task, Usage
from mak.runlog import Parked, RunLog
from mak.source import Shown

#: Seconds after its own deadline that an agent has to say what it spent.
GRACE = 5.0


@dataclass(slots=True)
class Turn:
    """Where one task stands between its attempts."""

    task: Task
    agent: Agent
    #: What must not be found any more when it is committed.
    owes: tuple[Obligation, ...] = ()
    asked: int = 0
    rejected: int = 0
    widened: int = 0
    #: Why the last attempt was turned down, and what it was.
    retry: str = ""
    draft: Reply | None = None
    #: An answer that is judged again under wider locks, instead of asking again.
    again: tuple[Reply, Shown] | None = None
    #: How often its edit did not go together with another's; whether it is to write alone.
    clashes: int = 0
    alone: bool = False
    usage: Usage = field(default_factory=Usage)
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Arrival:
    """An answer (or none), with what its agent was shown."""

    task: str
    answer: Reply | AgentError
    shown: Shown


class Desk:
    """Hands out assignments and takes in answers; several agents work at the same time."""

    def __init__(
        self,
        log: RunLog,
        group: TaskGroup,
        parked: dict[tuple[str, int], Parked],
        turns: Mapping[str, Turn],
        limit: float,
        spend: Callable[[Turn, Usage, str], None],
    ) -> None:
        self._log = log
        self._group = group
        self._parked = parked
        self._turns = turns
        self._limit = limit
        self._spend = spend
        self._inbox: list[Arrival] = []
        #: Of these, what may not be in Git yet.
        self._fresh: list[Arrival] = []
        self._arrived = anyio.Event()
        #: Whether what comes in goes into Git by itself, since nobody takes it soon.
        self.is_unattended = False

    @property
    def is_empty(self) -> bool:
        """Whether nothing has come in since `take`."""
        return not self._inbox

    def ask(
        self,
        agent: Agent,
        assignment: Assignment,
        shown: Shown,
        shares: tuple[tuple[str, int], ...],
    ) -> None:
        """Let an agent begin; an attempt that has an answer in Git is not asked again.

        `shown` is what the agent is shown, or was; `shares` are the bytes of it, by layer.
        """
        task, attempt = assignment.task.id, assignment.attempt
        nodes = tuple(str(slot.node) for slot in assignment.slots)
        self._log.emit(events.TaskStarted(task, attempt, agent.spec, nodes, shares))
        if record := self._parked.get((task, attempt)):
            self.put(Arrival(task, record.reply, shown))
        else:
            self._group.start_soon(self._answer, agent, assignment, shown)

    def put(self, arrival: Arrival) -> None:
        """Take in an answer."""
        self._inbox.append(arrival)
        self._arrived.set()
        self._fresh.append(arrival)
        if self.is_unattended:
            self._keep()

    async def wait(self, seconds: float | None) -> None:
        """Wait until something comes in, at most so long (None: as long as it takes)."""
        if not self._inbox:
            with anyio.move_on_after(seconds):
                await self._arrived.wait()

    def take(self) -> list[Arrival]:
        """Return what came in, all of it in Git by one commit."""
        self._arrived = anyio.Event()
        self._keep()
        arrivals, self._inbox = self._inbox, []
        return arrivals

    def _keep(self) -> None:
        """Put what came in into Git, unless it is there."""
        told: list[events.Event] = []
        for arrival in self._fresh:
            turn, answer = self._turns[arrival.task], arrival.answer
            if isinstance(answer, AgentError):
                self._spend(turn, getattr(answer, "usage", Usage()), turn.agent.spec)
                continue
            reused = (arrival.task, turn.asked) in self._parked
            if not reused:
                self._parked[arrival.task, turn.asked] = parked = Parked(answer, arrival.shown)
                self._log.park(arrival.task, turn.asked, parked)
                self._spend(turn, answer.usage, answer.model or turn.agent.spec)
            status = str(answer.status)
            told.append(events.ReplyParked(arrival.task, turn.asked, status, answer.usage, reused))
        self._fresh.clear()
        self._log.flush()
        for event in told:
            self._log.emit(event)

    async def _answer(self, agent: Agent, assignment: Assignment, shown: Shown) -> None:
        answer: Reply | AgentError
        try:
            with anyio.fail_after(self._limit + GRACE):
                answer = await agent.answer(assignment)
        except AgentError as error:
            answer = error
        except TimeoutError:
            answer = AgentError(
                f"no answer within {self._limit:g} s (timeouts.task)", kind=AgentErrorKind.TIMEOUT
            )
        except MakError as error:
            answer = AgentError(str(error), kind=AgentErrorKind.UNAVAILABLE, hint=error.hint)
        self.put(Arrival(assignment.task.id, answer, shown))
