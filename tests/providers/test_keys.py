"""A key goes to its vendor, or where a person sent it, and nowhere else: no text holds it."""

from __future__ import annotations

import logging
import traceback
from dataclasses import replace

import anyio
import pytest

from mak.errors import UsageError
from mak.providers import Policy, open_client
from mak.providers.access import Access, access
from mak.providers.connect import close, is_loopback, shown
from mak.providers.endpoints import PRESETS
from mak.providers.request import NoAnswer, Request, Stop
from mak.providers.setup import Setup
from tests.providers.conftest import KEY, QUICK
from tests.providers.fake import Turn


def opened(name: str) -> Access:
    return access(PRESETS[name], Setup())


@pytest.mark.parametrize(
    ("name", "variable"),
    [(each.id, each.key_names[0]) for each in PRESETS.values() if each.key_needed and each.model],
)
@pytest.mark.parametrize("value", [None, "", "  \n"])
def test_a_missing_key_is_a_usage_error_that_names_it_and_the_way_without(
    monkeypatch, name, variable, value
):
    if value is None:
        monkeypatch.delenv(variable, raising=False)
    else:
        monkeypatch.setenv(variable, value)
    with pytest.raises(UsageError) as caught:
        open_client(name, Policy())
    assert variable in str(caught.value)
    assert "builtin" in caught.value.hint


@pytest.mark.parametrize("value", ["sk-a b", "sk-é", "sk-\x7f"])
def test_a_key_that_cannot_be_one_is_refused_without_showing_it(monkeypatch, value):
    monkeypatch.setenv("OPENAI_API_KEY", value)
    with pytest.raises(UsageError) as caught:
        open_client("openai", Policy())
    assert value not in f"{caught.value} {caught.value.hint}"


def test_a_key_is_read_without_the_line_break_that_files_end_with(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-abc\n")
    assert opened("openai").key == "sk-abc"


def test_a_vendors_key_goes_to_the_vendor_or_where_its_variable_sends_it(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "https://gateway.example/v1")
    found = opened("openai")
    assert (found.url, found.tariff.priced_as) == (PRESETS["openai"].url, "openai")
    monkeypatch.setenv("OPENAI_BASE_URL", "https://gateway.example/v1")
    found = opened("openai")
    assert (found.url, found.key) == ("https://gateway.example/v1", KEY)
    assert found.tariff.priced_as == ""


# I18
def test_a_local_server_never_gets_a_vendors_key(make_wire, monkeypatch):
    wire = make_wire("local")
    wire.ask()
    monkeypatch.setenv("MAK_API_KEY", "own-key")
    wire.ask()
    assert [seen.headers["authorization"] for seen in wire.seen] == [
        "Bearer not-needed",
        "Bearer own-key",
    ]
    assert KEY not in str(wire.seen)


def test_no_other_credential_of_this_machine_is_used(wire, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "token-from-elsewhere")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    wire.ask()
    assert wire.seen[0].headers["authorization"] == f"Bearer {KEY}"


# I18
@pytest.mark.parametrize("status", [400, 401, 429, 500])
def test_no_error_log_or_traceback_holds_the_key(wire, caplog, capfd, status):
    """Servers repeat what they were sent; loggers and tracebacks repeat what servers say."""
    caplog.set_level(logging.DEBUG)
    body = {"error": {"message": f"Incorrect API key provided: {KEY}.", "type": "x", "code": KEY}}
    wire.answers(*[Turn(status=status, body=body)] * 3)
    with pytest.raises(NoAnswer) as caught:
        wire.ask(policy=replace(QUICK, retries=1))
    error = caught.value
    texts = [str(error), repr(error), error.hint, str(vars(error)), caplog.text]
    texts += traceback.format_exception(error)
    texts += capfd.readouterr()
    assert not any(KEY in text for text in texts)
    assert "[redacted]" in str(error)


def test_no_object_shows_the_key(wire):
    client = wire.client()
    provider = client.provider
    shown_ = [repr(client), repr(provider), repr(provider._access), str(provider.endpoint)]
    assert not any(KEY in text for text in shown_)


def test_a_password_in_a_url_is_not_shown(server, monkeypatch):
    url = server.root.replace("http://", "http://ada:s3cret-pw@")
    server.turns += [Turn(status=400, body={"error": {"message": f"bad url {url}"}})]
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    client = open_client("openai:m", QUICK)

    async def main() -> None:
        try:
            await client.complete(Request("", "", "x"))
        finally:
            await close()

    with pytest.raises(NoAnswer) as caught:
        anyio.run(main)
    assert "s3cret-pw" not in str(caught.value)
    assert shown(url) == server.root


def test_a_proxy_is_not_asked_for_this_machine(wire, monkeypatch, free_port):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_port}")
    assert wire.ask().stop is Stop.DONE


def test_loopback_addresses_are_known():
    for url in (
        "http://127.0.0.1:8080",
        "http://[::1]/v1",
        "http://localhost:1",
        "http://127.9.9.9",
    ):
        assert is_loopback(url)
    for url in ("https://api.openai.com/v1", "http://192.168.0.2", "http://localhost.evil.com", ""):
        assert not is_loopback(url)


def test_connections_are_opened_anew_in_another_event_loop(wire):
    client = wire.client()
    assert wire.ask(client).stop is Stop.DONE
    assert wire.ask(client).stop is Stop.DONE
