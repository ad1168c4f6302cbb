from __future__ import annotations

from typing import get_args

import pytest

from mak.config import EndpointSettings
from mak.config.endpoints import Format
from mak.errors import UsageError
from mak.providers.access import tariff
from mak.providers.endpoints import PRESETS, Endpoint, Price, Wire
from mak.providers.own import own, settings_of
from mak.providers.request import Encoding, Rung
from mak.providers.setup import Setup
from mak.providers.spec import RESERVED, parse


def test_settings_say_the_words_that_endpoints_have() -> None:
    wires = EndpointSettings.model_fields["wire"].annotation
    assert {*get_args(wires)} == {*Wire}
    assert {*get_args(Format)} == {*Rung}


def test_everything_that_is_written_down_holds() -> None:
    settings = EndpointSettings(
        url="https://gw.example/v1/",
        wire="anthropic",
        title="Ours",
        model="m",
        key="GW_KEY",
        headers={"X-Team": "t"},
        prices={"m": {"input": 1, "output": 2, "cached": 0.5}},  # type: ignore[dict-item]
        context=1000,
        max_output=100,
        formats=("tool", "prompt"),
        envelope=True,
    )
    assert own("gw", settings) == Endpoint(
        "gw",
        Wire.ANTHROPIC,
        "https://gw.example/v1",
        title="Ours",
        model="m",
        key_names=("GW_KEY",),
        key_needed=True,
        headers=(("X-Team", "t"),),
        rungs=(Rung.TOOL, Rung.PROMPT),
        encoding=Encoding.ENVELOPE,
        prices=(("m", Price(1, 2, 0.5)),),
        context=1000,
        max_output=100,
    )


@pytest.mark.parametrize("id", RESERVED)
def test_what_a_spec_begins_with_already_is_no_id(id: str) -> None:
    with pytest.raises(UsageError, match="mean something else already"):
        own(id, EndpointSettings(url="https://gw.example/v1"))


@pytest.mark.parametrize("preset", PRESETS.values(), ids=list(PRESETS))
def test_an_endpoint_that_begins_with_a_preset_is_asked_like_it(preset: Endpoint) -> None:
    mine = own("mine", settings_of(preset))
    assert (mine.wire, mine.url, mine.model) == (preset.wire, preset.url.rstrip("/"), preset.model)
    assert (mine.rungs, mine.local) == (preset.rungs, preset.local)
    setup = Setup(own={"mine": mine}, variables={})
    assert tariff(mine, setup, "x").priced_as == ("" if preset.local else preset.priced_as)


def test_an_id_works_where_a_providers_name_does() -> None:
    endpoint = own("gw", EndpointSettings(url="https://gw.example/v1", model="a/b:c"))
    setup = Setup(own={"gw": endpoint}, variables={})
    assert parse("gw", setup).rest == "a/b:c"
    assert parse("gw:d:e", setup).rest == "d:e"


def test_a_server_on_this_machine_costs_nothing() -> None:
    endpoint = own("mine", EndpointSettings(url="http://127.0.0.1:9/v1"))
    assert endpoint.local
    assert endpoint.free
    assert not own("gw", EndpointSettings(url="https://gw.example/v1")).local
