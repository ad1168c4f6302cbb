from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from mak.cli.main import main
from mak.config import Config, parse_document, validate
from tests.providers.fake import FakeServer, Turn

Capture = pytest.CaptureFixture[str]
KEY = "sk-canary-0123456789abcdef"
ADD = ["endpoint", "add", "work", "--url", "https://gw.example/v1", "--key", "WORK_KEY"]


@pytest.fixture
def server() -> Iterator[FakeServer]:
    fake = FakeServer()
    yield fake
    fake.close()


def kept(person: Path) -> dict[str, object]:
    return json.loads((person / "endpoints.json").read_text())["endpoints"]  # type: ignore[no-any-return]


def test_an_endpoint_is_added_changed_shown_and_removed(person: Path, capsys: Capture) -> None:
    more = ["--model", "m", "--price", "1,2", "--price", "big=3,4,0.5", "--header", "X-Team=t"]
    assert main([*ADD, *more, "--context", "32768"]) == 0
    assert "Next: mak keys set WORK_KEY" in capsys.readouterr().err
    assert stat.S_IMODE((person / "endpoints.json").stat().st_mode) == 0o600
    work = {
        "url": "https://gw.example/v1",
        "model": "m",
        "key": "WORK_KEY",
        "headers": {"X-Team": "t"},
        "prices": {
            "*": {"input": 1.0, "output": 2.0},
            "big": {"input": 3.0, "output": 4.0, "cached": 0.5},
        },
        "context": 32768,
    }
    assert kept(person) == {"work": work}
    assert main(["endpoint", "edit", "work", "--model", "n", "--max-output", "100"]) == 0
    capsys.readouterr()
    assert main(["endpoint", "show", "work", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "work": {**work, "model": "n", "max_output": 100}
    }
    assert main(["endpoint", "remove", "work"]) == 0
    assert kept(person) == {}


def test_an_endpoint_begins_with_a_preset_or_another_one(person: Path) -> None:
    proxy = ["--url", "https://proxy.example"]
    assert main(["endpoint", "add", "mine", "--from", "anthropic", *proxy]) == 0
    assert main(["endpoint", "add", "again", "--from", "mine", "--model", "m"]) == 0
    again = kept(person)["again"]
    assert again == {
        "url": "https://proxy.example",
        "wire": "anthropic",
        "title": "Anthropic",
        "model": "m",
        "key": "ANTHROPIC_API_KEY",
    }


def test_what_is_exported_stands_in_a_configuration_and_holds_no_key(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORK_KEY", KEY)
    assert main(ADD) == 0
    capsys.readouterr()
    assert main(["endpoint", "export"]) == 0
    out, err = capsys.readouterr()
    assert KEY not in out + err
    config = validate(Config, parse_document(out, "c.yaml"), "c.yaml", out)
    assert config.endpoints["work"].url == "https://gw.example/v1"
    assert "whoever uses it sets WORK_KEY" in err
    assert main(["endpoint", "export", "groq", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["endpoints"]["groq"]["key"] == "GROQ_API_KEY"


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (ADD, "work is there already"),
        (["endpoint", "add", "x"], "--url is missing"),
        (["endpoint", "add", "x", "--url", "https://h", "--key", KEY], "name of an environment"),
        (["endpoint", "add", "x", "--url", f"https://h/{KEY}"], "looks like a key"),
        (["endpoint", "add", "x", "--url", "https://h", "--header", f"A={KEY}"], "like a key"),
        (["endpoint", "add", "x", "--url", "https://h", "--header", "Authorization=a"], "secret"),
        (["endpoint", "add", "x", "--url", "https://h", "--model", KEY], "looks like a key"),
        (["endpoint", "add", "x", "--url", "https://h", "--price", "cheap"], "--price cheap"),
        (["endpoint", "add", "X:y", "--url", "https://h"], "an id is made of small letters"),
        (["endpoint", "add", "local", "--url", "https://h"], "mean something else already"),
        (["endpoint", "edit", "wrk", "--model", "m"], "did you mean 'work'?"),
        (["endpoint", "show", "wrk"], "did you mean 'work'?"),
        (["endpoint", "remove", "groq"], "no endpoint of yours is called 'groq'"),
        (["endpoint", "add", "x", "--ulr", "https://h"], "did you mean '--url'?"),
    ],
)
def test_mistakes_are_refused_and_change_nothing(
    person: Path, capsys: Capture, argv: list[str], message: str
) -> None:
    assert main(ADD) == 0
    before = (person / "endpoints.json").read_bytes()
    capsys.readouterr()
    assert main(argv) == 2
    out, err = capsys.readouterr()
    assert message in err
    assert KEY not in out + err
    assert (person / "endpoints.json").read_bytes() == before


def test_the_list_says_which_can_be_used(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROQ_API_KEY", KEY)
    assert main(ADD) == 0
    capsys.readouterr()
    assert main(["endpoint", "list", "--json"]) == 0
    rows = {row["id"]: row for row in json.loads(capsys.readouterr().out)}
    assert (rows["groq"]["usable"], rows["groq"]["own"]) == (True, False)
    assert (rows["work"]["usable"], rows["work"]["own"]) == (False, True)
    assert rows["ollama"]["usable"]


# ------------------------------------------------------------------------------- with a server


@pytest.fixture
def work(server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> FakeServer:
    monkeypatch.setenv("WORK_KEY", KEY)
    server.facts["v1/models"] = {"data": [{"id": "m2"}, {"id": "claude-fable-5"}]}
    url = ["--url", f"{server.root}/v1"]
    assert main(["endpoint", "add", "work", *url, "--key", "WORK_KEY"]) == 0
    return server


def test_its_models_are_listed_with_what_to_know(work: FakeServer, capsys: Capture) -> None:
    capsys.readouterr()
    assert main(["endpoint", "models", "work"]) == 0
    fable, other = capsys.readouterr().out.splitlines()
    assert fable.startswith("work:claude-fable-5  needs an organisation with 30-day retention")
    assert other == "work:m2"


def test_a_test_asks_for_a_word_in_a_schema(work: FakeServer, capsys: Capture) -> None:
    work.turns.append(Turn(text='{"word": "ready"}'))
    capsys.readouterr()
    assert main(["endpoint", "test", "work", "--model", "m2"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == "ok  lists 2 models"
    assert second.startswith("ok  work:m2: answers in ")
    assert second.endswith("format json_schema")
    assert work.seen[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("turn", "says"),
    [
        (Turn(status=401, body={"error": {"message": f"bad key {KEY}"}}), "401"),
        (Turn(text='{"word": "no"}'), "does not fit the schema"),
        (Turn(text="{}", stop="truncated"), "it stopped: truncated"),
    ],
)
def test_a_test_that_fails_says_why_and_shows_no_key(
    work: FakeServer, capsys: Capture, turn: Turn, says: str
) -> None:
    work.turns += [turn, turn, turn]
    capsys.readouterr()
    assert main(["endpoint", "test", "work", "--model", "m2"]) == 1
    out, err = capsys.readouterr()
    assert says in out
    assert KEY not in out + err


def test_a_list_that_is_not_there_does_not_fail_the_test(work: FakeServer, capsys: Capture) -> None:
    work.facts.clear()
    work.turns.append(Turn(text='{"word": "ready"}'))
    capsys.readouterr()
    assert main(["endpoint", "test", "work", "--model", "m2", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [each["ok"] for each in said] == [False, True]
