"""The bar below the prompt: all that it says, at any width."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mak.cli.app import bar
from mak.cli.app.prompt import Plain
from mak.cli.app.session import Session
from mak.cli.app.watch import Chosen, Place
from mak.model import Usage

LONG = Chosen(("anthropic:claude-sonnet-4-5-20250929", "openai:gpt-5"), "anthropic:claude-opus", 4)
SPENT = Usage(input=123_000, output=2_500, cost=1.25)


def session(chosen: Chosen = LONG, place: Place | None = None, usage: Usage = SPENT) -> Session:
    made = Session(Plain())
    made.watch.chosen, made.watch.place = chosen, place or Place("feature/decimal-totals", 12)
    made.usage = usage
    return made


@pytest.mark.parametrize(
    "width, shown",
    [
        (
            160,
            "anthropic:claude-sonnet-4-5-20250929 +1 · planner anthropic:claude-opus · 4 agents · "
            "feature/decimal-totals, 12 changed · review · 125.5k tokens · $1.25",
        ),
        (
            120,
            "claude-sonnet-4… +1 · planner claude-opus · 4 ag. · feature/decimal-totals, 12 changed"
            " · review · 125.5k tok · $1.25",
        ),
        (
            80,
            "claude-so… +1 · pl. claude… · 4 ag. · featur…* · review · 125.5k tok · $1.25",
        ),
        (40, "claude… +1 · featur…* · review · $1.25"),
        (30, "featur…* · review · $1.25"),
    ],
)
def test_what_matters_least_is_said_shorter_first(width: int, shown: str) -> None:
    assert bar.line(session(), width) == f" {shown}"


def test_all_of_it_fits_80_columns_where_names_are_short() -> None:
    chosen = Chosen(("builtin",), "builtin", 4)
    shown = bar.line(session(chosen, Place("main", 2), Usage(input=12_300, cost=0.0)), 80)
    assert shown == " builtin · planner same · 4 ag. · main, 2 changed · review · 12.3k tok · $0.00"


def test_80_columns_hold_all_of_it_where_names_and_numbers_are_long() -> None:
    chosen = Chosen(LONG.models * 5, LONG.planner, 16)
    made = session(chosen, usage=Usage(input=1_230_000, cost=123.45, estimated=True))
    made.said = Namespace(**{**vars(made.said), "no_review": True})
    shown = "claude… +9 · pl. claude… · 16 ag. · featur…* · no review · ~1.2M tok · $123.45"
    assert bar.line(made, 80) == f" {shown}"


def test_names_are_cut_before_anything_is_left_out() -> None:
    """The planner was left out while the model's name still took 24 columns."""
    model = "ollama:qwen3-coder-with-a-very-long-name:30b"
    shown = bar.line(session(Chosen((model,), model, 4), Place("main"), Usage(cost=0.0)), 80)
    assert (
        shown == " qwen3-coder-wit… · planner same · 4 ag. · main, clean · review · 0 tok · $0.00"
    )


def test_what_is_not_known_is_not_said_to_be_nothing() -> None:
    unknown = replace(SPENT, cost=None, estimated=True)
    assert bar.line(session(usage=unknown), 200).endswith("about 125.5k tokens · cost unknown")
    assert bar.line(session(usage=unknown), 90).endswith("~125.5k tok · $?")
    made = session(place=Place())
    assert "no repository" in bar.line(made, 60)
    made.watch.chosen, made.watch.problem = None, "mode is hybrid, and no planner is named"
    assert "settings: see /status" in bar.line(made, 80)


names = st.text(st.characters(codec="utf-8", categories=("L", "N", "P")), min_size=1, max_size=60)


@given(names, names, st.integers(24, 200), st.booleans())
def test_bar_is_never_wider_than_the_screen_and_says_whether_plans_are_reviewed(
    model: str, branch: str, width: int, no_review: bool
) -> None:
    made = session(Chosen((f"x:{model}",), "builtin", 12), Place(branch, 3))
    made.said = Namespace(**{**vars(made.said), "no_review": no_review})
    shown = bar.line(made, width)
    assert bar._columns(shown) < width
    assert ("no review" if no_review else "review") in shown
