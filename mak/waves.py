"""The waves of one plan: dispatch, judge, gate, commit, until every task has ended.

A wave's tasks build one draft. When the branch moves under it, the accepted replies are applied
again on the new tip; what no longer fits is asked again. What a gate of the project fails with is
left out of the wave, and comes back as a repair (`mak.rounds`).

What to ask, what becomes of an answer and when a wave is over is decided here, over the tables of
`mak.board`; whether a wave may be committed, in `mak.admission`. Verdicts are `mak.judge`'s, agents
are `mak.asking`'s, what goes into Git is `mak.landing`'s and `mak.runlog`'s.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from mak import events, runlog
from mak.admission import Admission
from mak.agents import Assignment, context
from mak.asking import Arrival, Turn
from mak.assembly import Settled, assemble
from mak.board import skipped_for
from mak.errors import AgentError, AgentErrorKind, PlanError, UsageError
from mak.gating import written
from mak.judge import (
    Accept,
    Again,
    Fail,
    Verdict,
    Widen,
    digest,
    judge,
    touches,
)
from mak.landing import contents, merger, sources_at, wave_message
from mak.model import (
    NodeId,
    Reply,
    RunState,
    Task,
    TaskState,
    WaveOutcome,
    branch_name,
)
from mak.plan import barred
from mak.providers.policy import Policy
from mak.repair import Left
from mak.run import Stop
from mak.schedule import Wave, exclude, locks_for
from mak.source import Draft, Shown, View, path_of
from mak.source.names import references
from mak.store import Committed, Moved, WaveHeld, WaveWrite

#: How often one task may be widened (an agent's needs, a signature that it changes).
WIDENINGS = 2
#: How often an edit may not go together with another's before its task writes alone.
CLASHES = 2
#: Seconds between two looks at a lock that another process holds.
POLL = 0.3
#: Seconds without an answer after which what happened is recorded by itself.
QUIET = 0.1
#: How often one wave may be rebuilt because the branch moved while it was being committed.
REBUILDS = 20

_GONE = AgentErrorKind.UNAVAILABLE
#: What other tasks of the same model would meet too, until a person has done something about it.
HOLDING = frozenset({AgentErrorKind.AUTH, AgentErrorKind.BILLING, AgentErrorKind.NOT_FOUND})


class Waves(Admission):
    """One plan on its way to commits; `first` is the number of its first wave in the run."""

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
                        self.turns[other].reason = skipped_for(task)
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
            if gone := self.store.vanished():
                name = branch_name(self.store.branch)
                raise Stop(
                    RunState.HELD, f"{gone}; git branch {name} {self.tip[:10]} brings it back"
                )
            if self.store.tip() != self.tip and not self._rebuild():
                return
            if not await self._admitted():
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
                self.log.run,
                number,
                self.plan,
                tasks,
                kind=self.kind,
                more=self.run.trailers,
                wording=self.run.wording,
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


def holds(error: AgentError) -> bool:
    """Whether other tasks of the model would meet the same, until a person has done something."""
    if error.kind is AgentErrorKind.RATE_LIMITED:
        return (error.retry_after or 0.0) > Policy().max_wait
    return error.kind in HOLDING
