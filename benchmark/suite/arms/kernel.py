"""MAK, with its own planner, or with the plan that the specification knows to be right."""

from __future__ import annotations

import time

from benchmark.suite.arms.setting import Result, Setting
from benchmark.suite.specification import Task
from mak import events, kernel, runlog
from mak.config import Config
from mak.errors import MakError
from mak.model import NodeId, Outcome, Plan, TaskState
from mak.model import Task as MakTask
from mak.store import Store


async def own_planner(setting: Setting) -> Result:
    """Say everything that is to be done as one request; no write sets, no hints."""
    return await _run(setting, setting.project.request)


async def oracle_plan(setting: Setting) -> Result:
    """Give the plan whose targets are those of the reference."""
    project = setting.project
    tasks = tuple(
        MakTask(
            t.id,
            t.text,
            t.targets(project.sources),
            creates=t.creates,
            depends_on=t.depends_on,
        )
        for t in project.tasks
    )
    return await _run(setting, Plan(project.about, tasks, complete=True))


async def _run(setting: Setting, request: str | Plan) -> Result:
    result = Result()

    def emit(event: events.Event) -> None:
        match event:
            case events.TaskWidened():
                result.escalations += 1
            case events.ReplyRejected(check="merge"):
                result.conflicts += 1

    with Store.open(setting.folder / "main") as store:
        options = kernel.Options(
            config=Config(),
            models=setting.models,
            planner=setting.planner,
            max_agents=setting.agents,
            emit=emit,
            setup=setting.setup,
        )
        began = time.perf_counter()
        try:
            outcome = await kernel.run(store, request, options)
        except MakError as error:
            result.seconds = time.perf_counter() - began
            result.reason = str(error)
            result.failed = [task.id for task in setting.project.tasks]
            return result
        result.seconds = time.perf_counter() - began
        plan = runlog.read_plan(store, outcome.run)
    _count(result, outcome)
    if isinstance(request, str) and plan is not None:
        result.missing = missing(setting, plan)
    return result


def _count(result: Result, outcome: Outcome) -> None:
    result.usage = outcome.usage
    for spend in outcome.spent:
        if not spend.task:
            result.planner_usage += spend.usage
    result.retries = sum(max(0, one.attempts - 1) for one in outcome.tasks.values())
    result.failed = [
        name
        for name, one in outcome.tasks.items()
        if one.state in (TaskState.FAILED, TaskState.SKIPPED)
    ]
    result.reason = outcome.reason


def missing(setting: Setting, plan: Plan) -> int:
    """Return how many targets of the reference no task of a plan has that says it does the item."""
    count = 0
    for task in setting.project.tasks:
        count += sum(
            not _is_covered(node, _writes(task, plan))
            for node in (*task.targets(setting.project.sources), *task.creates)
        )
    return count


def _writes(task: Task, plan: Plan) -> set[NodeId]:
    return {
        node for one in plan.tasks if task.id in one.goal for node in (*one.writes, *one.creates)
    }


def _is_covered(node: NodeId, writes: set[NodeId]) -> bool:
    return not writes.isdisjoint((node, node.node, node.api, *node.containers))
