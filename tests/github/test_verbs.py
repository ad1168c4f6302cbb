"""The page of commands on GitHub shows them as they are."""

from __future__ import annotations

import re

from mak.github.verbs import VERBS
from tests.verbs import PAGE, commands, flags


def test_a_page_shows_the_commands_as_they_are() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert commands() in page, "make said writes it anew"
    assert flags() in page, "make said writes it anew"
    assert set(re.findall(r"^\| `/mak (\w+)", commands(), re.MULTILINE)) == {v.name for v in VERBS}
