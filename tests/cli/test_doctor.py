from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mak.cli.main import main
from mak.providers import Setup
from mak.providers.access import may_cut
from mak.providers.endpoints import PRESETS
from tests.conftest import git
from tests.providers.fake import FakeServer, Turn

Capture = pytest.CaptureFixture[str]
KEY = "sk-canary-0123456789abcdef"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeServer]:
    """A server that stands for OpenAI's, and for Ollama."""
    fake = FakeServer()
    fake.facts["v1/models"] = {"data": [{"id": "m"}]}
    fake.facts["api/tags"] = {"models": [{"name": "small"}]}
    fake.facts["api/show"] = {"model_info": {"llama.context_length": 131_072}}
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", f"{fake.root}/v1")
    monkeypatch.setenv("OLLAMA_HOST", fake.root)
    yield fake
    fake.close()


@pytest.fixture
def root(make_repo: Callable[..., Path]) -> Path:
    return make_repo({"a.py": "x = 1\n", "b.py": "y = 2\n"})


class Doctor:
    """What the doctor said."""

    def __init__(self, capsys: Capture, root: Path, *argv: str) -> None:
        capsys.readouterr()
        self.code = main(["doctor", "--json", "--work-dir", str(root), *argv])
        out, err = capsys.readouterr()
        assert KEY not in out + err
        self.lines = json.loads(out)
        assert all(each["hint"] for each in self.lines if each["state"] != "ok"), self.lines

    def about(self, what: str) -> list[tuple[str, str]]:
        return [(each["state"], each["text"]) for each in self.lines if each["about"] == what]

    def hint(self, what: str) -> str:
        return next(each["hint"] for each in self.lines if each["about"] == what)


def test_a_plain_repository_without_a_key_is_all_right(root: Path, capsys: Capture) -> None:
    git(root, "config", "user.name", "Ada")
    git(root, "config", "user.email", "ada@example.org")
    found = Doctor(capsys, root)
    assert found.code == 0
    assert found.about("repository") == [("ok", f"a repository at {root}, on refs/heads/main")]
    assert found.about("identity") == [("ok", "Ada <ada@example.org>")]
    assert found.about("config") == [("ok", "built in: there is no file")]
    assert found.about("model") == [("ok", "builtin")]
    assert found.hint("keys") == "mak keys set anthropic"


def test_each_kind_of_repository_is_named(root: Path, tmp_path: Path, capsys: Capture) -> None:
    git(root, "worktree", "add", "-q", str(tmp_path / "linked"), "-b", "other")
    git(root, "clone", "-q", "--bare", ".", str(tmp_path / "bare.git"))
    kinds = {
        root / ".": "a repository at",
        tmp_path / "linked": "a linked worktree at",
        tmp_path / "bare.git": "a bare repository, on refs/heads/main",
    }
    for path, kind in kinds.items():
        ((state, text),) = Doctor(capsys, path).about("repository")
        assert (state, text.startswith(kind)) == ("ok", True)


def test_no_identity_is_a_warning(root: Path, capsys: Capture) -> None:
    found = Doctor(capsys, root)
    ((state, _),) = found.about("identity")
    assert (found.code, state) == (0, "warn")
    assert "git config --global user.name" in found.hint("identity")


def test_a_repository_that_cannot_be_written_fails_with_what_to_do(
    root: Path, tmp_path: Path, capsys: Capture
) -> None:
    (root / ".git" / "MERGE_HEAD").write_text(git(root, "rev-parse", "HEAD"))
    found = Doctor(capsys, root)
    assert found.code == 1
    ((state, text),) = found.about("repository")
    assert (state, "a merge is in progress" in text) == ("fail", True)
    assert found.hint("repository")
    nowhere = tmp_path / "nowhere"
    nowhere.mkdir()
    assert Doctor(capsys, nowhere).about("repository")[0][0] == "fail"


def test_a_configuration_that_is_wrong_is_named_and_the_rest_looked_at(
    root: Path, capsys: Capture
) -> None:
    (root / ".mak").mkdir()
    (root / ".mak" / "config.yaml").write_text("atempts: 1\n")
    found = Doctor(capsys, root)
    assert found.code == 1
    ((state, text),) = found.about("config")
    assert (state, "config.yaml:1: unknown key 'atempts'" in text) == ("fail", True)
    assert found.about("repository")[0][0] == "ok"


def test_what_is_kept_from_agents_is_counted(root: Path, capsys: Capture) -> None:
    (root / ".makignore").write_text("b.py\n")
    assert Doctor(capsys, root).about("files") == [("ok", "1 of 2 are kept from agents")]
    (root / ".makignore").write_text("*\n")
    assert ("warn", "agents may see none") in Doctor(capsys, root).about("files")


def test_keys_are_named_and_their_endpoints_asked(
    server: FakeServer, root: Path, person: Path, capsys: Capture
) -> None:
    person.mkdir(parents=True)
    (person / ".env").write_text(f"GROQ_API_KEY={KEY}\n")
    found = Doctor(capsys, root, "--offline")
    assert found.about("keys")[0] == ("warn", f"others can read {person / '.env'}")
    (person / ".env").chmod(0o600)
    found = Doctor(capsys, root, "--models", "openai:m")
    assert found.about("keys") == [("ok", "OPENAI_API_KEY (exported), GROQ_API_KEY (kept)")]
    assert found.about("endpoint") == [("ok", "openai answers, with 1 model")]
    assert found.about("models") == [("warn", "the lists of groq are old")]
    assert not server.seen, "no model is asked without --call"


def test_what_is_missing_says_what_to_do(
    root: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Doctor(capsys, root, "--models", "groq", "nothing:m")
    assert found.code == 1
    assert found.about("endpoint") == [("fail", "opening groq: GROQ_API_KEY is not set")]
    assert "mak keys set GROQ_API_KEY" in found.hint("endpoint")
    assert "no provider is called 'nothing'" in found.about("model")[0][1]
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
    found = Doctor(capsys, root, "--models", "ollama:m", "--patience", "3")
    assert [state for state, _ in found.about("endpoint")] == ["fail"]
    assert found.hint("endpoint") == "mak local"


def test_what_to_know_about_a_model_is_a_warning(root: Path, capsys: Capture) -> None:
    found = Doctor(capsys, root, "--offline", "--models", "anthropic:claude-fable-5")
    ((state, text),) = found.about("model")
    assert (state, "30-day retention" in text) == ("warn", True)


def test_a_key_that_is_refused_is_named_with_what_to_do(
    server: FakeServer, root: Path, capsys: Capture
) -> None:
    server.refused = Turn(status=401, body={"error": {"message": f"{KEY} is no key"}})
    found = Doctor(capsys, root, "--models", "openai:m")
    assert [state for state, _ in found.about("endpoint")] == ["fail"]
    assert found.hint("endpoint") == "check the key in OPENAI_API_KEY"


def test_two_servers_of_ones_own_are_both_looked_at(
    server: FakeServer, root: Path, capsys: Capture
) -> None:
    """They share the name local; the one that was there hid the other, which was not."""
    server.reader = reader(window=1_000_000)
    urls = (f"{server.root}/v1", "http://127.0.0.1:9/v1")
    specs = [f"local:m@{url}" for url in urls]
    found = Doctor(capsys, root, "--call", "--patience", "3", "--models", *specs)
    first, second = found.about("endpoint")
    assert first == ("ok", f"local at {urls[0]} answers, with 1 model")
    assert second[0] == "fail" and f"local at {urls[1]}: " in second[1]
    states = [(state, text.split(": ")[0]) for state, text in found.about("call")]
    assert states == [("ok", specs[0]), ("ok", specs[0]), ("fail", specs[1])]


def test_on_request_each_model_is_asked_a_word(
    server: FakeServer, root: Path, capsys: Capture
) -> None:
    server.turns.append(Turn(text='{"word": "ready"}'))
    found = Doctor(capsys, root, "--models", "openai:m", "--call")
    assert found.code == 0
    state, text = found.about("call")[0]
    assert (state, text.startswith("openai:m: answers in ")) == ("ok", True)
    assert len(server.seen) == 2, "a word, and a long prompt: this is not OpenAI's own host"
    server.turns.append(Turn(text="hello"))
    found = Doctor(capsys, root, "--models", "openai:m", "--call")
    assert (found.code, found.about("call")[0][0]) == (1, "fail")
    assert found.hint("call")


def reader(window: int) -> Callable[[str], str]:
    """Return a model behind a server that reads the last tokens of a prompt, and says nothing."""

    def read(prompt: str) -> str:
        if "whether you are there" in prompt or len(prompt) < 1_000:
            return '{"word": "ready"}'
        return " ".join(re.findall(r"number is (\d+)", prompt[-4 * window :]))

    return read


@pytest.mark.parametrize("counted", [None, 4_096, 32_000], ids=str)
@pytest.mark.parametrize("spec", ["local:m@{root}/v1", "openai:m", "ollama:small"])
def test_a_server_that_cuts_a_long_prompt_is_found_out(
    server: FakeServer, root: Path, capsys: Capture, counted: int | None, spec: str
) -> None:
    """Whatever it counts: what it read, all that it was sent, or nothing."""
    server.reader = reader(window=4_096)
    server.counts, server.counted = counted is not None, counted or 0
    found = Doctor(capsys, root, "--models", spec.format(root=server.root), "--call")
    first, second = found.about("call")
    assert (first[0], second[0]) == ("ok", "fail")
    if counted == 4_096:
        assert "read 4096 tokens of a prompt of about" in second[1]
    else:
        assert "knows the end of a prompt of about 32,000 tokens and not its beginning" in second[1]
    assert found.code == 1


@pytest.mark.parametrize("counts", [True, False])
def test_a_server_that_reads_a_long_prompt_is_all_right(
    server: FakeServer, root: Path, capsys: Capture, counts: bool
) -> None:
    server.reader = reader(window=1_000_000)
    server.counts, server.counted = counts, 32_000
    found = Doctor(capsys, root, "--models", f"local:m@{server.root}/v1", "--call")
    assert found.about("call")[1] == (
        "ok",
        f"local:m@{server.root}/v1: reads a prompt of about 32,000 tokens from beginning to end",
    )
    assert found.code == 0


def test_a_model_that_repeats_nothing_leaves_it_open(
    server: FakeServer, root: Path, capsys: Capture
) -> None:
    server.reader = lambda prompt: '{"word": "ready"}'
    server.counted = 32_000
    found = Doctor(capsys, root, "--models", f"local:m@{server.root}/v1", "--call")
    state, text = found.about("call")[1]
    assert (found.code, state) == (0, "warn")
    assert "does not repeat what it was told" in text and "it counts 32,000" in text


def test_a_vendors_own_host_is_sent_no_long_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    """It refuses what is too long, and a long prompt costs money."""
    assert not may_cut(PRESETS["openai"], Setup(variables={}))
    assert not may_cut(PRESETS["anthropic"], Setup(variables={}))
    assert may_cut(PRESETS["openai"], Setup(variables={"OPENAI_BASE_URL": "https://gw.example"}))
    assert may_cut(PRESETS["vllm"], Setup(variables={}))
