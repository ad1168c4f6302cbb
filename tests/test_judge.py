from __future__ import annotations

import hashlib

from mak.judge import Accept, Again, Planned, Verdict, Widen, judge, widen
from mak.model import Need, NodeId, Replace, Reply, ReplyStatus, Task
from mak.source import Draft, Proposal, Sources, split
from mak.source.draft import Shown
from mak.source.names import references

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


def test_what_tasks_write_is_known_until_they_end() -> None:
    f, g = NodeId("m.py", "f"), NodeId("n.py", "g")
    planned = Planned([Task("a", "x", (f,)), Task("b", "x", (f,))])
    nodes = planned.nodes
    planned.drop("a")
    planned.drop("a")
    assert nodes == {f}
    planned.put(Task("b", "x", (f, g)))
    assert nodes == {f, g}
    planned.drop("b")
    assert not nodes


def test_only_what_one_task_changed_counts_as_checked_with_it() -> None:
    wave = draft()
    wave.accept(Proposal({"m.py": split(b"def f(): 1\n", "m.py")}), checked=True)
    wave.accept(Proposal({"n.py": split(b"def g(): 1\n", "n.py")}))
    assert wave.checked == {"m.py"}
    wave.accept(Proposal({"m.py": split(b"def f(): 2\n", "m.py")}), checked=True)
    assert not wave.checked


MOVE = {"b.py": b"def move(source, target): pass\n", "a.py": b"import b\n\n\ndef use(): pass\n"}


def test_an_edit_that_uses_an_interface_as_it_was_shown_is_turned_down() -> None:
    def judged(meanwhile: bytes) -> Verdict:
        ids = {path: hashlib.sha1(data).hexdigest() for path, data in MOVE.items()}
        wave = Draft(Sources(ids, {ids[path]: data for path, data in MOVE.items()}.__getitem__))
        seen = Shown({}, (), wave.view())
        wave.accept(Proposal({"b.py": split(meanwhile, "b.py")}))
        use = NodeId("a.py", "use")
        edit = Replace(use, "def use():\n    return b.move(1, 2)\n")
        reply = Reply(ReplyStatus.EDITED, (edit,))
        return judge(reply, Task("t", "x", (use,)), wave, seen, 1, frozenset(), references)

    verdict = judged(b"def move(target, source): pass\n")
    assert isinstance(verdict, Again)
    assert verdict.check == "stale-read"
    assert "meanwhile it is `def move(target, source)` (b.py:1)" in verdict.reason
    assert isinstance(judged(b"def move(source, target, now=True): pass\n"), Accept)
