from __future__ import annotations

import hashlib

from mak.judge import Again, Widen, widen
from mak.model import Need, NodeId, Task
from mak.source import Draft, Sources

FILES = {"m.py": b"def f(): pass\n", "n.py": b"def g(): pass\n", "conftest.py": b"def h(): pass\n"}


def draft() -> Draft:
    ids = {path: hashlib.sha1(data).hexdigest() for path, data in FILES.items()}
    blobs = {ids[path]: data for path, data in FILES.items()}
    return Draft(Sources(ids, blobs.__getitem__))


def needs(*nodes: str) -> list[Need]:
    return [Need(NodeId.parse(node), write=True) for node in nodes]


def test_a_task_is_widened_by_what_it_needs_and_lacks() -> None:
    task = Task("t", "x", (NodeId.parse("m.py::f"),))
    verdict = widen(needs("m.py::f", "n.py::g"), task, draft(), "g calls f")
    assert verdict == Widen((NodeId.parse("n.py::g"),), (), "g calls f", show=True)


def test_no_need_opens_a_protected_file_that_the_plan_does_not_name() -> None:
    task = Task("t", "x", (NodeId.parse("m.py::f"),))
    verdict = widen(needs("n.py::g", "conftest.py::h"), task, draft(), "h calls f")
    assert isinstance(verdict, Again)
    assert verdict.check == "protected-path"
    assert verdict.reason.startswith("conftest.py may only be changed by a plan that names it")


def test_a_protected_file_that_the_plan_names_may_be_needed_further() -> None:
    task = Task("t", "x", (NodeId.parse("conftest.py::@header"),))
    assert isinstance(widen(needs("conftest.py::h"), task, draft(), ""), Widen)


def test_a_protected_file_may_be_read() -> None:
    task = Task("t", "x", (NodeId.parse("m.py::f"),))
    need = Need(NodeId.parse("conftest.py::h"), write=False)
    assert isinstance(widen([need], task, draft(), ""), Widen)
