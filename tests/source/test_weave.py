"""Edits that only add are in one text, whole and in order; any others are so, or conflict."""

from __future__ import annotations

import ast
import itertools
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from mak.model import NodeId, Replace
from mak.source import (
    Conflict,
    Draft,
    Proposal,
    SourceFile,
    Sources,
    appendable,
    decode,
    merge_edits,
    only_adds,
    split,
)
from mak.source.text import blob_id
from tests.source.registries import NAME, NEW, Work, works


def draft_of(data: bytes) -> Draft:
    blobs = {blob_id(data): data}
    return Draft(Sources({NAME: blob_id(data)}, blobs.__getitem__))


def changed_node(base: SourceFile, side: SourceFile) -> NodeId:
    [id] = [n.id for n in side.nodes if base.node(n.id).digest != n.digest]
    return id


def words_in(data: bytes) -> Counter[str]:
    return Counter(word for word in NEW for _ in range(data.decode().count(word)))


# I21
@settings(max_examples=60)
@given(st.data(), st.integers(2, 3))
def test_what_is_only_added_is_all_there_in_any_order(data: st.DataObject, count: int) -> None:
    work = data.draw(works(count))
    base = split(work.file(), NAME)
    sides = [split(work.file(side), NAME) for side in range(count)]
    node = changed_node(base, sides[0])
    granted = frozenset({node})
    found = set()
    for order in itertools.permutations(range(count)):
        draft = draft_of(work.file())
        view = draft.view()
        for rank in order:
            edits = [Replace(node, decode(sides[rank], node))]
            proposal = draft.propose(edits, granted, view=view, rank=rank)
            assert isinstance(proposal, Proposal), proposal
            draft.accept(proposal)
        file = draft.file(NAME)
        assert file is not None
        found.add(file.data)
    assert len(found) == 1
    [merged] = found
    assert merged == one_after_the_other(base, sides).data
    check_merge(work, merged, node)


def one_after_the_other(base: SourceFile, sides: list[SourceFile]) -> SourceFile:
    result = merge_edits(base, sides)
    assert isinstance(result, SourceFile), result
    return result


def check_merge(work: Work, merged: bytes, node: NodeId) -> None:
    sides = range(len(work.added))
    together = work.file(*sides)
    assert ast.dump(ast.parse(merged)) == ast.dump(ast.parse(together))
    assert words_in(merged) == words_in(together)
    assert appendable(split(work.file(), NAME), node)
    base, file = split(work.file(), NAME), split(merged, NAME)
    assert only_adds(base, file, node)
    for other in base.nodes:
        if other.id != node:
            assert file.text(other.id) == base.text(other.id)
    lines = merged.splitlines(keepends=True)
    if work.style.layout == "lines":
        assert lines == together.splitlines(keepends=True)


PIECES = [
    "x = 1\n",
    "x = 2\n",
    "y = [1, 2]\n",
    "y = [1, 2, 3]\n",
    "y = [\n    1,\n    2,\n]\n",
    't = {"a": 1, "b": 2}\n',
    't = {\n    "a": 1,\n    "b": 3,\n    "c": 4,\n}\n',
    "# a comment\nrun(x)\n",
    "run(x)\n",
    "run(y)  # why\n",
    'add("k", x)\n',
    'add("k", y)\n',
    "if x:\n    run(1)\nelse:\n    run(2)\n",
    "if x:\n    run(1)\n    run(3)\n",
    "for i in y:\n    # inside\n    run(i)\n",
    "a = 1; b = 2\n",
    '"""text\nof lines"""\n',
    "with open(x) as f:\n    f.read()\n",
    "\n",
    "import os\n",
]


@st.composite
def programs(draw: st.DrawFn) -> list[list[str]]:
    base = draw(st.lists(st.sampled_from(PIECES), max_size=6))
    sides = []
    for _ in range(2):
        side = list(base)
        for _ in range(draw(st.integers(1, 3))):
            at = draw(st.integers(0, len(side)))
            match draw(st.sampled_from(["add", "drop", "change"])):
                case "add":
                    side.insert(at, draw(st.sampled_from(PIECES)))
                case "drop" if at < len(side):
                    del side[at]
                case "change" if at < len(side):
                    side[at] = draw(st.sampled_from(PIECES))
        sides.append(side)
    return [base, *sides]


@settings(max_examples=120)
@given(programs(), st.sampled_from(["", "def f(x, y):\n", "class C:\n"]), st.booleans())
def test_any_two_edits_are_merged_whole_or_conflict(
    texts: list[list[str]], opening: str, has_end: bool
) -> None:
    files = []
    for pieces in texts:
        body = "".join(pieces)
        if opening:
            lines = ["q = 0\n", *body.splitlines(keepends=True)]
            body = opening + "".join(f"    {line}" if line.strip() else line for line in lines)
        text = f"start = 0\n{body}" if not opening else body
        files.append(split((text if has_end else text.rstrip("\n")).encode(), NAME))
    base, ours, theirs = files
    if any(file.whole for file in files):
        return
    result = merge_edits(base, [ours, theirs])
    if isinstance(result, Conflict):
        assert result.nodes
        assert result.reason
        return
    tree = ast.parse(result.data)
    statements = [Counter(_simple(ast.parse(file.data))) for file in files]
    merged = Counter(_simple(tree))
    for text in set().union(*statements):
        before, mine, new = (count[text] for count in statements)
        if mine == new or new == before:
            assert merged[text] == mine
        elif mine == before:
            assert merged[text] == new


def _simple(tree: ast.AST) -> list[str]:
    """Return the statements that hold neither others nor a table, which may have been merged."""
    return [
        ast.unparse(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt)
        and not hasattr(node, "body")
        and not isinstance(getattr(node, "value", None), ast.List | ast.Dict | ast.Call)
    ]
