"""Every way in which an answer can end is its own outcome, and every call is counted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mak.errors import AgentErrorKind as Kind
from mak.providers.request import NoAnswer, Rung, Stop
from tests.providers.conftest import KEY, QUICK, SCHEMA
from tests.providers.fake import ANSWER, Turn


def test_a_whole_answer_is_done_and_its_usage_includes_the_cache(sse):
    got = sse.ask()
    assert (got.text.replace(" ", ""), got.stop) == (ANSWER.replace(" ", ""), Stop.DONE)
    assert (got.usage.input, got.usage.cached, got.usage.output) == (115, 100, 20)
    assert (got.usage.calls, got.usage.estimated) == (1, False)
    assert got.usage.cost is None  # No vendor's prices hold at this address.


def test_the_question_is_streamed_with_its_schema_and_the_key_as_bearer(sse):
    sse.ask()
    [seen] = sse.seen
    assert seen.body["stream"] is True
    assert seen.headers["authorization"] == f"Bearer {KEY}"
    if sse.name == "anthropic":
        sent = seen.body["output_config"]["format"]
        assert sent == {"type": "json_schema", "schema": SCHEMA}
        marked = {"type": "text", "text": "the shared part", "cache_control": {"type": "ephemeral"}}
        assert seen.body["system"] == [{"type": "text", "text": "the rules"}]
        assert seen.body["messages"][0]["content"] == [
            marked,
            {"type": "text", "text": "the prompt"},
        ]
    else:
        sent = seen.body["response_format"]["json_schema"]
        assert sent == {"name": "answer", "strict": True, "schema": SCHEMA}
        rules, said = (message["content"] for message in seen.body["messages"])
        assert (rules, said) == ("the rules", "the shared part\n\nthe prompt")


def test_a_question_without_schema_asks_for_no_format(wire):
    wire.ask(schema={})
    [seen] = wire.seen
    assert not {"output_config", "response_format", "tools"} & set(seen.body)


def test_a_truncated_answer_is_an_outcome_and_not_asked_again(wire):
    """Whoever asked decides on more room, and says why it was cut off."""
    wire.answers(*[Turn(ANSWER[:5], "truncated")] * 3)
    got = wire.ask()
    assert got.stop is Stop.TRUNCATED
    assert len(wire.seen) == got.usage.calls == 1


def test_room_for_an_answer_stops_at_the_cap(wire):
    wire.answers(*[Turn(ANSWER[:5], "truncated")] * 3)
    got = wire.ask(max_tokens=9000, policy=replace(QUICK, max_output=1500))
    assert got.stop is Stop.TRUNCATED
    assert [wire.room(0)] == [1500] and len(wire.seen) == 1


def test_a_refusal_is_an_outcome_and_not_asked_again(sse):
    sse.answers(Turn("", "refused", refusal="I will not help with that."))
    got = sse.ask()
    assert got.stop is Stop.REFUSED
    assert "I will not help with that." in got.detail
    assert len(sse.seen) == got.usage.calls == 1


def test_a_filtered_answer_is_an_outcome_and_not_asked_again(make_wire):
    wire = make_wire("openai").answers(Turn(ANSWER[:4], "filtered"))
    assert wire.ask().stop is Stop.FILTERED
    assert len(wire.seen) == 1


def test_an_answer_that_outgrows_the_window_is_no_answer(make_wire):
    wire = make_wire("anthropic").answers(Turn(ANSWER[:4], "context"))
    with pytest.raises(NoAnswer) as caught:
        wire.ask()
    assert caught.value.kind is Kind.CONTEXT
    assert caught.value.usage.calls == 1
    assert "split the task" in caught.value.hint


@pytest.mark.parametrize("text", ["", "  \n "])
def test_an_empty_answer_is_an_outcome(wire, text):
    wire.answers(Turn(text))
    got = wire.ask()
    assert got.stop is Stop.EMPTY
    assert len(wire.seen) == got.usage.calls == 1


def test_a_stream_that_ends_early_without_a_word_is_asked_again(wire):
    wire.answers(Turn(cut=3))
    got = wire.ask()
    assert got.stop is Stop.DONE
    assert (got.usage.calls, got.usage.estimated) == (2, True)


def test_a_stream_that_always_ends_early_is_incomplete_and_its_text_is_not_an_answer(wire):
    wire.answers(*[Turn(cut=3)] * 5)
    got = wire.ask()
    assert got.stop is Stop.INCOMPLETE
    assert len(wire.seen) == got.usage.calls == 3
    assert got.usage.output > 0


def test_a_refusal_that_was_cut_off_is_incomplete(make_wire):
    wire = make_wire("openai").answers(*[Turn("", refusal="No.", cut=2)] * 3)
    assert wire.ask().stop is Stop.INCOMPLETE


def test_usage_is_estimated_where_the_server_reports_none(wire):
    wire.answers(Turn(usage=False))
    got = wire.ask(prompt="x" * 3600)
    assert got.usage.estimated
    assert 900 < got.usage.input < 1100


def test_the_tool_rung_hands_in_the_tools_input(make_wire):
    wire = make_wire("anthropic")
    wire.answers(
        Turn(status=400, body={"error": {"message": "output_config: Extra inputs not permitted"}})
    )
    got = wire.ask()
    assert (got.rung, got.text) == (Rung.TOOL, ANSWER)
    tool = wire.seen[1].body["tools"][0]
    assert (tool["name"], tool["strict"], tool["input_schema"]) == ("answer", True, SCHEMA)
    assert wire.seen[1].body["tool_choice"]["disable_parallel_tool_use"] is True


def test_a_tool_called_with_what_is_not_json_is_an_answer(make_wire):
    """It used to count as a broken connection and was asked again eight times, ever more slowly."""
    wire = make_wire("anthropic")
    refused = {"error": {"type": "invalid_request_error", "message": "output_config: unknown"}}
    wire.answers(Turn(status=400, body=refused), Turn('{"ok": [oops, and more of it}'))
    got = wire.ask()
    assert (got.rung, got.stop, len(wire.seen)) == (Rung.TOOL, Stop.DONE, 2)
    assert got.text.startswith('{"ok": [o')
    assert (got.usage.calls, got.usage.estimated) == (1, True)
