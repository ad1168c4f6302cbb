"""A third-party mock of both vendors injects faults and judges how the client took them."""

from __future__ import annotations

from dataclasses import replace

import anyio
import pytest

from mak.providers import open_client
from mak.providers.connect import close
from mak.providers.request import Completion, NoAnswer, Request, Stop
from tests.providers.conftest import QUICK

#: The mock takes pauses below a twentieth of a second for none.
PATIENT = replace(QUICK, backoff=0.1, backoff_max=0.3)

FAULTS = {
    "rate limit": lambda mock: mock.rate_limit(times=2, retry_after=0.1),
    "overloaded": lambda mock: mock.fail(529, times=2, retry_after=0.1),
    "outage": lambda mock: mock.fail(503, times=2, retry_after=0.1),
    "server error": lambda mock: mock.fail(500, times=2),
    "disconnect": lambda mock: mock.disconnect(),
    "early end": lambda mock: mock.truncate(),
    # Paced, or the mock is done with the stream before anybody can hang up on it.
    "broken chunk": lambda mock: mock.pace(40).corrupt(),
    "nothing": lambda mock: mock,
}
FINAL = {
    "bad key": lambda mock: mock.fail(401, times=None),
    "no such model": lambda mock: mock.fail(404, times=None),
    "context": lambda mock: mock.context_overflow(times=None),
}


def ask(name: str, model: str) -> Completion:
    async def main() -> Completion:
        client = open_client(f"{name}:{model}", PATIENT)
        try:
            return await client.complete(Request("rules", "shared", "say hello"))
        finally:
            await close()

    return anyio.run(main)


@pytest.fixture(params=["anthropic", "openai"])
def provider(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("fault", FAULTS)
def test_the_strict_verdict_passes(llmock, provider, fault):
    FAULTS[fault](llmock)
    got = ask(provider, f"model-{fault}")
    assert got.stop is Stop.DONE and got.text
    assert got.usage.input > 0 and got.usage.output > 0
    llmock.assert_resilient(strict=True)


@pytest.mark.parametrize("fault", FINAL)
def test_what_cannot_pass_is_not_asked_again(llmock, provider, fault):
    FINAL[fault](llmock)
    with pytest.raises(NoAnswer):
        ask(provider, f"model-{fault}")
    assert len(llmock.requests) == 1
    llmock.assert_resilient(strict=True)


def test_a_stalled_stream_runs_into_the_deadline_and_is_asked_again(llmock, provider):
    llmock.stall(seconds=5)

    async def main() -> Completion:
        client = open_client(f"{provider}:model-stall", replace(PATIENT, idle=0.15))
        try:
            return await client.complete(Request("rules", "shared", "say hello"))
        finally:
            await close()

    assert anyio.run(main).stop is Stop.DONE
    llmock.assert_resilient(strict=True)
