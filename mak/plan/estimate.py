"""What a plan will take: nodes that many tasks want, tokens and money, before any is spent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mak.model import Aspect, NodeId, Plan, Task
from mak.plan.shown import CHARS_PER_TOKEN
from mak.providers import Setup, Spec, parse
from mak.source import Sources

#: ``price(model_spec, input_tokens, output_tokens)`` in US dollars; None: not known.
Price = Callable[[Spec, int, int], float | None]

#: Characters of every agent's prompt that are not source: rules, request, decisions.
_RULES = 5_000
#: Characters of outlines beside the source, at most.
_OUTLINES = 20_000
#: Tokens of an answer per node beside its text; for a node that is still to be written, at most.
_PER_NODE = 200
_PER_NEW = 1_500
#: How much longer new text is than old.
_GROWTH = 1.3
#: Tokens that a model may think, and times that an agent may be asked, for the upper bound.
_THINKING = 2_000
_ASKS = 2


@dataclass(frozen=True, slots=True)
class Range:
    """From a first answer that is taken to a second one after long thought."""

    tokens_low: int
    tokens_high: int
    #: US dollars; None: no price is known.
    cost_low: float | None
    cost_high: float | None


@dataclass(frozen=True, slots=True)
class Estimate(Range):
    """What all tasks take together, and each of them, by id."""

    tasks: tuple[tuple[str, Range], ...] = ()


def hot_nodes(plan: Plan) -> tuple[tuple[NodeId, int], ...]:
    """Return the nodes that at least two tasks write, with how many, most wanted first.

    Whoever writes a whole file or class wants what is in it, too.
    """
    wanted: dict[NodeId, set[str]] = {}
    for task in plan.tasks:
        for node in task.writes:
            at = node if node.aspect is Aspect.ALL else node.node
            wanted.setdefault(at, set()).add(task.id)
    for node, tasks in wanted.items():
        tasks.update(*(wanted.get(container, ()) for container in node.containers))
    hot = [(node, len(tasks)) for node, tasks in wanted.items() if len(tasks) > 1]
    return tuple(sorted(hot, key=lambda item: (-item[1], item[0])))


def estimate(
    plan: Plan,
    sources: Sources,
    *,
    models: Sequence[str] = (),
    setup: Setup | None = None,
    price: Price | None = None,
) -> Estimate:
    """Return the range of tokens and cost of a grounded plan.

    `models` answer the tasks that name none, in turn. Agents that ask no endpoint take no tokens.
    """
    setup = setup or Setup()
    price = price or _list_price(setup)
    ranges = []
    for index, task in enumerate(plan.tasks):
        spec = task.model or (models[index % len(models)] if models else "")
        ranges.append((task.id, _range(task, sources, parse(spec, setup) if spec else None, price)))
    return Estimate(
        sum(found.tokens_low for _, found in ranges),
        sum(found.tokens_high for _, found in ranges),
        _total([found.cost_low for _, found in ranges]),
        _total([found.cost_high for _, found in ranges]),
        tuple(ranges),
    )


def _list_price(setup: Setup) -> Price:
    from mak.providers.access import list_cost
    from mak.providers.prices import Counts

    return lambda spec, given, made: list_cost(spec, Counts(given, made), setup)


def _range(task: Task, sources: Sources, spec: Spec | None, price: Price) -> Range:
    if spec is not None and spec.endpoint is None:
        return Range(0, 0, 0.0, 0.0)
    own = sum(_size(node, sources) for node in task.writes)
    shown = own + sum(_size(node, sources) for node in task.reads)
    answer = _GROWTH * own / CHARS_PER_TOKEN + _PER_NODE * (len(task.writes) + len(task.creates))
    low = round((_RULES + shown) / CHARS_PER_TOKEN), round(answer)
    high = (
        round(_ASKS * (_RULES + _OUTLINES + shown) / CHARS_PER_TOKEN),
        round(_ASKS * (answer + _PER_NEW * len(task.creates) + _THINKING)),
    )
    if spec is None:
        return Range(sum(low), sum(high), None, None)
    return Range(sum(low), sum(high), price(spec, *low), price(spec, *high))


def _size(node: NodeId, sources: Sources) -> int:
    """Return the bytes of what is there; 0 for what another task creates first."""
    if node.path not in sources:
        return 0
    file = sources.file(node.path)
    if not node.is_file and file.get(node.node) is None:
        return 0
    return len(file.text(node))


def _total(costs: Sequence[float | None]) -> float | None:
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None
