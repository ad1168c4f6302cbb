"""An agent, and a planner, that ask a language model: one question with everything it needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mak.agents import reply as replies
from mak.agents.assignment import Asked, Assignment, Told
from mak.agents.document import MAX_SLOTS
from mak.agents.envelope import WORDS
from mak.agents.prompt import compose, mark
from mak.agents.reply import Malformed, reply_schema
from mak.agents.shown import CHARS_PER_TOKEN
from mak.errors import AgentErrorKind
from mak.model import Reply, ReplyStatus
from mak.providers import Client
from mak.providers.request import Completion, NoAnswer, Request, Stop

#: What a stop other than `DONE` is as the end of a turn, and how a person is told.
_ENDS: Mapping[Stop, tuple[ReplyStatus, str]] = {
    Stop.TRUNCATED: (ReplyStatus.TRUNCATED, "the answer did not fit its room"),
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

    is_steady = False

    def __init__(self, spec: str, client: Client) -> None:
        self.spec = spec
        self._client = client

    async def answer(self, assignment: Assignment) -> Reply:
        """Ask the model once; what cannot be read is a reply too, for the kernel to ask again.

        Raises `NoAnswer`, with the usage of every call that it took.
        """
        if len(assignment.slots) > MAX_SLOTS:
            raise NoAnswer(
                f"task {assignment.task.id} writes {len(assignment.slots)} nodes; "
                f"one answer holds at most {MAX_SLOTS}",
                kind=AgentErrorKind.BAD_REQUEST,
                hint="split the task",
            )
        system, shared, prompt = compose(assignment)
        completion = await self._client.complete(
            Request(
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
        )
        if completion.stop is not Stop.DONE:
            return _ended(completion)
        reply = replies.read(
            completion.text,
            assignment.slots,
            assignment.sources,
            usage=completion.usage,
            model=completion.model,
        )
        if isinstance(reply, Reply):
            self._client.shaped(completion.rung)
            return reply
        if reply.shapeless:
            self._client.shapeless(completion.rung)
        return _unreadable(completion, reply)


class LLMPlanner:
    """Passes a planner's prompt to a model."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._room = _PLAN_ROOM

    async def ask(self, system: str, told: Told, schema: Mapping[str, Any], request: str) -> Asked:
        """Ask once; reading the answer, and asking again, is up to the caller."""
        completion = await self._client.complete(
            Request(system, *told(), schema, "plan", self._room)
        )
        if completion.stop is Stop.DONE:
            return Asked(completion.text, ReplyStatus.EDITED, completion.usage, completion.model)
        if completion.stop is Stop.TRUNCATED:
            self._room *= 2
        status, why = _ENDS[completion.stop]
        detail = f"{why}: {completion.detail}" if completion.detail else why
        return Asked(completion.text, status, completion.usage, completion.model, detail)


def room(assignment: Assignment) -> int:
    """Return how long an answer may be, in tokens: what is there three times over, and thinking.

    One that was cut off gets twice the room.
    """
    source = sum(len(slot.source) for slot in assignment.slots) / CHARS_PER_TOKEN
    last = assignment.draft.status if assignment.draft else None
    times = 2 ** (assignment.attempt - 1) if last is ReplyStatus.TRUNCATED else 1
    return times * min(assignment.max_output, int(3 * source) + _THINKING)


def _ended(completion: Completion) -> Reply:
    status, why = _ENDS[completion.stop]
    reason = f"{why}: {completion.detail}" if completion.detail else why
    return _without_edits(completion, status, reason)


def _unreadable(completion: Completion, malformed: Malformed) -> Reply:
    reason = f"the answer could not be read: {malformed}"
    return _without_edits(completion, ReplyStatus.MALFORMED, reason)


def _without_edits(completion: Completion, status: ReplyStatus, reason: str) -> Reply:
    return Reply(
        status,
        reason=reason,
        usage=completion.usage,
        model=completion.model,
        raw=completion.text,
    )
