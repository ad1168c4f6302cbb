"""Merging keeps what both sides did, or says what they both did."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mak.model import Delete, Edit, Insert, NodeId, Replace
from mak.source import Applied, Conflict, SourceFile, apply, merge, split

BASE = b"""import os

X = 1


def f():
    return 1


class A:
    y = 1

    def m(self):
        return 1

    def n(self):
        return 2


def g():
    return 2


if __name__ == "__main__":
    f()
"""
NAME = "a.py"
F, G, A = (NodeId(NAME, symbol) for symbol in ("f", "g", "A"))
EDITS: list[Edit] = [
    Replace(F, "def f():\n    return 10\n"),
    Replace(G, "def g():\n    return 20\n"),
    Replace(NodeId(NAME, "A.m"), "def m(self):\n    return 30\n"),
    Replace(NodeId(NAME, "@body"), "X = 2\n"),
    Replace(A, "class A(Base):"),
    Delete(NodeId(NAME, "A.n")),
    Delete(G),
    Insert(A, "def new(self):\n    return 4\n"),
    Insert(NodeId(NAME), "def h():\n    return 5\n"),
    Insert(NodeId(NAME), "class B:\n    pass\n"),
]


def done(numbers: set[int]) -> SourceFile:
    file = split(BASE, NAME)
    for number in sorted(numbers):
        edit = EDITS[number]
        granted = frozenset({edit.node} if isinstance(edit, Replace | Delete) else set())
        result = apply(file, NAME, [edit], granted=granted)
        assert isinstance(result, Applied)
        assert result.file is not None
        file = result.file
    return file


def subset(draw: st.DrawFn) -> set[int]:
    numbers = draw(st.sets(st.integers(0, len(EDITS) - 1)))
    return numbers - {6} if 1 in numbers else numbers


@st.composite
def sides(draw: st.DrawFn) -> tuple[set[int], set[int]]:
    return subset(draw), subset(draw)


@given(sides())
def test_what_both_sides_did_is_in_the_merge(both: tuple[set[int], set[int]]) -> None:
    ours, theirs = both
    result = merge(split(BASE, NAME), done(ours), done(theirs))
    clash = {1, 6} <= (ours | theirs)
    if clash:
        assert isinstance(result, Conflict)
        assert G in result.nodes
        return
    assert isinstance(result, SourceFile), result
    together = done(ours | theirs)
    assert {node.id for node in result.nodes} == {node.id for node in together.nodes}
    for node in result.nodes:
        assert result.text(node.id).strip() == together.text(node.id).strip()


@given(sides())
def test_merging_is_symmetric_in_what_it_holds(both: tuple[set[int], set[int]]) -> None:
    base, ours, theirs = split(BASE, NAME), done(both[0]), done(both[1])
    one, other = merge(base, ours, theirs), merge(base, theirs, ours)
    assert isinstance(one, SourceFile) == isinstance(other, SourceFile)
    if isinstance(one, SourceFile) and isinstance(other, SourceFile):
        assert {n.id: one.text(n.id).strip() for n in one.nodes} == {
            n.id: other.text(n.id).strip() for n in other.nodes
        }


def test_unchanged_side_gives_way() -> None:
    base, ours = split(BASE, NAME), done({0, 5})
    assert merge(base, ours, base) is ours
    assert merge(base, base, ours) is ours
    assert merge(base, ours, ours) is ours


def test_file_that_is_one_node_is_merged_only_when_one_side_changed() -> None:
    base, one, two = (
        split(text, "notes.md") for text in (b"a\nb\nc\n", b"A\nb\nc\n", b"a\nb\nC\n")
    )
    assert merge(base, one, base) is one
    result = merge(base, one, two)
    assert isinstance(result, Conflict)
    assert result.nodes == (NodeId("notes.md"),)


def test_a_side_that_changes_the_line_ends_conflicts() -> None:
    base = split(BASE, NAME)
    crlf = split(BASE.replace(b"\n", b"\r\n"), NAME)
    assert isinstance(merge(base, crlf, done({0})), Conflict)
