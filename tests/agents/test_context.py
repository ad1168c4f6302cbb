"""An agent sees all of what it may write, and as much of the rest as fits."""

from __future__ import annotations

import pytest

from mak.agents import context
from mak.errors import PlanError
from mak.model import NodeId
from tests.agents.conftest import SHOP, task, tree

SOURCES = tree({"shop.py": SHOP, "other.py": "def f():\n    return 1\n", "data.txt": "x\n"})


def slots(*args, **more):
    return context(task(*args, **more), SOURCES).slots


def ids(found):
    return [(slot.name, str(slot.node), slot.exists) for slot in found]


def test_slots_are_the_writes_then_the_creates_in_order():
    found = slots("shop.py::Cart.total", "other.py::f", creates=("shop.py::Cart.fresh", "new.py"))
    assert ids(found) == [
        ("n1", "shop.py::Cart.total", True),
        ("n2", "other.py::f", True),
        ("n3", "shop.py::Cart.fresh", False),
        ("n4", "new.py", False),
    ]
    assert found[0].source == "    def total(self):\n        return net(1)\n"
    assert [str(slot.owner) for slot in found] == ["shop.py::Cart", "None", "shop.py::Cart", "None"]


def test_a_node_with_its_signature_is_one_slot_that_says_so():
    found = slots("shop.py::net", "shop.py::net#api")
    assert ids(found) == [("n1", "shop.py::net", True)]
    assert found[0].api


def test_a_file_and_a_class_with_its_members_are_shown_whole():
    whole, members = slots("other.py", "shop.py::Cart#all")
    assert whole.source == "def f():\n    return 1\n"
    assert members.source.startswith("class Cart:") and "def count" in members.source
    assert "def last" not in members.source
    assert members.owner == NodeId("shop.py", "Cart")


def test_what_a_wider_slot_holds_is_no_slot_of_its_own():
    found = slots("shop.py::Cart.total", "shop.py::Cart#all", creates=("shop.py::Cart.fresh",))
    assert ids(found) == [("n1", "shop.py::Cart#all", True)]


def test_symbols_of_a_file_that_is_not_there_come_with_the_file():
    found = slots(creates=("new.py::f", "new.py::g", "new.py"))
    assert ids(found) == [("n1", "new.py", False)]


def test_members_of_a_class_that_is_not_there_come_with_the_class():
    found = slots(creates=("shop.py::New.m", "shop.py::New", "shop.py::Newer"))
    assert ids(found) == [("n1", "shop.py::New", False), ("n2", "shop.py::Newer", False)]


def test_what_is_there_already_is_no_longer_to_be_created():
    found = slots(creates=("shop.py::last",))
    assert ids(found) == [("n1", "shop.py::last", True)]


def test_what_is_gone_is_said():
    for wanted in (task("shop.py::gone"), task("gone.py::f"), task(reads=("shop.py::gone",))):
        with pytest.raises(PlanError, match=r"preparing task t1: .*gone.* is not there any more"):
            context(wanted, SOURCES)


def test_reads_are_whole_while_they_fit_and_signatures_beyond():
    wanted = task("other.py::f", reads=("shop.py::net", "shop.py::Cart#all", "shop.py::last#api"))
    plenty = dict(context(wanted, SOURCES).reads)
    assert "math.ceil" in plenty[NodeId.parse("shop.py::net")]
    assert "def count" in plenty[NodeId.parse("shop.py::Cart#all")]
    assert plenty[NodeId.parse("shop.py::last#api")] == "def last()"
    little = dict(context(wanted, SOURCES, budget=20).reads)
    assert little[NodeId.parse("shop.py::net#api")] == "def net(x)"
    assert "return 2" not in "".join(little.values())


def test_what_is_written_is_not_shown_twice():
    wanted = task("shop.py::Cart#all", reads=("shop.py::Cart.total", "shop.py::net"))
    seen = context(wanted, SOURCES)
    assert [str(node) for node, _ in seen.reads] == ["shop.py::net"]


def test_outlines_show_imports_and_signatures_of_files_that_are_written_in():
    [(path, text)] = context(task("shop.py::net"), SOURCES).outlines
    assert path == "shop.py"
    assert "import math" in text and "class Cart" in text and "def last()" in text
    assert "return" not in text
    assert context(task("other.py"), SOURCES).outlines == ()


def test_an_outline_is_cut_to_the_budget_and_says_so():
    big = "".join(f"def f{i}():\n    pass\n\n\n" for i in range(500))
    [(_, text)] = context(task("big.py::f7"), tree({"big.py": big}), budget=1000).outlines
    assert len(text) < 1200
    assert text.endswith("more lines")


def test_shares_add_up_to_what_is_shown():
    seen = context(task("shop.py::net", reads=("other.py",)), SOURCES)
    shares = dict(seen.shares)
    assert shares["own"] == len(seen.slots[0].source)
    assert shares["reads"] == len("def f():\n    return 1\n")
    assert shares["outline"] == len(seen.outlines[0][1])


def test_text_comes_with_plain_newlines():
    sources = tree({"dos.py": "\ufeffdef f():\r\n    return 'é'\r\n".encode()})
    [slot] = context(task("dos.py::f"), sources).slots
    assert slot.source == "def f():\n    return 'é'\n"


def test_a_file_that_is_not_text_can_still_be_named():
    sources = tree({"a.bin": b"\x00\xff\xfe", "other.py": "x = 1\n"})
    context(task("other.py", reads=("a.bin",)), sources)
