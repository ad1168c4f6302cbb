"""What MAK says is worded as people were told, and what others wrote does nothing."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from mak.github.messages import branch_moved, inert, misread, stale
from mak.github.state import Offer

OLD, NEW = Offer(1, "91ab22c" + "0" * 57, 1), Offer(2, "3f9c1ab" + "0" * 57, 2)
PIECES = st.sampled_from(
    [
        "@bob",
        "#1",
        "fixes ",
        "GH-2",
        "![x](http://a.b/c)",
        "<img src=x>",
        "https://a.b",
        "www.a.b",
        "`",
        "\\",
        "*",
        "_",
        "[a](b)",
        "\n\n",
        "</details>",
        "<!--",
        "-->",
        "&",
        "```",
        "&#64;",
        " ",
    ]
)
WORDS = st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=4)


@given(st.lists(PIECES | WORDS).map("".join))
def test_a_text_of_others_is_words_only(text: str) -> None:
    shown = MarkdownIt("commonmark").renderInline("Task " + inert(text))
    assert "<" not in shown
    words = html.unescape(shown)
    assert not re.search(r"@\w|#\d|://\w|www\.\w|GH-\d", words, re.IGNORECASE)
    assert words.replace("\u200b", "").split() == ["Task", *text.replace("\u200b", "").split()]


@pytest.mark.parametrize(
    ("said", "golden"),
    [
        (
            stale("alice", OLD, NEW),
            "@alice the plan changed after your comment was written: you approved rev 1"
            " (`91ab22c`), the current one is rev 2 (`3f9c1ab`).\n"
            "Nothing was started. To run rev 2: `/mak approve 3f9c1ab`",
        ),
        (
            misread(2, "unknown flag --agent (did you mean --agents?)", 2, ("--agents=N",)),
            "I could not read line 2: unknown flag --agent (did you mean --agents?). None of the 2"
            " commands in it was run.\n- --agents=N",
        ),
        (
            branch_moved("carol", "9f8e7d6" + "0" * 33, "mak/42-r7f3k2"),
            "@carol pushed 9f8e7d6 to `mak/42-r7f3k2`. I never overwrite human commits."
            " `/mak resume` = continue on top · `/mak resume --rebase` = replay remaining waves on"
            " it · `/mak cancel`.",
        ),
    ],
    ids=["stale", "misread", "moved"],
)
def test_what_is_said(said: str, golden: str) -> None:
    assert said == golden
