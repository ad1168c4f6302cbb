"""The waves of one plan: dispatch, judge, gate, commit, until every task has ended.

A wave's tasks build one draft. When the branch moves under it, the accepted replies are applied
again on the new tip; what no longer fits is asked again. What a gate of the project fails with is
left out of the wave, and comes back as a repair (`mak.rounds`).

This file is longer than most: what is decided here (what to ask, what becomes of an answer, when a
wave is over) is one state machine over the same few tables. Verdicts are `mak.judge`'s, agents are
`mak.asking`'s, what goes into Git is `mak.landing`'s and `mak.runlog`'s.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache

from mak import events, repair, runlog
from mak.agents import Agent, Assignment, context, open_agents
from mak.asking import Arrival, Desk, Turn
from mak.assembly import Settled, assemble, of_finding, units
from mak.claims import Claims
from mak.config import When
from mak.errors import AgentError, AgentErrorKind, PlanError, UsageError
from mak.gates import Red, halve
from mak.gating import found_since, judged, left_red, named, owes, written
from mak.judge import (
    MERGE,
    Accept,
    Again,
    Fail,
    Planned,
    Verdict,
    Widen,
    check_wave,
    digest,
    judge,
    touches,
)
from mak.landing import contents, merger, sources_at, wave_message
from mak.locking import locker
from mak.model import (
    NodeId,
    Obligation,
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
from mak.plan import barred, due
from mak.providers.policy import Policy
from mak.repair import Left
from mak.run import Run, Stop
from mak.schedule import Scheduler, Wave, exclude, locks_for
from mak.source import Draft, Shown, View, path_of
from mak.source.names import references
from mak.store import Committed, Moved, WaveHeld, WaveWrite

#: How often one task may be widened (an agent's needs, a signature that it changes).
WIDENINGS = 2
#: Why an answer is turned down that another one may follow though the task is the same: what it
#: was given has changed.
MOVES = frozenset((MERGE, "moved", "stale"))
#: How often an edit may not go together with another's before its task writes alone.
CLASHES = 2
#: Seconds between two looks at a lock that another process holds.
POLL = 0.3
#: Seconds without an answer after which what happened is recorded by itself.
QUIET = 0.1
#: How often one wave may be rebuilt because the branch moved while it was being committed.
REBUILDS = 20
#: The check that a repair fails with which takes back, or leaves out, what was asked for.
TAKEN_BACK = "taken-back"

_GONE = AgentErrorKind.UNAVAILABLE
#: What other tasks of the same model would meet too, until a person has done something about it.
HOLDING = frozenset({AgentErrorKind.AUTH, AgentErrorKind.BILLING, AgentErrorKind.NOT_FOUND})


_UNDER_WAY = (TaskState.PENDING, TaskState.RUNNING, TaskState.SETTLED)


class Waves:
    """One plan on its way to commits; `first` is the number of its first wave in the run."""

    def __init__(self, run: Run, plan: Plan, *, first: int, kind: str) -> None:
        self.run = run
        self.store, self.log, self.config = run.store, run.log, run.config
        self.plan = plan
        self.first = first
        run.goals.update((task.id, task.goal) for task in plan.tasks)
        self.kind = kind
        #: Why no more tasks are started; empty: they are.
        self.halted = ""
        self.tip = self.store.tip()
        self.draft = Draft(sources_at(self.store, self.tip))
        self.locks = locker(plan.tasks, self.draft.base, run.locking)
        self.scheduler = Scheduler(plan, capacity=run.max_agents, locks=self.locks)
        #: The place of each task among those whose edits meet: no later level below an earlier.
        order = [task for level in self.scheduler.levels for task in level]
        self.ranks = {task: rank for rank, task in enumerate(order)}
        specs = sorted({task.model for task in plan.tasks if task.model})
        opened = open_agents(specs, run.reach) if specs else ()
        pinned = dict(zip(specs, opened, strict=True))
        dues = due(plan, run.before)
        self.turns = {
            task.id: self._turn(
                task,
                pinned.get(task.model) or run.agents[i % len(run.agents)],
                (*task.obligations, *dues.get(task.id, ())),
            )
            for i, task in enumerate(plan.tasks)
        }
        self.desk = Desk(
            run.log, run.group, run.parked, self.turns, run.config.timeouts.task, self._spend
        )
        #: The same for every task, so that endpoints can cache what begins a prompt.
        self.peers = tuple(task.goal for task in plan.tasks)
        self.settled: dict[str, Settled] = {}
        #: Those of later levels, while an earlier one is being committed.
        self.ahead: dict[str, Settled] = {}
        #: Accepted answers that change nothing, of tasks whose wave is not over.
        self.unchanged: dict[str, Reply] = {}
        #: What each task has changed, as its accepted reply says.
        self.made: dict[str, tuple[NodeId, ...]] = {}
        #: Tasks that ended because of what they would break.
        self.left: dict[str, list[Left]] = {}
        self.planned = Planned(plan.tasks)
        self.claims = Claims(self.store, self.log, self.scheduler)
        #: Tasks that another process was in the way of.
        self.set_aside: set[str] = set()
        #: Tasks whose model cannot be asked until a person has done something about it.
        self.held: list[str] = []

    def _turn(self, task: Task, agent: Agent, owes: tuple[Obligation, ...]) -> Turn:
        """Return the first turn of a task; a repair goes on from what was turned down."""
        turn = Turn(task, agent, owes)
        if any(not each.landed for each in task.obligations):
            parked = self.run.parked
            last = max((n for name, n in parked if name == task.repairs), default=0)
            if last:
                turn.draft = parked[task.repairs, last].reply
                turn.retry = "; ".join(f"{o.check}: {o.subject}" for o in task.obligations)
        return turn

    # ------------------------------------------------------------------------ the loop

    async def walk(self) -> None:
        """Carry out the plan; raises `Stop` where it has to end early."""
        while not self.scheduler.done:
            self._dispatch()
            if (wave := self.scheduler.wave()) is not None:
                await self._land(wave)
                continue
            for arrival in await self._arrivals():
                self._judge(arrival)

    def replay(self, landed: Mapping[str, str], *, over: bool) -> None:
        """Take up what an earlier process did: tasks by the commit that holds them.

        Levels up to the last one whose commit landed are over (all of them, if the plan is `over`):
        what is not in a commit ended without one.
        """
        failed: dict[str, str] = {}
        taken_out: dict[str, list[Left]] = {}
        for _, event in runlog.read_events(self.store, self.log.run):
            if isinstance(event, events.TaskFailed) and event.task in self.turns:
                failed[event.task] = event.reason
            elif isinstance(event, events.TaskTakenOut) and event.task in self.turns:
                owner = self.turns[event.task].task
                taken_out[event.task] = [
                    Left(replace(each, subject=event.subject, evidence=event.evidence), owner)
                    for each in self._owing(owner, event.check)
                ]
        for spend in self.run.spent:
            if spend.task in self.turns:
                self.turns[spend.task].usage += spend.usage
        for (task, attempt), record in self.run.parked.items():
            if (turn := self.turns.get(task)) is None:
                continue
            if task in landed or over:
                turn.asked = max(turn.asked, attempt)
            if task in landed:
                self.run.touched.update(map(path_of, record.reply.edits))
        levels = self.scheduler.levels
        last = max(
            (n for n, level in enumerate(levels) if not landed.keys().isdisjoint(level)), default=-1
        )
        for number, level in enumerate(levels if over else levels[: last + 1]):
            for task in level:
                if task not in landed and task in failed:
                    self.turns[task].reason = failed[task]
                    if task in taken_out:
                        self.left[task] = taken_out[task]
                    for other in self.scheduler.fail(task, failed[task]):
                        self.turns[other].reason = _skipped(task)
                elif self.scheduler.states[task] is TaskState.PENDING:
                    self.scheduler.settle(task)
            held = tuple(task for task in level if task in landed)
            if held:
                self.run.landed.append(WaveOutcome(landed[held[0]], held))
            if (wave := self.scheduler.wave()) is not None and wave.number == number:
                self.scheduler.committed(number)
        for task, state in self.scheduler.states.items():
            if state is not TaskState.PENDING:
                self.planned.drop(task)

    # ------------------------------------------------------------------------ asking

    def _dispatch(self) -> None:
        if self.halted:
            at_work = TaskState.RUNNING in self.scheduler.states.values()
            if not at_work and self.scheduler.wave() is None:
                raise Stop(RunState.HELD, self.halted)
            return
        last = self.run.last_wave()
        started = self.scheduler.start(None if last is None else last - self.first)
        if started:
            refused = self.claims.take(started)
            granted = [task for task in started if task not in refused]
            if not self.set_aside.isdisjoint(granted) and self.store.tip() != self.tip:
                self._rebuild()  # what they waited for has landed
            self.set_aside = (self.set_aside - {*granted}) | {*refused}
            for task in granted:
                self._ask(task)
        if self.scheduler.is_stuck:
            raise Stop(RunState.HELD, self._why_held())
        if last is not None and self.scheduler.rests:
            raise Stop(RunState.HELD, f"paused {f'after wave {last}' if last else 'at its start'}")
        for task, conflict in self.scheduler.refused.items():
            self.claims.tell_waiting(task, str(conflict.node), conflict.owner)

    def _ask(self, task_id: str) -> None:
        turn = self.turns[task_id]
        if turn.again is not None:
            reply, shown = turn.again
            turn.again = None
            self.desk.put(Arrival(task_id, reply, shown))
            return
        try:
            above, view = self._view(turn.task)
            budget, built = self.config.context_tokens, self._built(turn.task)
            seen = context(turn.task, view.sources, budget=budget, built=built)
        except PlanError as error:
            self.desk.put(Arrival(task_id, AgentError(str(error), kind=_GONE), Shown({})))
            return
        turn.asked += 1
        told = self.draft.view().sources if turn.retry else None
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
            current=view.sources,
            outlines=seen.outlines,
            meanwhile=tuple(seen.meanwhile(told)) if told is not None else (),
        )
        if record := self.run.parked.get((task_id, turn.asked)):
            shown = self._as_it_was(record.shown)
        else:
            digests = {str(s.node): digest(view.sources, s.node) for s in seen.slots}
            shown = Shown(digests, above, view, told)
        self.desk.ask(turn.agent, assignment, shown, seen.shares)

    def _view(self, task: Task) -> tuple[tuple[str, ...], View]:
        """Return the draft for a task to see, and which tasks' edits of its files are in it.

        Those are the tasks of earlier levels and those that its locks put before it. What runs
        beside it, it is not shown, so that what it is shown does not depend on who was first.
        """
        paths = {node.path for node in (*task.writes, *task.creates)}
        near = {t for t, e in self.settled.items() if not paths.isdisjoint(e.paths)}
        if not near:
            return (), self.draft.view()
        level, locks = self.scheduler.level_of(task.id), self.scheduler.locks(task.id)
        files = {lock.node.path for lock in locks}
        before = {
            other: entry
            for other, entry in self.settled.items()
            if self.scheduler.level_of(other) < level
            or (not files.isdisjoint(entry.locked) and exclude(locks, self.scheduler.locks(other)))
        }
        above = tuple(t for t in before if t in near)
        if len(above) == len(near):
            return above, self.draft.view()
        return above, assemble(self.draft.base, before)[0].view()

    def _as_it_was(self, shown: Shown) -> Shown:
        """Find the draft that an agent was shown, as far as what was in it is settled again."""
        above = {task: self.settled[task] for task in shown.tasks if task in self.settled}
        draft, misfits = assemble(self.draft.base, above)
        nodes = {name: NodeId.parse(name) for name in shown.digests}
        now = draft.sources
        same = all(digest(now, nodes[name]) == seen for name, seen in shown.digests.items())
        return replace(shown, view=draft.view() if same and not misfits else None)

    def _built(self, task: Task) -> Iterator[NodeId]:
        """Yield what the tasks that a task depends on have changed, as far as that is known."""
        for needed in task.depends_on:
            if needed in self.turns:
                other = self.turns[needed].task
                yield from self.made.get(needed) or (*other.writes, *other.creates)

    async def _arrivals(self) -> list[Arrival]:
        """Wait for answers; all that came are in Git, by one commit, before they are judged."""
        await self.desk.wait(QUIET)
        if self.desk.is_empty:
            self.log.flush()
            self.claims.settle()
            external = self.scheduler.has_external
            if external:
                self.claims.let_go()
            await self.desk.wait(POLL if external else None)
            if external:
                self.scheduler.retry_external()
        return self.desk.take()

    def _spend(self, turn: Turn, usage: Usage, model: str) -> None:
        turn.usage += usage
        if usage.calls:
            task = turn.task.id
            wave = self.first + self.scheduler.level_of(task) + 1
            self.run.spent.append(Spend(task, wave, model, usage))
            self.log.emit(events.Spent(task, wave, model, usage))

    # ------------------------------------------------------------------------ judging

    def _judge(self, arrival: Arrival) -> None:
        turn, answer = self.turns[arrival.task], arrival.answer
        if isinstance(answer, AgentError):
            self._unanswered(turn, answer)
            return
        if self.scheduler.states[arrival.task] is not TaskState.RUNNING:
            return  # skipped meanwhile, with what it builds on; its answer is in Git
        if not self.scheduler.stands(arrival.task):
            turn.again = answer, arrival.shown
            self.scheduler.requeue(arrival.task)
            return
        verdict: Verdict
        if misplaced := self._misplaced(turn.task, answer):
            verdict = Again("path", misplaced)
        else:
            self.planned.drop(arrival.task)
            planned = self.planned.nodes
            rank = self.ranks[arrival.task]
            verdict = judge(answer, turn.task, self.draft, arrival.shown, rank, planned, references)
        match verdict:
            case Accept(proposal):
                self.left.pop(arrival.task, None)
                if proposal is not None:
                    self.draft.accept(proposal, checked=True)
                    rank = self.ranks[arrival.task]
                    self.settled[arrival.task] = Settled(turn.task, answer, arrival.shown, rank)
                else:
                    self.unchanged[arrival.task] = answer
                changed = (
                    (*proposal.changed, *proposal.created, *proposal.deleted) if proposal else ()
                )
                self.made[arrival.task] = changed
                turn.reason = answer.reason if proposal is None else ""
                self.scheduler.settle(arrival.task)
                self.log.emit(events.TaskSettled(arrival.task, tuple(map(str, sorted(changed)))))
            case Again(check, reason, clash):
                if clash is not None:
                    turn.clashes += 1
                    turn.alone = turn.clashes >= CLASHES
                    reason = f"{reason}. {self._intents(clash)}".rstrip()
                self._again(arrival.task, answer, check, reason)
            case Widen():
                self._widen(arrival, answer, verdict)
            case Fail(reason):
                self._fail(arrival.task, reason)

    def _intents(self, node: NodeId) -> str:
        """Say what the tasks are for that changed a node, for one whose edit does not fit."""
        goals = [
            f"{task}: {entry.task.goal}"
            for task, entry in self.settled.items()
            if touches(entry.reply.edits, node)
        ]
        return f"Both are to hold: yours, and {'; '.join(goals)}" if goals else ""

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
        is_same = turn.agent.is_steady and check not in MOVES
        if turn.rejected >= self.config.attempts or is_same:
            self._leave(task, [(check, reason, "")])
            times = f" (asked {turn.rejected} times)" if turn.rejected > 1 else ""
            self._fail(task, f"{reason}{times}")
            return
        turn.retry, turn.draft = reason, reply
        self.planned.put(turn.task)
        locks = locks_for(turn.task) if turn.alone else None
        for other in self.scheduler.requeue(task, locks):
            self._undo(other, task)

    def _undo(self, task: str, below: str) -> None:
        """Ask a settled task again, since one that it builds on is asked again."""
        turn = self.turns[task]
        entry = self.settled.pop(task, None) or self.ahead.pop(task, None)
        turn.draft = entry.reply if entry else self.unchanged.pop(task)
        turn.retry = f"{below}, on which this builds, is being changed; here it is as it is now"
        self.log.emit(events.ReplyRejected(task, turn.asked, "built-on", turn.retry))
        self.planned.put(turn.task)

    def _widen(self, arrival: Arrival, reply: Reply, wider: Widen) -> None:
        turn, task = self.turns[arrival.task], self.turns[arrival.task].task
        names = tuple(map(str, (*wider.writes, *wider.reads)))
        blocked = self.store.uncommitted([node.path for node in wider.writes])
        if blocked:
            self._fail(task.id, f"it needs {', '.join(blocked)}, which has uncommitted changes")
            return
        if dropped := barred(self.plan, wider.writes):
            what = f"{', '.join(map(str, dropped))}, whose task was taken out at review"
            self._again(task.id, reply, "dropped", f"do without {what}. {wider.reason}")
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
        locks = locks_for(turn.task) if turn.alone else self.locks(turn.task)
        queued = self.scheduler.widen(task.id, locks) is not None
        self.log.emit(events.TaskWidened(task.id, names, queued))
        if queued:
            self.scheduler.requeue(task.id, locks)
        elif task.id not in self.claims.take((task.id,)):
            self._ask(task.id)

    def _unanswered(self, turn: Turn, error: AgentError) -> None:
        """Decide on a task that got no answer: it failed, or waits for a person, or all of them do.

        A spent budget is everybody's: no more tasks are started, and those at work may end. What
        is wrong with a model is a matter of the tasks that it has; the others go on.
        """
        task, reason = turn.task.id, f"{error}{f' ({error.hint})' if error.hint else ''}"
        if error.kind is AgentErrorKind.BUDGET:
            self.halted = self.halted or reason
        if self.scheduler.states[task] is not TaskState.RUNNING:
            return
        if error.kind is AgentErrorKind.BUDGET:
            turn.asked -= 1
            self.scheduler.requeue(task)
        elif holds(error):
            turn.asked -= 1
            turn.reason = reason
            self.scheduler.hold(task)
            self.held.append(task)
            self.log.emit(events.TaskHeld(task, reason))
        else:
            self._fail(task, reason)

    def _why_held(self) -> str:
        """Say what a person has to do something about, and which tasks wait for it."""
        waiting: dict[str, list[str]] = {}
        for task in self.held:
            waiting.setdefault(self.turns[task].reason, []).append(task)
        return "; ".join(f"{', '.join(tasks)}: {why}" for why, tasks in waiting.items())

    def _fail(self, task: str, reason: str) -> None:
        self.turns[task].reason = reason
        self.settled.pop(task, None)
        self.unchanged.pop(task, None)
        self.planned.drop(task)
        skipped = self.scheduler.fail(task, reason)
        self.log.emit(events.TaskFailed(task, reason))
        for other in skipped:
            self.settled.pop(other, None)
            self.unchanged.pop(other, None)
            self.claims.drop(other)
            self.planned.drop(other)
            self.turns[other].reason = _skipped(task)
            self.log.emit(events.TaskSkipped(other, task))
        self.claims.drop(task)
        if self.plan.atomic:
            raise Stop(
                RunState.FAILED,
                f"{task} failed, and this plan lands as a whole or not at all",
            )

    # ------------------------------------------------------------------------ landing

    async def _land(self, wave: Wave) -> None:
        """Commit a complete wave without what is settled of later levels."""
        self.ahead = {task: e for task, e in self.settled.items() if task not in wave.tasks}
        if not self.ahead:
            await self._commit(wave)
            return
        self.settled = {task: e for task, e in self.settled.items() if task in wave.tasks}
        for task in self.ahead:
            self.planned.put(self.turns[task].task)
        if self._rebuild():
            await self._commit(wave)
        ahead, self.ahead = self.ahead, {}
        for task, entry in ahead.items():
            if self.scheduler.states[task] is TaskState.SETTLED:
                self.planned.drop(task)
                self.settled[task] = entry
        self._rebuild()

    async def _commit(self, wave: Wave) -> None:
        """Commit a wave, rebuilding it when the branch has moved."""
        for _ in range(REBUILDS):
            if self.store.tip() != self.tip and not self._rebuild():
                return
            if not self._passes() or not self._discharged() or not await self._gated():
                if self.scheduler.wave() is None:
                    return
                continue
            tasks = tuple(task for task in wave.tasks if task in self.settled)
            if not self.draft.changes:
                self._over(wave)
                return
            number = self.first + wave.number
            files, nodes = contents(self.draft, written(self.run, self.draft, self.tip))
            # Recovery tells by the log which tasks of a wave that landed had failed.
            self.log.flush()
            message = wave_message(
                self.log.run, number, self.plan, tasks, kind=self.kind, more=self.run.trailers
            )
            result = self.store.commit_wave(
                WaveWrite(
                    run=self.log.run,
                    number=number,
                    parent=self.tip,
                    files=files,
                    message=message,
                    nodes=nodes,
                    tasks=tasks,
                    merge=merger(self.store),
                    hooks=self.run.hooks,
                )
            )
            match result:
                case Committed():
                    for remark in result.remarks:
                        self.run.remark(remark)
                    if result.merged:
                        self.log.emit(events.WaveMerged(number, tuple(result.merged)))
                    subject = message.split("\n", 1)[0]
                    self.log.emit(events.WaveCommitted(number, result.commit, subject, tasks))
                    self.run.landed.append(WaveOutcome(result.commit, tasks))
                    self.run.touched.update(self.draft.changes)
                    self._over(wave, result.commit)
                    return
                case WaveHeld():
                    self.log.emit(events.WaveHeld(number, tuple(result.paths), result.reason))
                    raise Stop(RunState.HELD, result.reason)
                case Moved():
                    continue
        raise Stop(
            RunState.HELD, f"the branch moved {REBUILDS} times while a wave was being committed"
        )

    def _over(self, wave: Wave, commit: str = "") -> None:
        self.claims.drop(*(task for task in wave.tasks if task not in self.settled))
        for task in wave.tasks:
            self.settled.pop(task, None)
            self.unchanged.pop(task, None)
        self.scheduler.committed(wave.number)
        if commit or self.store.tip() != self.tip:
            self.tip = commit or self.store.tip()
            self.draft = Draft(sources_at(self.store, self.tip, self.draft.changes))

    def _rebuild(self) -> bool:
        """Apply the accepted replies to the branch as it is; False: some are asked again."""
        self.tip = self.store.tip()
        base, fits = sources_at(self.store, self.tip), True
        while True:
            self.draft, misfits = assemble(base, self.settled)
            if not misfits:
                return fits
            fits = False
            for task, why in misfits.items():
                if task in self.settled:
                    reply = self.settled.pop(task).reply
                    self._again(task, reply, "moved", f"the branch moved under the edit: {why}")

    def _passes(self) -> bool:
        """Check the whole wave; whoever a finding blames is asked again, the rest is built anew."""
        findings = check_wave(self.draft, self.planned.nodes, references)
        if not findings:
            return True
        blamed = {
            task: finding for finding in findings for task in of_finding(finding, self.settled)
        }
        if not blamed:
            self.run.findings.extend(findings)
            raise Stop(RunState.FAILED, findings[0].message)
        for task, finding in blamed.items():
            if task not in self.settled:
                continue  # asked again, with what it builds on
            self._again(task, self.settled.pop(task).reply, finding.check, finding.message)
            if self.scheduler.states[task] is TaskState.FAILED:
                self.run.findings.append(finding)
        self._rebuild()
        return False

    # ------------------------------------------------------------------------ repairs

    def _discharged(self) -> bool:
        """Check that nothing holds any more that tasks of the wave owe; else ask them again."""
        wrong = {}
        found_here = cache(lambda: found_since(self.run, self.draft.sources, self.draft.changes))
        for task in self._repairs():
            entry = self.settled.get(task)
            if found := owes(self.run, self.draft, self.turns[task].owes, entry, found_here):
                wrong[task] = found
        for task, (obligation, subject) in wrong.items():
            self._turn_down(task, [(obligation.check, subject, "")], obligation)
        if wrong:
            self._rebuild()
        return not wrong

    def _repairs(self) -> Iterator[str]:
        answered = (*self.settled, *self.unchanged)
        wave = self.scheduler.wave()
        tasks = wave.tasks if wave else ()
        return (t for t in answered if t in tasks and self.turns[t].owes)

    def _turn_down(
        self, task_id: str, told: Sequence[tuple[str, str, str]], obligation: Obligation | None
    ) -> None:
        """Ask a task again that does not do what it owes; out of attempts, leave it out.

        One that owes nothing of the kind is left out at once. `told`: check, what it found,
        evidence.
        """
        turn = self.turns[task_id]
        entry = self.settled.pop(task_id, None)
        if entry is None and task_id not in self.unchanged:
            return  # asked again, or skipped, with what it builds on
        reply = entry.reply if entry else self.unchanged.pop(task_id)
        is_last = turn.rejected + 1 >= self.config.attempts
        check = told[0][0]
        if (turn.task.obligations or obligation) and not is_last:
            reasons = "\n".join(
                f"{s if c == check else f'{c}: {s}'}\n{e}".rstrip() for c, s, e in told
            )
            self._again(task_id, reply, check, reasons)
            return
        self._leave(task_id, told, obligation)
        tried = f" (asked {turn.rejected + 1} times)" if turn.rejected else ""
        self._fail(task_id, f"{told[0][0]}: {told[0][1]}{tried}")

    def _leave(
        self,
        task_id: str,
        told: Sequence[tuple[str, str, str]],
        obligation: Obligation | None = None,
    ) -> None:
        """Note what a task is left out for: all of it, or of a repair what it was to put right."""
        task, attempt = self.turns[task_id].task, self.turns[task_id].asked
        found = []
        for check, subject, evidence in told:
            debts = [obligation] if obligation else self._owing(task, check)
            for each in debts:
                new = replace(each, subject=subject, evidence=evidence or each.evidence)
                found.append(Left(new, task))
            if debts:
                self.log.emit(events.TaskTakenOut(task_id, attempt, check, subject, evidence))
        if found:
            self.left[task_id] = found

    def _owing(self, task: Task, check: str) -> list[Obligation]:
        """Return what a task owes that a check has found something again."""
        if not task.obligations and check.startswith("gate:"):
            return [Obligation(check, "", None, task.creates, landed=False)]
        return [e for e in self.turns[task.id].owes if repair.is_alike(e.check, check)]

    # ------------------------------------------------------------------------ gates

    async def _gated(self) -> bool:
        """Let the project's commands judge the wave; False: what fails was left out or put off."""
        owed = self._owed_by_repairs()
        names = {*self.run.gates.names(When.WAVE), *owed}
        if not names or not self.draft.changes:
            return True
        reds = await self._judged(self.draft, names, owed, self.settled, confirm=True)
        if self.store.tip() != self.tip:
            return False
        if on_branch := [red for red in reds if red.gate in owed]:
            # It fails without the wave, too: whoever has to put it right has not.
            for task in {task for red in on_branch for task in owed[red.gate]}:
                told = [(r.check, r.subject, r.output) for r in on_branch if task in owed[r.gate]]
                self._turn_down(task, told, None)
            self._rebuild()
            return False
        reds = tuple(red for red in reds if not self._is_awaited(red))
        if not reds:
            return True
        if self.plan.atomic:
            now = self.draft.base
            self.run.findings += (left_red(self.run, red, now).finding() for red in reds)
            raise Stop(RunState.FAILED, f"{reds[0].check}: {reds[0].subject}")
        groups = units(self.draft.base, self.settled, self.planned.nodes, references)
        blamed: dict[tuple[tuple[str, ...], ...], tuple[Red, ...]] = {}

        async def passes(parts: tuple[tuple[str, ...], ...]) -> bool:
            chosen = {task: self.settled[task] for task in self.settled if _in(task, parts)}
            draft, misfits = assemble(self.draft.base, chosen)
            if misfits or check_wave(draft, self.planned.nodes, references):
                return False
            found = await self._judged(draft, names, owed, chosen, confirm=False)
            blamed[parts[-1:]] = found
            return not found

        _, left_out = await halve(groups, passes)
        for group in left_out:
            told = [(red.check, red.subject, red.output) for red in blamed.get((group,)) or reds]
            for task in group:
                self._turn_down(task, told, None)
        self._rebuild()
        return False

    def _owed_by_repairs(self) -> dict[str, list[str]]:
        """Return the gates that fail on the branch, and the repairs of the wave that owe them."""
        found: dict[str, list[str]] = {}
        for task in self._repairs():
            for each in self.turns[task].task.obligations:
                is_gate, gate = each.check.startswith("gate:"), each.check.removeprefix("gate:")
                if is_gate and each.landed and gate in self.run.owed:
                    found.setdefault(gate, []).append(task)
        return found

    async def _judged(
        self,
        draft: Draft,
        names: Collection[str],
        owed: Collection[str],
        settled: Collection[str],
        *,
        confirm: bool,
    ) -> tuple[Red, ...]:
        tasks = tuple(settled)
        self.desk.is_unattended = True
        try:
            return await judged(self.run, draft, self.tip, names, tasks, owed, confirm=confirm)
        finally:
            self.desk.is_unattended = False

    def _is_awaited(self, red: Red) -> bool:
        """Whether a task to come is to write in a file that fails; then it has a chance to."""
        files = named(self.run, red)
        wave = self.scheduler.wave()
        coming = [
            task.id
            for task in self.plan.tasks
            if self.scheduler.states[task.id] in _UNDER_WAY
            and task.id not in (wave.tasks if wave else ())
            and any(node.path in files for node in (*task.writes, *task.creates))
        ]
        if not coming:
            return False
        self.run.owed.setdefault(red.gate, self.store.prospective(self.tip, {}))
        self.run.remark(
            f"{red.check} fails, and {', '.join(coming)} is still to come: {red.subject}"
        )
        return True

    # ------------------------------------------------------------------------ the end

    def outcomes(self, ended: bool, reason: str) -> dict[str, TaskOutcome]:
        """Return how the plan's tasks stand; `reason` is why those that are not done did not."""
        states = self.scheduler.states
        return {
            task: TaskOutcome(
                _final(states[task], ended),
                turn.asked,
                turn.reason or (reason if _final(states[task], ended) is TaskState.FAILED else ""),
                turn.usage,
            )
            for task, turn in self.turns.items()
        }

    def used(self) -> Iterator[tuple[str, int]]:
        """Yield the answers, by task and attempt, that are in a commit or needed none."""
        for task, state in self.scheduler.states.items():
            if state is TaskState.DONE:
                yield task, self.turns[task].asked

    def release(self) -> None:
        """Give up all claims."""
        self.claims.release()


def holds(error: AgentError) -> bool:
    """Whether other tasks of the model would meet the same, until a person has done something."""
    if error.kind is AgentErrorKind.RATE_LIMITED:
        return (error.retry_after or 0.0) > Policy().max_wait
    return error.kind in HOLDING


def _in(task: str, parts: Sequence[Sequence[str]]) -> bool:
    return any(task in part for part in parts)


def _skipped(because: str) -> str:
    return f"{because}, on which it depends, failed"


def _final(state: TaskState, ended: bool) -> TaskState:
    """Return how a task ended when its run did; an unfinished run keeps states as they are."""
    if ended and state not in (TaskState.DONE, TaskState.SKIPPED):
        return TaskState.FAILED
    return state
