"""A run's budget is checked before each call, and what all would meet is met once."""

from __future__ import annotations

from dataclasses import replace

import anyio
import pytest

from mak.errors import AgentErrorKind as Kind
from mak.errors import UsageError
from mak.model import Usage
from mak.providers import Limits, Session, Setup, open_client
from mak.providers.connect import close
from mak.providers.endpoints import Price
from mak.providers.request import Completion, NoAnswer, Request
from mak.providers.session import Cost
from tests.providers.conftest import KEY, QUICK
from tests.providers.fake import Turn

ASKED = Request("rules", "shared", "x" * 3600, max_tokens=500)


def ask(client, times: int = 1, request: Request = ASKED) -> list[Completion | NoAnswer]:
    """Ask several times at once; return what came out."""
    out: list[Completion | NoAnswer] = []

    async def one() -> None:
        try:
            out.append(await client.complete(request))
        except NoAnswer as error:
            out.append(error)

    async def main() -> None:
        try:
            async with anyio.create_task_group() as group:
                for _ in range(times):
                    group.start_soon(one)
        finally:
            await close()

    anyio.run(main)
    return out


def test_a_call_that_does_not_fit_the_budget_is_not_made(wire):
    session = Session(Limits(tokens=1_000))
    [error] = ask(open_client(wire.spec, QUICK, None, session))
    assert isinstance(error, NoAnswer)
    assert error.kind is Kind.BUDGET
    assert "session.max_total_tokens, 1,000" in str(error)
    assert "mak run --recover" in error.hint
    assert wire.seen == []


def test_calls_wait_for_what_others_may_still_spend(wire):
    """Each may take 1,500 tokens and takes 135: all fit, one after the other."""
    session = Session(Limits(tokens=2_200))
    out = ask(open_client(wire.spec, QUICK, None, session), times=5)
    assert all(isinstance(each, Completion) for each in out)
    assert session.spent.calls == 5
    assert session.spent.input + session.spent.output == 5 * 135 <= 2_200


def test_what_was_spent_before_counts(wire):
    session = Session(Limits(tokens=10_000), Usage(input=9_000, calls=3))
    [error] = ask(open_client(wire.spec, QUICK, None, session))
    assert isinstance(error, NoAnswer) and "has used 9,000 tokens" in str(error)


def test_money_is_limited_by_the_price_of_the_model(wire):
    setup = Setup(prices={wire.spec: Price(1_000.0, 1_000.0)})
    poor, rich = Session(Limits(usd=1.0)), Session(Limits(usd=100.0))
    [error] = ask(open_client(wire.spec, QUICK, setup, poor))
    assert isinstance(error, NoAnswer)
    assert error.kind is Kind.BUDGET and "session.max_usd, $1" in str(error)
    assert wire.seen == []
    [answer] = ask(open_client(wire.spec, QUICK, setup, rich))
    assert isinstance(answer, Completion)
    assert rich.spent.cost == answer.usage.cost == pytest.approx(135 * 1e-3)


def test_no_dollar_limit_can_be_kept_without_a_price(sse):
    with pytest.raises(UsageError) as caught:
        open_client(sse.spec, QUICK, None, Session(Limits(usd=5.0)))
    assert "the price of model-x is not known" in str(caught.value)
    assert "prices" in caught.value.hint
    open_client(sse.spec, QUICK, Setup(prices={sse.spec: Price(1, 1)}), Session(Limits(usd=5.0)))


def test_a_cancelled_call_gives_back_what_it_had_set_aside(wire):
    session = Session(Limits(tokens=4_000))
    wire.answers(Turn("x" * 800, drip=0.02))
    client = open_client(wire.spec, QUICK, None, session)

    async def main() -> None:
        with anyio.move_on_after(0.1):
            await client.complete(ASKED)
        await close()

    anyio.run(main)
    assert (session._tokens, session._open) == (0, 0)
    assert session.spent.calls == 1
    [answer] = ask(client)
    assert isinstance(answer, Completion)


def turn(status: int, message: str = "as told") -> Turn:
    return Turn(status=status, body={"error": {"message": message, "type": "x"}})


@pytest.mark.parametrize("status", [401, 402, 404])
def test_what_everybody_would_meet_is_met_once(wire, status):
    wire.answers(*[turn(status, f"no, {KEY}")] * 9)
    session = Session()
    client = open_client(wire.spec, QUICK, None, session)
    out = ask(client, times=8)
    assert len(wire.seen) == 1
    assert len({str(error) for error in out}) == 1
    assert all(isinstance(error, NoAnswer) and error.hint for error in out)
    assert KEY not in str(out)
    # Another run asks again.
    wire.server.turns.clear()
    [answer] = ask(open_client(wire.spec, QUICK, None, Session()))
    assert isinstance(answer, Completion)


def test_a_long_pause_is_met_once_and_by_nobody_else_in_the_process(wire):
    wire.answers(replace(turn(429), headers={"retry-after": "600"}))
    out = ask(open_client(wire.spec, QUICK), times=4)
    out += ask(open_client(wire.spec, QUICK))
    assert len(wire.seen) == 1
    assert {error.kind for error in out if isinstance(error, NoAnswer)} == {Kind.RATE_LIMITED}
    assert all("600 s" in str(error) or "599 s" in str(error) for error in out)
    assert all((getattr(error, "retry_after", 0) or 0) > 590 for error in out)


def test_a_reservation_that_nobody_can_free_is_refused():
    async def main() -> None:
        session = Session(Limits(tokens=10))
        await session.reserve(Cost(8), "a")
        session.settle(Cost(8), Usage(input=8))
        with pytest.raises(NoAnswer, match="a: the run has used 8 tokens"):
            await session.reserve(Cost(3), "a")
        await session.reserve(Cost(2), "a")

    anyio.run(main)
