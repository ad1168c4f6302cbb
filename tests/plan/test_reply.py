import json

import pytest
from jsonschema import Draft202012Validator

from mak.model import NodeId, ReplyStatus, Task
from mak.plan import Answer, plan_reply_schema
from mak.plan.reply import PlanReply, read_reply

REPLY = {
    "decisions": ["use floats", " "],
    "atomic": False,
    "tasks": [
        {
            "id": "t1",
            "goal": "do it",
            "writes": ["a.py::f"],
            "reads": [],
            "creates": [],
            "depends_on": [],
        }
    ],
    "questions": [],
}
TEXT = json.dumps(REPLY)


def read(text: str) -> PlanReply | str:
    return read_reply(Answer(text, ReplyStatus.EDITED))


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        json.dumps(REPLY, indent=2),
        f"Here is the plan for {{you}}:\n```json\n{TEXT}\n```\nGood luck.",
        f"```\n{json.dumps(REPLY, indent=2)}\n```",
        f"{TEXT} trailing words",
        "\ufeff" + TEXT,
        TEXT.replace("do it", "do\nit").replace("do\nit", "do it"),
    ],
)
def test_a_plan_is_found_in_whatever_surrounds_it(text: str) -> None:
    reply = read(text)
    assert isinstance(reply, PlanReply)
    plan = reply.plan("a request")
    assert plan.tasks == (Task("t1", "do it", (NodeId("a.py", "f"),)),)
    assert plan.decisions == ("use floats",)


def test_raw_newlines_in_strings_are_read() -> None:
    reply = read(TEXT.replace("do it", "do\nit"))
    assert isinstance(reply, PlanReply)
    assert reply.tasks[0].goal == "do\nit"


def test_absent_lists_are_empty() -> None:
    reply = read('{"tasks": [{"id": "t1", "goal": "g", "writes": ["a.py"]}]}')
    assert isinstance(reply, PlanReply)
    assert reply.questions == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "the answer holds no JSON object"),
        ("I would rather not.", "the answer holds no JSON object"),
        ("[]", "the answer holds no JSON object"),
        (TEXT[:-20], "the answer is not JSON: "),
        (json.dumps(REPLY, indent=2)[:-20], "the answer is not JSON: "),
        ("{}", "the answer does not fit the schema: tasks is missing"),
        ('{"tasks": null}', "the answer does not fit the schema: tasks: "),
        ('{"tasks": [{"id": 1, "goal": "g"}]}', "tasks.0.id: "),
        ('{"tasks": [], "waves": []}', "waves: extra inputs are not permitted"),
        ('{"tasks": [{"id": "t", "goal": "\\ud800"}]}', "half a character"),
        ('{"tasks": ' + "[" * 100_000, "the answer is not JSON"),
    ],
)
def test_what_cannot_be_read_says_why_in_one_line(text: str, reason: str) -> None:
    found = read(text)
    assert isinstance(found, str)
    assert reason in found
    assert "\n" not in found


def test_the_schema_keeps_to_what_strict_modes_share() -> None:
    schema = plan_reply_schema()
    Draft202012Validator.check_schema(schema)
    assert Draft202012Validator(schema).is_valid(REPLY)

    def walk(part: object) -> None:
        if isinstance(part, dict):
            if part.get("type") == "object":
                assert part["required"] == list(part["properties"])
                assert part["additionalProperties"] is False
            assert not {"default", "anyOf", "maxLength", "pattern"} & set(part)
            for inner in part.values():
                walk(inner)
        elif isinstance(part, list):
            for inner in part:
                walk(inner)

    walk(schema)
