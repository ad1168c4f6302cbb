"""A format that an endpoint refuses or ignores is asked for one rung lower, and that is kept."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from mak.errors import AgentErrorKind as Kind
from mak.providers import Setup, open_client
from mak.providers.endpoints import Endpoint, Wire
from mak.providers.ladder import Ladder, _ladders, known_rungs, strict
from mak.providers.learned import TTL, Learned, _files
from mak.providers.request import Encoding, NoAnswer, Published, Rung, Stop
from tests.providers.conftest import QUICK, SCHEMA
from tests.providers.fake import Turn

#: No retries: what steps down must not need one.
NONE = replace(QUICK, retries=0)


def refusing(status: int, message: str) -> Turn:
    return Turn(status=status, body={"error": {"message": message, "type": "invalid"}})


OPENAI = [
    Rung.JSON_SCHEMA,
    Rung.JSON_OBJECT_SCHEMA,
    Rung.JSON_OBJECT,
    Rung.PROMPT,
]
REFUSALS = [
    refusing(400, "response_format.type must be json_object"),
    # llama-cpp-python
    refusing(500, "1 validation error: body -> response_format -> type: literal_error"),
    refusing(422, "Failed to parse grammar"),
]


def formats(wire):
    return [(seen.body.get("response_format") or {}).get("type", "none") for seen in wire.seen]


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_a_refused_format_steps_down_without_costing_a_retry(make_wire, steps):
    wire = make_wire("openai").answers(*REFUSALS[:steps])
    got = wire.ask(policy=NONE)
    assert (got.stop, got.rung) == (Stop.DONE, OPENAI[steps])
    assert formats(wire) == ["json_schema", "json_object", "json_object", "none"][: steps + 1]
    assert got.usage.calls == 1


def test_what_was_learned_holds_for_other_callers_and_is_not_asked_again(make_wire):
    wire = make_wire("openai").answers(*REFUSALS)
    wire.ask(policy=NONE)
    again = wire.ask(wire.client(NONE))
    assert again.rung is Rung.PROMPT
    assert len(wire.seen) == 5


def test_the_schema_is_spelled_out_where_the_model_would_not_see_it(make_wire):
    wire = make_wire("openai").answers(*REFUSALS)
    wire.ask(policy=NONE)
    systems = [seen.body["messages"][0]["content"] for seen in wire.seen]
    spelled = json.dumps(SCHEMA, separators=(",", ":"))
    assert [spelled in text for text in systems] == [False, True, True, True]
    assert "response_format" not in wire.seen[3].body
    assert wire.seen[1].body["response_format"] == {"type": "json_object", "schema": SCHEMA}


def test_anthropic_steps_down_to_a_tool_and_then_to_words(make_wire):
    wire = make_wire("anthropic").answers(
        refusing(400, "The compiled grammar is too large"),
        refusing(400, "tool_choice: forced tools are not supported with thinking"),
    )
    got = wire.ask(policy=NONE)
    assert got.rung is Rung.PROMPT
    assert not {"tools", "output_config"} & set(wire.seen[2].body)
    assert "JSON Schema" in wire.seen[2].body["system"][0]["text"]


def test_a_refusal_in_words_at_the_last_rung_is_final(make_wire):
    wire = make_wire("openai").answers(*REFUSALS, REFUSALS[0])
    with pytest.raises(NoAnswer) as caught:
        wire.ask(policy=NONE)
    assert caught.value.kind is Kind.BAD_REQUEST
    assert len(wire.seen) == 4


def test_an_unrelated_500_does_not_step_down(make_wire):
    wire = make_wire("openai").answers(refusing(500, "internal error while using tools"))
    assert wire.ask(policy=replace(QUICK, retries=1)).rung is Rung.JSON_SCHEMA


def test_a_rung_that_is_ignored_twice_running_is_given_up():
    ladder = Ladder(OPENAI)
    ladder.shapeless(Rung.JSON_SCHEMA)
    ladder.shaped(Rung.JSON_SCHEMA)
    ladder.shapeless(Rung.JSON_SCHEMA)
    assert ladder.rung is Rung.JSON_SCHEMA
    ladder.shapeless(Rung.JSON_SCHEMA)
    assert ladder.rung is Rung.JSON_OBJECT_SCHEMA


def test_the_last_rung_is_never_given_up():
    ladder = Ladder([Rung.PROMPT])
    for _ in range(5):
        ladder.shapeless(Rung.PROMPT)
    assert not ladder.unsupported(Rung.PROMPT)
    assert ladder.rung is Rung.PROMPT


TWO = (Rung.JSON_SCHEMA, Rung.JSON_OBJECT, Rung.PROMPT)
PROFILE = Endpoint("e", Wire.OPENAI, "https://e", rungs=(Rung.JSON_OBJECT, Rung.PROMPT))


@pytest.mark.parametrize(
    ("profile", "published", "rungs"),
    [
        (None, None, TWO),
        (PROFILE, None, (Rung.JSON_OBJECT, Rung.PROMPT)),
        (PROFILE, Published("m", context=9), (Rung.JSON_OBJECT, Rung.PROMPT)),
        (PROFILE, Published("m", schema=True), TWO),
        (None, Published("m", schema=False), (Rung.JSON_OBJECT, Rung.PROMPT)),
        (replace(PROFILE, encoding=Encoding.ENVELOPE), None, (Rung.PROMPT,)),
        (replace(PROFILE, rungs=(Rung.TOOL,)), None, TWO),
    ],
)
def test_what_is_published_comes_before_a_profile_and_that_before_trying(profile, published, rungs):
    assert known_rungs(TWO, profile, published)[0] == rungs


def test_a_saved_probe_comes_after_what_is_published_and_before_all_else(tmp_path):
    kept = Learned(tmp_path / "learned.json")
    Ladder(TWO, learned=kept, about=("e", "m")).works(Rung.JSON_OBJECT)
    again = Learned(tmp_path / "learned.json")
    assert Ladder(TWO, learned=again, about=("e", "m")).rung is Rung.JSON_OBJECT
    said = Ladder(TWO, is_published=True, learned=again, about=("e", "m"))
    assert said.rung is Rung.JSON_SCHEMA


def test_a_lesson_outlives_the_process_until_it_is_too_old(tmp_path):
    now = [1_000_000.0]
    path = tmp_path / "deep" / "learned.json"
    first = Ladder(TWO, learned=Learned(path, lambda: now[0]), about=("e", "m"))
    first.unsupported(Rung.JSON_SCHEMA)
    first.room = 4096
    again = Ladder(TWO, learned=Learned(path, lambda: now[0]), about=("e", "m"))
    other = Ladder(TWO, learned=Learned(path, lambda: now[0]), about=("e", "n"))
    assert (again.rung, again.room) == (Rung.JSON_OBJECT, 4096)
    assert other.rung is Rung.JSON_SCHEMA
    now[0] += TTL - 1
    assert again.rung is Rung.JSON_OBJECT
    now[0] += 2
    assert again.rung is Rung.JSON_SCHEMA and again.room > 100_000


def test_two_processes_keep_what_both_learned(tmp_path):
    path = tmp_path / "learned.json"
    one, two = Learned(path), Learned(path)
    ladders = [Ladder(TWO, learned=each, about=("e", m)) for each, m in ((one, "a"), (two, "b"))]
    assert [each.rung for each in ladders] == [Rung.JSON_SCHEMA] * 2
    for each in ladders:
        each.unsupported(Rung.JSON_SCHEMA)
    third = Learned(path)
    assert [Ladder(TWO, learned=third, about=("e", m)).rung for m in "ab"] == [
        Rung.JSON_OBJECT,
        Rung.JSON_OBJECT,
    ]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 99}', '{"version": 1, "models": 3}'])
def test_a_broken_file_of_lessons_is_as_good_as_none(tmp_path, text):
    path = tmp_path / "learned.json"
    path.write_text(text)
    ladder = Ladder(TWO, learned=Learned(path), about=("e", "m"))
    assert ladder.rung is Rung.JSON_SCHEMA
    ladder.unsupported(Rung.JSON_SCHEMA)
    assert Ladder(TWO, learned=Learned(path), about=("e", "m")).rung is Rung.JSON_OBJECT


def test_a_folder_that_cannot_be_written_is_no_trouble(tmp_path):
    (tmp_path / "file").write_text("")
    ladder = Ladder(TWO, learned=Learned(tmp_path / "file" / "learned.json"), about=("e", "m"))
    ladder.unsupported(Rung.JSON_SCHEMA)
    assert ladder.rung is Rung.JSON_OBJECT


def test_the_next_run_begins_where_this_one_ended(make_wire, tmp_path):
    setup = Setup(learned=tmp_path / "learned.json")
    wire = make_wire("openai").answers(*REFUSALS[:2])
    wire.ask(open_client(wire.spec, NONE, setup))
    assert json.loads(setup.learned.read_text())["models"].keys() == {
        f"{wire.server.root}/v1 model-x"
    }
    _files.clear(), _ladders.clear()
    again = wire.ask(open_client(wire.spec, NONE, setup))
    assert (again.rung, len(wire.seen)) == (Rung.JSON_OBJECT, 4)


def test_two_callers_refused_at_once_step_down_once():
    ladder = Ladder(OPENAI)
    assert ladder.unsupported(Rung.JSON_SCHEMA)
    assert ladder.unsupported(Rung.JSON_SCHEMA)
    assert ladder.rung is Rung.JSON_OBJECT_SCHEMA


def test_strict_requires_everything_and_leaves_the_original_alone():
    schema = {
        "type": "object",
        "properties": {"type": {"type": "string"}, "in": {"$ref": "#/$defs/In"}},
        "$defs": {"In": {"type": "object", "properties": {"a": {"type": "string"}}}},
    }
    copy = strict(schema)
    assert copy["required"] == ["type", "in"]
    assert copy["$defs"]["In"]["required"] == ["a"]
    assert copy["$defs"]["In"]["additionalProperties"] is False
    assert "required" not in schema


@pytest.mark.parametrize(
    ("message", "fields"),
    [
        ("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", (0, 1)),
        ("Extra inputs are not permitted: stream_options", (1, 0)),
    ],
)
def test_an_optional_field_that_is_refused_is_left_out_from_then_on(make_wire, message, fields):
    wire = make_wire("openai").answers(refusing(400, message))
    client = wire.client(NONE)
    wire.ask(client)
    wire.ask(client)
    assert len(wire.seen) == 3
    for seen in wire.seen[1:]:
        room, usage = fields
        assert ("max_tokens" in seen.body, "stream_options" in seen.body) == (room, usage)


def test_a_server_that_knows_no_name_for_the_room_is_asked_without_it_and_not_forever(make_wire):
    message = "Unsupported parameter: 'max_tokens' and 'max_completion_tokens'"
    wire = make_wire("openai").answers(*[refusing(400, message)] * 2)
    assert wire.ask(policy=NONE).stop is Stop.DONE
    assert not {"max_tokens", "max_completion_tokens"} & set(wire.seen[2].body)
    wire.answers(*[refusing(400, message)] * 9)
    with pytest.raises(NoAnswer):
        wire.ask(policy=NONE)


def test_a_prompt_that_a_local_server_cut_is_no_answer(make_wire):
    wire = make_wire("local")
    # The fake counts 115; a server with a window of 4096 would count that.
    wire.server.counted = 4096
    with pytest.raises(NoAnswer) as caught:
        wire.ask(prompt="word " * 10_000)
    assert caught.value.kind is Kind.CONTEXT
    assert "read 4096 tokens of a prompt of about 13" in str(caught.value)
    assert caught.value.usage.calls == 1
    assert wire.ask(prompt="word " * 2_000).stop is Stop.DONE
