from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mak.cli.main import main
from mak.model import Lock, Mode, NodeId
from mak.store import Store

FILES = {"a.py": "def f():\n    pass\n\n\ndef g():\n    pass\n"}


def test_locks_of_a_quiet_branch_are_none(
    make_repo: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    root = make_repo(FILES)
    assert main(["locks", "--work-dir", str(root)]) == 0
    assert capsys.readouterr() == ("", "no locks are held\n")
    assert main(["locks", "--work-dir", str(root), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []


def test_locks_say_who_holds_what(
    make_repo: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    root = make_repo(FILES)
    with Store.open(root) as store, store.enter("r7f3"):
        store.acquire({"t1": (Lock(NodeId("a.py", "f"), Mode.X),)})
        assert main(["locks", "--work-dir", str(root)]) == 0
        head, row = capsys.readouterr().out.splitlines()
        assert head.split() == ["MODE", "NODE", "TASK", "HELD", "BY"]
        assert row.split()[:3] == ["X", "a.py::f", "t1"]
        assert "run r7f3 (pid " in row and "dead" not in row
        assert main(["locks", "--work-dir", str(root), "--json"]) == 0
        (lock,) = json.loads(capsys.readouterr().out)
        assert (lock["node"], lock["mode"], lock["run"]) == ("a.py::f", "X", "r7f3")
        assert lock["alive"] is True
    assert main(["locks", "--work-dir", str(root)]) == 0
    assert capsys.readouterr().out == ""
