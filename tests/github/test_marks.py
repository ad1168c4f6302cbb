"""A mark is found where MAK writes it, and nowhere else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mak.github.marks import read, write

IDS = st.text("0123456789abcdefxyz", min_size=1, max_size=64)
MARKS = st.fixed_dictionaries(
    {"kind": IDS},
    optional={"run": IDS, "digest": IDS, "rev": st.integers(0, 9_999), "seq": st.integers(0, 99)},
)


@given(MARKS, st.text())
def test_what_is_written_is_read_below_any_text(ids: dict[str, str | int], text: str) -> None:
    line = write(**ids)
    assert "--" not in line.removeprefix("<!--").removesuffix("-->")
    assert read(f"{text}\n{line}") == ids
    assert read(f"{text}\r\n{line}\r\n\n") == ids


@given(st.text())
def test_any_text_can_be_looked_at(text: str) -> None:
    assert read(text) is None


@pytest.mark.parametrize(
    "body",
    [
        "> " + write(kind="plan"),
        write(kind="plan") + "\nand more",
        "`" + write(kind="plan") + "`",
        '<!-- mak:v1 {"kind":"plan","title":"x"} -->',
        '<!-- mak:v1 {"kind":"a-b"} -->',
        '<!-- mak:v1 {"kind":true} -->',
        '<!-- mak:v1 {"rev":-1} -->',
        '<!-- mak:v1 {"kind":["plan"]} -->',
        '<!-- mak:v1 {"kind" -->',
        "<!-- mak:v1 " + '{"kind":' * 5_000 + "} -->",
        '<!-- mak:v2 {"kind":"plan"} -->',
    ],
    ids=lambda body: body[:24],
)
def test_what_is_no_mark_is_not_read(body: str) -> None:
    assert read(body) is None


@pytest.mark.parametrize(
    "ids", [{"kind": "--><b>"}, {"kind": ""}, {"title": "x"}, {"rev": -1}], ids=str
)
def test_only_ids_can_be_in_a_mark(ids: dict[str, str | int]) -> None:
    with pytest.raises(ValueError, match="cannot be in a mark"):
        write(**ids)
