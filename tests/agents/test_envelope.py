"""Code in blocks of its own, for models that cannot write it as JSON."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mak.agents.envelope import blocks, fill, header
from mak.agents.reply import Malformed, read
from mak.model import AddImport, Insert, NodeId, Replace, Reply, ReplyStatus

NET = 'def net(x):\n    """A "quoted" \\d."""\n    return x\n'


def answer(*sources: tuple[str, str], fence: str = "```", **parts) -> str:
    results = [
        {"node": name, "status": "edited", "new_source": "", "reason": ""}
        for name, _ in sources
        if name.startswith("n") and not name.startswith("new")
    ]
    empty = {"new_nodes": [], "imports": [], "deletes": [], "needs_locks": [], "notes": ""}
    head = json.dumps({"results": results, **empty, **parts}, indent=1)
    tail = "\n".join(f"{fence}{name}\n{source}{fence}\n" for name, source in sources)
    return f"{head}\n\n{tail}"


@pytest.fixture
def slots(assign):
    return assign("shop.py::net").slots


def test_source_is_taken_as_it_stands(slots):
    got = read(answer(("n1", NET)), slots)
    assert isinstance(got, Reply)
    assert got.edits == (Replace(NodeId("shop.py", "net"), NET),)


@pytest.mark.parametrize("opening", ["```n1", "```python n1", "```py:n1", "````n1", "~~~n1"])
def test_fences_are_read_as_models_write_them(slots, opening):
    fence = opening[: len(opening) - len(opening.lstrip("`~"))]
    text = answer().replace('"results": []', '"results": [{"node": "n1", "status": "edited"}]')
    got = read(f"Sure!\n{text}{opening}\n{NET}{fence}\n", slots)
    assert isinstance(got, Reply), got
    assert got.edits == (Replace(NodeId("shop.py", "net"), NET),)


def test_a_longer_fence_holds_a_shorter_one(slots):
    source = 'def net(x):\n    """\n```\nx\n```\n    """\n    return x\n'
    got = read(answer(("n1", source), fence="````"), slots)
    assert isinstance(got, Reply)
    assert got.edits == (Replace(NodeId("shop.py", "net"), source),)


def test_new_nodes_are_numbered_in_their_order(slots):
    new = {"parent": "n1", "after": "n1", "kind": "function", "source": ""}
    imports = [{"module_of": "n1", "statement": "import os"}]
    one, two = "def one():\n    pass\n", "def two():\n    pass\n"
    text = answer(("n1", NET), ("new2", two), ("new1", one), new_nodes=[new, new], imports=imports)
    got = read(text, slots)
    assert isinstance(got, Reply)
    home, beside = NodeId("shop.py"), NodeId("shop.py", "net")
    assert got.edits == (
        Replace(beside, NET),
        Insert(home, one, beside),
        Insert(home, two, beside),
        AddImport("shop.py", "import os"),
    )


def test_a_block_that_is_missing_or_not_closed_is_said(slots):
    whole = answer(("n1", NET))
    for text in (whole[: whole.index("```")], whole[: whole.rindex("```")]):
        got = read(text, slots)
        assert isinstance(got, Malformed)
        assert "n1 is edited, but new_source is empty" in str(got)


def test_json_with_its_source_inside_is_read_as_ever(slots):
    source = "def net(x):\n    return '```n1'\n"
    result = {"node": "n1", "status": "edited", "new_source": source, "reason": ""}
    text = answer(results=[result])
    got = read(text, slots)
    assert isinstance(got, Reply) and got.status is ReplyStatus.EDITED
    assert got.edits == (Replace(NodeId("shop.py", "net"), source),)


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="`~\r")), max_size=4))
def test_blocks_hold_their_text_byte_for_byte(texts):
    sources = {f"n{i}": f"{text}\n" for i, text in enumerate(texts, 1)}
    written = "{}\n" + "\n".join(f"```{name}\n{text}```" for name, text in sources.items())
    assert blocks(written) == sources
    assert header(written).strip() == "{}"


@given(st.text())
def test_any_text_is_read_without_a_crash(text):
    blocks(text)
    header(text)
    read(text, ())


def test_filling_leaves_alone_what_is_there_and_what_is_odd():
    for odd in ({}, {"results": 3}, {"results": [3]}, {"new_nodes": ["x"]}):
        assert fill(odd, {"n1": "x"}) == odd
    kept = {"results": [{"node": "n1", "status": "edited", "new_source": "mine"}]}
    assert fill(kept, {"n1": "x"}) == kept
    other = {"results": [{"node": "n1", "status": "failed", "new_source": ""}]}
    assert fill(other, {"n1": "x"}) == other
