"""Cutting only what was edited gives what cutting the whole file gives, or nothing."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mak.model import Node, NodeKind
from mak.source import SourceFile, compiles, split, still_compiles
from mak.source.recut import recut, united
from mak.source.splice import Piece, pieces_of

FUNCTIONS = (NodeKind.FUNCTION, NodeKind.METHOD)

FILE = b'''"""Doc."""

import os


# about f
@deco
def f(a):
    return a
    # deep


def g(b): return b


class C:
    x = 1

    # about m
    def m(self):
        return """
text
"""

    @property
    def p(self):
        return 1

    @p.setter
    def p(self, value):
        pass

        # the end of C


    # still in C
# the end
'''

#: What may follow, precede or be put into a text, to upset what stands around it.
UPSETS = [
    "", "\n", "\n\n", "\\\n", "#", "# x\n", "    # x\n", "        # x\n", "\x0c\n", "x = 1\n",
    "    x = 1\n", "        x = 1\n", "else:\n    pass\n", '"""', "'''\n", "(", ")\n", "@deco\n",
    "    @deco\n", "def h(): pass\n", "    def h(self): pass\n", "class D: pass\n", "import re\n",
    "if 1:\n", "\t\n", "\ttab\n", "async ", "# coding: latin-1\n", "\r", "é\n", "\ufeff", ";",
    "; y = 2\n", "lambda: (yield)\n", "@p.getter\n", "return 1\n", "nonlocal a\n",
    "    try:\n        pass\n    finally: pass\n",
]  # fmt: skip


def edited(file: SourceFile, node: Node, data: bytes) -> list[Piece]:
    pieces = pieces_of(file)
    end = 0
    for piece in pieces:
        if piece.node is node:
            piece.data, piece.allows = data, frozenset({node.id.symbol})
        piece.start, end = end, end + len(piece.data)
    return pieces


@st.composite
def edits(draw: st.DrawFn) -> tuple[SourceFile, list[Piece]]:
    """A file, and pieces of which one holds another text than before."""
    newline = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    mark = draw(st.sampled_from([b"", b"\xef\xbb\xbf"]))
    text = FILE.decode().removesuffix(draw(st.sampled_from(["", "\n", "# the end\n"])))
    file = split(mark + text.replace("\n", newline).encode(), "a.py")
    node = draw(st.sampled_from([node for node in file.nodes if node.kind in FUNCTIONS]))
    return file, edited(file, node, upset(draw, file, node))


def upset(draw: st.DrawFn, file: SourceFile, node: Node) -> bytes:
    """Return another text for a node."""
    newline = file.newline
    lines = file.text(node.id).decode().split(newline)
    for _ in range(draw(st.integers(0, 3))):
        number = draw(st.integers(0, len(lines) - 1))
        text = draw(st.sampled_from(UPSETS)).replace("\n", newline)
        match draw(st.integers(0, 3)):
            case 0:
                lines[number] = text + lines[number]
            case 1:
                lines[number] += text
            case 2:
                lines[number] = text.removesuffix(newline)
            case _:
                lines[number] = lines[number].replace("1", "2").replace("self", "self, b=0")
    return newline.join(lines).encode()


@st.composite
def pairs(draw: st.DrawFn) -> tuple[SourceFile, SourceFile, SourceFile]:
    """A file, and two versions of it in which other functions hold another text."""
    file, pieces = draw(edits())
    left = [
        piece.node
        for piece in pieces
        if piece.node is not None and piece.node.kind in FUNCTIONS and piece.allows is None
    ]
    node = draw(st.sampled_from(left))
    both = pieces, edited(file, node, upset(draw, file, node))
    ours, theirs = (split(b"".join(piece.data for piece in each), "a.py") for each in both)
    return file, ours, theirs


# I6
@given(edits())
def test_part_of_a_file_is_cut_as_in_the_whole(edit: tuple[SourceFile, list[Piece]]) -> None:
    file, pieces = edit
    found = recut(file, pieces)
    assume(found is not None)
    assert found is not None
    if still_compiles(file, found):
        assert compiles(found) is None
        assert found == split(found.data, "a.py")


# I2
@settings(max_examples=300)
@given(pairs())
def test_two_versions_with_other_functions_changed_are_one_as_cut_in_the_whole(
    files: tuple[SourceFile, SourceFile, SourceFile],
) -> None:
    base, ours, theirs = files
    found = united(base, ours, theirs)
    assume(found is not None)
    assert found is not None
    if compiles(ours) is None and compiles(theirs) is None:
        assert compiles(found) is None
        assert found == split(found.data, "a.py")


def test_function_is_cut_without_the_rest_of_its_file() -> None:
    file = split(FILE, "a.py")
    for node in file.nodes:
        if node.kind in FUNCTIONS:
            text = (
                file.text(node.id).replace(b"a", b"z").replace(b"1", b"(\n1)").replace(b"z", b"a")
            )
            longer = text.replace(b"pass\n", b"pass; 2\n").replace(b"return b", b"return 3, b")
            found = recut(file, edited(file, node, longer))
            assert found == split(found.data if found else b"", "a.py"), node.id


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"def g(b): return b\n", b"def g(b): return b  \\\n"),
        (b"    return a\n    # deep\n", b"    return a\n# deep\n"),
        (b"# about f\n", b"# about\n"),
        (b"def g(b): return b\n", b"def h(b): return b\n"),
        (b"def g(b): return b\n", b"def g(b): return b\nx = 1\n"),
        (b"def g(b): return b\n", b"class g: pass\n"),
        (b"@p.setter\n", b"@p.getter\n"),
        (b"        return 1\n", b"        return 1\n    y = 2\n"),
        (b"        return 1\n", b"        return (1\n"),
    ],
)
def test_whole_file_is_cut_where_an_edit_may_reach_further(old: bytes, new: bytes) -> None:
    file = split(FILE, "a.py")
    node = next(n for n in file.nodes if n.kind in FUNCTIONS and old in file.text(n.id))
    assert recut(file, edited(file, node, file.text(node.id).replace(old, new))) is None


def test_whole_file_is_cut_where_more_than_code_of_functions_changed() -> None:
    file = split(FILE, "a.py")
    for node in file.nodes:
        if node.kind not in FUNCTIONS and node.end > node.start:
            assert recut(file, edited(file, node, file.text(node.id) + b"\n")) is None
    pieces = pieces_of(file)
    assert recut(file, pieces[:-1]) is None
    assert recut(split(b"", "a.txt"), []) is None
    first = split(b"def f(): return 1\n", "a.py")
    assert recut(first, edited(first, first.nodes[1], b"def f(): return 2\n")) is None


@pytest.mark.slow
def test_functions_of_the_standard_library_are_cut_as_in_the_whole() -> None:
    library = Path(ast.__file__).parent.glob("*.py")
    for path in sorted(library):
        file = split(path.read_bytes(), "a.py")
        for node in file.nodes[:: max(1, len(file.nodes) // 20)]:
            if node.kind in FUNCTIONS:
                code = file.text(node.id).replace(b"return ", b"return 1, ")
                found = recut(file, edited(file, node, code))
                if found is not None and compiles(found) is None:
                    assert found == split(found.data, "a.py"), (path, node.id)
