"""Take back what a run put on the branch, with a new commit: history is never rewound.

Invariant: a text that anybody wrote after the run is either kept or named in the refusal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn

import pygit2
from pygit2.enums import SortMode

from mak.errors import StoreError
from mak.model import branch_name
from mak.store import message, treeops
from mak.store.objects import blob_id
from mak.store.repository import git_errors
from mak.store.store import Store
from mak.store.treeops import EXECUTABLE, FILE, Entry
from mak.store.wave import Committed, WaveHeld, WaveWrite, commit_wave

#: ``merge(path, base, ours, theirs)``: the text with both changes, or the nodes that both changed.
#: `base` is the file as the run left it, `ours` as it was before, `theirs` as it is.
Merge = Callable[[str, bytes, bytes, bytes], bytes | tuple[str, ...]]
#: The nodes of a file, as (symbol, bytes), in order.
Nodes = Callable[[str, bytes], Sequence[tuple[str, bytes]]]

#: Times that it starts over because the branch moved.
_TRIES = 5


@dataclass(frozen=True, slots=True)
class Undone:
    """A run was taken back."""

    #: The new commit.
    commit: str
    paths: tuple[str, ...]
    #: The commits that it takes back, newest first.
    waves: tuple[str, ...]


def no_merge(path: str, base: bytes, ours: bytes, theirs: bytes) -> bytes | tuple[str, ...]:
    """Merge nothing: whatever was changed since is in the way."""
    return (path,)


def undo(store: Store, run: str, merge: Merge = no_merge, nodes: Nodes | None = None) -> Undone:
    """Commit the inverse of all waves of a run that are on the branch.

    Raises StoreError, naming what is in the way: the run has not ended, its nodes were changed
    since, or its files have uncommitted changes.
    """
    _refuse_unfinished(store, run)
    store.recover()
    for _ in range(_TRIES):
        tip = store.tip()
        with git_errors(f"undoing {run}"):
            inverse = _Inverse(store, run, tip, merge)
            write = inverse.write(nodes)
        result = commit_wave(store, write)
        if isinstance(result, Committed):
            waves = tuple(wave.commit for wave in inverse.waves)
            return Undone(result.commit, tuple(sorted(write.files)), waves)
        if isinstance(result, WaveHeld):
            raise StoreError(f"undoing {run}: {result.reason}")
    raise StoreError(f"undoing {run}: the branch keeps moving", hint=f"mak undo {run}")


def _refuse_unfinished(store: Store, run: str) -> None:
    if at_work := store.at_work(run):
        raise StoreError(f"undoing {run}: it is being carried out by {at_work}")
    if run in store.runs() and store.run_document(run, "outcome.json") is None:
        raise StoreError(
            f"undoing {run}: it was cut off and has not ended",
            hint=f"mak run --recover {run}, then mak undo {run}",
        )


class _Wave(NamedTuple):
    """A wave's commit on the branch, with the trees before and after it (empty: none)."""

    commit: str
    before: str
    after: str


@dataclass(slots=True)
class _Inverse:
    """What the branch would hold had the run not been; by path, where that is another thing."""

    store: Store
    run: str
    tip: str
    merge: Merge
    waves: list[_Wave] = field(init=False)
    _files: dict[str, Entry | None] = field(default_factory=dict)
    _merged: dict[str, bytes] = field(default_factory=dict)
    _clashes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.waves = list(self._waves())
        for wave in self.waves:
            for path in self._changed(wave):
                self._revert(wave, path)
        if self._clashes:
            self._refuse(
                f"changed since: {'; '.join(self._clashes)}",
                hint=f"git revert {' '.join(wave.commit[:10] for wave in self.waves)}",
            )

    def _refuse(self, why: str, hint: str = "") -> NoReturn:
        raise StoreError(f"undoing {self.run}: {why}", hint=hint)

    def _waves(self) -> Iterator[_Wave]:
        """Yield the run's waves, newest first; refuse when there are none left to undo."""
        undone = ""
        any_left = False
        for commit in self._history():
            trailers = commit.message_trailers
            if trailers.get(message.UNDOES) == self.run:
                undone = str(commit.id)
                break
            if trailers.get(message.RUN) == self.run:
                any_left = True
                before = str(commit.parents[0].tree_id) if commit.parents else ""
                yield _Wave(str(commit.id), before, str(commit.tree_id))
        if undone and not any_left:
            self._refuse(f"it was undone already, by {undone[:10]}", f"git revert {undone[:10]}")
        if not any_left:
            self._refuse(
                f"no commit of it is on {branch_name(self.store.branch)}", f"mak show {self.run}"
            )

    def _history(self) -> Iterator[pygit2.Commit]:
        """Yield the branch's own commits, newest first."""
        if self.tip:
            walk = self.store.repository.handle.walk(self.tip, SortMode.TOPOLOGICAL)
            walk.simplify_first_parent()
            yield from walk

    def _changed(self, wave: _Wave) -> list[str]:
        handle = self.store.repository.handle
        after = handle[wave.after]
        assert isinstance(after, pygit2.Tree)
        if wave.before:
            before = handle[wave.before]
            assert isinstance(before, pygit2.Tree)
            deltas = before.diff_to_tree(after).deltas
        else:
            deltas = after.diff_to_tree(swap=True).deltas
        return sorted({file.path for d in deltas for file in (d.old_file, d.new_file)})

    def _revert(self, wave: _Wave, path: str) -> None:
        repository = self.store.repository
        before = treeops.entry(repository, wave.before, path)
        after = treeops.entry(repository, wave.after, path)
        now = self._now(path)
        if now == before:
            return
        if now == after:
            self._files[path] = before
            return
        entries = (before, after, now)
        if any(e is None or e.mode not in (FILE, EXECUTABLE) for e in entries):
            self._clash(path, (path,))
            return
        result = self.merge(path, self._data(after), self._data(before), self._data(now))
        if not isinstance(result, bytes):
            self._clash(path, result)
            return
        assert now is not None
        self._files[path] = Entry(blob_id(result), now.mode)
        self._merged[blob_id(result)] = result

    def _now(self, path: str) -> Entry | None:
        if path in self._files:
            return self._files[path]
        repository = self.store.repository
        return treeops.entry(repository, treeops.tree_of(repository, self.tip), path)

    def _data(self, entry: Entry | None) -> bytes:
        assert entry is not None
        merged = self._merged.get(entry.oid)
        return self.store.read(entry.oid) if merged is None else merged

    def _clash(self, path: str, nodes: tuple[str, ...]) -> None:
        since = ", ".join(self._since(path)) or "a later wave"
        self._clashes.append(f"{', '.join(nodes)} (by {since})")

    def _since(self, path: str) -> Iterator[str]:
        """Yield the commits after the run's last wave that changed a path, for people."""
        repository = self.store.repository
        for commit in self._history():
            if str(commit.id) == self.waves[0].commit:
                return
            parent = str(commit.parents[0].tree_id) if commit.parents else ""
            tree = str(commit.tree_id)
            if treeops.entry(repository, parent, path) != treeops.entry(repository, tree, path):
                subject = commit.message.partition("\n")[0]
                yield f"{str(commit.id)[:10]} {subject}"

    def write(self, nodes: Nodes | None) -> WaveWrite:
        """Return the commit that takes the run back; refuse when files have changes in them."""
        repository = self.store.repository
        base = treeops.tree_of(repository, self.tip)
        entries = {
            path: entry
            for path, entry in self._files.items()
            if entry != treeops.entry(repository, base, path)
        }
        if not entries:
            self._refuse("its files are as they were before it")
        dirty = self.store.uncommitted(sorted(entries))
        if dirty:
            self._refuse(
                f"uncommitted changes in {', '.join(dirty)}",
                hint=f"commit or stash them first: git stash push -u -- {' '.join(dirty)}",
            )
        files = {path: None if e is None else self._data(e) for path, e in entries.items()}
        return WaveWrite(
            run=self.run,
            number=0,
            parent=self.tip,
            files=files,
            message=self._message(),
            nodes={p: nodes(p, d) for p, d in files.items() if d is not None} if nodes else {},
            modes={path: entry.mode for path, entry in entries.items() if entry is not None},
            title=f"the undoing of {self.run}",
        )

    def _message(self) -> str:
        handle = self.store.repository.handle
        lines: list[str] = []
        for wave in self.waves:
            commit = handle[wave.commit]
            assert isinstance(commit, pygit2.Commit)
            subject = commit.message.partition("\n")[0]
            lines.append(f"- {wave.commit[:10]} {subject}")
        text = f"Undo {self.run}\n\nThis takes back:\n\n" + "\n".join(lines)
        return message.with_trailers(text, {message.KIND: "undo", message.UNDOES: self.run})
