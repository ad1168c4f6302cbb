"""What the app loads before it is needed: nothing of a vendor's."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.terminal import ENTER, Terminal

#: SDKs, HTTP, prices, and what takes source apart.
HEAVY = ("anthropic", "openai", "httpx", "httpx2", "genai_prices", "libcst")

APP = f"""
import sys
from mak.cli.main import main
code = main([])
heavy = [name for name in {HEAVY} if name in sys.modules]
print("loaded", heavy, "and", "prompt_toolkit" in sys.modules)
"""


def test_opening_the_app_and_asking_what_holds_loads_no_sdk(root: Path, home: Path) -> None:
    terminal = Terminal([sys.executable, "-c", APP], root)
    terminal.wait("main, clean")
    for typed, said in (
        ("/help", "Ctrl+D  leave"),
        ("/status", "approval  every plan is reviewed"),
        ("/models", "Tasks are done by builtin"),
        ("/models anthropic", "Tasks are done by anthropic"),
    ):
        terminal.type(f"{typed}{ENTER}")
        terminal.wait(said)
    terminal.wait("anthropic · planner same")
    terminal.type(f"/exit{ENTER}")
    terminal.wait("loaded [] and True")
    assert terminal.ended() == 0
    terminal.close()
