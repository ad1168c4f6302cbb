"""What the mode `run` is told, and what the kernel's process gets of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.settings import Mode, read
from mak.errors import UsageError

KEY = "sk-0123456789abcdef0123"


def environment(**more: str) -> dict[str, str]:
    return {
        "PATH": "/usr/bin",
        "HOME": "/home/mak",
        "OTHER": "of the machine",
        "MAK_APP_WEBHOOK_SECRET": "a webhook secret, 0123456789",
        "MAK_APP_ID": "5",
        "MAK_APP_PRIVATE_KEY": "-----BEGIN PRIVATE KEY-----",
        "MAK_APP_MODE": "run",
        **more,
    }


def test_the_kernels_process_has_keys_that_are_named_and_nothing_of_the_app(tmp_path: Path) -> None:
    (tmp_path / "gemini").write_text(f"{KEY}-gemini\n")
    given = environment(
        ANTHROPIC_API_KEY=KEY,
        OPENAI_API_KEY="sk-not-named",
        GEMINI_API_KEY_FILE=str(tmp_path / "gemini"),
        MAK_APP_KEYS="ANTHROPIC_API_KEY, GEMINI_API_KEY MISSING_KEY",
    )
    kernel = read(given).kernel
    assert kernel.environment == {
        "PATH": "/usr/bin",
        "HOME": "/home/mak",
        "ANTHROPIC_API_KEY": KEY,
        "GEMINI_API_KEY": f"{KEY}-gemini",
    }
    assert "ANTHROPIC_API_KEY" not in given, "no other process gets it either"
    assert KEY not in repr(kernel)


def test_what_runs_are_made_with_is_the_services_to_say() -> None:
    kernel = read(environment()).kernel
    assert (kernel.models, kernel.planner, kernel.commands) == (("builtin",), "builtin", False)
    told = environment(
        MAK_APP_MODELS="anthropic openai",
        MAK_APP_AGENTS="3",
        MAK_APP_BUDGET="2.50",
        MAK_APP_COMMANDS="yes",
        MAK_APP_URL="https://mak.example.org/",
    )
    found = read(told)
    kernel = found.kernel
    assert (kernel.models, kernel.planner) == (("anthropic", "openai"), "anthropic")
    assert (kernel.agents, kernel.budget, kernel.commands) == (3, 2.5, True)
    assert (found.mode, found.url) == (Mode.RUN, "https://mak.example.org")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MAK_APP_KEYS", "MAK_APP_PRIVATE_KEY"),
        ("MAK_APP_AGENTS", "0"),
        ("MAK_APP_AGENTS", "many"),
        ("MAK_APP_BUDGET", "inf"),
        ("MAK_APP_BUDGET", "-1"),
        ("MAK_APP_COMMANDS", "perhaps"),
        ("MAK_APP_MODE", "walk"),
    ],
)
def test_what_makes_no_sense_is_said_by_its_name(name: str, value: str) -> None:
    with pytest.raises(UsageError, match=name):
        read(environment(**{name: value}))
