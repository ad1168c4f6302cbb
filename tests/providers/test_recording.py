"""What was answered once is answered again, without a model and without a secret on file."""

from __future__ import annotations

import json
from dataclasses import replace

import anyio
import pytest

from mak.errors import AgentErrorKind as Kind
from mak.errors import UsageError
from mak.providers import Setup, open_client
from mak.providers.recording import key
from mak.providers.request import NoAnswer, Request, Stop
from tests.providers.conftest import KEY, QUICK, SCHEMA
from tests.providers.fake import Turn

ASKED = Request("rules", "shared", "prompt", SCHEMA)


def replay(path, *requests):
    client = open_client(f"replay:{path}", QUICK)

    async def main():
        return [await client.complete(each) for each in requests]

    return anyio.run(main)


def test_answers_come_back_in_order_and_cost_what_they_did(wire, tmp_path):
    path = tmp_path / "run.jsonl"
    wire.answers(Turn('{"ok": [1'), Turn('{"ok": true}'), Turn("", refusal="No."))
    client = open_client(wire.spec, QUICK, Setup(record=path))
    first = wire.ask(client)
    second = wire.ask(client)
    other = wire.ask(client, prompt="another")
    seen = len(wire.seen)
    question = Request("the rules", "the shared part", "the prompt", SCHEMA, "answer", 1000)
    again = replay(path, question, question, question, replace(question, prompt="another"))
    assert [each.text for each in again] == [first.text, second.text, second.text, other.text]
    assert [each.usage.input for each in again[:2]] == [first.usage.input, second.usage.input]
    assert again[3].stop is other.stop
    assert len(wire.seen) == seen


def test_a_truncated_answer_comes_back_as_one(wire, tmp_path):
    path = tmp_path / "run.jsonl"
    wire.answers(Turn('{"o', "truncated"))
    got = wire.ask(open_client(wire.spec, QUICK, Setup(record=path)))
    question = Request("the rules", "the shared part", "the prompt", SCHEMA, "answer", 1000)
    [again] = replay(path, question)
    assert (again.stop, again.text, again.usage.calls) == (Stop.TRUNCATED, got.text, 1)


# I18
def test_no_prompt_and_no_key_is_on_file(wire, tmp_path):
    path = tmp_path / "run.jsonl"
    wire.answers(Turn(f'{{"ok": "{KEY}"}}'))
    got = wire.ask(open_client(wire.spec, QUICK, Setup(record=path)))
    text = path.read_text()
    assert KEY not in text + got.text and "[redacted]" in text
    assert "the prompt" not in text and "the rules" not in text


def test_a_question_that_was_not_recorded_is_its_own_error(tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_text("")
    with pytest.raises(NoAnswer) as caught:
        replay(path, ASKED)
    assert caught.value.kind is Kind.UNAVAILABLE
    assert "no answer to this question" in str(caught.value)
    assert "record it again" in caught.value.hint


def test_only_what_the_question_means_counts():
    marked = replace(ASKED, prompt="<slot 1a2b n1>", mark="1a2b")
    assert key(marked) == key(replace(marked, prompt="<slot 9f9f n1>", mark="9f9f"))
    assert key(ASKED) == key(replace(ASKED, max_tokens=1, cache_key="r1", schema_name="x"))
    others = [replace(ASKED, **{part: "other"}) for part in ("system", "shared", "prompt")]
    others.append(replace(ASKED, schema={}))
    assert len({key(each) for each in (ASKED, *others)}) == 5


@pytest.mark.parametrize("text", ["{", "3", "{}", '{"key": "a", "stop": "never"}'])
def test_a_file_that_is_no_recording_is_said_with_its_line(tmp_path, text):
    path = tmp_path / "run.jsonl"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"run\.jsonl:1: it is not a line of a recording"):
        open_client(f"replay:{path}", QUICK)
    with pytest.raises(UsageError, match="no such file"):
        open_client(f"replay:{tmp_path}/none", QUICK)


def test_a_recording_that_cannot_be_written_is_said(wire, tmp_path):
    with pytest.raises(UsageError, match="recording to"):
        open_client(wire.spec, QUICK, Setup(record=tmp_path / "no" / "run.jsonl"))
    assert wire.seen == []


def test_every_line_is_whole_json(wire, tmp_path):
    path = tmp_path / "run.jsonl"
    wire.answers(Turn('{"ok": "é\\u2028"}'))
    wire.ask(open_client(wire.spec, QUICK, Setup(record=path)))
    [line] = path.read_bytes().splitlines()
    assert json.loads(line)["stop"] == "done" and line.isascii()
