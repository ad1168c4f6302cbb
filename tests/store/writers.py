"""What other processes do in the tests of the store; each is started with `started`."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import random
import time
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pygit2
from pygit2.enums import ConfigLevel

from mak.errors import RepositoryRefused
from mak.model import Lock, Mode, NodeId
from mak.store import Store
from mak.store.cache import SqliteCache
from mak.store.guard import FileLock, Liveness
from mak.store.repository import Repository
from mak.store.runs import Runs
from mak.store.state import State, StateRef, Update

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["tests.store.writers"])


def started(target: Callable[..., None], *args: Any) -> BaseProcess:
    process = _context.Process(target=target, args=args, daemon=True)
    process.start()
    return process


def wait_for(path: Path, seconds: float = 30.0) -> None:
    """Wait until another process has written something to a file."""
    deadline = time.monotonic() + seconds
    while not path.exists() or not path.stat().st_size:
        assert time.monotonic() < deadline, f"{path} did not come"
        time.sleep(0.002)


def open_state(root: Path, *, stale_after: float = 10.0) -> StateRef:
    repository = Repository.open(root)
    state = StateRef(repository, FileLock(repository.common_dir / "mak" / "store.lock"))
    state.stale_after = stale_after
    return state


def step(state: State) -> Update:
    """Count one up."""
    return Update(replace(state, op="count", fence=state.fence + 1), f"count {state.fence + 1}")


def count(root: Path, times: int, acknowledged: Path, stale_after: float = 10.0) -> None:
    """Count up, and after each step say so."""
    state = open_state(root, stale_after=stale_after)
    said = os.open(acknowledged, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for _ in range(times):
        state.cas(step)
        os.write(said, b".")


def count_without_comparing(root: Path, times: int) -> None:
    """Count up the way that loses counts: read, then write whatever is there by now."""
    handle = pygit2.Repository(str(root))
    author = pygit2.Signature("test", "test@localhost")
    tree = handle.TreeBuilder().write()
    for _ in range(times):
        before = handle.references["refs/mak/control"].target
        value = int(handle[before].message) + 1
        commit = handle.create_commit(None, author, author, str(value), tree, [before])
        while True:
            try:
                handle.references.create("refs/mak/control", commit, force=True)
                break
            except OSError:
                time.sleep(random.uniform(0, 0.001))


def record_documents(root: Path, run: str, acknowledged: Path) -> None:
    """Record one small document after another, for ever, and after each say so."""
    repository = Repository.open(root)
    runs = Runs(repository, FileLock(repository.common_dir / "mak" / "store.lock"))
    said = os.open(acknowledged, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for number in itertools.count():
        runs.record(run, {f"replies/t{number}/1.json": b"%d" % number})
        os.write(said, b".")


def fill_cache(path: Path, number: int) -> None:
    """Put values into a cache, one at a time, and see that they are there."""
    cache = SqliteCache(path)
    for i in range(60):
        cache.put_many("cut", {f"{number}.{i}": b"%d" % i})
        assert cache.get_many("cut", [f"{number}.{i}"])


def hold(common_dir: Path, holder: str, ready: Path) -> None:
    """Be alive as a holder, for ever."""
    alive = Liveness(common_dir).begin(holder, "r1")
    assert alive.is_current()
    ready.write_text("x")
    time.sleep(600)


def hold_through_a_fork(common_dir: Path, holder: str, ready: Path, child: Path) -> None:
    """Be alive as a holder and leave a forked child behind."""
    alive = Liveness(common_dir).begin(holder, "r1")
    if os.fork() == 0:
        child.write_text(str(os.getpid()))
        time.sleep(600)
        os._exit(0)
    wait_for(child)
    assert alive.is_current()
    ready.write_text("x")
    time.sleep(600)


def lock_file(path: Path, ready: Path) -> None:
    """Hold a lock file, for ever."""
    assert FileLock(path).acquire(5.0)
    ready.write_text("x")
    time.sleep(600)


def take_and_stay(root: Path, run: str, node: str, ready: Path) -> None:
    """Take a lock in a run, for ever."""
    with Store.open(root) as store, store.enter(run):
        assert store.acquire({"t1": (Lock(NodeId.parse(node), Mode.X),)}) == {}
        ready.write_text("x")
        time.sleep(600)


def nobody(root: Path, said: Path) -> None:
    """Become a user without rights, open a store, and write down what came of it."""
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
    pygit2.settings.search_path[ConfigLevel.GLOBAL] = str(root.parent)
    os.environ["HOME"] = str(root.parent)
    lines = []
    try:
        Store.open(root).close()
        lines.append("opened")
    except RepositoryRefused as error:
        lines.append(f"refused: {error} | {error.hint}")
    try:
        with Store.open(root, write=False) as store:
            store.cache.put_many("cut", {"k": b"v"})
            found = store.cache.get_many("cut", ["k"])
            lines.append(f"read: {list(store.entries(store.tip()))} {found}")
    except RepositoryRefused as error:
        lines.append(f"refused: {error}")
    said.write_text("\n".join(lines))


def write_blobs(root: Path, times: int, said: Path) -> None:
    """Write blobs that nobody refers to, and see that each is there right after."""
    repository = Repository.open(root)
    for number in range(times):
        oid = repository.put(os.urandom(20) + b"%d" % number)
        assert repository.is_stored(oid)
    said.write_text("x")
