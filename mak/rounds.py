"""One run to its end: its plan, then repair plans, until nothing is left broken or it is no use.

What the waves of a plan leave broken becomes a plan itself, is reviewed like the first one and
carried out the same way. The loop ends when nothing is left, or when the same is broken as before
(`mak.repair.stop`). Repair plans are in the run's record before their first task is asked, so that
a run that is cut off goes on in the round it was in.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import anyio
from anyio.abc import TaskGroup

from mak import events, repair, runlog
from mak.agents import Agent, Reach
from mak.config import Config, When
from mak.errors import MakError, PlanError
from mak.gates import Gates
from mak.gating import found_since, on_branch
from mak.landing import sources_at
from mak.model import (
    Locking,
    NodeId,
    Obligation,
    Outcome,
    Plan,
    RepairStop,
    RunState,
    Spend,
    Task,
    TaskOutcome,
    TaskState,
    Usage,
)
from mak.repair import Left
from mak.run import Run, Stop
from mak.runlog import RunLog
from mak.schedule import levels
from mak.store import Store
from mak.waves import Waves

#: Places that the end of a run names.
_PLACES = 4

#: Grounds a repair plan and has it reviewed; returns it as it is to be carried out, None: declined.
ReviewRepair = Callable[[Plan], Awaitable[Plan | None]]


class Rounds:
    """The plans of one run, one after the other."""

    def __init__(
        self,
        store: Store,
        log: RunLog,
        plan: Plan,
        *,
        config: Config,
        agents: Sequence[Agent],
        max_agents: int,
        locking: Locking,
        hooks: bool,
        base: str,
        reach: Reach,
        spent: Sequence[Spend],
        gates: Gates,
        review: ReviewRepair,
        last_wave: Callable[[], int | None],
        trailers: Sequence[tuple[str, str]],
        wording: Callable[[str], str],
    ) -> None:
        self._store = store
        self._log = log
        self._config = config
        self._agents = agents
        self._max_agents = max_agents
        self._locking = locking
        self._hooks = hooks
        self._base = base
        self._reach = reach
        self._spent = list(spent)
        self._gates = gates
        self._review = review
        self._last_wave = last_wave
        self._trailers, self._wording = tuple(trailers), wording
        self._plan = plan
        self._rounds: list[Waves] = []
        #: What was broken when each repair plan was made.
        self._history: list[frozenset[str]] = []
        self._why: RepairStop | None = None
        self._outstanding: Sequence[Left] = ()
        #: What an earlier process left: commits by task.
        self._landed: Mapping[str, str] | None = None

    def take_up(self, landed: Mapping[str, str]) -> None:
        """Go on with what an earlier process of this run did: the commits that hold its tasks."""
        self._landed = landed

    async def carry_out(self) -> Outcome:
        """Walk all rounds and record how they ended.

        Raises `MakError` when the store does not do as told; the run can then be recovered.
        """
        state, reason = RunState.DONE, ""
        failure: MakError | None = None
        try:
            async with anyio.create_task_group() as group:
                try:
                    await self._walk(self._run(group))
                except Stop as stop:
                    state, reason = stop.state, str(stop)
                except MakError as error:
                    failure = error
                group.cancel_scope.cancel()
        except anyio.get_cancelled_exc_class():
            state, reason = RunState.INTERRUPTED, "interrupted"
        finally:
            self._gates.close()
        if failure is not None:
            kept = f"everything is kept: mak run --recover {self._log.run}"
            failure.hint = f"{failure.hint}; then, as {kept}" if failure.hint else kept
            raise failure
        return self._finish(state, reason)

    def _run(self, group: TaskGroup) -> Run:
        tip = self._store.tip()
        at_base = self._base == tip or self._store.is_commit(self._base)
        return Run(
            self._store,
            self._log,
            self._config,
            self._agents,
            self._max_agents,
            self._hooks,
            self._base,
            sources_at(self._store, self._base if at_base else tip),
            self._gates,
            group,
            self._reach,
            self._spent,
            {},
            locking=self._locking,
            last_wave=self._last_wave,
            trailers=self._trailers,
            wording=self._wording,
        )

    # ------------------------------------------------------------------------ the loop

    async def _walk(self, run: Run) -> None:
        if self._landed is None:
            self._begin(run, self._plan)
        else:
            self._replay(run, self._landed)
        while True:
            waves = self._rounds[-1]
            await waves.walk()
            left = await _left_over(waves)
            plan = await self._repairs(waves, left)
            if plan is None:
                return
            self._begin(run, plan)

    def _begin(self, run: Run, plan: Plan) -> Waves:
        first = sum(len(waves.scheduler.levels) for waves in self._rounds)
        kind = "repair" if self._rounds else "wave"
        self._rounds.append(Waves(run, plan, first=first, kind=kind))
        return self._rounds[-1]

    def _replay(self, run: Run, landed: Mapping[str, str]) -> None:
        run.parked.update(runlog.read_replies(self._store, self._log.run))
        repairs = runlog.read_repairs(self._store, self._log.run)
        self._history = [state for _, state in repairs]
        plans = [self._plan, *(plan for plan, _ in repairs)]
        base = self._store.prospective(self._base, {}) if run.gates else ""
        # What was put off is not in the record: all gates are compared with what the run began on.
        run.owed = dict.fromkeys(run.gates.names(When.WAVE), base)
        for number, plan in enumerate(plans, 1):
            waves = self._begin(run, plan)
            mine = {task.id for task in plan.tasks}
            waves.replay(
                {task: commit for task, commit in landed.items() if task in mine},
                over=number < len(plans),
            )

    async def _repairs(self, waves: Waves, left: Sequence[Left]) -> Plan | None:
        """Return the next repair plan, in the record; None: there is to be none."""
        self._outstanding = left
        if not left:
            return None
        broken = repair.state(left)
        used = sum(len(round_.scheduler.levels) for round_ in self._rounds[1:])
        self._why = repair.stop(self._history, broken, used, self._config.repair.max_waves)
        if self._why is not None:
            self._log.emit(events.RepairStopped(str(self._why), _places(left)))
            return None
        waves.release()
        number = len(self._rounds)
        sources = sources_at(self._store, self._store.tip())
        plan = repair.plan_repairs(number, waves.plan, left, _again(waves, left), sources)
        told = tuple(map(str, left))
        self._log.emit(events.RepairPlanned(number, levels(plan), told))
        self._log.flush()
        try:
            approved = await self._review(plan)
        except PlanError as error:
            raise Stop(RunState.FAILED, f"repairing: {error}") from error
        except MakError as error:
            hint = f" ({error.hint})" if error.hint else ""
            raise Stop(RunState.HELD, f"repairing: {error}{hint}") from error
        if approved is None:
            raise Stop(RunState.FAILED, "its repairs were declined")
        self._log.keep_repair(number, approved, broken)
        self._history.append(broken)
        self._outstanding = ()
        return approved

    # ------------------------------------------------------------------------ the end

    def _finish(self, state: RunState, reason: str) -> Outcome:
        for waves in self._rounds[-1:]:
            waves.release()
        run_landed = self._rounds[-1].run.landed if self._rounds else []
        findings = [*self._rounds[-1].run.findings] if self._rounds else []
        findings += (left.finding() for left in self._outstanding)
        ended = state in (RunState.DONE, RunState.FAILED)
        if state is RunState.DONE and self._why is not None:
            broken = _places(self._outstanding)
            more = f" and {len(broken) - _PLACES} more" if len(broken) > _PLACES else ""
            names = f"{', '.join(broken[:_PLACES])}{more}"
            state, reason = RunState.FAILED, f"repairs {_SAID[self._why]}; left broken: {names}"
        why_not = reason
        tasks = self._tasks(ended, why_not)
        lost = any(task.state in (TaskState.FAILED, TaskState.SKIPPED) for task in tasks.values())
        if state is RunState.DONE and lost:
            state, reason = RunState.FAILED, "some tasks did not land"
            tasks = self._tasks(ended, reason)
        outcome = Outcome(
            run=self._log.run,
            state=state,
            base=self._base,
            head=self._store.tip(),
            waves=tuple(run_landed),
            tasks=tasks,
            findings=tuple(dict.fromkeys(findings)),
            usage=sum((spend.usage for spend in self._spent), Usage()),
            reason=reason,
            spent=tuple(self._spent),
            stopped=self._why,
        )
        if ended:
            self._tell_unused(reason)
        self._log.emit(events.RunFinished(str(state), reason))
        self._log.finish(outcome)
        return outcome

    def _tell_unused(self, reason: str) -> None:
        """Name every answer that nothing came of; a run that can go on may still use its own."""
        parked = {key for waves in self._rounds[-1:] for key in waves.run.parked}
        used = {key for waves in self._rounds for key in waves.used()}
        if parked <= used:
            return
        self._log.flush()
        told = (event for _, event in runlog.read_events(self._store, self._log.run))
        for event in runlog.unused(self._log.run, parked, used, told, reason):
            self._log.emit(event)

    def _tasks(self, ended: bool, reason: str) -> dict[str, TaskOutcome]:
        """Return how all tasks stand; one whose share a repair did is done."""
        found: dict[str, TaskOutcome] = {}
        for waves in self._rounds:
            found.update(waves.outcomes(ended, reason))
        for waves in reversed(self._rounds):
            for task in waves.plan.tasks:
                done = found[task.id].state is TaskState.DONE
                if task.repairs in found and done:
                    by = f"done by {task.id}"
                    was = found[task.repairs]
                    found[task.repairs] = replace(was, state=TaskState.DONE, reason=by)
        return found


# ------------------------------------------------------------------------------ what is left


async def _left_over(waves: Waves) -> list[Left]:
    """Return all of it: tasks left out, findings on the branch, and gates that fail there."""
    found = [item for items in waves.left.values() for item in items]
    known = {_key(item) for item in found}
    states = waves.scheduler.states
    lost = [
        turn.task
        for name, turn in waves.turns.items()
        if states[name] in (TaskState.FAILED, TaskState.SKIPPED)
    ]
    found += (item for item in _debts(waves, lost) if _key(item) not in known)
    gates = await on_branch(waves.run, waves.tip, waves.draft.sources)
    found += (item for item in gates if _key(item) not in known)
    known = {_key(item) for item in found}
    found += (
        Left(each, task)
        for task in lost
        for each in task.obligations
        if not each.landed and (each.check, each.site) not in known
    )
    return found


def _again(waves: Waves, left: Sequence[Left]) -> list[Task]:
    """Return the tasks that were not begun because one failed that comes back."""
    back = {item.task.id for item in left if item.task}
    because = waves.scheduler.because
    return [turn.task for task, turn in waves.turns.items() if because.get(task) in back]


def _debts(waves: Waves, lost: Sequence[Task]) -> Iterator[Left]:
    """Yield what the checks find on the branch since the run began, and did not before."""
    run, now = waves.run, waves.draft.sources
    if len(run.landed) < 2 and not lost:
        return  # one wave, which was checked as a whole
    for finding in found_since(run, now):
        sites = repair.places(finding)
        paths = {finding.node.path, *(site.path for site in sites)}
        missing = (finding.provider,) if finding.provider else ()
        owner = next(repair.touching(lost, [*sites, finding.node, *missing]), None)
        keeps = repair.added(paths, run.before, now)
        goals = tuple(t.goal for t in repair.touching(waves.plan.tasks, [finding.node]))
        for site in sites:
            obligation = Obligation(finding.check, finding.message, site, keeps)
            yield Left(obligation, owner, (site,), (finding.node.node,), missing, goals)


def _places(left: Sequence[Left]) -> tuple[str, ...]:
    """Return each place once; what is wrong there is for the findings to say."""
    return tuple(dict.fromkeys(item.where for item in left))


def _key(item: Left) -> tuple[str, NodeId | None]:
    return item.obligation.check, item.obligation.site


_SAID = {
    RepairStop.STALLED: "stalled: the same is broken as before",
    RepairStop.OSCILLATING: "are oscillating: what was broken before is broken again",
    RepairStop.LIMIT: "are at their limit (repair.max_waves)",
}
