"""What a call costs, where somebody knows."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from mak.config import EndpointSettings
from mak.errors import UsageError
from mak.providers import Limits, Policy, Session, Setup, open_client, parse
from mak.providers.access import access, list_cost
from mak.providers.endpoints import PRESETS, Price
from mak.providers.own import own
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


HERE = "http://127.0.0.1:9/v1"
GATEWAY = "https://gw.example/v1"
MODEL = PRESETS["openai"].model
#: What is asked, with what else is set, and whether it costs nothing (0), what OpenAI's list says
#: (1), what a person says (2), or what nobody knows (None).
PRICES = {
    "local by its spec": (f"local:{MODEL}@{HERE}", {}, {}, 0),
    "local by its spec, with a key": (f"local:{MODEL}@{HERE}", {"MAK_API_KEY": "k" * 9}, {}, 0),
    "a preset for servers": (f"vllm:{MODEL}", {"VLLM_BASE_URL": HERE}, {}, 0),
    "ollama elsewhere": (f"ollama:{MODEL}@http://box:11434", {}, {}, 0),
    "an endpoint here": (f"mine:{MODEL}", {}, {"url": HERE}, 0),
    "one that is said to be local": (f"mine:{MODEL}", {}, {"url": GATEWAY, "local": True}, 0),
    "one here that wants a key": (f"mine:{MODEL}", {}, {"url": HERE, "key": "MY_KEY"}, None),
    "one elsewhere": (f"mine:{MODEL}", {}, {"url": GATEWAY}, None),
    "one at a vendor's host": (f"mine:{MODEL}", {}, {"url": PRESETS["openai"].url}, 1),
    "a vendor": (f"openai:{MODEL}", {}, {}, 1),
    "a vendor, moved here": (f"openai:{MODEL}", {"OPENAI_BASE_URL": HERE}, {}, None),
    "a vendor, moved": (f"openai:{MODEL}", {"OPENAI_BASE_URL": GATEWAY}, {}, None),
    "one that is priced": (
        f"mine:{MODEL}",
        {},
        {"url": HERE, "prices": {"*": {"input": 1.0, "output": 1.0}}},
        2,
    ),
}


@pytest.mark.parametrize("name", PRICES)
def test_one_place_says_what_a_model_costs(name):
    """The estimate, the list of models, the check before a run and the bill are of one mind."""
    text, variables, settings, whose = PRICES[name]
    mine = {"mine": own("mine", EndpointSettings(**settings))} if settings else {}
    keys = {"MY_KEY": "k" * 9, "OPENAI_API_KEY": "k" * 9}
    setup = Setup(own=mine, variables={**keys, **variables})
    spec = parse(text, setup)
    counts = Counts(1_000_000, 0)
    wanted = {0: 0.0, 1: price(counts, "openai", MODEL), 2: 1.0, None: None}[whose]
    found = list_cost(spec, counts, setup)
    assert found == wanted
    assert access(spec.endpoint, setup, spec.rest).tariff.usage(counts, spec.rest).cost == found
    limited = Session(Limits(usd=1.0))
    if found is None:
        with pytest.raises(UsageError, match=r"max_usd is set, and the price of .* is not known"):
            open_client(spec, Policy(), setup, limited)
        # Whatever it is, a person may say it.
        setup = replace(setup, prices={spec.label: Price(0.0, 0.0)})
    assert open_client(spec, Policy(), setup, limited).price(counts) == (found or 0.0)


def test_what_a_gateway_answers_with_does_not_change_a_known_price():
    tariff, counts = Tariff(priced_as="openai"), Counts(1000, 1000)
    asked = tariff.cost(counts, MODEL)
    assert tariff.usage(counts, MODEL, "no-such-model").cost == asked
    assert tariff.usage(counts, "auto", MODEL).cost == asked


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
