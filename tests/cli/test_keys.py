from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from mak.cli.main import main

#: An old format, a new one, and one that looks like nothing.
CANARIES = ("sk-canary0123456789abcdef", "sk-ant-api03-canary_x-Y", "plaincanaryvalue")

Capture = pytest.CaptureFixture[str]


def give(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))


@pytest.mark.parametrize("key", CANARIES)
def test_a_key_from_stdin_is_kept_and_never_shown(
    person: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    give(monkeypatch, f"{key}\n")
    assert main(["keys", "set", "anthropic"]) == 0
    assert (person / ".env").read_text() == f"ANTHROPIC_API_KEY={key}\n"
    assert main(["keys", "list"]) == 0
    assert main(["keys", "list", "--json"]) == 0
    assert main(["endpoint", "list"]) == 0
    assert main(["doctor", "--offline", "--work-dir", str(tmp_path)]) == 1  # no repository
    out, err = capsys.readouterr()
    assert "ANTHROPIC_API_KEY" in out
    assert key not in out + err


def test_a_key_is_asked_for_where_it_is_not_seen(person: Path) -> None:
    """At a terminal the key is typed into a prompt that does not echo it."""
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "mak", "keys", "set", "OPENAI_API_KEY"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(
        command, stdin=follower, stdout=follower, stderr=follower, env=environment,
        start_new_session=True,
    ) as process:  # fmt: skip
        os.close(follower)
        shown = b""
        while b"(not shown)" not in shown:
            shown += os.read(leader, 1000)
        os.write(leader, CANARIES[0].encode() + b"\n")
        try:
            while chunk := os.read(leader, 1000):
                shown += chunk
        except OSError:
            pass  # the other side is closed
        assert process.wait(20) == 0
    os.close(leader)
    assert (person / ".env").read_text() == f"OPENAI_API_KEY={CANARIES[0]}\n"
    assert CANARIES[0].encode() not in shown


@pytest.mark.parametrize(
    "argv",
    [
        ["keys", "set", "OPENAI_API_KEY", CANARIES[0]],
        ["keys", "set", f"OPENAI_API_KEY={CANARIES[0]}"],
        ["keys", "set", CANARIES[0]],
        ["keys", "set", CANARIES[1]],
        ["keys", "remove", CANARIES[1]],
    ],
)
def test_a_key_on_the_command_line_is_refused_and_not_repeated(
    person: Path, capsys: Capture, argv: list[str]
) -> None:
    assert main(argv) == 2
    out, err = capsys.readouterr()
    assert "the shell's history" in err
    assert not any(key in out + err for key in CANARIES)
    assert not (person / ".env").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "nothing was given"), ("a b\n", "characters that no key has"), ("ü\n", "characters")],
)
def test_what_is_no_key_is_refused(
    person: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, text: str, message: str
) -> None:
    give(monkeypatch, text)
    assert main(["keys", "set", "MY_KEY"]) == 2
    assert message in capsys.readouterr().err
    assert not (person / ".env").exists()


def test_a_name_that_means_nothing_is_refused(capsys: Capture) -> None:
    assert main(["keys", "set", "antropic"]) == 2
    assert "neither a variable nor a provider" in capsys.readouterr().err


def test_what_is_exported_wins_and_that_is_said(
    person: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    give(monkeypatch, CANARIES[0])
    monkeypatch.setenv("OPENAI_API_KEY", CANARIES[2])
    monkeypatch.setenv("GROQ_API_KEY", "")
    assert main(["keys", "set", "openai"]) == 0
    assert "what is exported wins" in capsys.readouterr().err
    assert main(["keys", "list", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["file"] == str(person / ".env")
    assert found["keys"] == {
        "OPENAI_API_KEY": f"exported; {person / '.env'} has another, which is not used",
        "GROQ_API_KEY": "exported, and empty",
    }


def test_removing_leaves_the_other_lines(
    person: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    person.mkdir(parents=True)
    (person / ".env").write_text("# mine\nA_KEY=1\nOPENAI_API_KEY=2\n")
    assert main(["keys", "remove", "openai"]) == 0
    assert (person / ".env").read_text() == "# mine\nA_KEY=1\n"
    assert main(["keys", "remove", "openai"]) == 1
    monkeypatch.setenv("A_KEY", "3")
    assert main(["keys", "remove", "A_KEY"]) == 0
    assert "A_KEY is exported, and still used" in capsys.readouterr().err


def test_no_key_says_how_to_get_one(capsys: Capture) -> None:
    assert main(["keys", "list"]) == 0
    out, err = capsys.readouterr()
    assert (out, "Next: mak keys set anthropic" in err) == ("", True)
