"""The waves of one run: dispatch, park, judge, commit, until every task has ended.

A wave's tasks build one draft. When the branch moves under it, the accepted replies are applied
again on the new tip; what no longer fits is asked again.

This file is longer than most: what is decided here (what to ask, what becomes of an answer, when a
wave is over) is one state machine over the same few tables. Verdicts are `mak.judge`'s, what goes
into Git is `mak.landing`'s and `mak.runlog`'s.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import anyio
from anyio.abc import TaskGroup

from mak import events, runlog
from mak.agents import Agent, Assignment, Reach, context, open_agents
from mak.config import Config
from mak.errors import AgentError, AgentErrorKind, MakError, PlanError, UsageError
from mak.judge import (
    Accept,
    Again,
    Fail,
    Planned,
    Verdict,
    Widen,
    check_wave,
    digest,
    judge,
    stale,
    touches,
)
from mak.landing import merge_bytes, sources_at, versions, wave_message
from mak.model import (
    Finding,
    Outcome,
    Plan,
    Reply,
    RunState,
    Spend,
    Task,
    TaskOutcome,
    TaskState,
    Usage,
    WaveOutcome,
)
from mak.providers.policy import Policy
from mak.runlog import Parked, RunLog
from mak.schedule import Scheduler, Wave, locks_for
from mak.source import Draft, Rejected, path_of
from mak.source.names import references
from mak.store import Committed, Moved, Store, WaveHeld, WaveWrite

#: How often one task may be widened (an agent's needs, a signature that it changes).
WIDENINGS = 2
#: Seconds between two looks at a lock that another process holds.
POLL = 0.3
#: Seconds without an answer after which what happened is recorded by itself.
QUIET = 0.1
#: How often one wave may be rebuilt because the branch moved while it was being committed.
REBUILDS = 20
#: Seconds after its own deadline that an agent has to say what it spent.
GRACE = 5.0

_GONE = AgentErrorKind.UNAVAILABLE
#: What every other task would meet too, until a person has done something about it.
HALTING = frozenset(
    {
        AgentErrorKind.AUTH,
        AgentErrorKind.BILLING,
        AgentErrorKind.NOT_FOUND,
        AgentErrorKind.BUDGET,
    }
)


@dataclass(slots=True)
class Turn:
    """Where one task stands between its attempts."""

    task: Task
    agent: Agent
    asked: int = 0
    rejected: int = 0
    widened: int = 0
    #: Why the last attempt was turned down, and what it was.
    retry: str = ""
    draft: Reply | None = None
    #: An answer that is judged again under wider locks, instead of asking again.
    again: tuple[Reply, Mapping[str, str]] | None = None
    usage: Usage = field(default_factory=Usage)
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Settled:
    """An accepted reply, as it can be applied again when the wave's base moves."""

    task: Task
    reply: Reply
    shown: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Arrival:
    """An answer (or none), with the digests of the nodes that its agent was shown."""

    task: str
    answer: Reply | AgentError
    shown: Mapping[str, str]


class Stop(Exception):
    """The walk ends early; what landed stays, what was answered is kept."""

    def __init__(self, state: RunState, reason: str) -> None:
        super().__init__(reason)
        self.state = state


class Waves:
    """One run's plan on its way to commits."""

    def __init__(
        self,
        store: Store,
        log: RunLog,
        plan: Plan,
        *,
        config: Config,
        agents: Sequence[Agent],
        max_agents: int,
        hooks: bool,
        base: str,
        reach: Reach,
        spent: Sequence[Spend] = (),
    ) -> None:
        self.store = store
        self.log = log
        self.plan = plan
        self.config = config
        self.max_agents = max_agents
        self.hooks = hooks
        self.base = base
        #: What this run took so far, planning first.
        self.spent = list(spent)
        #: Why no more tasks are started; empty: they are.
        self.halted = ""
        self.scheduler = Scheduler(plan, capacity=max_agents)
        specs = sorted({task.model for task in plan.tasks if task.model})
        opened = open_agents(specs, reach) if specs else ()
        pinned = dict(zip(specs, opened, strict=True))
        self.turns = {
            task.id: Turn(task, pinned.get(task.model) or agents[index % len(agents)])
            for index, task in enumerate(plan.tasks)
        }
        #: The same for every task, so that endpoints can cache what begins a prompt.
        self.peers = tuple(task.goal for task in plan.tasks)
        self.parked: dict[tuple[str, int], Parked] = {}
        self.landed: list[WaveOutcome] = []
        self.findings: list[Finding] = []
        self.settled: dict[str, Settled] = {}
        self.planned = Planned(plan.tasks)
        self.waits: set[tuple[str, str, str]] = set()
        #: Tasks that another process was in the way of, and whether we hold any claim.
        self.set_aside: set[str] = set()
        #: Tasks that hold claims for nothing: they failed, or changed nothing.
        self.done: list[str] = []
        self.holds = False
        self.remarks: set[str] = set()
        self.inbox: list[Arrival] = []
        self.arrived = anyio.Event()
        self.group: TaskGroup
        self.tip = store.tip()
        self.draft = Draft(sources_at(store, self.tip))

    # ------------------------------------------------------------------------ the loop

    async def carry_out(self) -> Outcome:
        """Walk all waves and record how they ended.

        Raises `MakError` when the store does not do as told; the run can then be recovered.
        """
        state, reason = RunState.DONE, ""
        failure: MakError | None = None
        try:
            async with anyio.create_task_group() as self.group:
                try:
                    await self._walk()
                except Stop as stop:
                    state, reason = stop.state, str(stop)
                except MakError as error:
                    failure = error
                self.group.cancel_scope.cancel()
        except anyio.get_cancelled_exc_class():
            state, reason = RunState.INTERRUPTED, "interrupted"
        if failure is not None:
            failure.hint = failure.hint or f"everything is kept: mak run --recover {self.log.run}"
            raise failure
        return self._finish(state, reason)

    async def _walk(self) -> None:
        while not self.scheduler.done:
            self._dispatch()
            if (wave := self.scheduler.wave()) is not None:
                self._land(wave)
                continue
            for arrival in await self._arrivals():
                self._judge(arrival)

    def replay(self, landed: Mapping[str, str], parked: Mapping[tuple[str, int], Parked]) -> None:
        """Take up what an earlier process did: tasks by the commit that holds them, and replies.

        Levels up to the last one whose commit landed are over: what is not in a commit ended
        without one.
        """
        self.parked = dict(parked)
        for spend in self.spent:
            if spend.task in self.turns:
                self.turns[spend.task].usage += spend.usage
        failed = {
            event.task: event.reason
            for _, event in runlog.read_events(self.store, self.log.run)
            if isinstance(event, events.TaskFailed)
        }
        for task, attempt in parked:
            turn = self.turns[task]
            if task in landed:
                turn.asked = max(turn.asked, attempt)
        levels = self.scheduler.levels
        last = max(
            (n for n, level in enumerate(levels) if not landed.keys().isdisjoint(level)), default=-1
        )
        for number, level in enumerate(levels[: last + 1]):
            for task in level:
                if task not in landed and task in failed:
                    self.turns[task].reason = failed[task]
                    self.scheduler.fail(task, failed[task])
                elif self.scheduler.states[task] is TaskState.PENDING:
                    self.scheduler.settle(task)
            held = tuple(task for task in level if task in landed)
            if held:
                self.landed.append(WaveOutcome(landed[held[0]], held))
            if (wave := self.scheduler.wave()) is not None and wave.number == number:
                self.scheduler.committed(number)
        for task, state in self.scheduler.states.items():
            if state is not TaskState.PENDING:
                self.planned.drop(task)

    # ------------------------------------------------------------------------ asking

    def _dispatch(self) -> None:
        if self.halted:
            if TaskState.RUNNING not in self.scheduler.states.values():
                raise Stop(RunState.HELD, self.halted)
            return
        started = self.scheduler.start()
        if started:
            refused = self._claim(started)
            granted = [task for task in started if task not in refused]
            if not self.set_aside.isdisjoint(granted) and self.store.tip() != self.tip:
                self._rebuild()  # what they waited for has landed
            self.set_aside = (self.set_aside - {*granted}) | {*refused}
            for task in granted:
                self._ask(task)
        for task, conflict in self.scheduler.refused.items():
            self._waits(task, str(conflict.node), conflict.owner)

    def _claim(self, tasks: Sequence[str]) -> Collection[str]:
        """Claim the locks of started tasks against other processes; set aside who is refused."""
        claims = {task: self.scheduler.locks(task) for task in tasks}
        refused = self.store.acquire(claims, done=self.done)
        self.done.clear()
        for task, held in refused.items():
            self.scheduler.external(task)
            self._waits(task, str(held.node), held.holder)
        self.holds = self.holds or len(refused) < len(tasks)
        return refused.keys()

    def _let_go(self) -> None:
        """Give up all claims once nothing goes on here but waiting for another process.

        So that no two runs wait for each other. What is settled may become stale by that; then it
        is asked again.
        """
        if self.holds and TaskState.RUNNING not in self.scheduler.states.values():
            self.store.release(tuple(self.turns))
            self.holds = False

    def _release(self) -> None:
        """Give up the claims of tasks that are done without a commit."""
        if self.done:
            self.store.release(self.done)
            self.done.clear()

    def _waits(self, task: str, node: str, holder: str) -> None:
        if (task, node, holder) not in self.waits:
            self.waits.add((task, node, holder))
            self.log.emit(events.TaskWaiting(task, node, holder))

    def _ask(self, task_id: str) -> None:
        turn = self.turns[task_id]
        if turn.again is not None:
            reply, shown = turn.again
            turn.again = None
            self._arrive(Arrival(task_id, reply, shown))
            return
        try:
            current = self.draft.sources
            seen = context(turn.task, current, budget=self.config.context_tokens)
        except PlanError as error:
            self._arrive(Arrival(task_id, AgentError(str(error), kind=_GONE), {}))
            return
        turn.asked += 1
        assignment = Assignment(
            run=self.log.run,
            task=turn.task,
            attempt=turn.asked,
            request=self.plan.request,
            decisions=self.plan.decisions,
            slots=seen.slots,
            reads=seen.reads,
            peers=self.peers,
            retry=turn.retry,
            draft=turn.draft,
            sources=self.draft.base,
            current=current,
            outlines=seen.outlines,
        )
        shown = {str(slot.node): digest(self.draft, slot.node) for slot in seen.slots}
        record = self.parked.get((task_id, turn.asked))
        self.log.emit(
            events.TaskStarted(
                task_id,
                turn.asked,
                turn.agent.spec,
                tuple(str(slot.node) for slot in seen.slots),
                seen.shares,
            )
        )
        if record is not None:
            self._arrive(Arrival(task_id, record.reply, record.shown))
        else:
            self.group.start_soon(self._answer, turn.agent, assignment, shown)

    async def _answer(self, agent: Agent, assignment: Assignment, shown: Mapping[str, str]) -> None:
        limit = self.config.timeouts.task
        answer: Reply | AgentError
        try:
            with anyio.fail_after(limit + GRACE):
                answer = await agent.answer(assignment)
        except AgentError as error:
            answer = error
        except TimeoutError:
            answer = AgentError(
                f"no answer within {limit:g} s (timeouts.task)", kind=AgentErrorKind.TIMEOUT
            )
        except MakError as error:
            answer = AgentError(str(error), kind=AgentErrorKind.UNAVAILABLE, hint=error.hint)
        self._arrive(Arrival(assignment.task.id, answer, shown))

    def _arrive(self, arrival: Arrival) -> None:
        self.inbox.append(arrival)
        self.arrived.set()

    async def _arrivals(self) -> list[Arrival]:
        """Wait for answers; park all that came, in one commit, before they are judged."""
        if not self.inbox:
            with anyio.move_on_after(QUIET):
                await self.arrived.wait()
        if not self.inbox:
            self.log.flush()
            self._release()
            external = self.scheduler.has_external
            if external:
                self._let_go()
            with anyio.move_on_after(POLL if external else None):
                await self.arrived.wait()
            if external:
                self.scheduler.retry_external()
        self.arrived = anyio.Event()
        arrivals, self.inbox = self.inbox, []
        told: list[events.Event] = []
        for arrival in arrivals:
            turn, answer = self.turns[arrival.task], arrival.answer
            if isinstance(answer, AgentError):
                self._spend(turn, getattr(answer, "usage", Usage()), turn.agent.spec)
                continue
            reused = (arrival.task, turn.asked) in self.parked
            if not reused:
                self.parked[arrival.task, turn.asked] = parked = Parked(answer, arrival.shown)
                self.log.park(arrival.task, turn.asked, parked)
                self._spend(turn, answer.usage, answer.model or turn.agent.spec)
            told.append(
                events.ReplyParked(
                    arrival.task, turn.asked, str(answer.status), answer.usage, reused
                )
            )
        self.log.flush()
        for event in told:
            self.log.emit(event)
        return arrivals

    def _spend(self, turn: Turn, usage: Usage, model: str) -> None:
        turn.usage += usage
        if usage.calls:
            task = turn.task.id
            wave = next(n for n, level in enumerate(self.scheduler.levels, 1) if task in level)
            self.spent.append(Spend(task, wave, model, usage))
            self.log.emit(events.Spent(task, wave, model, usage))

    # ------------------------------------------------------------------------ judging

    def _judge(self, arrival: Arrival) -> None:
        turn, answer = self.turns[arrival.task], arrival.answer
        if isinstance(answer, AgentError) and halts(answer):
            self._halt(turn, f"{answer}{f' ({answer.hint})' if answer.hint else ''}")
            return
        if isinstance(answer, AgentError):
            self._fail(arrival.task, f"{answer}{f' ({answer.hint})' if answer.hint else ''}")
            return
        verdict: Verdict
        if misplaced := self._misplaced(turn.task, answer):
            verdict = Again("path", misplaced)
        else:
            self.planned.drop(arrival.task)
            planned = self.planned.nodes
            verdict = judge(answer, turn.task, self.draft, arrival.shown, planned, references)
        match verdict:
            case Accept(proposal):
                if proposal is not None:
                    self.draft.accept(proposal, checked=True)
                    self.settled[arrival.task] = Settled(turn.task, answer, arrival.shown)
                changed = (
                    (*proposal.changed, *proposal.created, *proposal.deleted) if proposal else ()
                )
                turn.reason = answer.reason if proposal is None else ""
                self.scheduler.settle(arrival.task)
                self.log.emit(events.TaskSettled(arrival.task, tuple(map(str, sorted(changed)))))
            case Again(check, reason):
                self._again(arrival.task, answer, check, reason)
            case Widen():
                self._widen(arrival, answer, verdict)
            case Fail(reason):
                self._fail(arrival.task, reason)

    def _misplaced(self, task: Task, reply: Reply) -> str:
        """Return why a file that a reply makes, and the plan does not, must not be; or nothing."""
        planned = {node.path for node in task.creates}
        for path in sorted({*map(path_of, reply.edits)} - planned):
            if self.draft.file(path) is not None:
                continue
            try:
                if self.store.check_path(path) != path:
                    return f"{path}: paths begin at the repository's top folder"
            except UsageError as error:
                return str(error)
            if self.store.ignored([path]):
                return f"{path}: Git ignores it"
        return ""

    def _again(self, task: str, reply: Reply, check: str, reason: str) -> None:
        turn = self.turns[task]
        turn.rejected += 1
        self.log.emit(events.ReplyRejected(task, turn.asked, check, reason))
        if turn.rejected >= self.config.attempts:
            times = f" (asked {turn.rejected} times)" if turn.rejected > 1 else ""
            self._fail(task, f"{reason}{times}")
            return
        turn.retry, turn.draft = reason, reply
        self.planned.put(turn.task)
        self.scheduler.requeue(task)

    def _widen(self, arrival: Arrival, reply: Reply, wider: Widen) -> None:
        turn, task = self.turns[arrival.task], self.turns[arrival.task].task
        names = tuple(map(str, (*wider.writes, *wider.reads)))
        blocked = self.store.uncommitted([node.path for node in wider.writes])
        if blocked:
            self._fail(task.id, f"it needs {', '.join(blocked)}, which has uncommitted changes")
            return
        if turn.widened >= WIDENINGS:
            self._fail(task.id, f"it still needs {', '.join(names)}. {wider.reason}")
            return
        turn.widened += 1
        turn.task = replace(
            task, writes=(*task.writes, *wider.writes), reads=(*task.reads, *wider.reads)
        )
        self.planned.put(turn.task)
        if wider.show:
            turn.retry, turn.draft = wider.reason, reply
        else:
            turn.again = (reply, arrival.shown)
        queued = self.scheduler.widen(task.id, locks_for(turn.task)) is not None
        self.log.emit(events.TaskWidened(task.id, names, queued))
        if queued:
            self.scheduler.requeue(task.id, locks_for(turn.task))
        elif task.id not in self._claim((task.id,)):
            self._ask(task.id)

    def _halt(self, turn: Turn, reason: str) -> None:
        """Start no more tasks: what one met, the others would meet; those at work may end."""
        self.halted = self.halted or reason
        turn.asked -= 1
        self.scheduler.requeue(turn.task.id)

    def _fail(self, task: str, reason: str) -> None:
        self.turns[task].reason = reason
        self.settled.pop(task, None)
        self.planned.drop(task)
        skipped = self.scheduler.fail(task, reason)
        self.log.emit(events.TaskFailed(task, reason))
        for other in skipped:
            self.planned.drop(other)
            self.turns[other].reason = f"{task}, on which it depends, failed"
            self.log.emit(events.TaskSkipped(other, task))
        self.done.append(task)
        if self.plan.atomic:
            raise Stop(
                RunState.FAILED,
                f"{task} failed, and this plan lands as a whole or not at all",
            )

    # ------------------------------------------------------------------------ landing

    def _land(self, wave: Wave) -> None:
        """Commit a complete wave, rebuilding it when the branch has moved."""
        for _ in range(REBUILDS):
            if self.store.tip() != self.tip and not self._rebuild():
                return
            if not self._passes():
                if self.scheduler.wave() is None:
                    return
                continue
            tasks = tuple(task for task in wave.tasks if task in self.settled)
            if not self.draft.changes:
                self._over(wave)
                return
            # Recovery tells by the log which tasks of a wave that landed had failed.
            self.log.flush()
            message = wave_message(self.log.run, wave.number, self.plan, tasks)
            result = self.store.commit_wave(
                WaveWrite(
                    run=self.log.run,
                    number=wave.number,
                    parent=self.tip,
                    files={p: f.data if f else None for p, f in self.draft.changes.items()},
                    message=message,
                    nodes={p: versions(f) for p, f in self.draft.changes.items()},
                    tasks=tasks,
                    merge=merge_bytes,
                    hooks=self.hooks,
                )
            )
            match result:
                case Committed():
                    for remark in result.remarks:
                        self._remark(remark)
                    if result.merged:
                        self.log.emit(events.WaveMerged(wave.number, tuple(result.merged)))
                    subject = message.split("\n", 1)[0]
                    self.log.emit(events.WaveCommitted(wave.number, result.commit, subject, tasks))
                    self.landed.append(WaveOutcome(result.commit, tasks))
                    self._over(wave, result.commit)
                    return
                case WaveHeld():
                    self.log.emit(events.WaveHeld(wave.number, tuple(result.paths), result.reason))
                    raise Stop(RunState.HELD, result.reason)
                case Moved():
                    continue
        raise Stop(
            RunState.HELD, f"the branch moved {REBUILDS} times while a wave was being committed"
        )

    def _remark(self, text: str) -> None:
        if text not in self.remarks:
            self.remarks.add(text)
            self.log.emit(events.Remark(text))

    def _over(self, wave: Wave, commit: str = "") -> None:
        self.done += (task for task in wave.tasks if task not in self.settled)
        self.settled = {}
        self.scheduler.committed(wave.number)
        if commit or self.store.tip() != self.tip:
            self.tip = commit or self.store.tip()
            self.draft = Draft(sources_at(self.store, self.tip, self.draft.changes))

    def _rebuild(self) -> bool:
        """Apply the accepted replies to the branch as it is; False: some are asked again."""
        self.tip = self.store.tip()
        self.draft = Draft(sources_at(self.store, self.tip))
        settled, self.settled = self.settled, {}
        whole = True
        for task_id, entry in settled.items():
            moved = stale(self.draft, entry.shown, entry.reply.edits)
            granted = frozenset((*entry.task.writes, *entry.task.creates))
            result = self.draft.propose(entry.reply.edits, granted)
            if moved or isinstance(result, Rejected):
                names = ", ".join(map(str, moved)) or str(getattr(result, "reason", ""))
                reason = f"the branch moved under the edit: {names}"
                self._again(task_id, entry.reply, "moved", reason)
                whole = False
            else:
                self.draft.accept(result)
                self.settled[task_id] = entry
        return whole

    def _passes(self) -> bool:
        """Check the whole wave; whoever a finding blames is asked again, the rest is built anew."""
        findings = check_wave(self.draft, self.planned.nodes, references)
        if not findings:
            return True
        blamed = {task: finding for finding in findings for task in self._blamed(finding)}
        if not blamed:
            self.findings.extend(findings)
            raise Stop(RunState.FAILED, findings[0].message)
        for task, finding in blamed.items():
            self._again(task, self.settled.pop(task).reply, finding.check, finding.message)
            if self.scheduler.states[task] is TaskState.FAILED:
                self.findings.append(finding)
        self._rebuild()
        return False

    def _blamed(self, finding: Finding) -> list[str]:
        """Return the tasks to ask again: who edited what is left behind, else what it relied on."""
        behind = [need.node.node for need in finding.needs]
        for nodes in (behind, [finding.node.node]):
            tasks = [
                task
                for task, entry in self.settled.items()
                if any(touches(entry.reply.edits, node) for node in nodes)
            ]
            if tasks:
                return tasks
        paths = {finding.node.path}
        return [
            task
            for task, entry in self.settled.items()
            if not paths.isdisjoint(map(path_of, entry.reply.edits))
        ]

    # ------------------------------------------------------------------------ the end

    def _finish(self, state: RunState, reason: str) -> Outcome:
        states = self.scheduler.states
        self.store.release(tuple(self.turns))
        if state is RunState.DONE and any(
            states[task] in (TaskState.FAILED, TaskState.SKIPPED) for task in self.turns
        ):
            state, reason = RunState.FAILED, "some tasks did not land"
        ended = state in (RunState.DONE, RunState.FAILED)
        outcome = Outcome(
            run=self.log.run,
            state=state,
            base=self.base,
            head=self.store.tip(),
            waves=tuple(self.landed),
            tasks={
                task: TaskOutcome(
                    _final(states[task], ended),
                    turn.asked,
                    turn.reason
                    or (reason if _final(states[task], ended) is TaskState.FAILED else ""),
                    turn.usage,
                )
                for task, turn in self.turns.items()
            },
            findings=tuple(dict.fromkeys(self.findings)),
            usage=sum((spend.usage for spend in self.spent), Usage()),
            reason=reason,
            spent=tuple(self.spent),
        )
        self.log.emit(events.RunFinished(str(state), reason))
        self.log.finish(outcome)
        return outcome


def halts(error: AgentError) -> bool:
    """Whether every other task would meet the same, until a person has done something about it."""
    if error.kind is AgentErrorKind.RATE_LIMITED:
        return (error.retry_after or 0.0) > Policy().max_wait
    return error.kind in HALTING


def _final(state: TaskState, ended: bool) -> TaskState:
    """Return how a task ended when its run did; an unfinished run keeps states as they are."""
    if ended and state not in (TaskState.DONE, TaskState.SKIPPED):
        return TaskState.FAILED
    return state
