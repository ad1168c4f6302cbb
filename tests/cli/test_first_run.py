"""docs/guides/first-run.md is what its script types and what MAK prints."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.first_run import INTRO, PARTS, SHOP, TARGET, Terminal, typed

PAGE = TARGET.read_text()


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.__name__)
def test_the_guide_is_what_a_newcomer_sees(part: Callable[[Terminal], None]) -> None:
    assert typed(part) in PAGE, "make guide"


def test_the_guide_has_each_way_to_begin_and_ends_each_with_a_commit() -> None:
    assert PAGE.startswith(INTRO.format(shop=SHOP).rstrip())
    titles = re.findall(r"^## (.+)$", PAGE, re.MULTILINE)
    assert titles == ["With an Anthropic key", "With OpenRouter", "With Ollama", "Without a key"]
    for part in PAGE.split("\n## ")[1:]:
        assert re.search(r"^Run \w+ is done: 2 of 2 tasks landed", part, re.MULTILINE)


def test_links_within_the_guide_lead_to_its_titles() -> None:
    titles = {t.lower().replace(" ", "-") for t in re.findall(r"^## (.+)$", PAGE, re.MULTILINE)}
    assert {*re.findall(r"\]\(#([\w-]+)\)", PAGE)} == titles
