"""Presets are data, and what they say holds together."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest

from mak.providers.endpoints import PRESETS, Endpoint, Price, Wire
from mak.providers.prices import Counts, price
from mak.providers.setup import Setup


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_usable_as_it_stands(name):
    preset = PRESETS[name]
    assert preset.id == name and ":" not in name and "@" not in name
    parts = urlsplit(preset.url)
    assert parts.hostname == "127.0.0.1" if preset.local else parts.scheme == "https"
    assert preset.title and preset.key_names and preset.url_name
    assert preset.key_needed is not preset.local


@pytest.mark.parametrize("name", [name for name, preset in PRESETS.items() if preset.model])
def test_a_default_model_has_a_price(name):
    preset = PRESETS[name]
    assert price(Counts(1000, 1000), preset.priced_as, preset.model)


def test_no_two_presets_share_a_key():
    names = [variable for preset in PRESETS.values() for variable in preset.key_names]
    assert len(names) == len({*names})


def test_an_endpoint_of_a_person_hides_the_preset_of_its_id():
    mine = Endpoint("groq", Wire.OPENAI, "https://gateway.example/v1")
    assert Setup(own={"groq": mine}).endpoints["groq"] is mine
    assert Setup().endpoints == PRESETS


def test_a_price_is_found_by_model_and_else_for_all():
    low, high = Price(1, 2), Price(3, 4)
    mine = Endpoint("e", Wire.OPENAI, "https://e", prices=(("a", low), ("*", high)))
    assert (mine.price("a"), mine.price("b"), PRESETS["openai"].price("x")) == (low, high, None)
