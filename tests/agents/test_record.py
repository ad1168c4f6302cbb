"""A parked reply is read back as it was."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mak.agents import reply_from_json, reply_to_json
from mak.errors import MakBug
from mak.model import (
    AddImport,
    Aspect,
    Delete,
    Insert,
    Need,
    NodeId,
    Replace,
    Reply,
    ReplyStatus,
    Usage,
)

text = st.text(max_size=20)
paths = st.sampled_from(["a.py", "pkg/b c.py", "odd::name.py", "é.py"])
symbols = st.sampled_from(["f", "C.m[setter]#2", "@header", "C.@body:m"])
ids = (
    st.builds(NodeId, paths)
    | st.builds(NodeId, paths, symbols)
    | st.builds(NodeId, paths, symbols, st.sampled_from(Aspect))
)
edits = (
    st.builds(Replace, ids, text)
    | st.builds(Insert, ids, text, st.none() | ids)
    | st.builds(AddImport, paths, text)
    | st.builds(Delete, ids)
)
counts = st.integers(0, 10**9)
usages = st.builds(
    Usage, counts, counts, counts, counts, st.none() | st.floats(0, 100), st.booleans()
)
replies = st.builds(
    Reply,
    st.sampled_from(ReplyStatus),
    st.lists(edits, max_size=4).map(tuple),
    st.lists(st.builds(Need, ids, st.booleans(), text), max_size=3).map(tuple),
    text,
    text,
    usages,
    text,
    text,
)


@given(replies)
def test_a_reply_survives_parking(reply):
    assert reply_from_json(json.loads(json.dumps(reply_to_json(reply)))) == reply


def test_a_parked_reply_of_another_kind_is_a_bug():
    data = reply_to_json(Reply(ReplyStatus.EDITED, (Delete(NodeId("a.py")),)))
    data["edits"][0]["edit"] = "explode"
    with pytest.raises(MakBug, match="explode"):
        reply_from_json(data)
