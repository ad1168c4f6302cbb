"""Ollama's own API: the window is asked for, and what it says about models is read."""

from __future__ import annotations

import anyio
import pytest

from mak.errors import AgentErrorKind as Kind
from mak.providers.access import ollama_url
from mak.providers.connect import close
from mak.providers.request import NoAnswer, Published, Rung, Stop
from tests.providers.conftest import KEY, QUICK, SCHEMA
from tests.providers.fake import Turn
from tests.providers.test_ladder import NONE, refusing


@pytest.fixture
def wire(make_wire):
    return make_wire("ollama")


def holds(wire, tokens: int) -> None:
    wire.server.facts["api/show"] = {"model_info": {"qwen3.context_length": tokens, "x": 1}}


def test_the_call_is_ollamas_own_and_says_how_large_the_window_is(wire):
    wire.ask(max_tokens=3000)
    [seen] = wire.seen
    assert seen.path.endswith("/api/chat")
    assert seen.headers["authorization"] == f"Bearer {KEY}"
    assert seen.body["format"] == SCHEMA
    assert seen.body["options"] == {"num_ctx": 4096, "num_predict": 3000}
    assert [each["role"] for each in seen.body["messages"]] == ["system", "user"]


@pytest.mark.parametrize(
    ("words", "model", "window"), [(100, 0, 4096), (10_000, 0, 20_480), (10_000, 16_384, 16_384)]
)
def test_the_window_follows_the_prompt_up_to_what_the_model_holds(wire, words, model, window):
    holds(wire, model)
    wire.server.counted = 20_000
    wire.ask(prompt="word " * words)
    assert wire.seen[0].body["options"]["num_ctx"] == window


def test_a_prompt_that_cannot_fit_is_not_sent(wire):
    holds(wire, 8192)
    with pytest.raises(NoAnswer) as caught:
        wire.ask(prompt="word " * 10_000)
    assert caught.value.kind is Kind.CONTEXT
    assert "the model holds 8192" in str(caught.value)
    assert wire.seen == []


def test_a_window_that_was_not_given_is_seen_by_what_was_read(wire):
    wire.server.counted = 4096
    with pytest.raises(NoAnswer) as caught:
        wire.ask(prompt="word " * 10_000)
    assert caught.value.kind is Kind.CONTEXT
    assert "read 4096 tokens of a prompt of about 13" in str(caught.value)


def test_formats_step_down(wire):
    wire.answers(
        refusing(400, "invalid JSON schema in format"), refusing(500, "grammar: unsupported")
    )
    got = wire.ask(policy=NONE)
    assert (got.stop, got.rung) == (Stop.DONE, Rung.PROMPT)
    assert [seen.body.get("format") for seen in wire.seen] == [SCHEMA, "json", None]


def test_a_model_that_is_not_there_is_said_with_the_servers_words(wire):
    wire.answers(Turn(status=404, body={"error": "model 'x' not found, try pulling it first"}))
    with pytest.raises(NoAnswer) as caught:
        wire.ask()
    assert caught.value.kind is Kind.NOT_FOUND
    assert "try pulling it first" in str(caught.value)


def test_a_cached_prompt_is_estimated(wire):
    wire.answers(Turn(usage=False))
    got = wire.ask(prompt="x" * 3600)
    assert got.usage.estimated and 900 < got.usage.input < 1100
    assert got.usage.cost == 0.0


def test_thought_is_not_the_answer(wire):
    lines = (
        b'{"message": {"role": "assistant", "content": "", "thinking": "hm {"}, "done": false}\n'
        b'{"message": {"role": "assistant", "content": "{}"}, "done": false}\n'
        b'{"message": {"content": ""}, "done": true, "done_reason": "stop", "eval_count": 9}\n'
    )
    wire.answers(Turn(body=lines, content_type="application/x-ndjson"))
    assert wire.ask().text == "{}"


def test_models_are_listed(wire):
    wire.server.facts["api/tags"] = {"models": [{"name": "qwen3:4b"}, {"name": "llama:8b"}]}
    holds(wire, 40_960)
    provider = wire.client().provider

    async def main():
        try:
            return await provider.models(), await provider.look("qwen3:4b")
        finally:
            await close()

    listed, shown = anyio.run(main)
    assert [each.id for each in listed] == ["qwen3:4b", "llama:8b"]
    assert shown == Published("qwen3:4b", context=40_960, schema=True)


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("box", "http://box:11434"),
        ("box:8080", "http://box:8080"),
        ("https://ollama.com", "https://ollama.com:443"),
        ("http://[::1]:9/sub", "http://[::1]:9/sub"),
        ("http://u:p@box/", "http://u:p@box:11434/"),
    ],
)
def test_the_hosts_variable_is_read_as_ollama_reads_it(host, url):
    assert ollama_url(host) == url


def test_quick_means_quick(wire):
    wire.answers(*[Turn(body=b"<html>hello</html>", content_type="text/html")] * 9)
    with pytest.raises(NoAnswer) as caught:
        wire.ask(policy=QUICK)
    assert caught.value.kind is Kind.MALFORMED
    assert len(wire.seen) == 3
