"""One grammar for model specs, read in one place."""

from __future__ import annotations

import pytest

from mak.agents import AGENTS, open_agents, open_planner, parse_spec
from mak.errors import UsageError
from tests.agents.conftest import tree


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("builtin", ("builtin", "", "")),
        ("anthropic", ("anthropic", "", "")),
        ("anthropic:claude-x", ("anthropic", "claude-x", "")),
        ("openai:org/model:tag", ("openai", "org/model:tag", "")),
        (
            "local:qwen3:4b@http://127.0.0.1:8080/v1",
            ("local", "qwen3:4b", "http://127.0.0.1:8080/v1"),
        ),
        ("local:a@b@https://u:p@h/v1", ("local", "a@b", "https://u:p@h/v1")),
        ("scripted:/tmp/a b.yaml", ("scripted", "/tmp/a b.yaml", "")),
        ("scripted:C:/x.yaml", ("scripted", "C:/x.yaml", "")),
    ],
)
def test_specs_are_taken_apart(text, parts):
    spec = parse_spec(text)
    assert (spec.name, spec.rest, spec.url) == parts
    assert str(spec) == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("antropic:claude", "no provider is called 'antropic'; did you mean 'anthropic'?"),
        ("OpenAI:gpt", "did you mean 'openai'?"),
        ("claude-sonnet-5", "no provider is called 'claude-sonnet-5'"),
        ("", "no provider is called ''"),
        ("local:qwen3", "a local model needs its URL"),
        ("local:@http://h", "a local model needs its URL"),
        ("local:m@ftp://h", "a local model needs its URL"),
    ],
)
def test_other_specs_are_refused_with_what_was_meant(text, said):
    with pytest.raises(UsageError) as caught:
        parse_spec(text)
    assert said in str(caught.value)
    assert caught.value.hint


def test_the_hint_names_every_kind_of_agent():
    with pytest.raises(UsageError) as caught:
        parse_spec("nobody")
    for kind in AGENTS.values():
        assert kind.form in caught.value.hint


@pytest.mark.parametrize("text", ["builtin:x", "scripted", "scripted:"])
def test_specs_with_too_much_or_too_little_are_refused_when_opened(text):
    with pytest.raises(UsageError):
        open_agents([text])
    with pytest.raises(UsageError):
        open_planner(text, tree({}))


def test_no_spec_at_all_is_refused():
    with pytest.raises(UsageError):
        open_agents([])


def test_agents_come_in_order_and_equal_specs_share_one(monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    script = tmp_path / "s.yaml"
    script.write_text("tasks: {}\n")
    specs = ["openai:a", f"scripted:{script}", "openai:a", "openai:b"]
    opened = open_agents(specs)
    assert [agent.spec for agent in opened] == specs
    assert opened[0] is opened[2] and opened[0] is not opened[3]


def test_a_missing_key_is_said_before_anything_is_sent(monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    for opens in (lambda: open_agents(["anthropic"]), lambda: open_planner("anthropic", tree({}))):
        with pytest.raises(UsageError, match="ANTHROPIC_API_KEY is not set"):
            opens()
