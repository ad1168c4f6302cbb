"""One request, from a repository's source to published commits: the road that MAK walks.

`run` plans, has the plan reviewed and carries it out, wave by wave (`mak.waves`); `recover` goes on
where a run was cut off. Agents answer side by side; every answer is parked in Git, judged on the
draft of its wave, and the draft becomes one commit. All deciding and all writing happens on one
thread; only agents run concurrently.

Invariants: an answer is in Git before it is judged; a task ends in exactly one state; what is
committed passed the checks on the very tree that is committed.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import mak
from mak import events, runlog
from mak.agents import Agent, open_agents, open_planner
from mak.config import Config
from mak.errors import MakError, PlanError, UsageError
from mak.model import NodeId, Outcome, Plan, RunState, Usage
from mak.plan import (
    Answer,
    Estimate,
    PlanPrompt,
    Ungrounded,
    estimate,
    ground,
    hot_nodes,
    propose,
)
from mak.runlog import Meta, RunLog, outcome_json
from mak.schedule import levels
from mak.source import Sources
from mak.store import Store
from mak.waves import Waves, sources_at

__all__ = ["Decision", "Options", "Review", "make_plan", "outcome_json", "recover", "run"]

_BASE36 = "0123456789abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class Review:
    """What a person decides on before a token is spent on edits."""

    plan: Plan
    levels: tuple[tuple[str, ...], ...]
    #: What grounding corrected or flagged.
    remarks: tuple[str, ...]
    #: Nodes that several tasks want, with how many.
    hot: tuple[tuple[NodeId, int], ...]
    estimate: Estimate


@dataclass(frozen=True, slots=True)
class Decision:
    """What the person decided; a changed plan is grounded and shown again."""

    approved: bool
    plan: Plan | None = None


@dataclass(frozen=True, slots=True)
class Options:
    """How a launcher wants a run carried out."""

    config: Config
    models: tuple[str, ...]
    planner: str
    max_agents: int = 4
    #: None: no review.
    review: Callable[[Review], Awaitable[Decision]] | None = None
    emit: Callable[[events.Event], None] = lambda event: None
    #: Whether pre-commit and commit-msg hooks judge each wave.
    hooks: bool = False


# ------------------------------------------------------------------------------------ the road


async def run(store: Store, request: str | Plan, options: Options) -> Outcome:
    """Carry out one request, or one plan, on the store's branch.

    Returns how it ended, also when it was interrupted by cancellation. Raises `MakError` when it
    could not begin: no plan, uncommitted work in the way, a model spec that means nothing.
    """
    run_id = _new_id()
    agents = open_agents(options.models)
    with store.enter(run_id):
        log = RunLog.start(store, _meta(run_id, store, request, options), options.emit)
        log.emit(events.RunStarted(run_id, store.branch, store.tip()))
        for sentence in store.recovered:
            log.emit(events.Remark(sentence))
        try:
            review, usage = await _plan(store, request, options, log.emit)
            plan = await _reviewed(store, review, options, log.emit)
        except BaseException as error:
            state = RunState.FAILED if isinstance(error, Exception) else RunState.INTERRUPTED
            log.finish(_unplanned(run_id, store, state, str(error)))
            raise
        if plan is None:
            return _declined(log, run_id, store, usage)
        log.keep_plan(plan)
        return await _waves(store, log, plan, options, agents, store.tip(), usage).carry_out()


async def recover(store: Store, run_id: str, options: Options) -> Outcome:
    """Go on with a run that was cut off or held; `run_id` empty: the newest such run."""
    run_id = run_id or _newest_unfinished(store)
    meta = runlog.read_meta(store, run_id)
    if meta is None:
        raise UsageError(f"recovering {run_id}: no such run", hint="mak log")
    if not runlog.is_unfinished(store, run_id):
        raise UsageError(f"recovering {run_id}: it has ended", hint=f"mak show {run_id}")
    if meta.branch != store.branch:
        raise UsageError(
            f"recovering {run_id}: it works on {meta.branch}, not on {store.branch}",
            hint=f"git switch {meta.branch.removeprefix('refs/heads/')}",
        )
    plan = runlog.read_plan(store, run_id)
    if plan is None:
        raise UsageError(
            f"recovering {run_id}: it was cut off before its plan was approved; nothing was done",
            hint="start it again: mak run --task …",
        )
    agents = open_agents(options.models or meta.models)
    with store.enter(run_id):
        log = RunLog.resume(store, run_id, options.emit)
        log.emit(events.RunStarted(run_id, store.branch, store.tip(), recovered=True))
        for sentence in store.recovered:
            log.emit(events.Remark(sentence))
        waves = _waves(
            store, log, plan, options, agents, meta.base, runlog.read_usage(store, run_id)
        )
        waves.replay(_landed(store, meta), runlog.read_replies(store, run_id))
        return await waves.carry_out()


async def make_plan(store: Store, request: str, options: Options) -> Review:
    """Plan a request without carrying it out."""
    review, _ = await _plan(store, request, options, options.emit)
    return review


# ------------------------------------------------------------------------------------ planning


async def _plan(
    store: Store, request: str | Plan, options: Options, emit: Callable[[events.Event], None]
) -> tuple[Review, Usage]:
    sources = sources_at(store, store.tip())
    if isinstance(request, Plan):
        review = _grounded(store, sources, request, options)
        emit(events.Planned(review.levels, review.remarks, Usage()))
        return review, Usage()
    ask = open_planner(options.planner, sources)

    async def asked(prompt: PlanPrompt) -> Answer:
        got = await ask(prompt.system, lambda: prompt.prompt, prompt.schema, prompt.request)
        return Answer(got.text, got.status, got.usage, got.model, got.detail)

    plan, usage, remarks = await propose(
        request,
        sources,
        asked,
        check_path=store.check_path,
        model=options.planner,
        budget=options.config.planner_tokens,
        emit=emit,
    )
    review = _view(plan, remarks, sources, options)
    emit(events.Planned(review.levels, review.remarks, usage))
    return review, usage


def _grounded(store: Store, sources: Sources, plan: Plan, options: Options) -> Review:
    result = ground(plan, sources, check_path=store.check_path)
    if isinstance(result, Ungrounded):
        raise PlanError("the plan cannot be carried out: " + "; ".join(result.reasons))
    return _view(result.plan, result.remarks, sources, options)


def _view(plan: Plan, remarks: Sequence[str], sources: Sources, options: Options) -> Review:
    cost = estimate(plan, sources, models=options.models)
    return Review(plan, levels(plan), tuple(remarks), tuple(hot_nodes(plan)), cost)


async def _reviewed(
    store: Store, review: Review, options: Options, emit: Callable[[events.Event], None]
) -> Plan | None:
    """Return the plan that was approved and may be written, or None."""
    first = {task.id for task in review.plan.tasks}
    while options.review is not None:
        decision = await options.review(review)
        if not decision.approved:
            emit(events.Reviewed(approved=False))
            return None
        if decision.plan is None:
            break
        review = _grounded(store, sources_at(store, store.tip()), decision.plan, options)
    kept = {task.id for task in review.plan.tasks}
    emit(events.Reviewed(approved=True, dropped=tuple(sorted(first - kept))))
    _refuse_uncommitted(store, review.plan)
    return review.plan


def _refuse_uncommitted(store: Store, plan: Plan) -> None:
    paths = sorted({node.path for task in plan.tasks for node in (*task.writes, *task.creates)})
    dirty = store.uncommitted(paths)
    if dirty:
        raise MakError(
            f"the plan writes to files with uncommitted changes: {', '.join(dirty)}",
            hint=f"commit or stash them first: git stash push -u -- {' '.join(dirty)}",
        )
    ignored = store.ignored(paths)
    if ignored:
        raise MakError(
            f"the plan writes to files that Git ignores: {', '.join(ignored)}",
            hint="take them out of the plan, or out of .gitignore",
        )


# ------------------------------------------------------------------------------------ around it


def _waves(
    store: Store,
    log: RunLog,
    plan: Plan,
    options: Options,
    agents: Sequence[Agent],
    base: str,
    usage: Usage,
) -> Waves:
    return Waves(
        store,
        log,
        plan,
        config=options.config,
        agents=agents,
        max_agents=options.max_agents,
        hooks=options.hooks,
        base=base,
        usage=usage,
    )


def _landed(store: Store, meta: Meta) -> dict[str, str]:
    """Return the tasks whose wave is on the branch, with its commit: Git is the judge of that."""
    landed = {}
    for commit, trailers in store.trailers(store.tip(), meta.base):
        if trailers.get("MAK-Run") == meta.run:
            for task in trailers.get("MAK-Tasks", "").split(", "):
                landed[task] = commit
    return landed


def _declined(log: RunLog, run_id: str, store: Store, usage: Usage) -> Outcome:
    tip = store.tip()
    outcome = Outcome(run_id, RunState.DECLINED, tip, tip, usage=usage, reason="declined at review")
    log.emit(events.RunFinished(str(outcome.state), outcome.reason))
    log.finish(outcome)
    return outcome


def _unplanned(run_id: str, store: Store, state: RunState, reason: str) -> Outcome:
    tip = store.tip()
    return Outcome(run_id, state, tip, tip, reason=reason or str(state))


def _newest_unfinished(store: Store) -> str:
    for run_id in store.runs():
        meta = runlog.read_meta(store, run_id)
        if meta and meta.branch == store.branch and runlog.is_unfinished(store, run_id):
            return run_id
    raise UsageError("recovering: no run on this branch was cut off", hint="mak log")


def _meta(run_id: str, store: Store, request: str | Plan, options: Options) -> Meta:
    return Meta(
        run=run_id,
        request=request.request if isinstance(request, Plan) else request,
        branch=store.branch,
        base=store.tip(),
        models=options.models,
        planner=options.planner,
        max_agents=options.max_agents,
        started=round(time.time(), 3),
        version=mak.__version__,
    )


def _new_id() -> str:
    """Return a run id that sorts by time and is unique: seconds in base 36 and a random tail."""
    seconds, digits = int(time.time()), ""
    while seconds:
        seconds, digit = divmod(seconds, 36)
        digits = _BASE36[digit] + digits
    return f"r{digits}{''.join(secrets.choice(_BASE36) for _ in range(3))}"
