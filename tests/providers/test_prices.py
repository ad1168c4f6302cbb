"""What a call costs, where somebody knows."""

from __future__ import annotations

import sys

import pytest

from mak.providers.endpoints import PRESETS, Price
from mak.providers.prices import Counts, Tariff, price, tokens


@pytest.mark.parametrize("name", ["anthropic", "openai"])
def test_default_models_are_known_to_the_sdk(name):
    if name == "anthropic":
        from anthropic.types.model import Model as literal

        known = literal.__args__[0].__args__  # type: ignore[attr-defined]
    else:
        from openai.types.shared.chat_model import ChatModel

        known = ChatModel.__args__  # type: ignore[attr-defined]
    assert PRESETS[name].model in known


def test_cached_tokens_are_part_of_the_input_and_cheaper():
    model = PRESETS["anthropic"].model
    plain = price(Counts(10_000, 100), "anthropic", model)
    cached = price(Counts(10_000, 100, cached=9_000), "anthropic", model)
    written = price(Counts(10_000, 100, written=9_000), "anthropic", model)
    assert plain and cached and written
    assert cached < plain < written


def test_an_unknown_model_or_address_has_no_price():
    assert price(Counts(10, 10), "anthropic", "no-such-model-at-all") is None
    assert Tariff().usage(Counts(10, 10), PRESETS["openai"].model).cost is None


def test_a_configured_price_comes_before_the_table():
    mine = Tariff(Price(2.0, 10.0, cached=0.5), "anthropic")
    counts = Counts(1_000_000, 100_000, cached=600_000)
    assert mine.cost(counts, PRESETS["anthropic"].model) == pytest.approx(0.8 + 0.3 + 1.0)
    assert Tariff(Price(2.0, 10.0)).cost(counts, "x") == pytest.approx(3.0)


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
