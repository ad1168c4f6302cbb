"""From a request to a plan that can be trusted: ask, read, ground; ask again with the reason."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable

from mak.errors import PlanError
from mak.events import Event, PlanAsked
from mak.model import Plan, ReplyStatus, Usage
from mak.plan.document import plan_document
from mak.plan.ground import Ungrounded, ground
from mak.plan.prompt import BUDGET, PlanPrompt, build_prompt
from mak.plan.reply import Answer, PlanReply, read_reply
from mak.plan.untrusted import clean, one_line
from mak.source import Sources

#: How often a planner is asked for one plan.
ASKS = 3
#: How much of a useless answer, and how many reasons, the planner is shown.
_ANSWER = 12_000
_REASONS = 20

Ask = Callable[[PlanPrompt], Awaitable[Answer]]

_AGAIN = {
    ReplyStatus.TRUNCATED: "it was cut off at its length limit; plan fewer tasks, in fewer words",
    ReplyStatus.EMPTY: "it was empty",
    ReplyStatus.MALFORMED: "it could not be read",
}


async def propose(
    request: str,
    sources: Sources,
    ask: Ask,
    *,
    check_path: Callable[[str], str] = lambda path: path,
    model: str = "",
    budget: int = BUDGET,
    emit: Callable[[Event], None] = lambda event: None,
    remark: str = "",
    last: Plan | None = None,
) -> tuple[Plan, Usage, tuple[str, ...]]:
    """Have a planner plan `request`; return the grounded plan, what it cost, and remarks.

    `model` names the planner in events; `budget` bounds the repository's part of the prompt, in
    tokens. With a person's `remark` on the plan `last`, another one is made. The plan's request is
    the text, and the remark, without what its reader cannot see. Raises `PlanError`
    when the planner will not, has questions, sees nothing to do, or gave no usable plan when asked
    `ASKS` times.
    """
    shown = json.dumps(plan_document(last), ensure_ascii=False) if last else ""
    first = prompt = build_prompt(request, sources, budget=budget, remark=remark, last=shown)
    usage = Usage()
    reason = ""
    for attempt in range(1, ASKS + 1):
        emit(PlanAsked(model, attempt, reason))
        answer = await ask(prompt)
        usage += answer.usage
        _refuse_unless_planned(answer)
        reply = _AGAIN.get(answer.status) or read_reply(answer)
        if isinstance(reply, str):
            reason = one_line(f"{reply} ({answer.detail})" if answer.detail else reply)
        elif not reply.tasks:
            reason = _nothing_to_do(reply)
        else:
            grounded = ground(reply.plan(first.asked), sources, check_path=check_path)
            if not isinstance(grounded, Ungrounded):
                notes = tuple(f"the planner asks: {text}" for text in _visible(reply.questions))
                return grounded.plan, usage, (*first.remarks, *grounded.remarks, *notes)
            reason = _listed(grounded.reasons)
        if not answer.usage.calls:
            break  # a planner by rule says the same again
        prompt = first.again(reason, clean(answer.text, comments=False).text[:_ANSWER])
    raise PlanError(
        f"planning: {_asked(attempt)}, no usable plan; at last: {reason}",
        hint="say it in other words, let another model plan (--planner), or write the plan "
        "yourself: mak run --plan FILE",
    )


def _asked(times: int) -> str:
    return f"asked {times} times" if times > 1 else "asked once"


def _refuse_unless_planned(answer: Answer) -> None:
    said = clean(answer.detail or answer.text, comments=False).text.strip()
    if answer.status is ReplyStatus.REFUSED:
        raise PlanError(f"planning: the planner will not: {said or 'it gave no reason'}")
    if answer.status is ReplyStatus.FILTERED:
        more = f": {said}" if said else ""
        raise PlanError(f"planning: the endpoint's content filter stopped the answer{more}")
    if answer.status is ReplyStatus.INCOMPLETE:
        # Whoever had the stream has asked for it again.
        raise PlanError(
            f"planning: {answer.detail or 'the stream ended before the answer did'}",
            hint="run it again, or choose another model: --planner",
        )


def _nothing_to_do(reply: PlanReply) -> str:
    """Raise with what the planner says instead of a plan; return a reason when it says nothing."""
    said = _visible(reply.questions) or _visible(reply.decisions)
    if not said:
        return "it has neither a task nor a question; say in questions why there is nothing to do"
    raise PlanError(
        f"planning: the planner gave no task, but says: {' / '.join(said)}",
        hint="put the answer into the request and run it again",
    )


def _visible(texts: list[str]) -> list[str]:
    return [line for line in map(one_line, texts) if line]


def _listed(reasons: tuple[str, ...]) -> str:
    more = len(reasons) - _REASONS
    return "; ".join((*reasons[:_REASONS], *([f"and {more} more"] if more > 0 else [])))
