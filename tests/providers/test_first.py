"""The first call goes ahead; what it learns and warms, the others use."""

from __future__ import annotations

import anyio
import pytest

from mak.providers.connect import close
from mak.providers.discovery import discovered
from mak.providers.first import first
from mak.providers.request import Request, Rung
from tests.providers.conftest import QUICK, SCHEMA
from tests.providers.fake import Turn
from tests.providers.test_ladder import REFUSALS
from tests.providers.test_session import ask

ASKED = Request("rules", "shared", "the prompt", SCHEMA, "answer", 500)


def test_others_wait_until_the_first_answer_begins():
    log: list[str] = []

    async def main() -> None:
        release = anyio.Event()

        async def one() -> None:
            async with first("key", 5) as began:
                log.append("first")
                await release.wait()
                began()
                log.append("began")
                await anyio.sleep(0.01)
            log.append("first is done")

        async def other() -> None:
            async with first("key", 5):
                log.append("other")

        async with anyio.create_task_group() as group:
            group.start_soon(one)
            await anyio.wait_all_tasks_blocked()
            group.start_soon(other)
            group.start_soon(other)
            await anyio.wait_all_tasks_blocked()
            assert log == ["first"]
            release.set()
        assert log == ["first", "began", "other", "other", "first is done"]
        async with first("key", 5):
            log.append("later")

    anyio.run(main)


def test_when_the_first_fails_the_next_one_goes_ahead_alone():
    running = most = 0

    async def main() -> None:
        async def one() -> None:
            nonlocal running, most
            async with first("key", 5):
                running += 1
                most = max(most, running)
                await anyio.sleep(0.001)
                running -= 1

        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(one)

    anyio.run(main)
    assert most == 1


def test_nobody_waits_longer_than_they_would():
    async def main() -> None:
        async with first("key", 5):
            with anyio.fail_after(1):
                async with first("key", 0.01):
                    pass

    anyio.run(main)


@pytest.mark.parametrize("steps", [1, 3])
def test_ten_agents_are_refused_a_format_once(make_wire, steps):
    wire = make_wire("openai").answers(*REFUSALS[:steps])
    out = ask(wire.client(), times=10, request=ASKED)
    assert {each.rung for each in out} == {[*wire.client().provider.rungs][steps]}
    assert len(wire.seen) == 10 + steps


def test_a_prompt_is_cached_before_the_others_send_it(wire):
    """The second request comes when the first answer has begun, not before."""
    wire.answers(Turn("x" * 80, drip=0.01))
    ask(wire.client(), times=6, request=Request("rules", "shared", "a prompt"))
    start, *others = (seen.at for seen in wire.seen)
    assert len(others) == 5
    # Together, while the first is still being answered.
    assert max(others) - min(others) < 0.1
    assert all(at >= start for at in others)


def test_what_a_server_can_hold_is_asked_once(make_wire):
    wire = make_wire("ollama")
    wire.server.facts["api/show"] = {"model_info": {"llama.context_length": 8192}}
    ask(wire.client(), times=6)
    ask(wire.client(), times=2)
    assert wire.server.looked == [("api/show", {"model": "model-x"})]


def test_a_server_that_says_nothing_is_asked_all_the_same(make_wire):
    wire = make_wire("local")
    assert wire.ask().rung is Rung.JSON_SCHEMA
    assert [path for path, _ in wire.server.looked] == ["v1/models"]

    async def main() -> None:
        assert await discovered(wire.client().provider, "model-x", 1) is None
        await close()

    anyio.run(main)


def test_a_prompt_larger_than_the_window_is_not_sent(make_wire):
    wire = make_wire("local")
    wire.server.facts["v1/models"] = {
        "object": "list",
        "data": [{"id": "model-x", "object": "model", "created": 1, "max_model_len": 4096}],
    }
    [error] = ask(wire.client(), request=Request("", "", "word " * 4_000))
    assert "has about 5556 tokens, the model holds 4096" in str(error)
    assert wire.seen == []
    assert wire.ask(policy=QUICK).text
