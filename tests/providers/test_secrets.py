"""What is secret is taken out by its value, whatever it looks like."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest

from mak.errors import UsageError
from mak.providers import Setup, open_client, secrets
from mak.providers.access import access
from mak.providers.endpoints import PRESETS, Endpoint, Wire
from tests.providers.conftest import QUICK

#: Keys in the formats that vendors use or used; none is anybody's.
CANARIES = {
    "anthropic": "sk-ant-api03-" + "cAnArY0_-" * 10 + "AA",
    "openai": "sk-proj-" + "cAnArY1_-" * 16,
    "openai, older": "sk-" + "cAnArY2" * 6 + "abcdef",
    "gemini": "AIzaSyCAnArY3" + "x" * 26,
    "openrouter": "sk-or-v1-" + "0ca0a7e4" * 8,
    "nvidia": "nvapi-" + "cAnArY5_-" * 7,
    "groq": "gsk_" + "cAnArY6" * 7,
    "no format at all": 'hunter2/+="{}\\',
}


@pytest.mark.parametrize("name", CANARIES)
def test_a_key_is_taken_out_in_every_form_in_which_it_comes_back(name):
    key = CANARIES[name]
    secrets.keep(key)
    for form in (key, json.dumps({"k": key}), quote(key, safe=""), repr([key]), f"Bearer {key}."):
        shown = secrets.redact(f"before {form} after")
        assert key not in shown and quote(key, safe="") not in shown
        assert shown.startswith("before ") and shown.endswith(" after")
        assert "[redacted]" in shown


def test_words_that_are_somebodys_key_stay_in_code_and_leave_messages():
    for word in ("lm-studio", "sk-no-key-required", "not-needed"):
        secrets.keep(word)
        assert secrets.redact(f"bad key {word}") == "bad key [redacted]"
        assert secrets.redact_content(f'NAME = "{word}"') == f'NAME = "{word}"'
    secrets.keep(CANARIES["openai"])
    assert secrets.redact_content(f"x = {CANARIES['openai']!r}") == "x = '[redacted]'"


def test_a_key_that_begins_like_another_leaves_no_end_behind():
    key = CANARIES["groq"]
    secrets.keep(key, f"{key}07")
    assert secrets.redact(f"is {key}07 it") == secrets.redact_content(f"is {key}07 it")
    assert secrets.redact(f"is {key}07 it") == "is [redacted] it"


def test_short_values_are_left_in_and_nothing_else_changes():
    secrets.keep("abc", "")
    assert secrets.redact("abc and so on") == "abc and so on"


# I18
@pytest.mark.parametrize("name", PRESETS)
def test_a_key_is_read_from_its_own_variable_only(name):
    """Every variable holds another key; an endpoint gets the one that it names."""
    preset = PRESETS[name]
    every = {v: f"key-of-{v}" for each in PRESETS.values() for v in each.key_names}
    assert access(preset, Setup(variables=every)).key == f"key-of-{preset.key_names[0]}"
    others = {v: key for v, key in every.items() if v not in preset.key_names}
    if preset.key_needed:
        with pytest.raises(UsageError, match="is not set"):
            access(preset, Setup(variables=others))
    else:
        assert access(preset, Setup(variables=others)).key == "not-needed"


# I18
def test_an_endpoint_of_ones_own_gets_a_vendors_key_only_by_naming_it(make_wire, server):
    key = CANARIES["openai"]
    variables = {"OPENAI_API_KEY": key, "MAK_API_KEY": "own-own-own"}
    url = f"{server.root}/v1"
    for names, sent in (((), "not-needed"), (("OPENAI_API_KEY",), key)):
        mine = Endpoint("mine", Wire.OPENAI, url, key_names=names)
        setup = Setup(own={"mine": mine}, variables=variables)
        wire = make_wire("openai")
        wire.ask(open_client("mine:m", QUICK, setup))
        assert wire.seen[-1].headers["authorization"] == f"Bearer {sent}"
    spec = f"ollama:m@{server.root}"
    make_wire("ollama").ask(open_client(spec, QUICK, Setup(variables=variables)))
    assert server.seen[-1].headers["authorization"] == "Bearer own-own-own"


def test_gemini_takes_either_of_its_variables():
    for variables, key in (
        ({"GOOGLE_API_KEY": "g" * 20}, "g" * 20),
        ({"GOOGLE_API_KEY": "g" * 20, "GEMINI_API_KEY": "m" * 20}, "m" * 20),
    ):
        assert access(PRESETS["gemini"], Setup(variables=variables)).key == key
    with pytest.raises(UsageError, match="GEMINI_API_KEY or GOOGLE_API_KEY is not set"):
        access(PRESETS["gemini"], Setup(variables={}))


def test_extra_headers_are_sent(make_wire, server):
    for kind, wire in (
        ("openai", Wire.OPENAI),
        ("anthropic", Wire.ANTHROPIC),
        ("ollama", Wire.OLLAMA),
    ):
        url = f"{server.root}/v1" if kind == "openai" else server.root
        mine = Endpoint("mine", wire, url, headers=(("X-Team", "blue"),))
        make_wire(kind).ask(open_client("mine:m", QUICK, Setup(own={"mine": mine})))
        assert server.seen[-1].headers["x-team"] == "blue"
