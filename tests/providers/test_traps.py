"""What surprises whoever writes against the SDKs from memory, each held down where MAK meets it.

The rest of it is in the fault matrix, in `test_outcomes` (what an answer is), `test_keys` (whose
key goes where), `test_ladder` (formats) and `test_gate` (limits).
"""

from __future__ import annotations

import inspect
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import anthropic
import anyio
import httpx2
import openai
import pytest

from mak.agents.reply import reply_schema
from mak.plan import plan_reply_schema
from mak.providers import open_client
from mak.providers.connect import close, http_client
from mak.providers.ladder import strict
from mak.providers.request import NoAnswer, Published, Request, Stop
from tests.providers.conftest import KEY, QUICK, Wire
from tests.providers.fake import Turn

ROOT = Path(__file__).parents[2]
SAMPLING = {"temperature", "top_p", "top_k", "seed"}
#: They patch httpx, which the SDKs do not use: real requests would go out, unseen.
BLIND = {"respx", "pytest_httpx", "responses", "requests_mock", "vcr"}
_IMPORT = re.compile(r"^\s*(?:import|from) (\w+)", re.MULTILINE)


def imported(folder: str) -> set[str]:
    """Return the packages that are imported anywhere below a folder."""
    texts = (path.read_text("utf-8", "replace") for path in (ROOT / folder).rglob("*.py"))
    return {name for text in texts for name in _IMPORT.findall(text)}


def test_the_sdks_own_http_library_is_the_one_that_is_used():
    client = http_client("https://api.example/v1", QUICK)
    assert isinstance(client, httpx2.AsyncClient)
    for sdk in (anthropic.AsyncAnthropic, openai.AsyncOpenAI):
        assert sdk(api_key="x", base_url="https://h", http_client=client)._client is client
    assert not imported("mak/providers") & {"httpx", "requests", "aiohttp"}


def test_no_test_relies_on_a_mock_that_the_sdks_go_past():
    assert not imported("tests") & BLIND


def test_no_sampling_parameter_is_sent(wire: Wire):
    """Anthropic's SDK raises on them, and some models of OpenAI's refuse them."""
    assert "temperature" not in inspect.signature(anthropic.AsyncAnthropic.messages.func).parameters
    wire.ask()
    [seen] = wire.seen
    assert not SAMPLING & {*seen.body, *seen.body.get("options", {})}


def test_the_key_is_a_bearer_token_and_in_no_other_header(sse: Wire):
    sse.ask()
    [seen] = sse.seen
    assert [name for name, value in seen.headers.items() if KEY in value] == ["authorization"]
    assert ("anthropic-version" in seen.headers) is (sse.name == "anthropic")


@pytest.mark.parametrize("schema", [reply_schema(), plan_reply_schema()], ids=["reply", "plan"])
def test_one_schema_fits_both_vendors_strict_modes(schema: dict[str, Any]):
    """Neither vendor's own transformation has anything left to take away or to add."""
    assert strict(schema) == schema
    assert _shape(anthropic.transform_schema(schema)) == _shape(schema)


def _shape(schema: Any) -> Any:
    """Return what a schema asks for, without its words and the type that an enum has anyway."""
    if isinstance(schema, dict):
        words = {"description", "title", *(["type"] if "enum" in schema else [])}
        return {k: _shape(v) for k, v in schema.items() if k not in words}
    return [_shape(each) for each in schema] if isinstance(schema, list) else schema


def test_a_long_answer_may_be_asked_for_because_all_are_streamed(wire: Wire):
    """Without a stream Anthropic's SDK raises above 21,333 tokens."""
    assert wire.ask(max_tokens=64_000).stop is Stop.DONE
    [seen] = wire.seen
    assert seen.body["stream"] is True and wire.room(0) > 21_333


def test_no_sdk_retries_by_itself(wire: Wire):
    """They would obey a pause of a month, and repeat what cannot pass."""
    wire.answers(Turn(status=500, body={"error": {"message": "no"}}, headers={"retry-after": "0"}))
    with pytest.raises(NoAnswer):
        wire.ask(policy=replace(QUICK, retries=0))
    assert len(wire.seen) == 1


STOPS = {
    "anthropic": {
        "end_turn": Stop.DONE,
        "stop_sequence": Stop.DONE,
        "max_tokens": Stop.TRUNCATED,
        "refusal": Stop.REFUSED,
        "pause_turn": Stop.INCOMPLETE,
        "a_word_of_next_year": Stop.INCOMPLETE,
    },
    "openai": {
        "stop": Stop.DONE,
        "length": Stop.TRUNCATED,
        "content_filter": Stop.FILTERED,
        "a_word_of_next_year": Stop.INCOMPLETE,
    },
}


@pytest.mark.parametrize(
    ("name", "said"), [(n, said) for n, stops in STOPS.items() for said in stops]
)
def test_every_reason_to_stop_means_one_thing(name: str, said: str):
    """What is not known is never taken for a whole answer."""
    from mak.providers.anthropic import _STOPS as MESSAGES
    from mak.providers.openai import _STOPS as CHAT

    known = MESSAGES if name == "anthropic" else CHAT
    assert known.get(said, Stop.INCOMPLETE) is STOPS[name][said]


def test_a_list_of_models_is_read_to_its_last_page(make_wire):
    wire = make_wire("anthropic")
    one, two = ({"id": f"m{n}", "type": "model", "display_name": f"M {n}"} for n in (1, 2))
    told = {"max_input_tokens": 200_000, "max_tokens": 64_000, "lifecycle": "active"}
    able = {"structured_outputs": {"supported": True}}

    def page(query: str) -> dict[str, Any]:
        last = "after_id=m1" in query
        data = {**two, **told, "capabilities": able} if last else one
        return {"data": [data], "has_more": not last, "first_id": data["id"], "last_id": data["id"]}

    wire.server.facts["v1/models"] = page
    first, second = models(wire)
    assert (first.id, first.context, first.schema) == ("m1", None, None)
    assert second == Published("m2", "M 2", 200_000, 64_000, True, "active")


def test_what_a_list_says_about_a_model_is_a_number_or_not_said(make_wire):
    wire = make_wire("anthropic")
    listed = {"id": "m1", "display_name": 7, "max_input_tokens": "many", "max_tokens": -1}
    wire.server.facts["v1/models"] = {"data": [listed], "has_more": False}
    [found] = models(wire)
    assert (found.title, found.context, found.max_output) == ("7", None, None)


NO_LISTS: list[Any] = [
    b"<html>hello</html>",
    b"",
    b"{",
    [],
    {},
    {"data": None},
    {"data": "m"},
    {"data": ["m"]},
    {"data": [{"id": None}]},
    {"data": [{"name": "m"}]},
    {"models": None},
    {"models": [{}]},
    {"models": "m"},
]


@pytest.mark.parametrize("body", NO_LISTS, ids=repr)
def test_what_is_no_list_of_models_is_said_or_empty(wire: Wire, body: Any):
    wire.server.facts["v1/models"] = wire.server.facts["api/tags"] = body
    try:
        found = models(wire)
    except NoAnswer as error:
        assert "asking its models at http://127.0.0.1" in str(error)
    else:
        assert all(isinstance(each.id, str) and each.id for each in found)


@pytest.mark.parametrize("name", ["anthropic", "openai", "ollama"])
def test_an_endpoint_without_a_list_of_models_says_so(make_wire, name):
    with pytest.raises(NoAnswer, match="404"):
        models(make_wire(name))


def models(wire: Wire) -> tuple[Published, ...]:
    async def main() -> tuple[Published, ...]:
        try:
            return await wire.client().provider.models()
        finally:
            await close()

    return anyio.run(main)


def test_an_empty_text_is_no_block_of_a_prompt(make_wire):
    """Anthropic's API refuses empty blocks."""
    wire = make_wire("anthropic")
    client = open_client(wire.spec, QUICK)

    async def main() -> None:
        try:
            await client.complete(Request("", "", "only this"))
        finally:
            await close()

    anyio.run(main)
    [seen] = wire.seen
    assert "system" not in seen.body
    assert seen.body["messages"][0]["content"] == [{"type": "text", "text": "only this"}]


def test_a_call_that_is_cancelled_closes_its_connection(sse: Wire):
    sse.answers(Turn("x" * 400, drip=0.05))

    async def main() -> None:
        client = sse.client()
        with anyio.move_on_after(0.3) as scope:
            await client.complete(Request("", "", "x"))
        assert scope.cancelled_caught
        with anyio.fail_after(5):
            while sse.server.connections:
                await anyio.sleep(0.01)
        await close()

    anyio.run(main)
