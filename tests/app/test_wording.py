"""Sentences about command lines, as they are typed in the app."""

from __future__ import annotations

import pytest

from mak.cli.app.wording import here


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("mak run --recover r1", "/recover r1"),
        ("name it: mak keys set anthropic, then mak run --models anthropic",
         "name it: /apikey anthropic, then /models anthropic"),
        ("mak local url HOST:PORT", "/local url HOST:PORT"),
        ("see mak show r1 --task a", "see /show r1 --task a"),
        ("--work-dir x: no such folder", "/work-dir x: no such folder"),
        ("name one with --planner", "name one with /planner"),
        ('no run; try: mak run --task "…"', "no run; try: a task, in words"),
        ('Next: mak run --task "…" --models m', "Next: /models m"),
        ("mak models --refresh", "/refresh-models"),
        ("mak models --refresh openrouter fetches it", "/refresh-models openrouter fetches it"),
        ("mak run --plan plan.yaml", "mak run --plan plan.yaml"),
        ("mak check-all and x--models", "mak check-all and x--models"),
    ],
)  # fmt: skip
def test_command_lines_are_named_as_they_are_typed_here(said: str, shown: str) -> None:
    assert here(said) == shown
