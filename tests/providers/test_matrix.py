"""Every fault, over every wire and every way of asking for JSON: its outcome, its price, no key.

A row is what the endpoint does; a column is a wire and a rung. In each cell: what comes out, how
many requests it took, how many answers were counted, how long it took at most, and that the key is
nowhere to be seen, though the endpoint repeats it in every error.
"""

from __future__ import annotations

import email.utils
import importlib
import json
import logging
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import pytest

from mak.agents.reply import find_json
from mak.errors import AgentErrorKind as Kind
from mak.providers import Client, Session, Setup, open_client
from mak.providers.ladder import Ladder
from mak.providers.learned import Learned
from mak.providers.request import NoAnswer, Rung, Stop
from tests.providers.conftest import QUICK
from tests.providers.fake import ANSWER, Turn
from tests.providers.test_secrets import CANARIES

KEY = CANARIES["anthropic"]
#: Two retries of what may pass; nothing waits for long.
FEW = replace(QUICK, retries=2, deadline=3, max_wait=0.5)
GOOD = Turn()
RUNGS = {
    "anthropic": (Rung.JSON_SCHEMA, Rung.TOOL, Rung.PROMPT),
    "openai": (Rung.JSON_SCHEMA, Rung.JSON_OBJECT_SCHEMA, Rung.JSON_OBJECT, Rung.PROMPT),
    "ollama": (Rung.JSON_SCHEMA, Rung.JSON_OBJECT, Rung.PROMPT),
}
COLUMNS = [(wire, rung) for wire, rungs in RUNGS.items() for rung in rungs]
ALL = "any"


def http(status: int, said: str = "as told", *, after: str = "", **more: str) -> Turn:
    """Return an error as vendors write it; like some of them, it repeats the key."""
    error = {"type": "some_error", "message": f"{said} (key {KEY})", **more}
    headers = {"retry-after": after} if after else {}
    return Turn(status=status, body={"type": "error", "error": error}, headers=headers)


@dataclass(frozen=True)
class Row:
    """What the endpoint answers, and what has to come of it."""

    turns: Callable[[], list[Turn]]
    #: By wire where they differ.
    ends: Stop | Kind | Mapping[str, Stop | Kind]
    requests: int = 1
    #: Answers that were begun, and so are paid for.
    counted: int = 0
    seconds: float = 10.0
    policy: Mapping[str, float] = field(default_factory=dict)


def once(turn: Turn) -> Callable[[], list[Turn]]:
    return lambda: [turn, GOOD]


def always(turn: Turn) -> Callable[[], list[Turn]]:
    return lambda: [turn] * 9


def passing(turn: Turn, kind: Kind, counted: int = 0) -> dict[str, Row]:
    """Return rows for a fault that passes, and for the same one that does not."""
    return {
        "once": Row(once(turn), Stop.DONE, 2, counted + 1),
        "always": Row(always(turn), kind, 3, 3 * counted),
    }


def dated(seconds: float) -> str:
    return email.utils.formatdate(time.time() + seconds, usegmt=True)


LATER = 600
ROWS: dict[str, Row] = {
    "401": Row(always(http(401, "invalid x-api-key")), Kind.AUTH),
    "402": Row(always(http(402)), Kind.BILLING),
    "429 quota": Row(always(http(429, "exceeded", code="insufficient_quota")), Kind.BILLING),
    "404": Row(always(http(404, "model: nope")), Kind.NOT_FOUND),
    "413": Row(always(http(413)), Kind.CONTEXT),
    "422": Row(always(http(422)), Kind.BAD_REQUEST),
    "context overflow": Row(
        always(http(400, "prompt is too long: 210000 tokens > 200000")), Kind.CONTEXT
    ),
    "window outgrown": Row(
        always(Turn(ANSWER[:4], "context")),
        # The others call it what they call an answer that is too long.
        {"anthropic": Kind.CONTEXT, "openai": Stop.TRUNCATED, "ollama": Stop.TRUNCATED},
        requests=-1,
        counted=-1,
    ),
    **{
        f"{status} {often}": row
        for status, kind in (
            (408, Kind.TRANSIENT),
            (409, Kind.TRANSIENT),
            (500, Kind.TRANSIENT),
            (503, Kind.OVERLOADED),
            (529, Kind.OVERLOADED),
        )
        for often, row in passing(http(status), kind).items()
    },
    "429 seconds": Row(once(http(429, after="0.05")), Stop.DONE, 2, 1),
    "429 date": Row(lambda: [http(429, after=dated(-3)), GOOD], Stop.DONE, 2, 1),
    "429 date, later": Row(lambda: [http(429, after=dated(30))] * 9, Kind.RATE_LIMITED),
    "429 absent": Row(once(http(429)), Stop.DONE, 2, 1),
    "429 always": Row(always(http(429)), Kind.RATE_LIMITED, 3),
    "429 ten minutes": Row(always(http(429, after=str(LATER))), Kind.RATE_LIMITED),
    **{
        f"error event {often}": row
        for often, row in passing(
            Turn(error={"type": "overloaded_error", "message": f"busy, {KEY}"}), Kind.OVERLOADED, 1
        ).items()
    },
    **{
        f"cut {often}": row
        for often, row in passing(Turn(cut=3, abort=True), Kind.TRANSIENT, 1).items()
    },
    "silent end once": Row(once(Turn(cut=3)), Stop.DONE, 2, 2),
    "silent end always": Row(always(Turn(cut=3)), Stop.INCOMPLETE, 3, 3),
    "HTML with 200": Row(
        always(Turn(body=f"<html>{KEY}</html>".encode(), content_type="text/html")),
        Kind.MALFORMED,
        3,
        seconds=3,
    ),
    "HTML with 200 once": Row(
        once(Turn(body=b"<html></html>", content_type="text/html")), Stop.DONE, 2, 1
    ),
    "bad JSON with 200": Row(always(Turn(body=b"{not json")), Kind.MALFORMED, 3, seconds=3),
    "whole instead of a stream": Row(always(Turn(whole=True)), Stop.DONE, 1, 1),
    "whole, cut off": Row(always(Turn(ANSWER[:4], "truncated", whole=True)), Stop.TRUNCATED, 1, 1),
    "whole, nothing in it": Row(always(Turn("", whole=True)), Stop.EMPTY, 1, 1),
    "whole, of another shape": Row(
        always(Turn(body={"choices": [{}], "content": 7})), Kind.MALFORMED, 3, seconds=3
    ),
    "an error with 200": Row(
        once(Turn(body={"error": {"type": "overloaded_error", "message": f"busy, {KEY}"}})),
        Stop.DONE,
        2,
        1,
    ),
    "no credit, with 200": Row(
        always(Turn(body={"error": {"code": "insufficient_quota", "message": "none"}})),
        Kind.BILLING,
    ),
    "bad JSON in the stream": Row(once(Turn(garbage=True)), Stop.DONE, 2, 2),
    "bad JSON as the answer": Row(always(Turn('{"ok": [oops')), Stop.DONE, 1, 1),
    "raw control characters": Row(always(Turn('{"ok": "a\tb\nc"}')), Stop.DONE, 1, 1),
    "empty": Row(always(Turn("")), Stop.EMPTY, 1, 1),
    "refusal": Row(
        always(Turn("", "refused", refusal=f"Not this, {KEY}.")),
        {"anthropic": Stop.REFUSED, "openai": Stop.REFUSED, "ollama": Stop.EMPTY},
        1,
        1,
    ),
    "content filter": Row(
        always(Turn(ANSWER[:4], "filtered")),
        {"anthropic": Stop.REFUSED, "openai": Stop.FILTERED, "ollama": Stop.DONE},
        1,
        1,
    ),
    "max_tokens": Row(always(Turn(ANSWER[:4], "truncated")), Stop.TRUNCATED, 1, 1),
    "slow drip": Row(
        always(Turn("x" * 800, drip=0.02)),
        Kind.TIMEOUT,
        1,
        1,
        policy={"deadline": 0.15, "retries": 0},
    ),
    "silence": Row(
        always(Turn("x" * 16, drip=0.4)),
        Kind.TIMEOUT,
        1,
        -1,
        policy={"idle": 0.1, "retries": 0},
    ),
}
#: Only the wires whose streams have words for it say that they are overloaded.
ERROR_EVENT = {"ollama": Kind.TRANSIENT}


@pytest.fixture(scope="module", autouse=True)
def imported() -> None:
    """The SDKs take longer to import than any cell may take."""
    for name in ("anthropic", "openai", "ollama"):
        importlib.import_module(f"mak.providers.{name}")


@pytest.fixture
def cell(request, make_wire, monkeypatch, tmp_path, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    name, rung = request.param
    wire = make_wire(name)
    for variable in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OLLAMA_API_KEY"):
        monkeypatch.setenv(variable, KEY)
    setup = Setup(learned=tmp_path / "learned.json", record=tmp_path / "record.jsonl")
    session = Session()

    def client(policy) -> Client:
        made = open_client(wire.spec, policy, setup, session)
        steps = RUNGS[name][RUNGS[name].index(rung) :]
        known = Learned(setup.learned)
        return replace(made, ladder=Ladder(steps, learned=known, about=("e", "m")))

    yield wire, rung, client, session
    texts = [path.read_text() for path in tmp_path.iterdir()]
    texts += [caplog.text, *capfd.readouterr()]
    assert not any(KEY in text for text in texts)
    if wire.server.seen:
        assert all(seen.headers["authorization"] == f"Bearer {KEY}" for seen in wire.server.seen)


def outcome(wire, client: Client):
    """Ask; return what came out, its usage, and everything that it says."""
    try:
        got = wire.ask(client)
    except NoAnswer as error:
        said = [str(error), repr(error), error.hint, str(vars(error))]
        return error.kind, error.usage, [*said, *traceback.format_exception(error)], error
    return got.stop, got.usage, [repr(got)], got


@pytest.mark.parametrize("cell", COLUMNS, indirect=True, ids=lambda column: "-".join(column))
@pytest.mark.parametrize("name", ROWS)
def test_a_fault_has_one_outcome(cell, name):
    row = ROWS[name]
    wire, _, client, session = cell
    turns = row.turns()
    wire.answers(*turns)
    start = time.monotonic()
    ended, usage, said, got = outcome(wire, client(replace(FEW, **row.policy)))
    assert time.monotonic() - start < row.seconds
    wanted = row.ends[wire.name] if isinstance(row.ends, Mapping) else row.ends
    if name == "error event always":
        wanted = ERROR_EVENT.get(wire.name, wanted)
    assert ended is wanted
    if row.requests >= 0:
        assert len(wire.seen) == row.requests
    if row.counted >= 0:
        assert usage.calls == row.counted
    assert usage.calls <= wire.server.streams
    assert (usage.input > 0) == (usage.calls > 0)
    assert session.spent == usage
    assert not any(KEY in text for text in said)
    if isinstance(ended, Kind):
        assert got.hint or ended is Kind.BAD_REQUEST
    # Nothing here is about the format, so that the way of asking stays.
    assert len({json.dumps(seen.body.get("response_format")) for seen in wire.seen}) == 1
    match name:
        case "raw control characters":
            assert find_json(got.text) == {"ok": "a\tb\nc"}
        case "bad JSON as the answer":
            with pytest.raises(ValueError):
                find_json(got.text)
        case "429 ten minutes":
            assert got.retry_after == LATER
            assert f"{LATER} s" in str(got)


UNSUPPORTED = {
    "400": (400, "response_format.type must be text"),
    "422": (422, "Failed to parse grammar"),
    "500": (500, "1 validation error: body -> response_format -> literal_error"),
}


@pytest.mark.parametrize("cell", COLUMNS, indirect=True, ids=lambda column: "-".join(column))
@pytest.mark.parametrize("name", UNSUPPORTED)
def test_an_unsupported_format_steps_down_and_is_no_retry(cell, name):
    wire, rung, client, _ = cell
    wire.answers(http(*UNSUPPORTED[name]))
    asked = client(replace(FEW, retries=0))
    ended, usage, said, got = outcome(wire, asked)
    assert not any(KEY in text for text in said)
    if rung is Rung.PROMPT:
        assert ended is (Kind.TRANSIENT if name == "500" else Kind.BAD_REQUEST)
        assert len(wire.seen) == 1
        return
    steps = RUNGS[wire.name]
    assert (ended, got.rung) == (Stop.DONE, steps[steps.index(rung) + 1])
    assert (len(wire.seen), usage.calls) == (2, 1)
    # The lesson is kept, without the key.
    assert "refused" in asked.ladder._learned.path.read_text()


def test_the_matrix_names_every_wire_and_rung(make_wire):
    for name, rungs in RUNGS.items():
        assert make_wire(name).client().provider.rungs == rungs
