import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from mak.errors import UsageError
from mak.model import NodeId, Obligation, Plan, Task
from mak.plan import parse_plan, plan_digest, plan_document, plan_schema

DOCUMENT = {
    "request": "make it better",
    "decisions": ["areas are floats"],
    "atomic": True,
    "tasks": [
        {
            "id": "t1",
            "goal": "do it",
            "writes": ["a.py::f#api", "a.py::C#all"],
            "reads": ["b.py"],
            "creates": ["c.py", "a.py::g"],
            "depends_on": [],
            "model": "builtin",
        },
        {
            "id": "t2",
            "goal": "then that",
            "writes": [],
            "reads": [],
            "creates": ["d.py"],
            "depends_on": ["t1"],
            "model": "",
        },
    ],
}


def test_a_plan_file_is_read_and_written() -> None:
    plan = parse_plan(DOCUMENT)
    assert plan.task("t1").writes == (
        NodeId.parse("a.py::f").api,
        NodeId.parse("a.py::C#all"),
    )
    assert plan.atomic
    assert plan_document(plan) == DOCUMENT


def test_all_but_id_goal_and_tasks_may_be_left_out() -> None:
    plan = parse_plan({"tasks": [{"id": "t", "goal": "g"}]})
    assert plan == Plan("", (Task("t", "g"),))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "the document is empty"),
        ([], "should be a mapping of keys to values"),
        ({}, "tasks is missing"),
        ({"tasks": {}}, "tasks should be a list"),
        ({"tasks": [], "decisons": []}, "unknown key 'decisons'; did you mean 'decisions'?"),
        (
            {"tasks": [], "zzz": 1},
            "unknown key 'zzz'; known: request, decisions, atomic, complete, dropped, tasks",
        ),
        ({"tasks": [{"goal": "g"}]}, "task number 1: id is missing"),
        ({"tasks": [{"id": "t1"}]}, "task t1: goal is missing"),
        ({"tasks": [{"id": "t1", "goal": " "}]}, "task t1: goal should not be empty"),
        (
            {"tasks": [{"id": "a", "goal": "g"}, {"id": "t1", "goal": "g", "write": ["a.py"]}]},
            "task t1: unknown key 'write'; did you mean 'writes'?",
        ),
        ({"tasks": [{"id": "t1", "goal": 3}]}, "task t1: goal should be text"),
        ({"tasks": [{"id": "t1", "goal": "g", "writes": "a.py"}]}, "task t1: writes should be a"),
        (
            {"tasks": [{"id": "t1", "goal": "g", "writes": ["a.py", 5]}]},
            "task t1: writes[1] should be text",
        ),
        (
            {"tasks": [{"id": "t1", "goal": "g", "reads": [" "]}]},
            "task t1: reads[0] ' ' is no node",
        ),
        ({"tasks": [{"id": "t1", "goal": "g", "reads": ["a\nb"]}]}, "'a\\nb' is no node id"),
        ({"tasks": [{"id": "a, b", "goal": "g"}]}, "task a, b: id 'a, b' is no task id"),
        ({"tasks": [{"id": "../x", "goal": "g"}]}, "'../x' is no task id"),
        ({"tasks": ["t1"]}, "task number 1: should be a mapping"),
        ({"tasks": [], "request": "\ud800"}, "request holds half a character"),
        ({"tasks": [], "atomic": "yes"}, "atomic should be true or false"),
    ],
)
def test_what_is_wrong_is_named_with_its_task_and_key(data: object, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_plan(data)
    assert message in str(caught.value)
    assert str(caught.value).startswith("reading the plan: ")


def test_all_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(UsageError) as caught:
        parse_plan({"tasks": [{"id": "t1", "gaol": "g"}]})
    assert "task t1: goal is missing" in str(caught.value)
    assert "did you mean 'goal'?" in str(caught.value)


def test_the_published_schema_takes_what_is_read_and_refuses_unknown_keys() -> None:
    validator = Draft202012Validator(plan_schema())
    Draft202012Validator.check_schema(plan_schema())
    assert validator.is_valid(DOCUMENT)
    assert validator.is_valid({"tasks": [{"id": "t", "goal": "g"}]})
    assert not validator.is_valid({"tasks": [], "x": 1})


words = st.text(st.characters(codec="utf-8"))
names = st.text("abcxyz", min_size=1, max_size=4)
ids = st.builds(NodeId, names.map(lambda n: f"{n}.py"), st.just("") | names)
obligations = st.builds(
    Obligation, names, words, st.none() | ids, st.lists(ids).map(tuple), st.booleans(), words
)
tasks = st.builds(
    Task,
    names,
    words.filter(lambda t: t.strip()),
    st.lists(ids).map(tuple),
    st.lists(ids).map(tuple),
    st.lists(ids).map(tuple),
    st.lists(names).map(tuple),
    names,
    st.lists(obligations, max_size=2).map(tuple),
    st.just("") | names,
)
plans = st.builds(Plan, words, st.lists(tasks, max_size=4).map(tuple), st.lists(words).map(tuple))


@given(plans)
def test_every_plan_survives_being_a_json_file(plan: Plan) -> None:
    read = parse_plan(json.loads(json.dumps(plan_document(plan))))
    assert read == plan
    assert plan_digest(read) == plan_digest(plan)


def test_the_digest_tells_plans_apart_and_is_stable() -> None:
    plan = parse_plan(DOCUMENT)
    assert plan_digest(plan) == "c98d12b6058ec7a738779178272e041aff14716e3bede20fdde6b2f4c974e00d"
    assert plan_digest(plan) != plan_digest(parse_plan({**DOCUMENT, "atomic": False}))
