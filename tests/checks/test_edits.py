"""Edits that `mak.source` applies, and bytes that change besides."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from mak.checks import Change, run_checks
from mak.checks.granted import CHECK as GRANTED
from mak.model import AddImport, Delete, Edit, Insert, NodeId, NodeKind, Replace, Task
from mak.source import Applied, SourceFile, apply, decode, split

TEXT = '''\
"""A module."""

from __future__ import annotations

import os
from typing import overload

# A table.
TABLE = {
    "a": 1,
}
LIMIT = 3


@overload
def read(x: int) -> int: ...
@overload
def read(x: str) -> str: ...
def read(x):
    """Read it."""
    return x


# About C.
class C(dict):
    """A class."""

    size = 1
    name = "c"

    @property
    def value(self):
        return self._value

    @value.setter
    def value(self, value):
        self._value = value

    other = 2

    class Inner:
        def m(self):
            return os.sep


def f():
    return [read(i) for i in range(LIMIT)]


HANDLERS = [f]


def g():
    return HANDLERS

    # a last remark


if __name__ == "__main__":
    g()
'''
BASES = [
    TEXT,
    TEXT.replace("\n", "\r\n"),
    TEXT.removesuffix("\n"),
    "\ufeff" + TEXT,
    TEXT.replace("    ", "\t"),
    TEXT.replace('if __name__ == "__main__":\n    g()\n', ""),
]
FILES = [split(base.encode(), "m.py") for base in BASES]
NEW = ["def new():\n    return 1\n", "class New:\n    x = 1\n", "NEW = 1\n"]


@st.composite
def edited(draw: st.DrawFn) -> tuple[SourceFile, list[Edit], frozenset[NodeId]]:
    """A file, edits of it and what was granted for them."""
    file = draw(st.sampled_from(FILES))
    picked = draw(st.lists(st.sampled_from(file.nodes), min_size=0, max_size=3, unique=True))
    edits: list[Edit] = []
    granted = set()
    for node in picked:
        granted.add(node.id)
        if node.kind in (NodeKind.FUNCTION, NodeKind.METHOD) and draw(st.booleans()):
            edits.append(Delete(node.id))
        else:
            text = decode(file, node.id).rstrip("\n")
            edits.append(Replace(node.id, f"{text}  # edited\n"))
    for source in draw(st.lists(st.sampled_from(NEW), max_size=2, unique=True)):
        parent = draw(st.sampled_from([NodeId("m.py"), NodeId("m.py", "C")]))
        method = source.replace("def new()", "def new(self)") if parent.symbol else source
        edits.append(Insert(parent, method))
    if draw(st.booleans()):
        edits.append(
            AddImport("m.py", draw(st.sampled_from(["import json", "from os import sep"])))
        )
    if not edits:
        edits.append(AddImport("m.py", "import json"))
    return file, edits, frozenset(granted)


def change(
    before: SourceFile,
    after: SourceFile | None,
    edits: list[Edit],
    granted: frozenset[NodeId],
    applied: Applied,
) -> Change:
    return Change(
        before={"m.py": before},
        after={"m.py": after},
        task=Task("t", "Edit m", tuple(granted)),
        edits=edits,
        created=applied.created,
        deleted=applied.deleted,
    )


# I6
@given(edited())
def test_what_was_applied_changed_only_what_was_granted(
    case: tuple[SourceFile, list[Edit], frozenset[NodeId]],
) -> None:
    file, edits, granted = case
    applied = apply(file, "m.py", edits, granted=granted)
    assume(isinstance(applied, Applied))
    assert isinstance(applied, Applied)
    found = run_checks(change(file, applied.file, edits, granted, applied))
    assert not [f for f in found if f.check in ("not-granted", "syntax", "duplicate-symbol")]


@given(edited(), st.data())
def test_a_letter_that_changes_outside_of_what_was_granted_is_found(
    case: tuple[SourceFile, list[Edit], frozenset[NodeId]], drawn: st.DataObject
) -> None:
    file, edits, granted = case
    applied = apply(file, "m.py", edits, granted=granted)
    assume(isinstance(applied, Applied) and applied.file is not None)
    assert isinstance(applied, Applied) and applied.file is not None
    data = bytearray(applied.file.data)
    known = granted | applied.changed | applied.created
    letters = [
        place
        for node in applied.file.nodes
        if node.kind is not NodeKind.HEADER and node.id not in known
        for place in range(node.start, node.end)
        if chr(data[place]).isalpha()
    ]
    data[drawn.draw(st.sampled_from(letters))] ^= 0x20
    after = split(bytes(data), "m.py")
    assert [*GRANTED.findings(change(file, after, edits, granted, applied))]
