"""Edits that only add are in one text, whole and in order; any others are so, or conflict."""

from __future__ import annotations

import ast
import itertools
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from mak.model import AddImport, Edit, Insert, NodeId, Replace
from mak.source import (
    Conflict,
    Draft,
    Proposal,
    Rejected,
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
    """Return the statements that hold neither others nor a table, which may have been merged.

    Imports are a set.
    """
    nodes = [*ast.walk(tree)]
    imports = {ast.unparse(node) for node in nodes if isinstance(node, ast.Import)}
    return [*imports] + [
        ast.unparse(node)
        for node in nodes
        if isinstance(node, ast.stmt)
        and not isinstance(node, ast.Import)
        and not hasattr(node, "body")
        and not isinstance(getattr(node, "value", None), ast.List | ast.Dict | ast.Call)
    ]


def test_what_saw_another_edit_lies_above_it_and_the_rest_in_plan_order() -> None:
    base = b'X = [\n    "a",\n]\n'
    node = NodeId(NAME, "@body")

    def adding(*names: str) -> list[Replace]:
        return [Replace(node, "X = [\n" + "".join(f'    "{n}",\n' for n in names) + "]\n")]

    granted = frozenset({node})
    found = set()
    for early in ([1, 3], [3, 1]):
        draft = draft_of(base)
        first = draft.view()
        draft.accept(accepted(draft.propose(adding("a", "five"), granted, view=first, rank=5)))
        second = draft.view()
        rest = {
            1: (adding("a", "one"), first),
            3: (adding("a", "five", "three"), second),
        }
        for rank in early:
            edits, view = rest[rank]
            draft.accept(accepted(draft.propose(edits, granted, view=view, rank=rank)))
        file = draft.file(NAME)
        assert file is not None
        found.add(file.data)
    assert found == {b'X = [\n    "a",\n    "one",\n    "five",\n    "three",\n]\n'}


def test_edits_that_clash_are_rejected_and_change_nothing() -> None:
    draft = draft_of(b'T = {\n    "a": 1,\n}\n')
    node = NodeId(NAME, "@body")
    view = draft.view()
    one, other = (
        [Replace(node, f'T = {{\n    "a": 1,\n    "b": {value},\n}}\n')] for value in (2, 3)
    )
    draft.accept(accepted(draft.propose(one, frozenset({node}), view=view, rank=1)))
    before = draft.file(NAME)
    result = draft.propose(other, frozenset({node}), view=view, rank=0)
    assert isinstance(result, Rejected)
    assert result.check == "merge"
    assert '"b": 2' in result.reason
    assert '"b": 3' in result.reason
    assert draft.file(NAME) is before


def test_sixty_tasks_add_to_the_same_two_files_at_once() -> None:
    registry = b'from a import g\n\n__all__ = ["f"]\n\n\ndef f():\n    pass\n\n\nregister("f", f)\n'
    blob = blob_id(registry)
    paths = ("one.py", "two.py")
    draft = Draft(Sources(dict.fromkeys(paths, blob), {blob: registry}.__getitem__))
    nodes = frozenset(NodeId(path, n) for path in paths for n in ("@body", "@body:f"))
    view = draft.view()
    for number in sorted(range(60), key=lambda n: (n // 8, -n)):
        name = f"task_{number:02}"
        edits: list[Edit] = []
        for path in paths:
            names = f'__all__ = ["f", "{name}"]\n'
            calls = f'register("f", f)\nregister("{name}", {name})\n'
            edits.append(AddImport(path, f"from m import {name}x"))
            edits.append(Replace(NodeId(path, "@body"), names))
            edits.append(Replace(NodeId(path, "@body:f"), calls))
            edits.append(Insert(NodeId(path), f"def {name}():\n    pass\n"))
        draft.accept(accepted(draft.propose(edits, nodes, view=view, rank=number)))
    for path in paths:
        file = draft.file(path)
        assert file is not None
        for number in range(60):
            name = f"task_{number:02}"
            counts = [
                file.data.count(text % name.encode()) for text in (b'"%b"', b"def %b(", b"%bx")
            ]
            assert counts == [2, 1, 1]
        lines = [line for line in file.data.splitlines() if line.startswith(b"register(")]
        assert len(lines) == 61
        assert lines[1:] == sorted(lines[1:])


def accepted(result: Proposal | Rejected) -> Proposal:
    assert isinstance(result, Proposal), result
    return result
