"""Files that are not code: cut exactly, edited and merged by their entries, nothing else moved.

The cases of ``tests/data/formats`` are written as those of merges; ``path`` names the file.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from benchmark.merges import Case, cases
from mak.judge import Accept, judge
from mak.model import (
    Delete,
    Edit,
    Insert,
    NodeId,
    NodeKind,
    Replace,
    Reply,
    ReplyStatus,
    Task,
)
from mak.source import (
    Applied,
    Conflict,
    Draft,
    Proposal,
    Rejected,
    SourceFile,
    Sources,
    apply,
    decode,
    join,
    merge,
    split,
)
from mak.source.draft import Shown
from mak.source.text import blob_id

DATA = Path(__file__).parent.parent / "data" / "formats"
CASES = list(cases(DATA))
FORMATS = ("json", "toml", "yaml", "requirements", "markdown")


def named(case: Case) -> str:
    return f"{case.path}: {case.name}"


@pytest.mark.parametrize("case", CASES, ids=named)
def test_texts_are_cut_exactly(case: Case) -> None:
    for data in (case.base, case.ours, case.theirs):
        file = split(data, case.path)
        assert join(file) == data
        assert not file.whole, file.why_whole
        assert file.language in FORMATS


@pytest.mark.parametrize("case", CASES, ids=named)
def test_two_versions_are_merged(case: Case) -> None:
    base, ours, theirs = (split(t, case.path) for t in (case.base, case.ours, case.theirs))
    result = merge(base, ours, theirs)
    if case.wanted is None:
        assert isinstance(result, Conflict), result
        assert result.reason
        return
    assert isinstance(result, SourceFile), result
    assert result.data.decode() == case.wanted.decode()
    for node in base.nodes:
        bytes_of = [f.text(node.id) for f in (base, ours, theirs) if f.get(node.id)]
        if len(bytes_of) == 3 and len(set(bytes_of)) == 1:
            assert result.text(node.id) == bytes_of[0]


def edits_between(before: SourceFile, after: SourceFile) -> list[Edit]:
    """Return the edits by which an agent would make one file of another."""
    edits: list[Edit] = []
    previous: NodeId | None = None
    for node in after.nodes:
        old = before.get(node.id)
        if old is None:
            edits.append(Insert(before.id, decode(after, node.id), previous))
        elif _said(before, node.id) != _said(after, node.id):
            edits.append(Replace(node.id, decode(after, node.id)))
        previous = node.id
    gone = [node.id for node in before.nodes if after.get(node.id) is None]
    return [*edits, *(Delete(id) for id in gone if not id.symbol.startswith("@"))]


def _said(file: SourceFile, id: NodeId) -> str:
    return decode(file, id).strip().rstrip(",")


def wanted_order(data: bytes) -> Counter[bytes]:
    return Counter(line.rstrip(b"\r\n,").strip() for line in data.splitlines() if line.strip())


@pytest.mark.parametrize("case", CASES, ids=named)
def test_two_writers_in_either_order(case: Case) -> None:
    base = split(case.base, case.path)
    blob = blob_id(case.base)
    sides = [edits_between(base, split(t, case.path)) for t in (case.ours, case.theirs)]
    found = []
    for order in ((0, 1), (1, 0)):
        draft = Draft(Sources({case.path: blob}, {blob: case.base}.__getitem__))
        view = draft.view()
        rejected = False
        for rank in order:
            edits = sides[rank]
            granted = frozenset(e.node for e in edits if isinstance(e, Replace | Delete))
            proposal = draft.propose(edits, granted, view=view, rank=rank)
            if isinstance(proposal, Rejected):
                rejected = True
                continue
            assert isinstance(proposal, Proposal)
            draft.accept(proposal)
        file = draft.file(case.path)
        assert file is not None
        found.append(None if rejected else file.data)
    assert found[0] == found[1]
    if case.wanted is None:
        assert found[0] is None
        return
    assert found[0] is not None
    assert wanted_order(found[0]) == wanted_order(case.wanted)
    touched = {edit.node for side in sides for edit in side if isinstance(edit, Replace | Delete)}
    after = split(found[0], case.path)
    for node in base.nodes:
        if node.kind is NodeKind.ENTRY and node.id not in touched:
            assert after.text(node.id).rstrip(b"\r\n,") == base.text(node.id).rstrip(b"\r\n,")


@pytest.mark.parametrize("case", [c for c in CASES if c.wanted is not None], ids=named)
def test_edits_of_entries_pass_the_checks(case: Case) -> None:
    blob = blob_id(case.base)
    draft = Draft(Sources({case.path: blob}, {blob: case.base}.__getitem__))
    before, after = (split(text, case.path) for text in (case.base, case.ours))
    edits = tuple(edits_between(before, after))
    writes = tuple(e.node for e in edits if isinstance(e, Replace | Delete))
    creates = tuple(node.id for node in after.nodes if before.get(node.id) is None)
    goal = "Remove or change it." if any(isinstance(e, Delete) for e in edits) else "Change it."
    reply = Reply(ReplyStatus.EDITED, edits)
    task = Task("t", goal, writes, (), creates)
    seen = Shown({}, (), draft.view())
    verdict = judge(reply, task, draft, seen, 0, set(), lambda tree, node: ())
    assert isinstance(verdict, Accept), verdict


@pytest.mark.parametrize(
    "path", ["package-lock.json", "web/pnpm-lock.yaml", "poetry.lock", "Cargo.lock", "go.sum"]
)
def test_a_lock_file_is_one_node_and_never_merged(path: str) -> None:
    texts = (b'{\n  "a": 1\n}\n', b'{\n  "a": 1,\n  "b": 2\n}\n', b'{\n  "a": 1,\n  "c": 3\n}\n')
    files = [split(text, path) for text in texts]
    assert all(file.whole for file in files)
    assert isinstance(merge(*files), Conflict)


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("a.json", b'[\n  {"a": 1}\n]\n'),
        ("a.json", b'{"a": 1, "b": 2}\n'),
        ("a.json", b'{\n  "a": 1,\n  "a": {\n'),
        ("a.json", b"\xff{}"),
        ("a.json", b"[" * 5000),
        ("a.yaml", b"- a\n- b\n"),
        ("a.yaml", b"{{ template }}\n"),
        ("a.yaml", b"a: 1\n---\nb: 2\n"),
        ("a.yaml", "a: 1\u2028b: 2\n".encode()),
        ("a.toml", b"a = 1\ra = 2\r"),
        ("a.toml", b"[a\n"),
        ("a.md", b"only text\n"),
        ("requirements.txt", b"# nothing\n"),
        ("requirements.txt", b""),
    ],
)
def test_what_has_no_entries_is_one_node(path: str, data: bytes) -> None:
    file = split(data, path)
    assert file.whole
    assert join(file) == data


@pytest.mark.parametrize(
    ("path", "before", "edit", "after"),
    [
        (
            "p.json",
            '{\n  "a": 1,\n  "b": 2\n}\n',
            ("", '"c": 3'),
            '{\n  "a": 1,\n  "b": 2,\n  "c": 3\n}\n',
        ),
        (
            "p.json",
            '{\n  "a": 1,\n  "b": 2\n}\n',
            ("b", '"b": [\n  3\n],'),
            '{\n  "a": 1,\n  "b": [\n    3\n  ]\n}\n',
        ),
        (
            "p.toml",
            "[b]\nx = 1\n\n[a]\ny = 1\n",
            ("", "[b.c]\nz = 1"),
            "[b]\nx = 1\n\n[b.c]\nz = 1\n\n[a]\ny = 1\n",
        ),
        ("requirements.txt", "a\nc\nd\n", ("", "b>=1"), "a\nb>=1\nc\nd\n"),
        ("p.yaml", "b: 1\na: 2  # two\n", ("a", "a: 3"), "b: 1\na: 3\n"),
        ("p.md", "# A\n\n- x\n", ("A", "# A\n\n- x\n- y"), "# A\n\n- x\n- y\n"),
    ],
)
def test_one_edit(path: str, before: str, edit: tuple[str, str], after: str) -> None:
    symbol, source = edit
    file, id = split(before.encode(), path), NodeId(path, symbol)
    change: Edit = Replace(id, source) if symbol else Insert(NodeId(path), source)
    result = apply(file, path, [change], granted=frozenset({id}))
    assert isinstance(result, Applied), result
    assert result.file is not None
    assert result.file.data.decode() == after


@pytest.mark.parametrize(
    ("path", "before", "edit", "check"),
    [
        ("p.json", '{\n  "a": 1\n}\n', Replace(NodeId("p.json", "a"), '"b": 1'), "shape"),
        ("p.json", '{\n  "a": 1\n}\n', Replace(NodeId("p.json", "a"), '"a": {'), "syntax"),
        ("p.json", '{\n  "a": 1\n}\n', Insert(NodeId("p.json"), '"a": 2'), "name-taken"),
        ("p.toml", "a = 1\n", Replace(NodeId("p.toml", "a"), "a = 1\nb = 2"), "shape"),
        ("p.toml", "a = 1\n", Replace(NodeId("p.toml", "a"), "a = "), "syntax"),
        ("p.yaml", "a: 1\nb: 2\n", Replace(NodeId("p.yaml", "a"), "a: [1"), "syntax"),
        ("p.yaml", "a: 1\nb: 2\n", Replace(NodeId("p.yaml", "c"), "c: 1"), "unknown-node"),
        ("requirements.txt", "a\n", Replace(NodeId("requirements.txt", "a"), "b"), "shape"),
        ("p.md", "# A\n\nx\n", Replace(NodeId("p.md", "A"), "# A\n\n# B\n"), "shape"),
        ("p.md", "# A\n\nx\n", Replace(NodeId("p.md", "A"), "  \n"), "empty"),
    ],
)
def test_an_edit_that_is_more_than_its_entry(
    path: str, before: str, edit: Replace | Insert, check: str
) -> None:
    node = edit.node if isinstance(edit, Replace) else edit.parent
    granted = frozenset({node} if isinstance(edit, Replace) else ())
    granted -= {NodeId("p.yaml", "c")}
    result = apply(split(before.encode(), path), path, [edit], granted=granted)
    assert isinstance(result, Rejected), result
    assert result.check == check
