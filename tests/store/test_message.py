"""Commit messages that hooks have rewritten."""

from __future__ import annotations

import pytest

from mak.store.message import with_trailers_of

OURS = "MAK-Run: r1\nMAK-Tasks: a, b\n"
ORIGINAL = f"do a (and 1 more)\n\n- a: do a\n- b: do b\n\n{OURS}"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("short\n", f"short\n\n{OURS}"),
        ("Note: it is short", f"Note: it is short\n\n{OURS}"),
        (f"{ORIGINAL}\nwith a footer\n", f"{ORIGINAL[: -len(OURS)]}with a footer\n\n{OURS}"),
        (f"{ORIGINAL}Change-Id: I7\n", f"{ORIGINAL[: -len(OURS)]}Change-Id: I7\n{OURS}"),
        (f"JIRA-1 {ORIGINAL}", f"JIRA-1 {ORIGINAL}"),
        (ORIGINAL.replace("r1", "r2"), ORIGINAL),
    ],
    ids=["replaced", "colon in the subject", "footer", "trailer", "subject", "forged"],
)
def test_trailers_outlive_what_a_hook_does(text: str, kept: str) -> None:
    assert with_trailers_of(text, ORIGINAL) == kept
    assert with_trailers_of(kept, ORIGINAL) == kept
