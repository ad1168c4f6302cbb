"""Waves for the tests of the store: build one, crash in one, and look at what is left."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from mak.store import Store, WaveWrite, journal, treeops
from mak.store.survey import Merge
from mak.store.wave import commit_wave
from tests.conftest import git

#: Every fault point of a wave on a checked-out branch in which a person's text is merged.
PHASES = ("P0", "P1", "P2", "P3", "P4.index", "P4.tree", "P4.file", "P4", "P5", "P6", "P7")

Content = str | bytes | None


def nodes_of(data: bytes) -> list[tuple[str, bytes]]:
    """Cut a text into nodes of two lines, or into some twenty of more."""
    lines = data.splitlines(keepends=True)
    size = max(2, len(lines) // 20)
    return [(f"C.n{i}", b"".join(lines[i : i + size])) for i in range(0, len(lines), size)]


def merge_lines(path: str, base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """Merge by lines, as git does, which takes NUL bytes for no text."""
    with tempfile.TemporaryDirectory() as folder:
        for name, data in (("ours", ours), ("base", base), ("theirs", theirs)):
            (Path(folder) / name).write_bytes(data.replace(b"\0", b"<NUL>"))
        done = subprocess.run(
            ["git", "merge-file", "-p", "-q", "ours", "base", "theirs"],
            cwd=folder,
            capture_output=True,
        )
    return done.stdout.replace(b"<NUL>", b"\0") if done.returncode == 0 else None


def no_fault(phase: str) -> None:
    """Go on."""


def wave(
    store: Store,
    files: Mapping[str, Content],
    *,
    number: int = 0,
    run: str = "r1",
    merge: Merge = merge_lines,
    fault: Callable[[str], None] = no_fault,
    parent: str | None = None,
    tasks: tuple[str, ...] | None = None,
    **more: object,
) -> WaveWrite:
    """Build a wave on the tip."""
    data = {p: c.encode() if isinstance(c, str) else c for p, c in files.items()}
    trailers = f"MAK-Run: {run}\nMAK-Wave: {number + 1}\nMAK-Kind: wave"
    return WaveWrite(
        run=run,
        number=number,
        parent=store.tip() if parent is None else parent,
        files=data,
        message=f"wave {number + 1}\n\n{trailers}\n",
        nodes={p: nodes_of(c) if c is not None else None for p, c in data.items()},
        tasks=("t1",) if tasks is None else tasks,
        merge=merge,
        fault=fault,
        **more,  # type: ignore[arg-type]
    )


def crash(root: Path, files: Mapping[str, Content], phase: str, **more: object) -> bool:
    """Commit a wave in a process that kills itself after a phase; whether it did."""

    def fault(reached: str) -> None:
        if reached == phase:
            os.kill(os.getpid(), signal.SIGKILL)

    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            with Store.open(root) as store:
                commit_wave(store, wave(store, files, fault=fault, **more))  # type: ignore[arg-type]
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)


def left_over(root: Path) -> list[str]:
    """Return files that only a process at work may have, below the root and in its git folder."""
    names = [
        str(path.relative_to(root))
        for path in root.rglob("*")
        if path.name.endswith(".lock") and "mak" not in path.parts and path.name[:3] != "gc."
    ]
    names += [str(p.relative_to(root)) for p in root.rglob(".*.mak-*")]
    names += [str(p.relative_to(root)) for p in (root / ".git/mak").glob("wave.n*")]
    return names + [str(p) for p in (root / ".git/mak").glob("checkout")]


def status(root: Path) -> list[str]:
    """Return what git status lists."""
    return git(root, "status", "--porcelain", "--untracked-files=all").splitlines()


def is_sound(store: Store) -> None:
    """Check what must hold whenever no wave is under way."""
    state = store.state.read()[1]
    assert state.wave is None, state.wave
    if store.root is not None:
        left = left_over(store.root)
        assert not left, left
        git(store.root, "fsck", "--strict")
    assert treeops.entry(store.repository, store.state.tree(), "wave") is None
    nodes_match(store, state.head)


def nodes_match(store: Store, head: str) -> None:
    """Check that the node versions of every file, joined, are the file at the state's head."""
    found = treeops.entry(store.repository, store.state.tree(), journal.NODES)
    if found is None:
        return
    tree = treeops.tree_of(store.repository, head)
    for path in node_paths(store):
        nodes = treeops.read_nodes(store.repository, found.oid, path)
        blob = treeops.entry(store.repository, tree, path)
        assert nodes is not None and blob is not None, path
        assert b"".join(data for _, data in nodes) == store.read(blob.oid), path


def node_paths(store: Store) -> Iterable[str]:
    """Return the files whose node versions are kept; for names without ``%`` and ``!``."""
    tree = store.state.tree()
    listing = store.repository.git.run("ls-tree", "-r", "-z", "--name-only", tree).decode()
    names = [n for n in listing.split("\0") if n.startswith("nodes/") and n.endswith("!/order")]
    return [name.removeprefix("nodes/").removesuffix("!/order") for name in names]
