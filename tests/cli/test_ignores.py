"""Which lines a `# mak: ignore[id]` is for, and what is said about one that means nothing."""

from __future__ import annotations

import pytest

from mak.cli.ignores import read

KNOWN = ("call", "name", "syntax")


def covered(text: str, check: str = "call") -> list[int]:
    found = read(text.encode(), KNOWN)
    return [n for n in range(1, text.count("\n") + 2) if found.covers(check, n)]


def test_comment_is_for_its_line_and_its_checks_only() -> None:
    text = "f()\ng()  # mak: ignore[call, name]\nh()\n"
    assert covered(text) == covered(text, "name") == [2]
    assert covered(text, "syntax") == []


def test_comment_at_either_end_of_a_statement_is_for_all_of_it() -> None:
    for text in (
        "f(  # mak: ignore[call]\n    1,\n    2,\n)\ng()\n",
        "f(\n    1,\n    2,\n)  # mak: ignore[call]\ng()\n",
    ):
        assert covered(text) == [1, 2, 3, 4]


def test_comment_within_a_statement_is_for_its_line() -> None:
    assert covered("f(\n    g(1),  # mak: ignore[call]\n    g(2),\n)\n") == [2]


def test_comment_on_its_own_line_is_for_what_comes_next() -> None:
    assert covered("a = 1\n# mak: ignore[call]\n# why\n\nf()\ng()\n") == [5]
    assert covered("f(\n    # mak: ignore[call]\n    g(1),\n    g(2),\n)\n") == [3]


def test_comment_above_a_block_is_for_its_first_line() -> None:
    assert covered("# mak: ignore[call]\ndef f(\n    a,\n):\n    return g()\n") == [2, 3, 4]


def test_text_in_a_string_is_no_comment() -> None:
    assert covered('f("# mak: ignore[call]")\n') == []


@pytest.mark.parametrize(
    "text", ["f()  # mak: ignore[call]\n(\n", "  f()  # mak:ignore[ call ]\n )"]
)
def test_file_that_does_not_parse_is_read_by_its_lines(text: str) -> None:
    assert covered(text) == [1]


def test_other_encodings_and_line_endings() -> None:
    text = "# -*- coding: latin-1 -*-\r\né = f()  # mak: ignore[call]\r\n"
    assert read(text.encode("latin-1"), KNOWN).covers("call", 2)
    assert read(b"# -*- coding: none -*-\nf()  # mak: ignore[call]\n", KNOWN).covers("call", 2)


def test_what_means_nothing_is_said() -> None:
    marks = ("ignore[cal]", "ignore", "ignore[]", "ignore[name]")
    text = "".join(f"f()  # mak: {mark}\n" for mark in marks)
    assert read(text.encode(), KNOWN).remarks == [
        (1, "mak: ignore[cal]: there is no check 'cal'; did you mean 'call'?"),
        (2, "say what to ignore: `# mak: ignore[id]`"),
        (3, "say what to ignore: `# mak: ignore[id]`"),
    ]
