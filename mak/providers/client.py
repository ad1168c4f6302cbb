"""Asking one model until there is an answer, or a reason why there is none."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import anyio

from mak.errors import AgentErrorKind as Kind
from mak.model import Usage
from mak.providers import secrets
from mak.providers.discovery import discovered
from mak.providers.faults import PASSING
from mak.providers.first import first
from mak.providers.gate import Closed, Gate, backoff
from mak.providers.ladder import Ladder
from mak.providers.policy import Policy
from mak.providers.prices import Counts, tokens
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
from mak.providers.session import Cost, Session, Stopped

#: A server that finds the room asked for the answer too large.
_ROOM = re.compile(r"max_(completion_|output_)?tokens|maximum .*output tokens", re.IGNORECASE)
_LEAST_ROOM = 1024
#: No server has a smaller window; counts below it are not a cut prompt but a count of something.
_LEAST_WINDOW = 1024
#: Share of our estimate below which a prompt was cut; estimates are off by less than that.
_CUT = 0.5


@dataclass(frozen=True, slots=True)
class Client:
    """One model at one provider; callers in this process share its quota and what it learns."""

    provider: Provider
    model: str
    policy: Policy
    gate: Gate
    ladder: Ladder
    session: Session
    #: What counts of tokens cost; None: no price is known.
    price: Callable[[Counts], float | None]
    #: Tokens that the model can hold; 0: what the server says, else not known.
    window: int = 0
    #: Told of every answer, for a recording.
    record: Callable[[Request, Completion], None] = lambda request, completion: None

    async def complete(self, request: Request) -> Completion:
        """Ask, and ask again what may pass, for as long as the policy has time for one question.

        A stream that ends early is asked for a few times more; after that it is an outcome, as
        truncated, refused, filtered and empty answers are at once. Raises `NoAnswer` for everything
        else. Usage of all calls is in whichever comes out.
        """
        question = _Question(self, request)
        try:
            with anyio.fail_after(self.policy.total):
                return await question.ask()
        except TimeoutError:
            last = f"; at last: {question.trouble}" if question.trouble else ""
            raise NoAnswer(
                f"{question.what}: no answer within {self.policy.total:g} s{last}",
                kind=Kind.TIMEOUT,
                hint="give it more time (timeouts.task), or split the task",
                usage=question.spent,
            ) from None

    def shapeless(self, rung: Rung) -> None:
        """Say that an answer on `rung` was not of the shape that was asked for."""
        self.ladder.shapeless(rung)

    def shaped(self, rung: Rung) -> None:
        """Say that an answer on `rung` was of the shape that was asked for."""
        self.ladder.shaped(rung)


class _Question:
    """One request on its way through calls and retries."""

    def __init__(self, client: Client, request: Request) -> None:
        self.client = client
        self.policy = client.policy
        self.provider = client.provider
        self.gate = client.gate
        self.ladder = client.ladder
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

    async def ask(self) -> Completion:
        while True:
            rung = self.ladder.rung
            try:
                completion = await self.call(rung)
            except Stopped as error:
                raise self.final(error, "") from None
            except NoAnswer as error:
                await self.again_or_raise(error, rung)
                continue
            if not await self.again(completion):
                return replace(completion, usage=self.spent)

    async def call(self, rung: Rung) -> Completion:
        client = self.client
        client.session.refuse_stopped(self.provider.endpoint, client.model)
        window = await self.window()
        request = _dressed(replace(self.request, max_tokens=self.room, window=window), rung)
        begins = hash((request.system, request.shared))
        key = (self.provider.endpoint, client.model, rung, begins)
        async with first(key, self.policy.first) as began:
            # Whoever waited for the first call may find another rung, or an endpoint of no use.
            if self.ladder.rung is rung:
                client.session.refuse_stopped(self.provider.endpoint, client.model)
                return await self.admitted(request, rung, began)
        return await self.call(self.ladder.rung)

    async def window(self) -> int:
        """Return how much the model can hold; refuse a prompt that is larger than that.

        Servers of one's own drop what does not fit, and hosted ones say so themselves.
        """
        window = self.client.window
        if not window and self.provider.cuts:
            found = await discovered(self.provider, self.client.model, self.policy.look)
            window = (found.context if found else 0) or 0
        sent = tokens(self.request.system, self.request.shared, self.request.prompt)
        if window and sent >= window:
            raise NoAnswer(
                f"{self.what}: the prompt has about {sent} tokens, the model holds {window}",
                kind=Kind.CONTEXT,
                hint="split the task, or choose a model with a larger context window",
            )
        return window

    async def admitted(self, request: Request, rung: Rung, began: Callable[[], None]) -> Completion:
        """Wait until one more call may be made, and make it."""
        try:
            async with self.gate.admit(self.policy.max_wait):
                return await self.budgeted(request, rung, began)
        except Closed as closed:
            self.client.session.refuse_stopped(self.provider.endpoint, self.client.model)
            raise Stopped(
                f"{self.what}: it asked to be left alone for {closed.pause:.0f} s more, "
                f"longer than {self.policy.max_wait:g} s",
                kind=Kind.RATE_LIMITED,
                retry_after=closed.pause,
                hint="what has landed stays; go on later: mak run --recover",
            ) from None

    async def budgeted(self, request: Request, rung: Rung, began: Callable[[], None]) -> Completion:
        """Make one call within the budget; what it took is counted, whatever comes of it."""
        client = self.client
        given = tokens(request.system, request.shared, request.prompt)
        price = client.price(Counts(given, request.max_tokens))
        most = Cost(given + request.max_tokens, price)
        tally = Tally(began)
        await client.session.reserve(most, self.what)
        try:
            with anyio.fail_after(self.policy.deadline):
                completion = await self.provider.complete(client.model, request, rung, tally)
        except TimeoutError:
            raise NoAnswer(
                f"{self.what}: the answer was not complete within {self.policy.deadline:g} s",
                kind=Kind.TIMEOUT,
                hint="give it more time (timeouts.attempt), or split the task",
            ) from None
        finally:
            self.last = tally.usage
            self.spent += self.last
            client.session.settle(most, self.last)
            self.gate.heed(tally.headers, self.policy.max_wait)
        completion = replace(
            completion,
            text=secrets.redact_content(completion.text),
            detail=secrets.redact(completion.detail),
            usage=self.last,
        )
        client.record(self.request, completion)
        return completion

    async def again(self, completion: Completion) -> bool:
        """Whether to ask once more after an answer that came."""
        self.gate.succeeded()
        match completion.stop:
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
                self.refuse_cut_prompt()
        return False

    def refuse_cut_prompt(self) -> None:
        """Raise where the server counted far fewer tokens than it was sent.

        Some local servers drop the start of a prompt that is larger than their window and answer
        what is left, without a word.
        """
        counted = self.last.input
        sent = tokens(self.request.system, self.request.shared, self.request.prompt)
        if not self.provider.cuts or self.last.estimated or counted < _LEAST_WINDOW:
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
            self.client.session.stop(self.provider.endpoint, self.client.model, error)
            raise self.final(error, "")
        wait = error.retry_after
        if wait is not None and wait > self.policy.max_wait:
            self.gate.pushed_back(wait)
            met = self.final(
                error, f"; it asks to wait {wait:.0f} s, more than {self.policy.max_wait:g} s"
            )
            self.client.session.stop(self.provider.endpoint, self.client.model, met)
            raise met
        if self.retries >= self.most_retries(error.kind):
            tries = "tries" if self.retries else "try"
            raise self.final(error, f"; given up after {self.retries + 1} {tries}")
        if error.kind in (Kind.RATE_LIMITED, Kind.OVERLOADED):
            later = backoff(self.policy.backoff, self.policy.backoff_max, self.retries)
            self.gate.pushed_back(later if wait is None else wait)
        elif wait is not None:
            await anyio.sleep(wait)
        else:
            await self.pause(self.retries)
        self.retries += 1

    def most_retries(self, kind: Kind) -> int:
        """How often to ask again after an error that may pass."""
        match kind:
            case Kind.UNREACHABLE:
                return self.policy.retries_unreachable
            case Kind.MALFORMED:
                return self.policy.retries_malformed
            case _:
                return self.policy.retries

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
    if rung is Rung.PROMPT and request.envelope:
        return replace(request, system=f"{request.system}\n\n{request.envelope}")
    words = (
        "Answer with one JSON object and nothing else: no prose, no code fence. "
        "It has to match this JSON Schema:\n"
    )
    schema = json.dumps(request.schema, ensure_ascii=False, separators=(",", ":"))
    return replace(request, system=f"{request.system}\n\n{words}{schema}")
