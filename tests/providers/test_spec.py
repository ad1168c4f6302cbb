"""One grammar for model specs, read in one place."""

from __future__ import annotations

import pytest

from mak.errors import UsageError
from mak.providers.endpoints import PRESETS, Endpoint, Wire
from mak.providers.setup import Setup
from mak.providers.spec import forms, parse

MINE = Endpoint("my-gw", Wire.OPENAI, "https://gw.example/v1", key_names=("GW_KEY",))
SETUP = Setup(own={"my-gw": MINE})


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("builtin", ("builtin", "", "")),
        ("anthropic", ("anthropic", "claude-sonnet-5-5", "https://api.anthropic.com")),
        ("anthropic:claude-x", ("anthropic", "claude-x", "https://api.anthropic.com")),
        ("openai:org/model:tag", ("openai", "org/model:tag", "https://api.openai.com/v1")),
        (
            "openrouter:qwen/qwen3:free",
            ("openrouter", "qwen/qwen3:free", "https://openrouter.ai/api/v1"),
        ),
        ("my-gw:@cf/meta/llama:8b", ("my-gw", "@cf/meta/llama:8b", "https://gw.example/v1")),
        ("ollama:qwen3:4b", ("ollama", "qwen3:4b", "http://127.0.0.1:11434")),
        ("ollama:qwen3:4b@http://box:11434", ("ollama", "qwen3:4b", "http://box:11434")),
        (
            "local:qwen3:4b@http://127.0.0.1:8080/v1",
            ("local", "qwen3:4b", "http://127.0.0.1:8080/v1"),
        ),
        ("local:a@b@https://h/v1", ("local", "a@b", "https://h/v1")),
        ("scripted:/tmp/a b.yaml", ("scripted", "/tmp/a b.yaml", "")),
        ("scripted:C:/x.yaml", ("scripted", "C:/x.yaml", "")),
        ("replay:runs/one.jsonl", ("replay", "runs/one.jsonl", "")),
    ],
)
def test_specs_are_taken_apart(text, parts):
    spec = parse(text, SETUP)
    assert (spec.name, spec.rest, spec.endpoint.url if spec.endpoint else "") == parts
    assert str(spec) == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("antropic:claude", "no provider is called 'antropic'; did you mean 'anthropic'?"),
        ("OpenAI:gpt", "did you mean 'openai'"),
        ("my-gv:x", "did you mean 'my-gw'"),
        ("claude-sonnet-5-5", "did you mean 'anthropic:claude-sonnet-5-5'"),
        ("claude-sonet-5", "'anthropic:claude-sonnet-5-5'"),
        ("gpt-oss-120b", "'groq:openai/gpt-oss-120b'"),
        ("", "no provider is called ''"),
        ("builtin:x", "builtin takes no model"),
        ("scripted", "a scripted agent needs its file"),
        ("scripted:", "a scripted agent needs its file"),
        ("replay:", "a replay needs its file"),
        ("ollama", "ollama has no default model"),
        ("my-gw:", "my-gw has no default model"),
        ("openai:gpt@http://elsewhere/v1", "openai has its own URL"),
        ("local:qwen3", "a local model needs its URL"),
        ("local:@http://h", "a local model needs its URL"),
        ("local:m@ftp://h", "a local model needs its URL"),
    ],
)
def test_other_specs_are_refused_with_what_was_meant(text, said):
    with pytest.raises(UsageError) as caught:
        parse(text, SETUP)
    assert said in str(caught.value)
    assert caught.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "local:m@http://ada:s3cret-pw@h/v1",
        "ollama:m@https://s3cret-pw@h",
        "local:m@http://h/v1?key=sk-s3cret-pw-0123456789",
        "openai:sk-s3cret-pw-0123456789",
        "sk-s3cret-pw-0123456789",
    ],
)
def test_a_secret_in_a_spec_is_refused_and_not_repeated(text):
    with pytest.raises(UsageError) as caught:
        parse(text, SETUP)
    assert "s3cret-pw" not in f"{caught.value} {caught.value.hint}"


def test_a_model_that_is_known_not_to_be_there_is_refused_with_the_nearest():
    setup = Setup(models={"openai": ("gpt-6-sol", "gpt-6-luna"), "ollama": ("qwen3:4b",)})
    with pytest.raises(UsageError) as caught:
        parse("openai:gpt-6-sool", setup)
    assert "openai has no model 'gpt-6-sool'; did you mean 'openai:gpt-6-sol'" in str(caught.value)
    assert parse("openai:gpt-6-luna", setup).rest == "gpt-6-luna"
    assert parse("anthropic:newer-than-any-list", setup).rest == "newer-than-any-list"
    with pytest.raises(UsageError) as caught:
        parse("ollama", setup)
    assert "ollama:qwen3:4b" in caught.value.hint
    with pytest.raises(UsageError, match="'openai:gpt-6-luna'"):
        parse("gpt-6-lunar", setup)


def test_the_hint_names_every_form():
    with pytest.raises(UsageError) as caught:
        parse("nobody", SETUP)
    assert all(form in caught.value.hint for form in forms(SETUP))
    assert all(any(form.startswith(name) for form in forms(SETUP)) for name in (*PRESETS, "my-gw"))
