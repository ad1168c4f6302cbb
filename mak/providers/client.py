"""Asking one model until there is an answer, or a reason why there is none."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import anyio

from mak.errors import AgentErrorKind as Kind
from mak.model import Usage
from mak.providers.faults import PASSING
from mak.providers.gate import backoff, gate
from mak.providers.ladder import ladder
from mak.providers.policy import Policy
from mak.providers.prices import tokens
from mak.providers.request import (
    IN_WORDS,
    Completion,
    NoAnswer,
    Provider,
    Request,
    Rung,
    Stop,
    Tally,
)

#: A server that finds the room asked for the answer too large.
_ROOM = re.compile(r"max_(completion_|output_)?tokens|maximum .*output tokens", re.IGNORECASE)
_LEAST_ROOM = 1024
#: No server has a smaller window; counts below it are not a cut prompt but a count of something.
_LEAST_WINDOW = 1024
#: Share of our estimate below which a prompt was cut; estimates are off by less than that.
_CUT = 0.5


class Client:
    """One model at one provider; callers in this process share its quota and what it learns."""

    def __init__(self, provider: Provider, model: str, policy: Policy) -> None:
        self.model = model
        self.policy = policy
        self._provider = provider
        self._gate = gate(provider.endpoint, model, policy.concurrency)
        self._ladder = ladder(provider.endpoint, model, provider.rungs)

    async def complete(self, request: Request, *, total: float | None = None) -> Completion:
        """Ask, and ask again what may pass, for at most `total` seconds (None: the policy's).

        A truncated answer is asked for once more with twice the room, a stream that broke off a few
        times; after that both are outcomes, as refused, filtered and empty answers are at once.
        Raises `NoAnswer` for everything else. Usage of all calls is in whichever comes out.
        """
        question = _Question(self, request)
        try:
            with anyio.fail_after(self.policy.total if total is None else total):
                return await question.ask()
        except TimeoutError:
            last = f"; at last: {question.trouble}" if question.trouble else ""
            raise NoAnswer(
                f"{question.what}: no answer within {self.policy.total:g} s{last}",
                kind=Kind.TIMEOUT,
                usage=question.spent,
            ) from None

    def shapeless(self, rung: Rung) -> None:
        """Say that an answer on `rung` was not of the shape that was asked for."""
        self._ladder.shapeless(rung)

    def shaped(self, rung: Rung) -> None:
        """Say that an answer on `rung` was of the shape that was asked for."""
        self._ladder.shaped(rung)


class _Question:
    """One request on its way through calls and retries."""

    def __init__(self, client: Client, request: Request) -> None:
        self.client = client
        self.policy = client.policy
        self.provider = client._provider
        self.gate = client._gate
        self.ladder = client._ladder
        self.request = request
        self.what = f"asking {client.model} at {self.provider.endpoint}"
        self.spent = Usage()
        #: Of the last call alone.
        self.last = Usage()
        #: Room for the answer in tokens.
        self.room = min(request.max_tokens, self.policy.max_output, self.ladder.room)
        #: What the last call that failed met.
        self.trouble = ""
        self.retries = 0
        self.reconnects = 0
        self.widened = False

    async def ask(self) -> Completion:
        while True:
            rung = self.ladder.rung
            try:
                completion = await self.call(rung)
            except NoAnswer as error:
                await self.again_or_raise(error, rung)
                continue
            if not await self.again(completion):
                return replace(completion, usage=self.spent)

    async def call(self, rung: Rung) -> Completion:
        request = _dressed(replace(self.request, max_tokens=self.room), rung)
        tally = Tally()
        async with self.gate.admit():
            try:
                with anyio.fail_after(self.policy.deadline):
                    return await self.provider.complete(self.client.model, request, rung, tally)
            except TimeoutError:
                raise NoAnswer(
                    f"{self.what}: the answer was not complete within {self.policy.deadline:g} s",
                    kind=Kind.TIMEOUT,
                ) from None
            finally:
                self.last = tally.usage
                self.spent += self.last

    async def again(self, completion: Completion) -> bool:
        """Whether to ask once more after an answer that came."""
        self.gate.succeeded()
        match completion.stop:
            case Stop.TRUNCATED:
                most = min(self.policy.max_output, self.ladder.room)
                if self.widened or self.room >= most:
                    return False
                self.widened = True
                self.room = min(2 * self.room, most)
                return True
            case Stop.INCOMPLETE:
                if self.reconnects >= self.policy.reconnects:
                    return False
                self.trouble = "the stream ended before the model said it was done"
                await self.pause(self.reconnects)
                self.reconnects += 1
                return True
            case Stop.CONTEXT:
                raise NoAnswer(
                    f"{self.what}: prompt and answer do not fit the model's context window",
                    kind=Kind.CONTEXT,
                    usage=self.spent,
                    hint="split the task, or choose a model with a larger context window",
                )
            case Stop.DONE:
                self.refuse_cut_prompt(completion)
        return False

    def refuse_cut_prompt(self, completion: Completion) -> None:
        """Raise where the server counted far fewer tokens than it was sent.

        Some local servers drop the start of a prompt that is larger than their window and answer
        what is left, without a word.
        """
        counted = self.last.input
        sent = tokens(self.request.system, self.request.shared, self.request.prompt)
        if self.provider.name != "local" or self.last.estimated or counted < _LEAST_WINDOW:
            return
        if counted < sent * _CUT:
            raise NoAnswer(
                f"{self.what}: the server read {counted} tokens of a prompt of about {sent}",
                kind=Kind.CONTEXT,
                usage=self.spent,
                hint="give the server a larger context window (Ollama: num_ctx), or split the task",
            )

    async def again_or_raise(self, error: NoAnswer, rung: Rung) -> None:
        """Make ready for another call, or raise `error` with what was spent."""
        if error.kind is Kind.UNSUPPORTED_FORMAT and self.ladder.unsupported(rung):
            return
        self.trouble = str(error).removeprefix(f"{self.what}: ")
        too_much = error.kind in (Kind.BAD_REQUEST, Kind.CONTEXT) and _ROOM.search(str(error))
        if too_much and self.room > _LEAST_ROOM:
            self.room = self.ladder.room = max(_LEAST_ROOM, self.room // 2)
            return
        if error.kind not in PASSING:
            raise self.final(error, "")
        wait = error.retry_after
        if wait is not None and wait > self.policy.max_wait:
            raise self.final(
                error, f"; it asks to wait {wait:.0f} s, more than {self.policy.max_wait:g} s"
            )
        unreachable = error.kind is Kind.UNREACHABLE
        most = self.policy.retries_unreachable if unreachable else self.policy.retries
        if self.retries >= most:
            raise self.final(error, f"; given up after {self.retries + 1} tries")
        if error.kind in (Kind.RATE_LIMITED, Kind.OVERLOADED):
            later = backoff(self.policy.backoff, self.policy.backoff_max, self.retries)
            self.gate.pushed_back(later if wait is None else wait)
        elif wait is not None:
            await anyio.sleep(wait)
        else:
            await self.pause(self.retries)
        self.retries += 1

    async def pause(self, attempt: int) -> None:
        await anyio.sleep(backoff(self.policy.backoff, self.policy.backoff_max, attempt))

    def final(self, error: NoAnswer, why: str) -> NoAnswer:
        return NoAnswer(
            f"{str(error).rstrip('.')}{why}" if why else str(error),
            kind=error.kind,
            status=error.status,
            retry_after=error.retry_after,
            hint=error.hint,
            usage=self.spent,
        )


def _dressed(request: Request, rung: Rung) -> Request:
    """Spell the schema out where the endpoint does not show it to the model."""
    if not request.schema or rung not in IN_WORDS:
        return request
    words = (
        "Answer with one JSON object and nothing else: no prose, no code fence. "
        "It has to match this JSON Schema:\n"
    )
    schema = json.dumps(request.schema, ensure_ascii=False, separators=(",", ":"))
    return replace(request, system=f"{request.system}\n\n{words}{schema}")
