"""A run on an endpoint of one's own, with a key that is kept and not exported."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from mak.cli.main import main
from tests.first_run import GROSS, NET, REQUEST, SHOP, vendor

KEY = "sk-canary-0123456789abcdef"


def everything(root: Path) -> bytes:
    """Return the content of every object in a repository."""
    command = ["git", "cat-file", "--batch-all-objects", "--batch", "--buffer"]
    return subprocess.run(command, cwd=root, capture_output=True, check=True).stdout


def test_an_endpoints_id_stands_for_planner_and_agents(
    person: Path, capsys: pytest.CaptureFixture[str], make_repo: Callable[..., Path]
) -> None:
    root = make_repo({"shop.py": SHOP})
    with vendor() as server:
        url = ["--url", f"{server.root}/v1", "--model", "m"]
        assert main(["endpoint", "add", "work", *url, "--key", "WORK_KEY"]) == 0
        assert main(["endpoint", "add", "other", "--from", "work", "--wire", "anthropic",
                     "--url", server.root]) == 0  # fmt: skip
        (person / ".env").write_text(f"WORK_KEY={KEY}\n")
        config = person / "config.yaml"
        config.write_text("models: ['work:big/one:free']\nplanner: other\n")
        argv = ["run", "--task", REQUEST, "--no-review", "--work-dir", str(root)]
        assert main(argv) == 0
    out, err = capsys.readouterr()
    assert (root / "shop.py").read_text() == SHOP.replace(
        SHOP[SHOP.index("def net") : SHOP.index("\n\ndef gross")], NET
    ).replace(SHOP[SHOP.index("def gross") :], GROSS)
    assert "a free variant" in err, "what to know about a model is said when it is chosen"
    models = [(seen.path, seen.body["model"]) for seen in server.seen]
    chat = ("/v1/chat/completions", "big/one:free")
    assert models == [("/v1/messages", "m"), chat, chat]
    assert all(seen.headers["authorization"] == f"Bearer {KEY}" for seen in server.seen)
    assert KEY not in out + err
    assert KEY.encode() not in everything(root)


def test_a_run_ends_while_a_list_is_still_being_fetched(
    make_repo: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list of models is due and its server is slow; the run neither waits nor fails."""
    root = make_repo({"shop.py": SHOP})
    asked, held = threading.Event(), threading.Event()
    with vendor() as server:
        answer = server.answer

        def slowly(http: object, turn: object, body: dict[str, object]) -> None:
            if not body:
                asked.set()
                held.wait(60)
            answer(http, turn, body)  # type: ignore[arg-type]

        server.answer = slowly  # type: ignore[method-assign]
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.root)
        argv = ["run", "--task", REQUEST, "--no-review", "--work-dir", str(root)]
        assert main([*argv, "--models", "anthropic"]) == 0
        assert asked.wait(30)
        (thread,) = (t for t in threading.enumerate() if t.name == "model lists")
        assert thread.is_alive()
        held.set()
        thread.join(30)
        assert not thread.is_alive()
