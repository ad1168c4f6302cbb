"""Agents and planners are opened from model specs, before anything is sent."""

from __future__ import annotations

import pytest

from mak.agents import open_agents, open_planner
from mak.errors import UsageError
from tests.agents.conftest import tree


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
