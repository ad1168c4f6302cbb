"""What may grow is told from its syntax; what an edit did to it is told from both texts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mak.model import NodeId
from mak.source import appendable, only_adds, split

NAME = "a.py"
CASES = Path(__file__).parent.parent / "data" / "appendable.txt"


def cases() -> Iterator[tuple[str, str, list[tuple[str, str]]]]:
    for block in CASES.read_text("utf-8").split("##### ")[1:]:
        name, _, rest = block.partition("\n")
        lines = [line[4:] for line in rest.split("\n") if line.startswith("=== ")]
        wanted = [(node, parts.strip()) for node, _, parts in (x.rpartition(":") for x in lines)]
        yield name, rest.partition("=== ")[0], wanted


@pytest.mark.parametrize(
    ("name", "source", "wanted"), list(cases()), ids=lambda value: str(value)[:40]
)
def test_what_grows(name: str, source: str, wanted: list[tuple[str, str]]) -> None:
    file = split(source.encode(), NAME)
    for node, parts in wanted:
        id = NodeId(NAME) if node == "FILE" else NodeId.parse(f"{NAME}::{node}")
        if node.startswith("@body:"):
            id = NodeId(NAME, node)
        assert str(appendable(file, id) or "") == parts, f"{name}: {node}"


@pytest.mark.parametrize(
    ("before", "after", "adds"),
    [
        ('X = ["a"]\n', 'X = ["a", "b"]\n', True),
        ('X = ["a"]\n', 'X = [\n    "a",\n    "b",\n]\n', True),
        ('X = ["a"]\n', 'X = ["b"]\n', False),
        ('X = ["a", "b"]\n', 'X = ["b", "a"]\n', False),
        ('X = {"a": [1]}\n', 'X = {"a": [1, 2]}\n', True),
        ('X = {"a": 1}\n', 'X = {"a": 2, "b": 1}\n', False),
        ('f("a", x)\n', 'f("a", x)\nf("b", y)\n', True),
        ('f("a", x)\n', 'f("a", y)\n', False),
        ('f("a", x)\n', 'f("a", x)\ny = 1\n', True),
        ("x = 1\n", "", False),
    ],
)
def test_an_edit_only_adds(before: str, after: str, adds: bool) -> None:
    files = [split(text.encode(), NAME) for text in (before, after)]
    assert only_adds(files[0], files[1], NodeId(NAME, "@body")) is adds


def test_a_new_member_only_adds_to_file_and_class() -> None:
    before = split(b"class A:\n    def f(self):\n        pass\n", NAME)
    more = split(before.data + b"\n    def g(self):\n        pass\n\n\ndef h():\n    pass\n", NAME)
    other = split(before.data.replace(b"pass", b"return"), NAME)
    klass = NodeId.parse(f"{NAME}::A#all")
    assert only_adds(before, more, NodeId(NAME))
    assert only_adds(before, more, klass)
    assert not only_adds(before, other, NodeId(NAME))
    assert not only_adds(before, other, klass)
