"""What a call costs, where somebody knows."""

from __future__ import annotations

import sys

import pytest

from mak.providers.prices import Counts, price, tokens, usage
from mak.providers.vendors import VENDORS


@pytest.mark.parametrize("vendor", VENDORS.values(), ids=str)
def test_default_models_are_known_to_the_sdk_and_have_a_price(vendor):
    if vendor.name == "anthropic":
        from anthropic.types.model import Model as literal

        known = literal.__args__[0].__args__  # type: ignore[attr-defined]
    else:
        from openai.types.shared.chat_model import ChatModel

        known = ChatModel.__args__  # type: ignore[attr-defined]
    assert vendor.model in known
    assert price(Counts(1000, 1000), vendor.name, vendor.model)


def test_cached_tokens_are_part_of_the_input_and_cheaper():
    model = VENDORS["anthropic"].model
    plain = price(Counts(10_000, 100), "anthropic", model)
    cached = price(Counts(10_000, 100, cached=9_000), "anthropic", model)
    written = price(Counts(10_000, 100, written=9_000), "anthropic", model)
    assert plain and cached and written
    assert cached < plain < written


def test_an_unknown_model_or_address_has_no_price():
    assert price(Counts(10, 10), "anthropic", "no-such-model-at-all") is None
    assert usage(Counts(10, 10), "", VENDORS["openai"].model).cost is None


def test_estimates_follow_the_length_of_the_text():
    assert tokens() == 0
    assert tokens("x" * 36) == 10
    assert tokens("x" * 18, "y" * 19) == 11


def test_importing_the_rooms_loads_no_sdk():
    import subprocess

    code = (
        "import sys, mak.agents, mak.providers;"
        "print([m for m in ('anthropic', 'openai', 'httpx2', 'genai_prices', 'pydantic', 'yaml')"
        " if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
