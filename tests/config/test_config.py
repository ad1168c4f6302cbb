from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from mak.config import (
    CONFIG_FILE,
    Config,
    config_schema,
    dump_yaml,
    load,
    parse_document,
    read_document,
    validate,
)
from mak.errors import UsageError


def refused(text: str, name: str = "c.yaml") -> str:
    with pytest.raises(UsageError) as caught:
        validate(Config, parse_document(text, name), name, text)
    return str(caught.value)


def test_defaults_need_no_file(tmp_path: Path) -> None:
    config = load(None, tmp_path)
    assert config == Config()
    assert config.models.agents == ("builtin",)


def test_project_file_is_found_in_the_work_directory(tmp_path: Path) -> None:
    (tmp_path / CONFIG_FILE).parent.mkdir()
    (tmp_path / CONFIG_FILE).write_text("max_agents: 7\ntimeouts:\n  task: 30\n")
    config = load(None, tmp_path)
    assert config.max_agents == 7
    assert config.timeouts.task == 30
    assert config.attempts == Config().attempts


def test_explicit_file_replaces_the_project_file(tmp_path: Path) -> None:
    (tmp_path / CONFIG_FILE).parent.mkdir()
    (tmp_path / CONFIG_FILE).write_text("max_agents: 7\n")
    other = tmp_path / "other.json"
    other.write_text('{"models": ["a", "b"]}')
    config = load(other, tmp_path)
    assert config.models.agents == ("a", "b")
    assert config.max_agents == Config().max_agents


def test_empty_file_means_the_defaults(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("# nothing yet\n")
    assert load(path, tmp_path) == Config()


def test_missing_explicit_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"reading .*gone\.yaml: no such file or directory"):
        load(tmp_path / "gone.yaml", tmp_path)


def test_config_is_frozen() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Config().max_agents = 9  # type: ignore[misc]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("modles: [a]\n", "reading c.yaml:1: unknown key 'modles'; did you mean 'models'?"),
        (
            "max_agents: 2\ntimeouts:\n  tsk: 1\n",
            "reading c.yaml:3: unknown key 'timeouts.tsk'; did you mean 'task'?",
        ),
        ("timeouts:\n  zzz: 1\n", "unknown key 'timeouts.zzz'; known: task"),
        ("# c\nmax_agents: '3'\n", "reading c.yaml:2: max_agents: should be a whole number"),
        ("max_agents: true\n", "max_agents: should be a whole number"),
        ("max_agents: 0\n", "max_agents: should be greater than or equal to 1"),
        ("models: builtin\n", "reading c.yaml:1: models: should be a list"),
        ("models: []\n", "models.agents: should not be empty"),
        (
            "planner: 'local:m@http://u:pw@h/v1'\n",
            "reading c.yaml:1: planner: no key, user or password may stand in a model spec",
        ),
        ("models: ['local:m@http://u:pw@h/v1']\n", "models.agents.0: no key, user or password"),
        ("models: [3]\n", "models.agents.0: should be text"),
        ("- a\n", "reading c.yaml: should be a mapping of keys to values"),
        ("a: 1\nb: 2\na: 3\n", "reading c.yaml:3: the key 'a' is given twice"),
        ("a: &x 1\nb: *x\n", "anchors and aliases are not supported"),
        ("a: b: c\n", "reading c.yaml:1: "),
        ("a: !!python/object:os.system x\n", "reading c.yaml:1: "),
    ],
)
def test_mistakes_are_named_with_file_and_line(text: str, message: str) -> None:
    assert message in refused(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1,\n "b": }', "reading c.json:2: Expecting value"),
        ('{"a": 1,\n "b": 2,\n "a": 3}', "reading c.json:3: the key 'a' is given twice"),
        ("[" * 200_000, "reading c.json: nested too deeply"),
    ],
)
def test_json_mistakes_are_named_with_file_and_line(text: str, message: str) -> None:
    assert message in refused(text, "c.json")


def test_json_is_recognised_by_content(tmp_path: Path) -> None:
    path = tmp_path / "plan"
    path.write_text('\n {"a": [1, "\\u00e9"]}')
    assert read_document(path) == {"a": [1, "é"]}
    path.write_text("{a: [1, b]}\n")
    assert read_document(path) == {"a": [1, "b"]}


def test_json_lines_give_a_list_and_name_the_bad_line(tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    path.write_text('{"a": 1}\n\n{"a": 2}\n')
    assert read_document(path) == [{"a": 1}, {"a": 2}]
    path.write_text('{"a": 1}\n\n{"a": \n')
    with pytest.raises(UsageError, match=r"replies\.jsonl:3: "):
        read_document(path)


def test_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_bytes(b"a: \xff\n")
    with pytest.raises(UsageError, match=r"not UTF-8 text \(byte 3\)"):
        read_document(path)


def test_byte_order_mark_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\n")
    assert read_document(path) == {"a": 1}


def test_words_that_yaml_1_1_converts_stay_text() -> None:
    text = "a: no\nb: on\nc: 12:30\nd: 2024-01-01\ne: 0o17\nf: 1_000\n"
    assert parse_document(text, "c.yaml") == {
        "a": "no",
        "b": "on",
        "c": "12:30",
        "d": "2024-01-01",
        "e": "0o17",
        "f": "1_000",
    }


JSON_TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]))
JSON_DATA = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | JSON_TEXT
    | st.sampled_from(
        ["", "no", "~", "1e3", "1.", "- a", "a: b", "#x", "x\ny", "x\n", " x\n\n", "\x85", "a\r\nb"]
    ),
    lambda inner: st.lists(inner) | st.dictionaries(JSON_TEXT, inner),
    max_leaves=20,
)


@given(JSON_DATA)
def test_what_is_dumped_as_yaml_reads_back_equal(data: Any) -> None:
    assert parse_document(dump_yaml(data), "plan.yaml") == data


@pytest.mark.parametrize(
    ("text", "agents", "auto_refresh"),
    [
        ("models: [a, b]\n", ("a", "b"), True),
        ("models:\n  agents: [a]\n  auto_refresh: false\n", ("a",), False),
        ("models:\n  auto_refresh: false\n", ("builtin",), False),
    ],
)
def test_models_are_a_list_or_a_section(
    text: str, agents: tuple[str, ...], auto_refresh: bool
) -> None:
    data = parse_document(text, "c.yaml")
    config = validate(Config, data, "c.yaml", text)
    assert (config.models.agents, config.models.auto_refresh) == (agents, auto_refresh)
    jsonschema.validate(data, config_schema())


@pytest.mark.parametrize(
    "text", ["mode: nowhere\n", "models: a\n", "files:\n  includes: []\n", "max_agents: 0\n"]
)
def test_the_schema_refuses_what_the_loader_refuses(text: str) -> None:
    refused(text)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(parse_document(text, "c.yaml"), config_schema())


def test_the_schema_is_valid_and_says_what_every_key_means() -> None:
    schema = config_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    for section in (schema, *schema["$defs"].values()):
        for key, field in section.get("properties", {}).items():
            assert field.get("description"), key
