"""Layers are laid in halves, with the bytes that laying one after the other would give."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mak.model import AddImport, Delete, Edit, Insert, NodeId, Replace
from mak.source import Applied, Conflict, Rejected, SourceFile, apply, decode, merge, run, split
from mak.source.layers import Layer, Layers
from tests.source.registries import NAME, Work, works

F, G, A, TABLE = (NodeId(NAME, symbol) for symbol in ("f", "g", "A", "@body"))
BASE = b'''"""Doc."""

import os

T = {
    "a": 1,
}


def f():
    return os.name


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
'''


def entry(*names: str) -> Replace:
    added = "".join(f'    "{name}": {len(name)},\n' for name in names)
    return Replace(TABLE, f'T = {{\n    "a": 1,\n{added}}}\n')


#: What each task may do. Some of it does not go together, some of it is the same.
EDITS: list[tuple[Edit, ...]] = [
    (Replace(F, "def f():\n    return 10\n"),),
    (Replace(F, "def f():\n    return 11\n"),),
    (Replace(G, "def g():\n    return 20\n"), entry("g")),
    (Replace(NodeId(NAME, "A.m"), "def m(self):\n    return 30\n"),),
    (entry("one"),),
    (entry("two", "three"), AddImport(NAME, "import re")),
    (entry("two"),),
    (Replace(A, "class A(Base):"), AddImport(NAME, "from b import Base")),
    (Delete(NodeId(NAME, "A.n")),),
    (Delete(G),),
    (Insert(A, "def new(self):\n    return 4\n"),),
    (Insert(NodeId(NAME), "def h():\n    return 5\n"), entry("h")),
    (Insert(NodeId(NAME), "def h():\n    return 6\n"),),
    (AddImport(NAME, "import sys"), AddImport(NAME, "import re")),
    (AddImport(NAME, "from b import Base"),),
    (Replace(NodeId(NAME, "@main"), 'if __name__ == "__main__":\n    g()\n'),),
]


def layer(
    seen: SourceFile, rank: int, edits: Sequence[Edit], above: frozenset[int] = frozenset()
) -> Layer:
    granted = {edit.node for edit in edits if isinstance(edit, Replace | Delete)}
    return Layer(rank, seen, above, tuple(edits), frozenset((*granted, A.api)))


def one_by_one(base: SourceFile, layers: Sequence[Layer]) -> SourceFile | None:
    """Lay layers on each other, lowest first; None: two of them do not go together."""
    below = base
    for each in layers:
        assert each.seen is not None
        meant = apply(each.seen, NAME, each.edits, granted=each.granted)
        assert isinstance(meant, Applied), meant
        assert meant.file is not None
        merged = merge(each.seen, below, meant.file)
        if isinstance(merged, Conflict):
            return None
        below = merged
    return below


def laid(base: SourceFile, layers: Sequence[Layer]) -> Layers | Rejected:
    stack = Layers(NAME, base)
    for each in layers:
        added = stack.add(each, None)
        if isinstance(added, Rejected):
            return added
        stack = added
    return stack


def top(stack: Layers | Rejected) -> bytes:
    assert isinstance(stack, Layers), stack
    assert stack.top is not None
    return stack.top.data


# I21
@settings(max_examples=80)
@given(st.data(), st.integers(2, 6))
def test_entries_are_laid_as_one_after_the_other(data: st.DataObject, count: int) -> None:
    work: Work = data.draw(works(count))
    base = split(work.file(), NAME)
    sides = [split(work.file(side), NAME) for side in range(count)]
    [node] = [n.id for n in sides[0].nodes if base.node(n.id).digest != n.digest]
    ranks = sorted(data.draw(st.sets(st.integers(0, 40), min_size=count, max_size=count)))
    layers = [
        layer(base, rank, [Replace(node, decode(side, node))])
        for rank, side in zip(ranks, sides, strict=True)
    ]
    arrived = data.draw(st.permutations(layers))
    expected = one_by_one(base, layers)
    assert expected is not None
    found = top(laid(base, arrived))
    assert found == top(laid(base, layers))
    if work.style.layout == "packed":
        # Where a full line breaks depends on how many entries are put into it at once.
        assert found.split() == expected.data.split()
    else:
        assert found == expected.data


# I21
@settings(max_examples=150)
@given(st.lists(st.sampled_from(EDITS), min_size=2, max_size=6), st.data())
def test_any_edits_are_laid_as_one_after_the_other(
    edits: list[tuple[Edit, ...]], data: st.DataObject
) -> None:
    base = split(BASE, NAME)
    layers = [layer(base, rank, each) for rank, each in enumerate(edits)]
    stack = laid(base, data.draw(st.permutations(layers)))
    expected = one_by_one(base, layers)
    if expected is None:
        assert isinstance(stack, Rejected)
        assert stack.check in ("merge", "name-taken")
        return
    assert top(stack) == expected.data
    assert isinstance(stack, Layers)
    assert split(top(stack), NAME) == stack.top


@st.composite
def views(draw: st.DrawFn) -> list[tuple[int, frozenset[int]]]:
    """Draw tasks in the order in which they answer, with those whose edits they were shown."""
    count = draw(st.integers(2, 6))
    made: list[tuple[int, frozenset[int]]] = []
    for rank in draw(st.permutations(range(count))):
        above: set[int] = set()
        for other, below in made:
            if draw(st.booleans()):
                above |= {other, *below}
        made.append((rank, frozenset(above)))
    return made


# I21
@settings(max_examples=60)
@given(views(), st.data())
def test_what_was_seen_lies_below_and_any_order_gives_the_same(
    tasks: list[tuple[int, frozenset[int]]], data: st.DataObject
) -> None:
    base = split(BASE, NAME)
    layers: dict[int, Layer] = {}
    for rank, above in tasks:
        seen = laid(base, [layers[other] for other in sorted(above, key=[*layers].index)])
        assert isinstance(seen, Layers)
        assert seen.top is not None
        text = decode(seen.top, TABLE).removesuffix("}\n")
        edit = Replace(TABLE, f'{text}    "key{rank}": {rank},\n}}\n')
        layers[rank] = layer(seen.top, rank, [edit], above)
    left = dict(layers)
    order = []
    while left:  # nobody answers before those whose edits it was shown
        ready = [each for each in left.values() if not each.above & left.keys()]
        order.append(left.pop(data.draw(st.sampled_from(ready)).rank))
    stack = laid(base, order)
    assert top(stack) == top(laid(base, [*layers.values()]))
    table = next(n for n in ast.parse(top(stack)).body if isinstance(n, ast.Assign)).value
    assert isinstance(table, ast.Dict)
    keys = [ast.literal_eval(key) for key in table.keys if key is not None]
    assert sorted(keys[1:]) == sorted(f"key{rank}" for rank in layers)
    assert all(
        keys.index(f"key{other}") < keys.index(f"key{rank}")
        for rank, each in layers.items()
        for other in each.above
    )


def test_every_set_of_ranks_is_cut_anywhere() -> None:
    """What lies between the layers of a run parts it, and they are one again without it."""
    base = split(BASE, NAME)
    for ranks in ([0, 1], [0, 3, 4], [1, 2, 5, 6, 7], [3, 8, 9, 10, 12]):
        layers = [layer(base, rank, [entry(f"k{rank}")]) for rank in ranks]
        stack = laid(base, layers)
        assert isinstance(stack, Layers)
        [whole] = stack.runs
        for at in range(1, len(ranks)):
            parts = whole.cut(at, None)
            assert isinstance(parts, tuple), parts
            assert [len(part.layers) for part in parts] == [at, len(ranks) - at]
            for part, some in zip(parts, (layers[:at], layers[at:]), strict=True):
                assert part.layers == tuple(some)
                assert part.whole.file is not None
                assert part.whole.file.data == top(laid(base, some))
            joined = parts[0].joined(parts[1], None)
            assert isinstance(joined, run.Run)
            assert joined.root == whole.root


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_a_name_that_two_add_is_said_to_be_taken(order: tuple[int, ...]) -> None:
    """The second of two helpers of one name was told that somebody had changed it."""
    base = split(BASE, NAME)
    helper = "def help():\n    return {}\n"
    layers = [
        layer(base, 1, [Insert(NodeId(NAME), helper.format(1)), entry("one")]),
        layer(base, 3, [entry("two")]),
        layer(base, 4, [Insert(NodeId(NAME), helper.format(2))]),
        layer(base, 9, [Delete(G)]),
    ]
    stack = laid(base, [layers[n] for n in order])
    assert isinstance(stack, Rejected)
    assert stack.check == "name-taken"
    assert stack.reason.startswith("`help` already exists")
    united = laid(base, [*layers[:2], replace(layers[0], rank=4), layers[3]])
    assert top(united).count(b"def help") == 1


@pytest.mark.parametrize("order", ["first to last", "last to first", "every seventh"])
def test_a_late_answer_costs_few_merges(order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty layers that meet were laid anew for one that came late and lies at the bottom."""
    count = 64
    base = split(BASE, NAME)
    layers = [layer(base, rank, [entry(f"k{rank:02}")]) for rank in range(count)]
    arrived = {
        "first to last": layers,
        "last to first": layers[::-1],
        "every seventh": [layers[n * 7 % count] for n in range(count)],
    }[order]
    merges: list[bytes] = []

    def counted(*files: SourceFile, newer: None) -> SourceFile | Conflict:
        merges.append(files[0].data)
        return merge(*files, newer=newer)

    monkeypatch.setattr(run, "merge", counted)
    stack = Layers(NAME, base)
    before = 0
    for each in arrived:
        added = stack.add(each, None)
        assert isinstance(added, Layers)
        stack = added
        after = len(merges)
        before, cost = after, after - before
        assert cost <= math.log2(count)
    keys = [line for line in top(stack).splitlines() if line.startswith(b'    "k')]
    assert keys == [b'    "k%02d": 3,' % rank for rank in range(count)]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"# c\n",
        b'"""D."""\n',
        b"X = 1\n\n",
        b"def f():\n    pass\n\n\n# the end\n# of it\n",
        b"\xef\xbb\xbfX = 1\n",
        b"#!/bin/python\n# coding: utf-8\n",
    ],
)
def test_what_two_add_to_a_file_with_next_to_nothing_in_it_goes_together(data: bytes) -> None:
    """With a byte order mark, and in an empty file, what both added was a conflict."""
    base = split(data, NAME)
    new = [
        (AddImport(NAME, f"import {name}"), Insert(base.id, f"def {name}_():\n    pass\n"))
        for name in ("abc", "bisect")
    ]
    for edits in (
        new,
        [each[:1] for each in new],
        [each[1:] for each in new],
        [new[0][:1], new[1][1:]],
    ):
        layers = [layer(base, rank, each) for rank, each in enumerate(edits)]
        found = top(laid(base, layers))
        assert found == top(laid(base, layers[::-1]))
        tree = ast.parse(found)
        assert found.count(b"import ") == sum(isinstance(n, ast.Import) for n in tree.body)
        expected = [e for each in edits for e in each]
        assert found.endswith(b"\n\n") == data.endswith(b"\n\n")
        assert len(tree.body) - len(ast.parse(data).body) == len(expected)
        assert b"\n\n\n\n" not in found
        assert found.count(b"#") == data.count(b"#")
        if any(isinstance(edit, Insert) for edit in expected[1:]):
            assert b"\n\n\ndef bisect_" in found
