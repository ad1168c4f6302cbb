"""What goes wrong on the way: asked again where it may pass, clearly final where it may not."""

from __future__ import annotations

import email.utils
import time
from dataclasses import replace

import pytest

from mak.errors import AgentErrorKind as Kind
from mak.providers import Setup, open_client
from mak.providers.endpoints import Endpoint
from mak.providers.endpoints import Wire as EndpointWire
from mak.providers.faults import retry_after
from mak.providers.policy import Policy
from mak.providers.request import NoAnswer, Stop
from tests.providers.conftest import QUICK, Wire
from tests.providers.fake import FakeServer, Turn

FEW = replace(QUICK, retries=2)


def failure(status: int, message: str = "as told", **more: str) -> Turn:
    error = {"type": "some_error", "message": message, **more}
    return Turn(status=status, body={"type": "error", "error": error})


FINAL = {
    "401": (failure(401, "invalid x-api-key"), Kind.AUTH),
    "403": (failure(403), Kind.AUTH),
    "402": (failure(402), Kind.BILLING),
    "404": (failure(404, "model: nope"), Kind.NOT_FOUND),
    "400": (failure(400, "messages: at least one"), Kind.BAD_REQUEST),
    "413": (failure(413), Kind.CONTEXT),
    "422": (failure(422), Kind.BAD_REQUEST),
    "400 context": (failure(400, "prompt is too long: 210000 tokens"), Kind.CONTEXT),
    "400 credit": (failure(400, "Your credit balance is too low to access"), Kind.BILLING),
    "429 quota": (failure(429, "You exceeded it", code="insufficient_quota"), Kind.BILLING),
    "302": (
        Turn(status=302, body=b"", headers={"location": "https://elsewhere.example/"}),
        Kind.BAD_REQUEST,
    ),
}


@pytest.mark.parametrize("name", FINAL)
def test_what_cannot_pass_is_final_at_the_first_call(wire, name):
    turn, kind = FINAL[name]
    wire.answers(*[turn] * 3)
    with pytest.raises(NoAnswer) as caught:
        wire.ask()
    error = caught.value
    assert (error.kind, len(wire.seen)) == (kind, 1)
    assert error.status == turn.status
    assert str(error).startswith(f"asking model-x at {wire.server.root}")
    assert f"HTTP {turn.status}" in str(error)


HINTS = {
    "a key that is refused": ("openai:m", {"OPENAI_API_KEY": "k" * 9}, 401, "in OPENAI_API_KEY"),
    "no key, where one is known": ("vllm:m", {}, 401, "wants a key: mak keys set VLLM_API_KEY"),
    "no key, at a URL": ("local:m@{root}/v1", {}, 403, "wants a key: mak keys set MAK_API_KEY"),
    "no key, and none named": ("mine:m", {}, 401, "wants a key: mak endpoint add ID"),
    "no such page": ("local:m@{root}", {}, 404, "base URL, which mostly ends in /v1"),
    "no such model": ("local:m@{root}/v1", {}, 404, "check the model's name (m) and the base URL"),
}


@pytest.mark.parametrize("name", HINTS)
def test_what_is_refused_says_what_to_do(server, name):
    spec, keys, status, hint = HINTS[name]
    base = f"{server.root}/v1"
    mine = Endpoint("mine", EndpointWire.OPENAI, base)
    variables = {"OPENAI_BASE_URL": base, "VLLM_BASE_URL": base, **keys}
    client = open_client(
        spec.format(root=server.root), QUICK, Setup(own={"mine": mine}, variables=variables)
    )
    server.turns.append(failure(status))
    with pytest.raises(NoAnswer) as caught:
        Wire("", server).ask(client)
    assert hint in caught.value.hint
    assert caught.value.hint.endswith("/v1") is (name == "no such page")


def test_a_spend_limit_of_the_organisation_is_final(make_wire):
    wire = make_wire("anthropic")
    details = {"error_code": "contract_spend_limit_reached"}
    error = {"type": "rate_limit_error", "message": "limit", "details": details}
    wire.answers(*[Turn(status=429, body={"type": "error", "error": error})] * 2)
    with pytest.raises(NoAnswer) as caught:
        wire.ask()
    assert (caught.value.kind, len(wire.seen)) == (Kind.BILLING, 1)
    assert "add credit" in caught.value.hint


PASSING = {
    "408": (failure(408), Kind.TRANSIENT),
    "409": (failure(409), Kind.TRANSIENT),
    "429": (failure(429), Kind.RATE_LIMITED),
    "500": (failure(500), Kind.TRANSIENT),
    "502 page": (
        Turn(status=502, body=b"<html><b>Bad gateway</b></html>", content_type="text/html"),
        Kind.TRANSIENT,
    ),
    "503": (failure(503), Kind.OVERLOADED),
    "529": (failure(529), Kind.OVERLOADED),
    "page with 200": (Turn(body=b"<html>hello</html>", content_type="text/html"), Kind.MALFORMED),
    "JSON with 200": (Turn(body={"id": "x"}), Kind.MALFORMED),
    "not JSON with 200": (Turn(body=b"{not json"), Kind.MALFORMED),
    "error in the stream": (
        Turn(error={"type": "overloaded_error", "message": "Overloaded"}),
        Kind.OVERLOADED,
    ),
    "quota error in the stream": (
        Turn(error={"type": "rate_limit_error", "message": "Slow down"}),
        Kind.RATE_LIMITED,
    ),
    "nameless error in the stream": (
        Turn(error={"type": "api_error", "message": "Boom"}),
        Kind.TRANSIENT,
    ),
    "cut": (Turn(cut=3, abort=True), Kind.TRANSIENT),
    "cut before anything": (Turn(cut=0, abort=True), Kind.TRANSIENT),
    "broken event": (Turn(garbage=True), Kind.MALFORMED),
}


@pytest.mark.parametrize("name", PASSING)
def test_what_may_pass_is_asked_again(wire, name):
    turn, _ = PASSING[name]
    wire.answers(turn, turn)
    assert wire.ask(policy=FEW).stop is Stop.DONE
    assert len(wire.seen) == 3


@pytest.mark.parametrize("name", PASSING)
def test_what_does_not_pass_is_given_up_with_its_reason(sse, name):
    turn, kind = PASSING[name]
    sse.answers(*[turn] * 5)
    with pytest.raises(NoAnswer) as caught:
        sse.ask(policy=FEW)
    assert (caught.value.kind, len(sse.seen)) == (kind, 3)
    assert "given up after 3 tries" in str(caught.value)
    assert len(str(caught.value)) < 500


def test_a_stream_without_events_is_no_answer(sse):
    sse.answers(*[Turn(body=b"<html>", content_type="text/event-stream")] * 3)
    if sse.name == "openai":  # No event, no finish reason.
        assert sse.ask().stop is Stop.INCOMPLETE
        return
    with pytest.raises(NoAnswer) as caught:
        sse.ask(policy=FEW)
    assert caught.value.kind is Kind.MALFORMED
    assert "held no message" in str(caught.value)


def test_a_billing_error_in_the_stream_is_final(sse):
    sse.answers(Turn(error={"type": "billing_error", "message": "No credit", "code": "x"}))
    with pytest.raises(NoAnswer) as caught:
        sse.ask()
    assert (caught.value.kind, caught.value.status) == (Kind.BILLING, None)


def test_what_a_broken_stream_had_cost_is_counted(wire):
    wire.answers(*[Turn(cut=3, abort=True)] * 3)
    with pytest.raises(NoAnswer) as caught:
        wire.ask(policy=FEW)
    assert caught.value.usage.calls == 3
    assert caught.value.usage.input > 0 and caught.value.usage.output > 0
    assert caught.value.usage.estimated


def test_the_pause_that_the_endpoint_asks_for_is_made(wire):
    wire.answers(replace(failure(429), headers={"retry-after": "0.15"}))
    assert wire.ask().stop is Stop.DONE
    first, second = wire.seen
    assert second.at - first.at >= 0.15


def test_a_pause_beyond_the_cap_is_not_made(wire):
    wire.answers(replace(failure(429), headers={"retry-after": "600"}))
    start = time.monotonic()
    with pytest.raises(NoAnswer) as caught:
        wire.ask()
    assert time.monotonic() - start < 2
    assert "asks to wait 600 s, more than 0.5 s" in str(caught.value)
    assert (caught.value.kind, caught.value.retry_after) == (Kind.RATE_LIMITED, 600)
    assert "mak show --plan" in caught.value.hint


def test_pauses_are_read_in_all_three_forms():
    later = email.utils.formatdate(time.time() + 30, usegmt=True)
    assert retry_after({"retry-after": "7"}) == 7
    assert retry_after({"retry-after-ms": "250", "retry-after": "9"}) == 0.25
    assert 28 < (retry_after({"retry-after": later}) or 0) <= 30
    assert retry_after({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}) == 0
    for nonsense in ("", "soon", "-1", "inf", "nan"):
        assert retry_after({"retry-after": nonsense}) is None


def test_a_stream_that_only_drips_runs_into_the_deadline(wire):
    wire.answers(*[Turn("x" * 800, drip=0.02)] * 2)
    start = time.monotonic()
    with pytest.raises(NoAnswer) as caught:
        wire.ask(policy=replace(QUICK, deadline=0.2, retries=1))
    assert time.monotonic() - start < 5
    assert caught.value.kind is Kind.TIMEOUT
    assert "within 0.2 s" in str(caught.value)
    assert caught.value.usage.calls >= 1


def test_all_tries_together_have_a_deadline_too(wire):
    wire.answers(*[Turn("x" * 800, drip=0.02)] * 9)
    with pytest.raises(NoAnswer) as caught:
        wire.ask(policy=replace(QUICK, deadline=0.1, total=0.6))
    assert caught.value.kind is Kind.TIMEOUT
    assert "no answer within 0.6 s; at last: the answer was not complete" in str(caught.value)
    assert caught.value.usage.calls >= 1


def test_silence_is_a_timeout(wire):
    wire.answers(Turn("x" * 16, drip=0.5))
    with pytest.raises(NoAnswer) as caught:
        wire.ask(policy=replace(QUICK, idle=0.1, retries=0))
    assert caught.value.kind is Kind.TIMEOUT


def test_nobody_listening_is_said_with_the_address(wire, monkeypatch, free_port):
    address = f"http://127.0.0.1:{free_port}"
    monkeypatch.setenv("ANTHROPIC_BASE_URL", address)
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    monkeypatch.setenv("OLLAMA_HOST", address)
    with pytest.raises(NoAnswer) as caught:
        wire.ask(policy=replace(QUICK, retries=8))
    assert caught.value.kind is Kind.UNREACHABLE
    assert f"at {address}: nothing answers there: connection refused" in str(caught.value)
    assert str(caught.value).endswith("; given up after 3 tries")
    assert f"a server runs at {address}" in caught.value.hint


def test_a_host_that_is_none_is_given_up_within_seconds(make_wire, monkeypatch):
    wire = make_wire("openai")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://no-such-host.invalid/v1")
    with pytest.raises(NoAnswer) as caught:
        wire.ask(policy=QUICK)
    assert caught.value.kind is Kind.UNREACHABLE
    assert "nothing answers there: " in str(caught.value)


def test_pages_instead_of_answers_are_given_up_within_two_seconds():
    patient = Policy()
    pauses = [patient.backoff * 2**n for n in range(patient.retries_malformed)]
    assert sum(pauses) <= 2


def test_waiting_for_an_address_where_nobody_is_takes_four_seconds_at_most():
    patient = Policy()
    pauses = [patient.backoff * 2**n for n in range(patient.retries_unreachable)]
    assert sum(pauses) <= 4


def test_a_url_that_is_none_is_said(make_wire, monkeypatch):
    wire = make_wire("openai")
    monkeypatch.setenv("OPENAI_BASE_URL", "ftp://127.0.0.1/v1")
    with pytest.raises(NoAnswer) as caught:
        wire.ask(policy=replace(QUICK, retries=0))
    assert caught.value.kind in (Kind.BAD_REQUEST, Kind.TRANSIENT)


def test_an_answer_too_large_for_the_server_is_asked_for_smaller_and_that_is_kept(wire):
    too_large = failure(400, "max_tokens: 4000 > 1000, the maximum allowed number of output tokens")
    wire.answers(too_large, too_large)
    assert wire.ask(max_tokens=4096).stop is Stop.DONE
    assert [wire.room(i) for i in range(3)] == [4096, 2048, 1024]
    wire.ask(max_tokens=4096)
    assert wire.room(3) == 1024


# I18
def test_the_key_is_not_carried_to_where_a_redirect_leads(wire):
    other = FakeServer()
    try:
        location = {"location": f"{other.root}/v1/messages"}
        wire.answers(*[Turn(status=307, body=b"", headers=location)] * 2)
        with pytest.raises(NoAnswer) as caught:
            wire.ask()
        assert other.seen == []
        assert "redirected to" in str(caught.value)
    finally:
        other.close()
