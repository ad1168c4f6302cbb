"""An agent, and a planner, that ask a language model: one question with everything it needs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from mak.agents import reply as replies
from mak.agents.assignment import Asked, Assignment, Told
from mak.agents.document import MAX_SLOTS
from mak.agents.envelope import WORDS
from mak.agents.prompt import compose, mark, mend
from mak.agents.reply import Malformed, reply_schema
from mak.agents.shown import CHARS_PER_TOKEN
from mak.errors import AgentErrorKind
from mak.model import Reply, ReplyStatus, Usage
from mak.providers import Client
from mak.providers.request import Completion, NoAnswer, Request, Stop

#: What a stop other than `DONE` is as the end of a turn, and how a person is told.
_ENDS: Mapping[Stop, tuple[ReplyStatus, str]] = {
    Stop.TRUNCATED: (ReplyStatus.TRUNCATED, "the answer did not fit, not even with twice the room"),
    Stop.REFUSED: (ReplyStatus.REFUSED, "the model refused"),
    Stop.FILTERED: (ReplyStatus.FILTERED, "the endpoint's content filter stopped the answer"),
    Stop.EMPTY: (ReplyStatus.EMPTY, "the answer was empty"),
    Stop.INCOMPLETE: (
        ReplyStatus.INCOMPLETE,
        "the stream ended before the model said it was done, each time it was asked",
    ),
}

#: Room for an answer: what models think before they write, and the least they get in all.
_THINKING = 8_192
_PLAN_ROOM = 16_384


class LLMAgent:
    """Answers an assignment with one question to a model."""

    def __init__(self, spec: str, client: Client) -> None:
        self.spec = spec
        self._client = client

    async def answer(self, assignment: Assignment) -> Reply:
        """Ask the model; an answer that cannot be read goes back to it with the errors.

        All of it together has the policy's time for one question. Raises `NoAnswer`, with the usage
        of every call before it.
        """
        if len(assignment.slots) > MAX_SLOTS:
            raise NoAnswer(
                f"task {assignment.task.id} writes {len(assignment.slots)} nodes; "
                f"one answer holds at most {MAX_SLOTS}",
                kind=AgentErrorKind.BAD_REQUEST,
                hint="split the task",
            )
        system, shared, prompt = compose(assignment)
        question = Request(
            system,
            shared,
            prompt,
            reply_schema(),
            "reply",
            room(assignment),
            envelope=WORDS,
            cache_key=assignment.run,
            mark=mark(assignment.run),
        )
        request, usage = question, Usage()
        end = time.monotonic() + self._client.policy.total
        for left in range(self._client.policy.repairs, -1, -1):
            completion = await self._ask(request, end - time.monotonic(), usage)
            usage += completion.usage
            if completion.stop is not Stop.DONE:
                return _ended(completion, usage)
            reply = replies.read(
                completion.text,
                assignment.slots,
                assignment.sources,
                usage=usage,
                model=completion.model,
            )
            if isinstance(reply, Reply):
                self._client.shaped(completion.rung)
                return reply
            if reply.shapeless:
                self._client.shapeless(completion.rung)
            if not left:
                return _unreadable(completion, reply, usage)
            request = mend(question, str(reply), completion.text)
        raise AssertionError("the loop returns")

    async def _ask(self, request: Request, total: float, spent: Usage) -> Completion:
        try:
            return await self._client.complete(request, total=max(0.0, total))
        except NoAnswer as error:
            error.usage = spent + error.usage
            raise


class LLMPlanner:
    """Passes a planner's prompt to a model."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def ask(self, system: str, told: Told, schema: Mapping[str, Any], request: str) -> Asked:
        """Ask once; reading the answer, and asking again, is up to the caller."""
        completion = await self._client.complete(
            Request(system, *told(), schema, "plan", _PLAN_ROOM)
        )
        if completion.stop is Stop.DONE:
            return Asked(completion.text, ReplyStatus.EDITED, completion.usage, completion.model)
        status, why = _ENDS[completion.stop]
        detail = f"{why}: {completion.detail}" if completion.detail else why
        return Asked(completion.text, status, completion.usage, completion.model, detail)


def room(assignment: Assignment) -> int:
    """Return how long an answer may be, in tokens: what is there three times over, and thinking."""
    source = sum(len(slot.source) for slot in assignment.slots) / CHARS_PER_TOKEN
    return min(assignment.max_output, int(3 * source) + _THINKING)


def _ended(completion: Completion, usage: Usage) -> Reply:
    status, why = _ENDS[completion.stop]
    reason = f"{why}: {completion.detail}" if completion.detail else why
    return Reply(status, reason=reason, usage=usage, model=completion.model, raw=completion.text)


def _unreadable(completion: Completion, malformed: Malformed, usage: Usage) -> Reply:
    return Reply(
        ReplyStatus.MALFORMED,
        reason=f"the answer could not be read: {malformed}",
        usage=usage,
        model=completion.model,
        raw=completion.text,
    )
