"""The kernel itself, with modelled agents; its locks as they are, or coarser."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

from benchmark.simulation import clock
from benchmark.simulation.arms.worktrees import critical
from benchmark.simulation.model import Model
from benchmark.simulation.repository import create, read
from benchmark.simulation.result import Result
from benchmark.simulation.workload import Entry, Job, Place, Workload
from mak import events, kernel
from mak.agents import Assignment
from mak.config import Config
from mak.landing import sources_at
from mak.locking import locker
from mak.model import (
    AddImport,
    Edit,
    Locking,
    NodeId,
    Plan,
    Replace,
    Reply,
    ReplyStatus,
    RunState,
    Task,
)
from mak.schedule import forecast
from mak.source import Sources
from mak.store import Store


async def appending(folder: Path, workload: Workload, model: Model, agents: int) -> Result:
    """As everybody runs it."""
    return await _run(folder, workload, model, agents, Locking.APPEND)


async def node_locks(folder: Path, workload: Workload, model: Model, agents: int) -> Result:
    """With exclusive locks on nodes only."""
    return await _run(folder, workload, model, agents, Locking.NODE)


async def file_locks(folder: Path, workload: Workload, model: Model, agents: int) -> Result:
    """With exclusive locks on files."""
    return await _run(folder, workload, model, agents, Locking.FILE)


class _Modelled:
    """An agent that takes its time and makes the job's edit in what it is shown."""

    spec = "modelled"
    is_steady = False

    def __init__(self, workload: Workload, model: Model, result: Result) -> None:
        self.workload = workload
        self.model = model
        self.result = result
        self.jobs = {job.id: job for job in workload.jobs}

    async def answer(self, assignment: Assignment) -> Reply:
        """Return the edits of a job."""
        job = self.jobs[assignment.task.id]
        seconds = self.model.seconds(job.id, assignment.attempt)
        await asyncio.sleep(seconds)
        self.result.calls.append((job.id, seconds))
        correct = self.model.correct(job.id)
        edits: list[Edit] = []
        written = 0
        entries = {(place.path, place.symbol): (place, entry) for place, entry in job.entries}
        for slot in assignment.slots:
            node = slot.node
            if node == NodeId(job.path, job.function):
                text = self.workload.write_function(slot.source, job, correct=correct)
            else:
                text = self._entries(slot.source, node, entries)
            written += len(text)
            edits.append(Replace(node, text))
        edits += (AddImport(path, statement) for path, statement in job.imports)
        shown = sum(len(slot.source) for slot in assignment.slots)
        shown += sum(len(text) for _, text in assignment.reads)
        shown += sum(len(text) for _, text in assignment.outlines)
        self.result.tokens += self.model.tokens(shown, written)
        return Reply(ReplyStatus.EDITED, tuple(edits), model="modelled")

    def _entries(
        self, text: str, node: NodeId, entries: dict[tuple[str, str], tuple[Place, Entry]]
    ) -> str:
        for (path, _), (place, entry) in entries.items():
            if path == node.path and place.opens in text:
                text = self.workload.add_entry(text, place, entry)
        return text


async def _run(
    folder: Path, workload: Workload, model: Model, agents: int, locking: Locking
) -> Result:
    root = folder / "main"
    create(root, workload.files)
    result = Result(critical=critical(workload.jobs, model))
    agent = _Modelled(workload, model, result)
    asked: dict[str, float] = {}
    waiting: dict[str, float] = {}

    def emit(event: events.Event) -> None:
        match event:
            case events.TaskWaiting(task):
                waiting.setdefault(task, clock.now())
            case events.TaskStarted(task):
                if task in waiting:
                    result.waits.append(clock.now() - waiting.pop(task))
                asked[task] = clock.now()
            case events.WaveCommitted():
                result.commits.append(0.0)

    with Store.open(root) as store:
        sources = sources_at(store, store.tip())
        plan = Plan("simulated", tuple(_task(job, sources) for job in workload.jobs))
        options = kernel.Options(
            config=Config(),
            models=("builtin",),
            planner="builtin",
            max_agents=agents,
            emit=emit,
            locking=locking,
            agents=(agent,),
        )
        began = clock.now()
        outcome = await kernel.run(store, plan, options)
        result.makespan = clock.now() - began
    if outcome.state is not RunState.DONE:
        raise RuntimeError(f"the run ended as {outcome.state}: {outcome.reason}")
    result.conflicts = sum(outcome.tasks[t].attempts - 1 for t in outcome.tasks)
    took = Counter[str]()
    for name, seconds in result.calls:
        took[name] += seconds
    result.allowed = forecast(
        plan,
        capacity=agents,
        locks=locker(plan.tasks, sources, locking),
        duration=lambda task: took[task],
    ).least
    writes = Counter(str(node) for task in plan.tasks for node in task.writes)
    result.hottest = writes.most_common(3)
    result.files = read(root, workload.files)
    return result


def _task(job: Job, sources: Sources) -> Task:
    """Return a job as a task: it names the nodes it writes, as a planner would."""
    own = NodeId(job.path, job.function)
    if "," in job.signature:
        own = own.api
    shared = tuple(_node(place, sources) for place, _ in job.entries)
    return Task(
        job.id,
        f"write {job.function} and register it",
        (own, *shared),
        depends_on=job.depends_on,
    )


def _node(place: Place, sources: Sources) -> NodeId:
    for node in sources.file(place.path).nodes:
        if place.symbol in node.names or node.id.symbol == place.symbol:
            return node.id
    raise ValueError(f"{place.path} has no {place.symbol}")
