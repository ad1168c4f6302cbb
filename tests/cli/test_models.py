from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from mak.cli import person as person_
from mak.cli.background import due, refresh_due
from mak.cli.main import main
from mak.cli.options import Settings
from mak.config import Config, Mode, Models
from mak.providers.catalog import Catalog, bundled
from mak.providers.endpoints import PRESETS
from mak.providers.request import Published
from tests.pages import LM_STUDIO, OLLAMA, serving
from tests.providers.fake import FakeServer

Capture = pytest.CaptureFixture[str]
KEY = "sk-canary-0123456789abcdef"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeServer]:
    """A server that stands for OpenAI's."""
    fake = FakeServer()
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", f"{fake.root}/v1")
    yield fake
    fake.close()


def test_without_a_key_there_is_what_comes_with_mak(capsys: Capture) -> None:
    assert main(["models"]) == 0
    assert "No provider has a key. Next: mak keys set anthropic" in capsys.readouterr().err
    assert main(["models", "anthropic", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["anthropic"]
    assert listed["fetched"] is None
    rows = {row["spec"]: row for row in listed["models"]}
    assert len(rows) == len(bundled()["anthropic"])
    default = rows["anthropic:claude-sonnet-5-5"]
    assert default["default"]
    assert default["recommended"]
    assert default["context"] > 0 < default["input"] < default["output"]
    (caveat,) = rows["anthropic:claude-fable-5"]["caveats"]
    assert "30-day retention" in caveat


def test_a_list_is_fetched_kept_and_shown(server: FakeServer, capsys: Capture) -> None:
    server.facts["v1/models"] = {"data": [{"id": "gpt-new"}]}
    assert main(["models", "--refresh"]) == 0
    out, err = capsys.readouterr()
    assert "openai:gpt-new" in out
    assert f"fetched on {datetime.now(UTC):%Y-%m-%d}" in err
    server.facts.clear()
    assert main(["models", "--refresh"]) == 1
    out, err = capsys.readouterr()
    assert "openai:gpt-new" in out
    assert "the last try went wrong" in err
    assert KEY not in out + err
    server.facts["v1/models"] = {"data": [{"id": "gpt-newer"}]}
    assert main(["models", "--refresh"]) == 0
    assert main(["models"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("openai:gpt-new ") and "retired on" in line for line in lines)


def test_a_model_that_a_fetched_list_does_not_have_is_refused(
    capsys: Capture, make_repo: Callable[..., Path]
) -> None:
    person_.catalog().take(PRESETS["openai"], [Published("gpt-new")])
    root = make_repo({"a.py": "x = 1\n"})
    argv = ["plan", "--task", "x", "--work-dir", str(root)]
    assert main([*argv, "--models", "openai:gpt-nwe"]) == 2
    err = capsys.readouterr().err
    assert "did you mean 'openai:gpt-new'?" in err
    assert "mak models --refresh openai" in err


def test_where_there_is_no_list_it_says_how_to_get_one(capsys: Capture) -> None:
    assert main(["endpoint", "add", "mine", "--url", "https://gw.example/v1"]) == 0
    assert main(["models", "nvidia", "mine", "groq"]) == 0
    err = capsys.readouterr().err
    assert "no list yet; mak models --refresh nvidia fetches it" in err
    assert "no list yet; mak models --refresh mine fetches it" in err
    assert "comes with MAK; mak models --refresh groq fetches it" in err


@pytest.mark.parametrize("where", ["--models", "--planner"])
def test_without_a_list_the_snapshot_refuses_what_it_does_not_know(
    capsys: Capture, make_repo: Callable[..., Path], where: str
) -> None:
    """A wrong name went through to the vendor, and came back as 404 in the middle of a run."""
    root = make_repo({"a.py": "x = 1\n"})
    argv = ["plan", "--task", "x", "--work-dir", str(root), where]
    assert main([*argv, "anthropic:claude-sonet-5-5"]) == 2
    err = capsys.readouterr().err
    assert "anthropic has no model 'claude-sonet-5-5'; did you mean" in err
    assert "'anthropic:claude-sonnet-5-5'" in err
    assert "mak models --refresh anthropic" in err
    assert "mak endpoint add ID --from anthropic" in err
    assert main([*argv, "claude-sonnet-5-5"]) == 2
    assert "did you mean 'anthropic:claude-sonnet-5-5'" in capsys.readouterr().err


def test_a_model_newer_than_the_snapshot_is_used_after_a_look_or_at_an_endpoint(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture, make_repo: Callable[..., Path]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    root = make_repo({"a.py": "x = 1\n"})
    argv = ["doctor", "--offline", "--json", "--work-dir", str(root), "--models"]
    assert main([*argv, "openai:gpt-99"]) == 1
    assert main(["endpoint", "add", "mine", "--from", "openai"]) == 0
    assert main([*argv, "mine:gpt-99"]) == 0
    # What the vendor lists counts, and not the snapshot.
    person_.catalog().take(PRESETS["openai"], [Published("gpt-99")])
    assert main([*argv, "openai:gpt-99"]) == 0
    assert main([*argv, "openai:gpt-5"]) == 1
    assert main([*argv, "openai"]) == 0


@pytest.mark.parametrize("name", ["opnai", "nothing-like-it"])
def test_an_endpoint_that_there_is_not_is_refused(name: str, capsys: Capture) -> None:
    assert main(["models", name]) == 2
    err = capsys.readouterr().err
    assert ("did you mean 'openai'?" in err) is (name == "opnai")


# -------------------------------------------------------------------------------- in the background


def settings(*, mode: Mode | None = None, auto_refresh: bool = True) -> Settings:
    config = Config(mode=mode, models=Models(auto_refresh=auto_refresh))
    return Settings(config, person_.setup(), None)


def test_lists_are_due_only_where_a_hosted_model_is_asked(server: FakeServer) -> None:
    assert [each.id for each in due(settings(), ["openai:m"])] == ["openai"]
    for specs in (["builtin"], ["ollama:m"], ["local:m@http://127.0.0.1:1/v1"]):
        assert due(settings(), specs) == []
    assert due(settings(mode=Mode.LOCAL), ["openai:m"]) == []
    assert due(settings(auto_refresh=False), ["openai:m"]) == []


def test_what_was_just_fetched_or_just_failed_is_not_due(server: FakeServer) -> None:
    catalog = person_.catalog()
    (openai,) = due(settings(), ["openai:m"])
    assert openai.url == f"{server.root}/v1"
    catalog.fail(openai, "503")
    assert due(settings(), ["openai:m"]) == []
    catalog.take(openai, [Published("m")])
    assert due(settings(), ["openai:m"]) == []


def test_a_run_does_not_wait_for_lists(server: FakeServer) -> None:
    """The list is fetched in a thread of its own, which cannot keep a process from ending."""
    server.facts["v1/models"] = {"data": [{"id": "gpt-new"}]}
    held = threading.Event()
    answer = server.answer

    def slowly(*args: object) -> None:
        held.wait(10)
        answer(*args)  # type: ignore[arg-type]

    server.answer = slowly  # type: ignore[method-assign]
    began = time.monotonic()
    thread = refresh_due(settings(), ["openai:m"])
    assert time.monotonic() - began < 2
    assert thread is not None
    assert thread.daemon
    held.set()
    thread.join(20)
    (openai,) = (each for each in person_.setup().endpoints.values() if each.id == "openai")
    assert "gpt-new" in person_.cache_dir().joinpath("models.json").read_text()
    assert openai.id == "openai"


def test_a_run_says_what_to_know_about_its_models(
    capsys: Capture, make_repo: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    Catalog(person_.cache_dir() / "models.json").fail(PRESETS["anthropic"], "down")
    root = make_repo({"a.py": "x = 1\n"})
    argv = ["--task", "x", "--work-dir", str(root), "--models", "anthropic:claude-fable-5"]
    assert main(["run", "--no-review", *argv]) == 1
    assert "claude-fable-5: needs an organisation with 30-day retention" in capsys.readouterr().err
    assert main(["doctor", "--offline", *argv[2:]]) == 0
    assert "claude-fable-5: needs an organisation" in capsys.readouterr().out


# ------------------------------------------------------------------------------------ mak local


def test_local_servers_are_listed_with_what_is_wrong(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(OLLAMA) as ollama, serving(LM_STUDIO) as studio:
        monkeypatch.setenv("OLLAMA_HOST", ollama.removeprefix("http://"))
        assert main(["local", "url", studio]) == 0
        capsys.readouterr()
        assert main(["local"]) == 0
        out, err = capsys.readouterr()
    assert f"ollama:qwen3-coder:30b@{ollama}  262,144 tokens" in out
    assert f"local:qwen3-8b@{studio}/v1  8,192 tokens" in out
    assert "lms load qwen3-8b --context-length 32000" in err
    assert "which the server would cut" in err
    assert f'Next: mak run --task "…" --models local:qwen3-8b@{studio}/v1' in err


def test_hosts_are_remembered_once_and_forgotten(person: Path, capsys: Capture) -> None:
    for host in ("box:11434", "http://box:11434/", "other"):
        assert main(["local", "url", host]) == 0
    capsys.readouterr()
    assert main(["local", "url", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == ["box:11434", "other"]
    assert main(["local", "url", "box:11434", "--forget"]) == 0
    assert json.loads((person / "endpoints.json").read_text())["hosts"] == ["other"]
    assert main(["local", "url", "box:1", "--forget"]) == 2
    assert main(["local", "url", "https://x/y"]) == 2


def test_nothing_here_says_what_to_do(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mak.providers.local.places", lambda hosts, moved: ("http://127.0.0.1:9",))
    assert main(["local"]) == 1
    assert "mak local url HOST:PORT" in capsys.readouterr().err
