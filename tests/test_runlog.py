"""The record of a run, as Git keeps it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from mak import events, runlog
from mak.errors import StoreError
from mak.model import NodeId, Replace, Reply, ReplyStatus
from mak.runlog import Meta, Parked, RunLog
from mak.source import Shown
from mak.store import Store

META = Meta("r1", "do it", "refs/heads/main", "", ("builtin",), "builtin", 4, 1.5, "0")
REPLY = Reply(
    ReplyStatus.EDITED, (Replace(NodeId("a.py", "f"), "def f(): ...\n"),), raw="é\n\u2028"
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", "-b", "main", str(tmp_path)], check=True)
    return tmp_path


@pytest.fixture
def store(root: Path) -> Iterator[Store]:
    with Store.open(root) as store:
        yield store


def documents(root: Path) -> dict[str, list[str]]:
    """Return the log as plain git shows it: the lines of each document."""

    def git(*args: str) -> str:
        return subprocess.run(
            ["git", *args], cwd=root, check=True, capture_output=True
        ).stdout.decode()

    names = git("ls-tree", "--name-only", "refs/mak/runs/r1").split()
    logs = [name for name in names if name.startswith("log-")]
    return {name: git("show", f"refs/mak/runs/r1:{name}").split("\n")[:-1] for name in logs}


# I10
def test_reply_and_its_event_are_one_commit_that_git_can_show(store: Store, root: Path) -> None:
    log = RunLog.start(store, META, lambda event: None)
    log.park("t/1", 1, Parked(REPLY, Shown({"a.py::f": "12"}, ("t/0",))))
    log.emit(events.ReplyParked("t/1", 1, "edited", REPLY.usage))
    assert documents(root) == {}
    log.flush()
    ((name, lines),) = documents(root).items()
    assert name == "log-000000.jsonl"
    reply, event = map(json.loads, lines)
    assert (reply["task"], reply["attempt"], reply["shown"]) == ("t/1", 1, {"a.py::f": "12"})
    assert event["event"] == "ReplyParked"
    assert runlog.read_replies(store, "r1") == {
        ("t/1", 1): Parked(REPLY, Shown({"a.py::f": "12"}, ("t/0",)))
    }
    assert [event for _, event in runlog.read_events(store, "r1")] == [
        events.ReplyParked("t/1", 1, "edited", REPLY.usage)
    ]


def test_lines_keep_their_order_over_documents_and_processes(store: Store, root: Path) -> None:
    told: list[events.Event] = []
    log = RunLog.start(store, META, told.append)
    for number in range(400):
        if number == 250:
            log = RunLog.resume(store, "r1", told.append)
        log.emit(events.Remark(f"{number} " + "x" * 100))
        log.flush()
    found = documents(root)
    sizes = [sum(map(len, lines)) for lines in found.values()]
    assert sum(size > 16_000 for size in sizes) == 3
    assert max(sizes) < 17_000
    assert [event for _, event in runlog.read_events(store, "r1")] == told


def test_what_was_not_written_goes_in_with_the_next_commit(store: Store, root: Path) -> None:
    log = RunLog.start(store, META, lambda event: None)
    log.emit(events.Remark("one"))
    store.repository.before_write = _refuse
    with pytest.raises(StoreError, match="disk full"):
        log.flush()
    store.repository.before_write = lambda what: None
    log.emit(events.Remark("two"))
    log.flush()
    (lines,) = documents(root).values()
    assert [json.loads(line)["text"] for line in lines] == ["one", "two"]


def _refuse(what: str) -> None:
    raise OSError("disk full")
