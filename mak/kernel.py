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
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import cache

import anyio

import mak
from mak import events, repair, runlog
from mak.agents import Agent, Ask, NoAnswer, Reach, open_agents, open_planner
from mak.agents import close as close_agents
from mak.config import Config
from mak.errors import MakError, PlanError, UsageError
from mak.gates import Gates
from mak.landing import newer, sources_at, versions
from mak.locking import locker
from mak.model import (
    Locking,
    Mode,
    NodeId,
    Outcome,
    Plan,
    RunState,
    Spend,
    Usage,
    branch_name,
    is_branch,
)
from mak.plan import (
    Answer,
    Estimate,
    PlanPrompt,
    Ungrounded,
    estimate,
    ground,
    hot_nodes,
    propose,
    without,
)
from mak.providers import Limits, Policy, Session, Setup
from mak.rounds import Rounds
from mak.run import Stop
from mak.runlog import Meta, RunLog, outcome_json
from mak.schedule import Forecast, forecast, levels
from mak.source import Conflict, Sources, decode, merge, split
from mak.source.collector import calm
from mak.store import Store, Undone
from mak.store import undo as undo_waves

__all__ = ["Decision", "Options", "Review", "make_plan", "outcome_json", "recover", "run", "undo"]

#: Files left out that are named one by one.
_TOLD = 5
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
    #: Those that several tasks may append to at the same time.
    appended: frozenset[NodeId]
    #: How long it takes, as far as that can be told: every task by the tokens it writes.
    forecast: Forecast
    #: Says why a changed plan cannot be carried out; empty: it can.
    problems: Callable[[Plan], tuple[str, ...]] = lambda plan: ()
    #: The text of a node; empty: there is none yet.
    text: Callable[[NodeId], str] = lambda node: ""
    #: Whether a planner made it, which can be asked again (`Decision.remark`).
    planned: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """What the person decided; a changed plan is grounded and shown again.

    One that `Review.problems` objects to raises `PlanError`.
    """

    approved: bool
    plan: Plan | None = None
    #: What the planner is told, to plan again; what it then plans is shown. Empty: it is not asked.
    remark: str = ""
    #: Not yet: the run is held, and asks again when it is recovered. Only for a plan of repairs;
    #: of the first plan it is a no.
    later: bool = False


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
    #: How finely the run locks; anything but the default is for comparison.
    locking: Locking = Locking.APPEND
    #: Agents to give tasks to as they are, instead of opening `models`.
    agents: tuple[Agent, ...] = ()
    #: Endpoints, keys and folders of the person.
    setup: Setup = field(default_factory=Setup)
    #: The id of the run, where whoever starts it has one; it must be new. Empty: one is made.
    run: str = ""
    #: Says which wave of the run, counted from 1, is the last to be begun; None: all are. It is
    #: asked again and again, and may fall while the run is under way.
    last_wave: Callable[[], int | None] = lambda: None
    #: Trailers of every wave's commit besides MAK's own.
    trailers: tuple[tuple[str, str], ...] = ()
    #: What a goal is called in a commit's message.
    wording: Callable[[str], str] = str


# ------------------------------------------------------------------------------------ the road


async def run(store: Store, request: str | Plan, options: Options) -> Outcome:
    """Carry out one request, or one plan, on the store's branch.

    Returns how it ended, also when it was interrupted by cancellation. Raises `MakError` when it
    could not begin: no plan, uncommitted work in the way, a model spec that means nothing.
    """
    store.hide(options.config.files)
    run_id = options.run or _new_id()
    reach = _reach(options)
    agents = options.agents or open_agents(options.models, reach)
    async with _entered(store, run_id):
        log = RunLog.start(store, _meta(run_id, store, request, options), options.emit)
        _tell(store, log, recovered=False)
        spent: list[Spend] = []
        planner = _planner(options, reach)

        async def planned(asked: str | Plan | tuple[str, str, Plan]) -> Review:
            return await _plan(store, asked, options, planner, log.keep, spent)

        try:
            review = await planned(request)

            async def again(last: Review, remark: str) -> Review:
                return await planned((last.plan.request, remark, last.plan))

            plan = await _reviewed(store, review, options, log.emit, again)
        except BaseException as error:
            state = RunState.FAILED if isinstance(error, Exception) else RunState.INTERRUPTED
            if isinstance(error, PlanError) and not error.hint and not store.tip():
                error.hint = "nothing is committed yet: git add . && git commit -m 'first commit'"
            _end(log, store, state, spent, str(error) or "interrupted")
            raise
        if plan is None:
            return _end(log, store, RunState.DECLINED, spent, "declined at review")
        log.keep_plan(plan)
        base = store.tip()
        return await _rounds(store, log, plan, options, agents, base, reach, spent).carry_out()


async def recover(store: Store, run_id: str, options: Options) -> Outcome:
    """Go on with a run that was cut off or held; `run_id` empty: the newest such run."""
    store.hide(options.config.files)
    run_id = run_id or _newest_unfinished(store)
    meta = runlog.read_meta(store, run_id)
    if meta is None:
        raise UsageError(f"recovering {run_id}: no such run", hint="mak log")
    if not runlog.is_unfinished(store, run_id):
        raise UsageError(f"recovering {run_id}: it has ended", hint=f"mak show {run_id}")
    if at_work := store.at_work(run_id):
        raise MakError(
            f"recovering {run_id}: it is being carried out by {at_work}", hint="mak locks"
        )
    if meta.branch != store.branch:
        raise UsageError(
            f"recovering {run_id}: it works on {branch_name(meta.branch)}, "
            f"not on {branch_name(store.branch)}",
            hint=f"git switch {branch_name(meta.branch)}" if is_branch(meta.branch) else "",
        )
    plan = runlog.read_plan(store, run_id)
    if plan is None:
        raise UsageError(
            f"recovering {run_id}: it was cut off before its plan was approved; nothing was done",
            hint="start it again: mak run --task …",
        )
    spent = runlog.read_spent(store, run_id)
    reach = _reach(options, spent)
    agents = open_agents(options.models or meta.models, reach)
    async with _entered(store, run_id):
        if not runlog.is_unfinished(store, run_id):
            raise UsageError(f"recovering {run_id}: it has ended", hint=f"mak show {run_id}")
        log = RunLog.resume(store, run_id, options.emit)
        _tell(store, log, recovered=True)
        rounds = _rounds(store, log, plan, options, agents, meta.base, reach, spent)
        rounds.take_up(_landed(store, meta))
        return await rounds.carry_out()


async def make_plan(
    store: Store, request: str | Plan | tuple[str, str, Plan], options: Options
) -> Review:
    """Plan a request without carrying it out, or see what a plan comes to.

    A request may come with a remark and the plan that it is about.
    """
    store.hide(options.config.files)
    try:
        planner = _planner(options, _reach(options))
        return await _plan(store, request, options, planner, options.emit, [])
    finally:
        await _close()


def undo(store: Store, run_id: str, config: Config) -> Undone:
    """Take back what a run put on the branch, with a new commit.

    Files that `config` says a command writes are taken back whole or not at all. Raises
    `StoreError`, naming what is in the way: nodes written since, uncommitted changes.
    """
    store.hide(config.files)

    def merged(path: str, base: bytes, ours: bytes, theirs: bytes) -> bytes | tuple[str, ...]:
        if store.opaque_reason(path):
            return (path,)
        cut = (split(text, path, newer=newer) for text in (base, ours, theirs))
        result = merge(*cut, newer=newer)
        return tuple(map(str, result.nodes)) if isinstance(result, Conflict) else result.data

    def nodes(path: str, data: bytes) -> list[tuple[str, bytes]]:
        return versions(split(data, path, newer=newer))

    return undo_waves(store, run_id, merged, nodes)


# ------------------------------------------------------------------------------------ planning


def _planner(options: Options, reach: Reach) -> Callable[[Sources], Ask]:
    """Return what opens the planner of a run: for one view of the repository, once."""
    return cache(lambda sources: open_planner(options.planner, sources, reach))


async def _plan(
    store: Store,
    request: str | Plan | tuple[str, str, Plan],
    options: Options,
    planner: Callable[[Sources], Ask],
    emit: Callable[[events.Event], None],
    spent: list[Spend],
) -> Review:
    """Plan and ground; `spent` collects what the planner's answers cost, also those of no use.

    A request may come with a person's remark and the plan that it is about.
    """
    before = len(spent)

    def spend(model: str, usage: Usage) -> None:
        if usage.calls:
            spent.append(Spend("", 0, model, usage))
            emit(events.Spent("", 0, model, usage))

    sources = sources_at(store, store.tip())
    if isinstance(request, Plan):
        # What is to be put right is for this run to find out.
        plan, told = repair.kept(Plan(request.request, ()), request)
        review = _grounded(store, sources, plan, options, told)
    else:
        words, remark, last = request if isinstance(request, tuple) else (request, "", None)
        ask = planner(sources)

        async def asked(prompt: PlanPrompt) -> Answer:
            try:
                got = await ask(prompt.system, lambda: prompt.told, prompt.schema, prompt.asked)
            except NoAnswer as error:
                spend(options.planner, error.usage)
                raise
            spend(got.model or options.planner, got.usage)
            return Answer(got.text, got.status, got.usage, got.model, got.detail)

        plan, _, remarks = await propose(
            words,
            sources,
            asked,
            remark=remark,
            last=last,
            check_path=store.check_path,
            model=options.planner,
            budget=options.config.planner_tokens,
            emit=emit,
        )
        review = replace(_view(store, plan, remarks, sources, options), planned=True)
    usage = _total(spent[before:])
    emit(events.Planned(review.levels, review.remarks, usage, review.plan.decisions))
    return review


def _grounded(
    store: Store, sources: Sources, plan: Plan, options: Options, remarks: Sequence[str] = ()
) -> Review:
    result = ground(plan, sources, check_path=store.check_path)
    if isinstance(result, Ungrounded):
        raise PlanError("the plan cannot be carried out: " + "; ".join(result.reasons))
    return _view(store, result.plan, (*remarks, *result.remarks), sources, options)


def _view(
    store: Store, plan: Plan, remarks: Sequence[str], sources: Sources, options: Options
) -> Review:
    def problems(changed: Plan) -> tuple[str, ...]:
        result = ground(changed, sources, check_path=store.check_path)
        if isinstance(result, Ungrounded):
            return result.reasons
        error = _in_the_way(store, result.plan, options)
        return (str(error),) if error else ()

    def text(node: NodeId) -> str:
        if node.path not in sources:
            return ""
        try:
            return decode(sources.file(node.path), node.node)
        except KeyError:
            return ""

    cost = estimate(plan, sources, models=options.models, setup=_reach(options).setup)
    remarks = (*remarks, *_over(cost, options.config))
    locks = locker(plan.tasks, sources, options.locking)
    tokens = {task: found.tokens_low or 1 for task, found in cost.tasks}
    return Review(
        plan,
        levels(plan),
        tuple(remarks),
        hot_nodes(plan),
        cost,
        frozenset(k.node for t in plan.tasks for k in locks(t) if k.mode is Mode.A),
        forecast(
            plan, capacity=options.max_agents, locks=locks, duration=lambda task: tokens[task]
        ),
        problems,
        text,
    )


async def _reviewed(
    store: Store,
    review: Review,
    options: Options,
    emit: Callable[[events.Event], None],
    again: Callable[[Review, str], Awaitable[Review]] | None = None,
    *,
    of_repairs: bool = False,
) -> Plan | None:
    """Return the plan that was approved and may be written, or None."""
    first = {task.id: task for task in review.plan.tasks}
    _refuse_in_the_way(store, review.plan, options)
    while options.review is not None:
        decision = await options.review(review)
        if decision.later and of_repairs:
            raise Stop(RunState.HELD, "its repairs wait to be reviewed")
        if not decision.approved or decision.later:
            emit(events.Reviewed(approved=False))
            return None
        if decision.remark:
            review = await _asked_again(store, review, decision.remark, options, again)
            first = {task.id: task for task in review.plan.tasks}
            continue
        if decision.plan is None:
            break
        plan, remarks = repair.kept(review.plan, decision.plan)
        changed = _grounded(store, sources_at(store, store.tip()), plan, options, remarks)
        review = replace(changed, planned=review.planned)
        _refuse_in_the_way(store, review.plan, options)
    if options.review is not None:
        _refuse_in_the_way(store, review.plan, options)  # a review takes as long as it takes
    dropped = tuple(sorted(first.keys() - {task.id for task in review.plan.tasks}))
    emit(events.Reviewed(approved=True, dropped=dropped))
    if dropped and review.plan.atomic:
        of = f"{len(dropped)} of its {len(first)} tasks {'was' if len(dropped) == 1 else 'were'}"
        emit(events.Remark(f"this plan lands as a whole; {of} dropped"))
    return without(review.plan, [first[id] for id in dropped])


async def _asked_again(
    store: Store,
    last: Review,
    remark: str,
    options: Options,
    again: Callable[[Review, str], Awaitable[Review]] | None,
) -> Review:
    """Return what the planner makes of a remark; where that is of no use, the last plan and why."""
    try:
        if again is None or not last.planned:
            raise PlanError("no planner made this plan; edit it instead")
        review = await again(last, remark)
        _refuse_in_the_way(store, review.plan, options)
    except MakError as error:
        hint = f" ({error.hint})" if error.hint else ""
        return replace(last, remarks=(*last.remarks, f"asked again, in vain: {error}{hint}"))
    return review


def _refuse_in_the_way(store: Store, plan: Plan, options: Options) -> None:
    if error := _in_the_way(store, plan, options):
        raise error


def _in_the_way(store: Store, plan: Plan, options: Options) -> MakError | None:
    """Return why a plan cannot be begun; None: it can.

    The files that it writes to must not be touched, or a model that it names cannot be asked.
    """
    if named := {task.model for task in plan.tasks if task.model}:
        try:
            open_agents(sorted(named), _reach(options))
        except UsageError as error:
            return error
    paths = sorted({node.path for task in plan.tasks for node in (*task.writes, *task.creates)})
    dirty = store.uncommitted(paths)
    if dirty:
        return MakError(
            f"the plan writes to files with uncommitted changes: {', '.join(dirty)}",
            hint=f"commit or stash them first: git stash push -u -- {' '.join(dirty)}",
        )
    ignored = store.ignored(paths)
    if ignored:
        return MakError(
            f"the plan writes to files that Git ignores: {', '.join(ignored)}",
            hint="take them out of the plan, or out of .gitignore",
        )
    return None


# ------------------------------------------------------------------------------------ around it


def _rounds(
    store: Store,
    log: RunLog,
    plan: Plan,
    options: Options,
    agents: Sequence[Agent],
    base: str,
    reach: Reach,
    spent: Sequence[Spend],
) -> Rounds:
    async def review(repairs: Plan) -> Plan | None:
        found = _grounded(store, sources_at(store, store.tip()), repairs, options)
        return await _reviewed(store, found, options, log.emit, of_repairs=True)

    return Rounds(
        store,
        log,
        plan,
        config=options.config,
        agents=agents,
        max_agents=options.max_agents,
        locking=options.locking,
        hooks=options.hooks,
        base=base,
        reach=reach,
        spent=spent,
        gates=Gates(
            store,
            options.config.checks,
            log.emit,
            options.setup,
            options.config.files.generated,
        ),
        review=review,
        last_wave=options.last_wave,
        trailers=options.trailers,
        wording=options.wording,
    )


def _landed(store: Store, meta: Meta) -> dict[str, str]:
    """Return the tasks whose wave is on the branch, with its commit: Git is the judge of that."""
    landed = {}
    for commit, trailers in store.trailers(store.tip(), meta.base):
        if trailers.get("MAK-Run") == meta.run:
            for task in trailers.get("MAK-Tasks", "").split(", "):
                landed[task] = commit
    return landed


@asynccontextmanager
async def _entered(store: Store, run_id: str) -> AsyncIterator[None]:
    """Take part in the work on the branch, and give up connections at the end."""
    with calm(), store.enter(run_id):
        try:
            yield
        finally:
            await _close()


async def _close() -> None:
    with anyio.CancelScope(shield=True):
        await close_agents()


def _tell(store: Store, log: RunLog, *, recovered: bool) -> None:
    log.emit(events.RunStarted(log.run, store.branch, store.tip(), recovered))
    store.entries(store.tip())  # what is left out shows when it is read
    left_out = store.remarks
    more = [f"left out {len(left_out) - _TOLD} more"] if len(left_out) > _TOLD else []
    for sentence in (*store.recovered, *left_out[:_TOLD], *more):
        log.emit(events.Remark(sentence))


def _end(
    log: RunLog, store: Store, state: RunState, spent: Sequence[Spend], reason: str
) -> Outcome:
    """Record the end of a run whose plan was never approved."""
    tip = store.tip()
    usage = _total(spent)
    outcome = Outcome(log.run, state, tip, tip, usage=usage, reason=reason, spent=tuple(spent))
    log.emit(events.RunFinished(str(state), reason))
    log.finish(outcome)
    return outcome


def _total(spent: Sequence[Spend]) -> Usage:
    return sum((spend.usage for spend in spent), Usage())


def _over(cost: Estimate, config: Config) -> Iterator[str]:
    """Say which limit a plan may run into."""
    tokens, usd = config.session.max_total_tokens, config.session.max_usd
    if tokens is not None and cost.tokens_high > tokens:
        yield (
            f"it may take {cost.tokens_high:,} tokens, over session.max_total_tokens, {tokens:,}: "
            "the run would stop there"
        )
    if usd is not None and (cost.cost_high or 0.0) > usd:
        yield (
            f"it may cost ${cost.cost_high:.2f}, over session.max_usd, ${usd:g}: "
            "the run would stop there"
        )


def _reach(options: Options, spent: Sequence[Spend] = ()) -> Reach:
    """Return with what models are asked in one run, which has taken `spent` before."""
    config = options.config
    limits = Limits(config.session.max_total_tokens, config.session.max_usd)
    return Reach(
        Policy(total=config.timeouts.task, deadline=config.timeouts.attempt),
        replace(options.setup, mode=config.mode),
        Session(limits, _total(spent)),
    )


def _newest_unfinished(store: Store) -> str:
    elsewhere = alive = newest = ""
    for run_id in store.runs():
        meta = runlog.read_meta(store, run_id)
        if meta and meta.branch == store.branch:
            newest = newest or run_id
        if meta and runlog.is_recoverable(store, run_id):
            if meta.branch == store.branch:
                if not store.at_work(run_id):
                    return run_id
                alive = alive or run_id
                continue
            elsewhere = elsewhere or f"; {run_id}, which was, works on {branch_name(meta.branch)}"
    if alive:
        return alive
    if newest and runlog.read_outcome(store, newest) is None:
        return newest  # without a plan, as `recover` will say
    raise UsageError(
        f"recovering: no run on {branch_name(store.branch)} was cut off{elsewhere}", hint="mak log"
    )


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
    """Return a run id that sorts by time and is unique: 1/1296 seconds in base 36, and a tail."""
    left, digits = int(time.time() * len(_BASE36) ** 2), ""
    while left:
        left, digit = divmod(left, len(_BASE36))
        digits = _BASE36[digit] + digits
    return f"r{digits}{secrets.choice(_BASE36)}"
