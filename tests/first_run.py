"""Writes docs/guides/first-run.md: from nothing to a run, commands and what they printed.

``make guide`` runs it. The commands are typed into a shell, in a new home; a server on this machine
plays the vendors and Ollama. Nothing is edited by hand. What differs from one time to the next
(run ids, commits, seconds, ports) is replaced by something that looks like it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.providers.fake import FakeServer, Turn

ROOT = Path(__file__).parent.parent
TARGET = ROOT / "docs" / "guides" / "first-run.md"
KEY = "sk-canary-0123456789abcdef"

INTRO = """\
# The first run

From nothing to a commit, with [an Anthropic key](#with-an-anthropic-key), with
[OpenRouter](#with-openrouter), with [Ollama](#with-ollama) on your own machine, or
[without any key](#without-a-key).

You need git and Python 3.11 or later. In a checkout of MAK, `pip install .` puts `mak` on your
path. What follows was typed in a small repository of two files, a shop that sums up prices:

```python
{shop}```

`make guide` wrote this page by typing the commands into a shell, in a new home. A small server on
the same machine played Anthropic, OpenRouter and Ollama, so the models' answers are made up and
everything else is as MAK printed it; run ids, commits, seconds and ports stand for others, and no
price is known for a server that only plays a vendor. `mak run` shows its plan and waits for your
word; here `--no-review` goes on without asking.
"""

SHOP = '''\
"""Prices."""


def net(prices):
    return sum(prices)


def gross(prices):
    return net(prices) * 1.2
'''
TEST = """\
from shop import gross, net


def test_prices():
    assert net([1, 2]) == 3
    assert gross([10]) == 12
"""
REQUEST = "skip prices that are None, and round the gross price to cents"
PLAN = {
    "decisions": ["None counts as no price"],
    "atomic": False,
    "tasks": [
        {"id": "net", "goal": "leave out prices that are None", "writes": ["shop.py::net"]},
        {
            "id": "gross",
            "goal": "round to cents",
            "writes": ["shop.py::gross"],
            "depends_on": ["net"],
        },
    ],
    "questions": [],
}
NET = "def net(prices):\n    return sum(price for price in prices if price is not None)\n"
GROSS = "def gross(prices):\n    return round(net(prices) * 1.2, 2)\n"


def answer(source: str) -> Turn:
    """Return an agent's answer for its one slot."""
    result = {"node": "n1", "status": "edited", "new_source": source, "reason": ""}
    empty: dict[str, Any] = {"new_nodes": [], "imports": [], "deletes": [], "needs_locks": []}
    return Turn(json.dumps({"results": [result], **empty, "notes": ""}))


@contextmanager
def vendor() -> Iterator[FakeServer]:
    """Play every vendor, at one address."""
    server = FakeServer(path="")
    server.facts = {
        "api/tags": {"models": [{"name": "qwen3-coder:30b"}]},
        "api/show": {"model_info": {"qwen3moe.context_length": 262_144}},
        "v1/models": {"data": [{"id": "claude-sonnet-5-5", "display_name": "Claude Sonnet 5.5"}]},
        "router/models": {
            "data": [
                {"id": "anthropic/claude-sonnet-5.5", "context_length": 1_000_000},
                {"id": "qwen/qwen3-coder", "context_length": 262_144},
            ]
        },
    }
    server.scripts = {
        "You plan a change to a repository": [Turn(json.dumps(PLAN)) for _ in range(3)],
        "n1 = shop.py::net": [answer(NET) for _ in range(3)],
        "n1 = shop.py::gross": [answer(GROSS) for _ in range(3)],
        "whether you are there": [Turn('{"word": "ready"}')],
    }
    server.reader = lambda prompt: " ".join(re.findall(r"number is (\d+)", prompt))
    server.counted = 1_200
    try:
        yield server
    finally:
        server.close()


class Terminal:
    """Types commands into a shell and writes them down with what they print."""

    def __init__(self, folder: Path, server: FakeServer) -> None:
        self.root = folder / "shop"
        self.server = server
        self.pages: list[str] = []
        self._port = server.root.rpartition(":")[2]
        bins = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        home = folder / "home"
        home.mkdir()
        self._env = {
            "PATH": bins,
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(ROOT),
            "PYTHONDONTWRITEBYTECODE": "1",
            "GIT_PAGER": "cat",
            "GIT_CONFIG_NOSYSTEM": "1",
            "ANTHROPIC_BASE_URL": server.root,
            "OPENROUTER_BASE_URL": f"{server.root}/router",
            "OLLAMA_HOST": server.root.removeprefix("http://"),
        }
        (home / ".gitconfig").write_text("[user]\nname = Ada\nemail = ada@example.org\n")
        self.root.mkdir()
        (self.root / "shop.py").write_text(SHOP)
        (self.root / "test_shop.py").write_text(TEST)
        (folder / "key.txt").write_text(KEY)
        self._run("git init -q -b main && git add -A && git commit -q -m 'A shop'")

    def say(self, text: str) -> None:
        """Write a paragraph."""
        self.pages.append(text)

    def type(self, command: str, *, code: int = 0) -> str:
        """Run a command, write it down with what it says, and return that."""
        done = self._run(command)
        assert done.returncode == code, (command, done.returncode, done.stdout)
        assert KEY not in done.stdout
        shown = self._settled(done.stdout)
        self.pages.append(f"```console\n$ {command}\n{shown}```")
        return shown

    def _run(self, command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", command],
            cwd=self.root,
            env=self._env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
        )

    def _settled(self, text: str) -> str:
        """Replace what differs from one time to the next."""
        home = self._env["HOME"]
        for pattern, instead in (
            (re.escape(home), "~"),
            (re.escape(str(self.root.parent)), "~"),
            (rf"@http://127\.0\.0\.1:{self._port}", ""),
            (rf"127\.0\.0\.1:{self._port}", "127.0.0.1:11434"),
            (r"(?<=[Rr]un )r\w{9}\b|(?<=^run {6})r\w{9}\b|(?<=mak show )r\w{9}\b", "rtp5v1kq2x"),
            (r"\b\d+(\.\d+)? s\b", "0.4 s"),
            (r"Python \d+\.\d+\.\d+", "Python 3.11.7"),
            (r" on 20\d\d-\d\d-\d\d", " on 2026-11-30"),
            (r"[ \t]+$", ""),
        ):
            text = re.sub(pattern, instead, text, flags=re.MULTILINE)
        objects = self._run("git cat-file --batch-all-objects --batch-check").stdout.split("\n")
        for name in {*re.findall(r"\b[0-9a-f]{7,40}\b", text)}:
            if any(each.startswith(name) for each in objects):
                text = text.replace(name, "3f2a91c")
        return text if not text or text.endswith("\n") else f"{text}\n"


def anthropic(terminal: Terminal) -> None:
    terminal.say("## With an Anthropic key")
    terminal.say(
        "Keep the key where only you can read it. `mak keys set anthropic` asks for it without\n"
        "showing it; it also takes it from a file or another program:"
    )
    terminal.type("cat ../key.txt | mak keys set anthropic")
    terminal.say("Is everything there?")
    terminal.type("mak doctor --models anthropic")
    terminal.say("Then say what you want:")
    terminal.type(f'mak run --no-review --models anthropic --task "{REQUEST}"')
    terminal.type("git log --oneline && git diff -U0 HEAD~2")
    terminal.say("To use it without naming it each time, for all of your projects:")
    terminal.type(
        "mkdir -p ~/.config/mak && echo 'models: [anthropic]' > ~/.config/mak/config.yaml\n"
        "mak config path"
    )


def openrouter(terminal: Terminal) -> None:
    terminal.say("## With OpenRouter")
    terminal.say("One key for the models of many vendors; their names are `vendor/model`.")
    terminal.type("cat ../key.txt | mak keys set openrouter")
    terminal.type("mak models openrouter --refresh 2>/dev/null")
    terminal.say("One model plans, another one edits:")
    terminal.type(
        "mak run --no-review --planner openrouter:anthropic/claude-sonnet-5.5 \\\n"
        f'  --models openrouter:qwen/qwen3-coder --task "{REQUEST}"'
    )
    terminal.type("git log --oneline")


def ollama(terminal: Terminal) -> None:
    terminal.say("## With Ollama")
    terminal.say("After `ollama pull qwen3-coder:30b`, no key and no account:")
    terminal.type("mak local")
    terminal.say(
        "`--call` asks the model a word, and sends a long prompt to see that it is not cut:"
    )
    counted, terminal.server.counted = terminal.server.counted, 32_000
    terminal.type("mak doctor --call --models ollama:qwen3-coder:30b")
    terminal.server.counted = counted
    terminal.say("With `--mode local`, MAK refuses every model that does not run here:")
    terminal.type(
        f'mak run --no-review --mode local --models ollama:qwen3-coder:30b --task "{REQUEST}"'
    )
    terminal.type("git log --oneline")


def no_key(terminal: Terminal) -> None:
    terminal.say("## Without a key")
    terminal.say(
        "The built-in agent needs no model and no network. It knows refactorings, and does them\n"
        "by scope and import, never by bare name:"
    )
    terminal.type('mak run --no-review --task "rename function shop.net to net_price"')
    terminal.type("git show -U0 --format=")
    terminal.say("What it does not know it says, and what to do instead:")
    terminal.type(f'mak run --no-review --task "{REQUEST}"', code=1)


PARTS = (anthropic, openrouter, ollama, no_key)


def typed(part: Callable[[Terminal], None]) -> str:
    """Return one part of the page."""
    with tempfile.TemporaryDirectory(prefix="mak-") as folder, vendor() as server:
        terminal = Terminal(Path(folder), server)
        part(terminal)
        return "\n\n".join(terminal.pages)


if __name__ == "__main__":
    pages = [INTRO.format(shop=SHOP).rstrip(), *map(typed, PARTS)]
    TARGET.write_text("\n\n".join(pages) + "\n", encoding="utf-8")
