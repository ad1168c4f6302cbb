"""An agent that asks a model, over real HTTP: each way an answer goes wrong is its own outcome."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import anyio
import pytest

from mak.agents import (
    Assignment,
    NoAnswer,
    Reach,
    close,
    open_agents,
    open_planner,
    reply_schema,
)
from mak.agents.envelope import WORDS
from mak.errors import AgentErrorKind
from mak.model import Insert, NodeId, Replace, Reply, ReplyStatus
from tests.agents.conftest import tree
from tests.providers.conftest import KEY, QUICK
from tests.providers.fake import FakeServer, Turn
from tests.providers.test_llmock import FAULTS, PATIENT

NET = "def net(x):\n    return x\n"


def wire_reply(source: str = NET, **parts: Any) -> str:
    result = {"node": "n1", "status": "edited", "new_source": source, "reason": ""}
    empty = {"new_nodes": [], "imports": [], "deletes": [], "needs_locks": [], "notes": "ok"}
    return json.dumps({"results": [result], **empty, **parts})


GOOD = Turn(wire_reply())


class Wire:
    def __init__(self, name: str, server: FakeServer) -> None:
        self.server = server
        self.spec = f"{name}:model-x"

    def answer(self, assignment: Assignment, *turns: Turn, policy=QUICK) -> Reply:
        self.server.turns += turns
        [agent] = open_agents([self.spec], Reach(policy))

        async def main() -> Reply:
            try:
                return await agent.answer(assignment)
            finally:
                await close()

        return anyio.run(main)

    def prompt(self, number: int) -> str:
        message = self.server.seen[number].body["messages"][-1]["content"]
        parts = [message] if isinstance(message, str) else [part["text"] for part in message]
        return "\n\n".join(parts)


@pytest.fixture(params=["anthropic", "openai"])
def wire(request, monkeypatch) -> Iterator[Wire]:
    server = FakeServer()
    for name, base in (("ANTHROPIC", server.root), ("OPENAI", f"{server.root}/v1")):
        monkeypatch.setenv(f"{name}_API_KEY", KEY)
        monkeypatch.setenv(f"{name}_BASE_URL", base)
    yield Wire(request.param, server)
    server.close()


@pytest.fixture
def net(assign: Callable[..., Assignment]) -> Assignment:
    return assign("shop.py::net")


def test_a_good_answer_becomes_edits(wire, net):
    got = wire.answer(net, GOOD)
    assert got.status is ReplyStatus.EDITED
    assert got.edits == (Replace(NodeId("shop.py", "net"), NET),)
    assert (got.model, got.notes, got.usage.calls) == ("model-x", "ok", 1)
    assert got.raw == wire_reply()


def test_the_schema_and_the_cached_part_are_the_same_for_two_tasks(wire, assign):
    goals = ("make it better", "other")
    wire.answer(assign("shop.py::net", peers=goals), GOOD)
    wire.answer(assign("shop.py::last", peers=goals), GOOD)
    one, two = (seen.body for seen in wire.server.seen)
    for name in ("output_config", "response_format", "system"):
        assert json.dumps(one.get(name)) == json.dumps(two.get(name))
    first, second = wire.prompt(0), wire.prompt(1)
    goals_end = first.index("Your task:")
    assert first[:goals_end] == second[:goals_end] and "make it better" in first[:goals_end]
    assert first != second


def test_an_answer_that_cannot_be_read_is_asked_for_again_with_it_and_the_errors(wire, net):
    got = wire.answer(net, Turn('{"results": [oops'))
    assert got.status is ReplyStatus.MALFORMED
    assert "could not be read: not JSON" in got.reason
    again = replace(net, attempt=2, retry=got.reason, draft=got)
    assert wire.answer(again, GOOD).status is ReplyStatus.EDITED
    assert got.reason in wire.prompt(1) and '{"results": [oops' in wire.prompt(1)
    # What was asked before stays as it was, for the cache.
    assert wire.prompt(1).startswith(wire.prompt(0))


def test_a_long_answer_of_no_use_is_cut_when_it_is_shown(wire, net):
    got = wire.answer(net, Turn("y" * 50_000))
    wire.answer(replace(net, attempt=2, retry=got.reason, draft=got), GOOD)
    assert "(cut here)" in wire.prompt(1)
    assert len(wire.prompt(1)) < len(wire.prompt(0)) + 5_000


def test_an_unreadable_answer_is_malformed_after_one_call(wire, net):
    got = wire.answer(net, *[Turn("I'd rather talk about it.")] * 5)
    assert got.status is ReplyStatus.MALFORMED
    assert "there is no JSON object" in got.reason
    assert got.raw == "I'd rather talk about it."
    assert got.usage.calls == len(wire.server.seen) == 1


def test_two_unreadable_answers_on_one_rung_mean_that_it_is_ignored(wire, net):
    [agent] = open_agents([wire.spec], Reach(QUICK))
    wire.server.turns += [Turn("Hm."), Turn("Hm."), GOOD]

    async def main() -> list[Reply]:
        try:
            return [await agent.answer(net) for _ in range(3)]
        finally:
            await close()

    anyio.run(main)
    kinds = [
        "schema"
        if "output_config" in seen.body
        or seen.body.get("response_format", {}).get("type") == "json_schema"
        else "lower"
        for seen in wire.server.seen
    ]
    assert kinds == ["schema", "schema", "lower"]


def test_answers_that_only_make_no_sense_do_not_count_against_the_rung(wire, net):
    for _ in range(3):
        wire.answer(net, Turn(wire_reply(results=[])))
    wire.answer(net, GOOD)
    last = wire.server.seen[-1].body
    assert "output_config" in last or last["response_format"]["type"] == "json_schema"


@pytest.mark.parametrize(
    ("turns", "status", "said", "calls"),
    [
        ([Turn("{", "truncated")] * 2, ReplyStatus.TRUNCATED, "did not fit", 1),
        ([Turn("", refusal="Not this.")], ReplyStatus.REFUSED, "the model refused", 1),
        ([Turn("")], ReplyStatus.EMPTY, "empty", 1),
        ([Turn(cut=3)] * 3, ReplyStatus.INCOMPLETE, "before the model said it was done", 3),
    ],
)
def test_turns_that_end_otherwise_are_outcomes_with_their_reason(
    wire, net, turns, status, said, calls
):
    got = wire.answer(net, *turns)
    assert (got.status, got.edits) == (status, ())
    assert said in got.reason
    assert got.usage.calls == calls
    assert got.model == "model-x"
    if status is ReplyStatus.REFUSED:
        assert "Not this." in got.reason


def test_nonsense_of_the_right_shape_is_passed_on_to_be_judged(wire, net):
    """The kernel refuses it; the agent only reads."""
    got = wire.answer(net, Turn(wire_reply("1234567890")))
    assert got.edits == (Replace(NodeId("shop.py", "net"), "1234567890"),)


def test_raw_control_characters_are_read(wire, net):
    got = wire.answer(net, Turn(wire_reply("def net(x):\n\treturn 1\n").replace("\\n\\t", "\n\t")))
    assert got.edits == (Replace(NodeId("shop.py", "net"), "def net(x):\n\treturn 1\n"),)


def test_an_error_carries_what_the_calls_before_it_cost(wire, net):
    final = Turn(status=401, body={"error": {"message": "bad key"}})
    with pytest.raises(NoAnswer) as caught:
        wire.answer(net, Turn(cut=3), final)
    assert caught.value.kind is AgentErrorKind.AUTH
    assert caught.value.usage.calls == 1
    assert caught.value.usage.output > 0


def test_all_calls_of_one_attempt_share_its_time(wire, net):
    slow = Turn("x" * 800, drip=0.02)
    with pytest.raises(NoAnswer) as caught:
        wire.answer(net, Turn(cut=3), slow, policy=replace(QUICK, total=0.5))
    assert caught.value.kind is AgentErrorKind.TIMEOUT
    assert "no answer within 0.5 s" in str(caught.value)
    assert caught.value.usage.calls == 2


def test_cancelling_an_agent_returns_at_once_and_leaves_nothing_open(wire, net):
    wire.server.turns.append(Turn("x" * 800, drip=0.02))
    [agent] = open_agents([wire.spec], Reach(QUICK))

    async def main() -> bool:
        with anyio.move_on_after(0.1) as scope:
            await agent.answer(net)
        await close()
        return scope.cancelled_caught

    assert anyio.run(main)


def test_a_task_with_more_nodes_than_slots_is_no_answer_and_asks_nobody(wire, assign):
    text = "".join(f"def f{i}():\n    pass\n\n\n" for i in range(30))
    made = assign(*(f"big.py::f{i}" for i in range(25)), files={"big.py": text})
    with pytest.raises(NoAnswer, match="writes 25 nodes; one answer holds at most 24"):
        wire.answer(made)
    assert wire.server.seen == []


def test_room_for_the_answer_follows_the_source(wire, net, assign):
    wire.answer(net, GOOD)
    big = "x = 1\n" * 20_000
    wire.answer(assign("big.py", files={"big.py": big}, max_output=30_000), GOOD)

    def room(body: dict[str, Any]) -> int:
        return int(body.get("max_completion_tokens") or body["max_tokens"])

    small, large = (room(seen.body) for seen in wire.server.seen)
    assert 8_000 < small < 10_000
    assert large == 30_000


def test_an_answer_that_was_cut_off_gets_twice_the_room(wire, net):
    got = wire.answer(net, Turn("{", "truncated"))
    for attempt in (2, 3):
        wire.answer(replace(net, attempt=attempt, retry="cut off", draft=got), GOOD)
    other = replace(got, status=ReplyStatus.MALFORMED)
    wire.answer(replace(net, attempt=2, retry="no JSON", draft=other), GOOD)
    ask = open_planner(wire.spec, tree({}), Reach(QUICK))

    async def main():
        try:
            wire.server.turns += [Turn("{", "truncated"), Turn("{}")]
            for _ in range(2):
                await ask("rules", lambda: ("repository", "prompt"), reply_schema(), "request")
        finally:
            await close()

    anyio.run(main)
    bodies = [seen.body for seen in wire.server.seen]
    rooms = [body.get("max_completion_tokens") or body["max_tokens"] for body in bodies]
    first = rooms[0]
    assert rooms[:4] == [first, 2 * first, 4 * first, first]
    assert rooms[5] == 2 * rooms[4]


def test_additions_come_with_the_edit(wire, net):
    new = {"parent": "n1", "after": "n1", "kind": "function", "source": "def g():\n    pass\n"}
    got = wire.answer(net, Turn(wire_reply(new_nodes=[new])))
    assert got.edits[1] == Insert(
        NodeId("shop.py"), "def g():\n    pass\n", NodeId("shop.py", "net")
    )


def test_where_no_format_is_taken_code_comes_in_blocks_of_its_own(wire, net):
    """The envelope: nothing to escape for a model that is bound by no grammar."""
    refused = Turn(status=400, body={"error": {"message": "response_format, tools: unsupported"}})
    rungs = 2 if "anthropic" in wire.spec else 3
    head = json.loads(wire_reply(""))
    source = 'def net(x):\n    return "\\d" + x\n'
    text = f"{json.dumps(head)}\n```n1\n{source}```\n"
    got = wire.answer(net, *[refused] * rungs, Turn(text))
    assert got.edits == (Replace(NodeId("shop.py", "net"), source),)
    told = [json.dumps(seen.body) for seen in wire.server.seen]
    assert [WORDS.split("\n")[0] in each for each in told] == [False] * rungs + [True]


def test_a_planner_passes_text_and_outcomes_on(wire):
    wire.server.turns += [Turn('{"tasks": []}'), Turn("", refusal="No."), Turn("{", "truncated")]
    ask = open_planner(wire.spec, tree({}), Reach(replace(QUICK, max_output=16_384)))

    async def main():
        try:
            return [
                await ask("rules", lambda: ("repository", "prompt"), reply_schema(), "request")
                for _ in range(3)
            ]
        finally:
            await close()

    good, refused, truncated = anyio.run(main)
    assert (good.text, good.status) == ('{"tasks": []}', ReplyStatus.EDITED)
    assert good.usage.input == 115 and good.model == "model-x"
    assert refused.status is ReplyStatus.REFUSED and "No." in refused.detail
    assert truncated.status is ReplyStatus.TRUNCATED
    assert wire.prompt(0) == wire.prompt(1) == "repository\n\nprompt"


def test_what_a_planner_is_told_every_time_is_marked_for_the_cache(wire):
    wire.server.turns += [Turn('{"tasks": []}')]
    ask = open_planner(wire.spec, tree({}), Reach(QUICK))

    async def main():
        try:
            return await ask("rules", lambda: ("repository", "prompt"), reply_schema(), "request")
        finally:
            await close()

    anyio.run(main)
    [seen] = wire.server.seen
    if wire.spec.startswith("anthropic"):
        first, last = seen.body["messages"][0]["content"]
        assert first["cache_control"] == {"type": "ephemeral"} and "cache_control" not in last
    else:
        assert seen.body["messages"][-1]["content"] == "repository\n\nprompt"


@pytest.mark.parametrize("fault", ["nothing", "early end", "disconnect", "rate limit"])
@pytest.mark.parametrize("name", ["anthropic", "openai"])
def test_a_third_party_mock_is_answered_within_the_rules(llmock, net, name, fault):
    """Its answers fit the schema at most: whatever comes, it ends as a reply, and politely."""
    FAULTS[fault](llmock)
    [agent] = open_agents([f"{name}:model-{fault}"], Reach(PATIENT))

    async def main() -> Reply:
        try:
            return await agent.answer(net)
        finally:
            await close()

    got = anyio.run(main)
    assert got.usage.calls >= 1 and got.usage.output > 0
    assert got.reason or got.edits
    llmock.assert_resilient(strict=True)
