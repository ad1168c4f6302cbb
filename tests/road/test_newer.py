"""Syntax that the running Python is too old for is cut, edited and committed all the same."""

from __future__ import annotations

import sys

import pytest

from mak.model import RunState
from tests.road.conftest import edited, reply, task

#: PEP 695 and PEP 701, which Python 3.11 does not parse.
NEWER = 'def first[T](x: T) -> T:\n    return x\n\n\ndef second():\n    return f"{"a"}"\n'


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="this Python parses it by itself")
def test_one_function_of_a_file_in_newer_syntax_is_edited(make_road):
    road = make_road({"new.py": NEWER})
    text = 'def second():\n    return f"{"b"}"\n'
    outcome = road.run([task("a", "new.py::second")], {"a": [reply(edited("n1", text))]})
    assert outcome.state is RunState.DONE, outcome.reason
    assert road.text("new.py") == NEWER.replace('"a"', '"b"')
