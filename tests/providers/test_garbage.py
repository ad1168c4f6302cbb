"""Servers that speak nearly like the API: nothing they count or say ends in a crash."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mak.errors import AgentErrorKind as Kind
from mak.providers.prices import tokens
from mak.providers.request import NoAnswer, Stop
from tests.providers.fake import Turn

SENT = tokens("the rules", "the shared part", "the prompt")
#: What stands where usage should, and tokens that it tells of the prompt and the answer.
USAGES: list[tuple[Any, int, int]] = [
    (None, 0, 0),
    ("x", 0, 0),
    (7, 0, 0),
    ([], 0, 0),
    ({}, 0, 0),
    ({"given": "many", "made": "x"}, 0, 0),
    ({"given": None, "made": None}, 0, 0),
    ({"given": -5, "made": True}, 0, 0),
    ({"given": 120.0, "made": 7.0}, 120, 7),
    ({"given": 120, "made": 7, "prompt_tokens_details": "x"}, 120, 7),
    ({"given": 120, "made": 7, "prompt_tokens_details": {"cached_tokens": None}}, 120, 7),
]
NAMES = {
    "anthropic": ("input_tokens", "output_tokens"),
    "openai": ("prompt_tokens", "completion_tokens"),
    "ollama": ("prompt_eval_count", "eval_count"),
}


def spelled(wire: str, usage: Any) -> Any:
    """Write counts as a wire does."""
    if not isinstance(usage, dict):
        return usage
    names = dict(zip(("given", "made"), NAMES[wire], strict=True))
    return {names.get(key, key): value for key, value in usage.items()}


def whole(wire: str, content: Any, usage: Any) -> dict[str, Any]:
    """Return an answer in one piece."""
    usage = spelled(wire, usage)
    message = {"role": "assistant", "content": content}
    match wire:
        case "anthropic":
            parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
            told = {"stop_reason": "end_turn", "usage": usage}
            return {"type": "message", "role": "assistant", "content": parts, **told}
        case "ollama":
            counts = usage if isinstance(usage, dict) else {"prompt_eval_count": str(usage)}
            return {"message": message, "done": True, "done_reason": "stop", **counts}
        case _:
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            return {"choices": [choice], "usage": usage}


def streamed(wire: str, content: Any, usage: Any) -> Turn:
    """Return an answer in pieces."""
    if wire == "ollama":
        line = json.dumps(whole(wire, content, usage))
        return Turn(body=f"{line}\n".encode(), content_type="application/x-ndjson")
    usage = spelled(wire, usage)
    if wire == "openai":
        delta = {"index": 0, "delta": {"content": content}, "finish_reason": "stop"}
        events = [{"choices": [delta]}, {"choices": [], "usage": usage}]
        texts = [f"data: {json.dumps(event)}\n\n" for event in events]
        return Turn(body="".join(texts).encode(), content_type="text/event-stream")
    message = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": []}
    counts = {"input_tokens": 0, "output_tokens": 0, **(usage if isinstance(usage, dict) else {})}
    message |= {"stop_reason": None, "stop_sequence": None, "usage": counts}
    events = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "text_delta", "text": content},
        },
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": counts},
        {"type": "message_stop"},
    ]
    texts = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events]
    return Turn(body="".join(texts).encode(), content_type="text/event-stream")


# The SDK's own copy of a message warns about what it holds.
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning")
@pytest.mark.parametrize("usage", USAGES, ids=lambda usage: json.dumps(usage[0]))
@pytest.mark.parametrize("form", ["whole", "streamed"])
def test_counts_that_are_none_are_estimated(wire, usage, form):
    """A string where a number should be ended the run as a bug in MAK."""
    told, given, made = usage
    turn = (
        Turn(body=whole(wire.name, "hello", told))
        if form == "whole"
        else streamed(wire.name, "hello", told)
    )
    wire.answers(turn)
    got = wire.ask()
    assert (got.stop, got.text) == (Stop.DONE, "hello")
    assert got.usage.input == (given or SENT)
    assert got.usage.estimated is (given == 0)
    if made:
        assert got.usage.output == made
    assert got.usage.calls == 1


@pytest.mark.parametrize(
    "content", [7, True, {"text": "x"}, ["x"], [{"type": "text"}], [7]], ids=repr
)
@pytest.mark.parametrize("form", ["whole", "streamed"])
def test_content_that_is_no_text_is_no_answer(wire, content, form):
    turn = (
        Turn(body=whole(wire.name, content, {}))
        if form == "whole"
        else streamed(wire.name, content, {})
    )
    wire.answers(*[turn] * 3)
    try:
        assert wire.ask().stop is Stop.EMPTY
    except NoAnswer as error:
        assert error.kind is Kind.MALFORMED


def test_an_answer_in_parts_is_read_without_its_thoughts(make_wire):
    wire = make_wire("openai")
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    parts = [thought, {"type": "text", "text": "hel"}, {"type": "text", "text": "lo"}]
    wire.answers(streamed("openai", parts, {}), Turn(body=whole("openai", parts, {})))
    assert [wire.ask().text, wire.ask().text] == ["hello", "hello"]
