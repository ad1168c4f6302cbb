"""Commit a wave on a branch that a person may be working on, crash-safely.

Either the branch is at the wave's commit, with index and working tree to match, or everything is
as it was. A person's uncommitted text is never overwritten and never committed. The steps, and
what `mak.store.recover` does when the process dies after one::

    P0  look: branch, operation in progress, each file          nothing to do
    P1  write blobs, trees and the commit; run hooks; sign      nothing to do
    P2  take the branch's lock; the tip is still the parent     remove the lock
    P3  write the journal into the state                        finish or take back
    P4  index, by ``git read-tree -m``, and each file           finish or take back
    P5  HEAD is still on the branch                             finish or take back
    P6  move the branch: the commit point                       finish
    P7  state: node versions, locks given up, journal gone      nothing to do

The branch stays locked from P2 to P6. Between P4 and P6 a person's ``git commit`` would swallow the
wave; were the order of both the other way round, it would revert it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from mak.errors import RepositoryRefused, StoreError
from mak.store import hooks, journal, kinds, note, place, refs, signing, treeops
from mak.store.ground import Ground
from mak.store.journal import Journal, Touched
from mak.store.objects import Raw, blob_id, durable
from mak.store.pack import put_objects
from mak.store.recover import recover_locked, take_back
from mak.store.survey import Change, Merge, Survey, in_index, survey, unfaithful
from mak.store.treeops import FILE, Entry, NodeVersions
from mak.store.worktree import Kind, Worktree

#: Times that a wave starts over because files changed while they were looked at.
_TRIES = 12
#: Seconds to wait for another git's lock of the index, and of the branch.
_PATIENCE = 5.0


def _no_merge(path: str, base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    return None


def _no_fault(phase: str) -> None:
    return None


@dataclass(frozen=True, slots=True)
class WaveWrite:
    """What a wave puts on the branch."""

    run: str
    number: int
    #: Commit that the files were built on; empty: the branch is unborn.
    parent: str
    #: New content by path, as blob bytes; None deletes.
    files: Mapping[str, bytes | None]
    #: The whole commit message, trailers included.
    message: str
    #: Node versions by path, in file order: (symbol, bytes); joined they equal the file.
    nodes: Mapping[str, Sequence[tuple[str, bytes]] | None] = field(default_factory=dict)
    #: Tasks whose locks end with the wave.
    tasks: tuple[str, ...] = ()
    merge: Merge = _no_merge
    #: File modes; other files keep theirs.
    modes: Mapping[str, int] = field(default_factory=dict)
    #: Run the repository's pre-commit and commit-msg hooks as a gate.
    hooks: bool = False
    #: What to call it in sentences; empty: by its number, which counts from 0, and run.
    title: str = ""
    #: Test seam: called with the name of each phase once it is over.
    fault: Callable[[str], None] = _no_fault


@dataclass(frozen=True, slots=True)
class Committed:
    """The wave is on the branch."""

    commit: str
    #: Files where a person's uncommitted change was kept on top of the wave's text.
    merged: tuple[str, ...] = ()
    #: Sentences for the person.
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Moved:
    """The branch is not at the wave's parent; nothing changed. Build again on `tip`."""

    tip: str


@dataclass(frozen=True, slots=True)
class WaveHeld:
    """The wave cannot be committed as things stand; nothing changed."""

    paths: tuple[str, ...]
    #: What is in the way and what to do about it.
    reason: str


class _Again(Exception):
    """Something changed while it was looked at: start over."""

    def __init__(self, why: str, *paths: str) -> None:
        super().__init__(why)
        self.paths = paths


class _Held(Exception):
    def __init__(self, reason: str, *paths: str) -> None:
        super().__init__(reason)
        self.held = WaveHeld(paths, reason)


def commit_wave(ground: Ground, write: WaveWrite) -> Committed | Moved | WaveHeld:
    """Put a wave on the store's branch, or leave everything as it was.

    Raises StoreError when Git does not do as told, RepositoryRefused when the branch must not be
    written from here; then, too, everything is as it was.
    """
    why = ""
    paths: tuple[str, ...] = ()
    attempt = _Attempt(ground, write)
    with ground.wave_lock.held():
        for number in range(_TRIES):
            time.sleep(0.02 * number)
            recover_locked(ground)
            try:
                return attempt.carry_out()
            except _Held as held:
                return held.held
            except _Again as again:
                why, paths = str(again), again.paths
    return WaveHeld(paths, f"{why}, again and again: try once it is quiet")


class _Attempt:
    """Goes at a wave, each from the beginning."""

    def __init__(self, ground: Ground, write: WaveWrite) -> None:
        self.ground = ground
        self.repository = ground.repository
        self.write = write
        self.fault = write.fault
        #: What the hooks said, by tree: they run once, however often a wave starts over.
        self._verdicts: dict[str, str | hooks.Refused] = {}

    def carry_out(self) -> Committed | Moved:
        self.follows = self._follows()
        if self.follows:
            self.worktree = Worktree.of(self.repository)
        tip = self.repository.tip()
        if tip != self.write.parent:
            return Moved(tip)
        changes = self._changes()
        seen = self._survey(changes)
        self.fault("P0")
        settings = signing.settings(self.repository)
        commit = self._build(changes, seen, settings)
        texts = self._texts(seen)
        self.fault("P1")
        if self.follows:
            self._wait_for_index()
        with note.locking(self.repository) as locked, self._branch() as ref:
            locked()
            self.fault("P2")
            at = ref.target or ("" if self.follows else self.repository.tip())
            if at != self.write.parent:
                return Moved(at)
            if self._follows() != self.follows:
                raise _Again("HEAD moved")
            entry = self._journal(commit, seen)
            if not journal.begin(self.ground.state, self.repository, entry, self.ground.holder):
                raise _Again("another process is committing a wave")
            self._move(entry, seen, texts, ref)
        self.repository.has_been = True
        remarks = self._record(entry)
        self.fault("P7")
        merged = tuple(f.path for f in seen.files if f.before != f.base and f.before != f.after)
        if not self.write.hooks and hooks.present(settings):
            remarks.append(f"the {' and '.join(hooks.present(settings))} hook was not run")
        return Committed(commit, merged, tuple(remarks))

    # ------------------------------------------------------------------------ P0: look

    def _follows(self) -> bool:
        """Whether index and files follow the branch; refuse or hold where it must not move."""
        repository = self.repository
        if gone := repository.vanished():
            name = repository.branch.removeprefix("refs/heads/")
            raise _Held(f"{gone}; git branch {name} {self.write.parent[:10]} brings it back")
        follows = repository.is_checked_out
        if follows:
            busy = repository.operation()
            if busy is not None:
                raise _Held(f"{busy[0]} is in progress: {busy[1]}")
        elif repository.branch_ref == "HEAD":
            raise _Held(
                f"HEAD was detached and is on {repository.head().removeprefix('refs/heads/')} now: "
                "git switch --detach to where it was"
            )
        for git_dir, folder in kinds.worktrees_on(repository.common_dir, repository.branch):
            if git_dir.resolve() != repository.git_dir:
                raise RepositoryRefused(
                    f"committing to {repository.branch}: it is checked out at {folder} now",
                    hint=f"run MAK there: --work-dir '{folder}'",
                )
        return follows

    def _changes(self) -> list[Change]:
        tree = treeops.tree_of(self.repository, self.write.parent)
        changes = []
        for path, data in self.write.files.items():
            base = treeops.entry(self.repository, tree, path)
            if base is not None and base.mode == treeops.TREE:
                base = None
            if base is not None and base.mode not in (FILE, treeops.EXECUTABLE):
                raise StoreError(f"writing {path}: in the branch it is no regular file")
            new = None
            if data is not None:
                mode = self.write.modes.get(path) or (base.mode if base else FILE)
                new = Entry(blob_id(data), mode)
            if new != base:
                changes.append(Change(path, base, new))
        return changes

    def _survey(self, changes: Sequence[Change]) -> Survey:
        if not self.follows:
            files = [Touched(*change, change.base, change.new) for change in changes]
            return Survey(files)
        try:
            seen = survey(self.worktree, changes, self._new, self.write.merge)
        except (StoreError, FileNotFoundError) as error:  # a file went, or changed under git
            raise _Again(str(error)) from error
        if seen.obstacles:
            reason = "; ".join(f"{path}: {why}" for path, why in seen.obstacles.items())
            raise _Held(reason, *seen.obstacles)
        return seen

    def _new(self, path: str) -> bytes:
        data = self.write.files[path]
        assert data is not None
        return data

    # ------------------------------------------------------------------------ P1: objects

    def _build(self, changes: Sequence[Change], seen: Survey, settings: signing.Settings) -> str:
        #: Blobs of the files, by id.
        self.texts = {
            **seen.merged,
            **{change.new.oid: self._new(change.path) for change in changes if change.new},
        }
        objects = {oid: Raw(b"blob", text) for oid, text in self.texts.items()}
        self.versions: dict[str, NodeVersions | None] = dict.fromkeys(c.path for c in changes)
        for change in changes:
            nodes = self.write.nodes.get(change.path)
            if nodes is not None and change.new is not None:
                version = treeops.node_versions(nodes)
                objects.update(version.objects)
                self.versions[change.path] = version
        parent = self.write.parent
        old = treeops.entry(self.repository, self.ground.state.tree(), journal.NODES)
        known = treeops.known_objects(self.repository, old.oid if old else "", self.versions)
        with durable():
            put_objects(self.repository, objects, known)
            base = treeops.tree_of(self.repository, parent)
            tree = treeops.update_tree(self.repository, base, {c.path: c.new for c in changes})
            message = self._judged(settings, tree) if self.write.hooks else self.write.message
            parents = [parent] if parent else []
            return signing.commit(self.repository, settings, tree, parents, message)

    def _judged(self, settings: signing.Settings, tree: str) -> str:
        """Return the commit's message as the hooks leave it, unless they refuse the commit."""
        if tree not in self._verdicts:
            self._verdicts[tree] = hooks.judge(
                self.repository, settings, self.write.parent, tree, self.write.message
            )
        verdict = self._verdicts[tree]
        if isinstance(verdict, hooks.Refused):
            raise _Held(f"the {verdict.hook} hook refused the commit: {verdict.output}")
        return verdict

    def _texts(self, seen: Survey) -> dict[str, bytes]:
        """Return the bytes that the files will hold."""
        if not self.follows:
            return {}
        wanted = {f.path: f.after.oid for f in seen.files if f.after and f.before != f.after}
        return self.worktree.texts(wanted, self.texts)

    # ------------------------------------------------------------------------ P2, P3: journal

    def _branch(self) -> AbstractContextManager[refs.LockedRef]:
        return refs.locked(
            self.repository, self.repository.branch_ref, timeout=_PATIENCE, stale_after=None
        )

    def _journal(self, commit: str, seen: Survey) -> Journal:
        state = self.ground.state.read()[1]
        nodes = treeops.entry(self.repository, self.ground.state.tree(), journal.NODES)
        fresh = treeops.without_stale(
            self.repository, nodes.oid if nodes else "", state.head, self.write.parent
        )
        return Journal(
            run=self.write.run,
            title=self.write.title or f"wave {self.write.number + 1} of {self.write.run}",
            branch=self.repository.branch,
            base=self.write.parent,
            commit=commit,
            git_dir=str(self.repository.git_dir),
            root=str(self.repository.root) if self.follows else "",
            nodes=treeops.update_nodes(self.repository, fresh, self.versions),
            tasks=self.write.tasks,
            files=tuple(seen.files),
        )

    # ------------------------------------------------------------------------ P4 to P6: move

    def _move(
        self, entry: Journal, seen: Survey, texts: Mapping[str, bytes], ref: refs.LockedRef
    ) -> None:
        """Bring index, files and branch to the wave's commit, or all of them back."""
        try:
            self.fault("P3")
            if self.follows:
                self._materialise(entry, seen, texts)
                self.fault("P4")
                self._still_there(entry)
            self.fault("P5")
            with durable():
                ref.move(entry.commit, f"mak: {entry}")
            self.fault("P6")
        except BaseException as error:
            if self.repository.ref(self.repository.branch_ref) == entry.commit:
                if not isinstance(error, Exception):
                    raise
                return
            take_back(self.ground, entry, str(error) or type(error).__name__)
            raise

    def _wait_for_index(self) -> None:
        lock = self.repository.git_dir / "index.lock"
        deadline = time.monotonic() + _PATIENCE
        while lock.exists():
            if time.monotonic() > deadline:
                raise _Held(
                    "another git command is at work on the index; when none is running: "
                    f"rm '{lock}'"
                )
            time.sleep(0.005)

    def _materialise(self, entry: Journal, seen: Survey, texts: Mapping[str, bytes]) -> None:
        for file in entry.files:
            self._unchanged(file.path, self.worktree.is_as(file.path, seen.found[file.path]))
        own = [file for file in entry.files if not file.follows]
        try:
            self.worktree.set_index({file.path: file.new for file in own}, seen.staged)
            self.fault("P4.index")
            if len(own) < len(entry.files):
                self.worktree.advance_index(entry.base, entry.commit)
        except StoreError as error:
            raise self._refused(entry, error) from error
        self.fault("P4.tree")
        for file in entry.files:
            if file.before != file.after:
                self._unchanged(file.path, self._place(file, seen, texts, entry.tag))
                self.fault("P4.file")
        self._verify(entry)

    def _place(self, file: Touched, seen: Survey, texts: Mapping[str, bytes], tag: str) -> bool:
        path, found = file.path, seen.found[file.path]
        if file.after is None:
            return place.remove(self.worktree, path, found, tag)
        mode, durable = file.mode(file.after), not file.follows
        return place.put(self.worktree, path, texts[path], found, tag, mode=mode, durable=durable)

    def _unchanged(self, path: str, is_so: bool) -> None:
        if not is_so:
            raise _Again(f"{path} changed while the wave was being committed", path)

    def _refused(self, entry: Journal, error: StoreError) -> Exception:
        """Return why git refused to touch the index."""
        if "index.lock" in str(error):
            return _Again("another git command is at work on the index")
        staged = self.worktree.staged([file.path for file in entry.files])
        reasons = {
            file.path: why
            for file in entry.files
            if (why := in_index(Change(file.path, file.base, file.new), staged.get(file.path)))
        }
        if reasons:
            return _Held("; ".join(f"{p}: {why}" for p, why in reasons.items()), *reasons)
        found = self.worktree.look([file.path for file in entry.files])
        for file in entry.files:
            if not (found[file.path].holds(file.before) or found[file.path].holds(file.after)):
                return _Again(f"{file.path} changed while the wave was being committed", file.path)
        if "not uptodate" in str(error):
            return _Again("another git command keeps the index from learning how the files are")
        return error

    def _verify(self, entry: Journal) -> None:
        """Check that git would store what stands in the files as what the wave wrote.

        It would not where attributes make text of a blob that holds CRLF; they may be the wave's.
        """
        worktree = Worktree.of(self.repository)
        found = worktree.look([file.path for file in entry.files])
        for file in entry.files:
            if found[file.path].holds(file.after):
                continue
            if (
                found[file.path].kind is Kind.FILE
                and file.after is not None
                and worktree.is_checkout(file.path, file.after.oid)
            ):
                raise _Held(f"{file.path}: {unfaithful(file.path)}", file.path)
            self._unchanged(file.path, False)

    def _still_there(self, entry: Journal) -> None:
        """Check that HEAD is on the branch and that nobody staged what we put into the index."""
        if not self.repository.is_checked_out:
            raise _Again("HEAD moved")
        own = [file for file in entry.files if not file.follows]
        if not own:
            return
        self._wait_for_index()
        staged = self.worktree.staged([file.path for file in own])
        for file in own:
            held = staged.get(file.path)
            if (held.entry if held else None) != file.new:
                raise _Again(
                    f"{file.path} was staged while the wave was being committed", file.path
                )

    # ------------------------------------------------------------------------ P7: record

    def _record(self, entry: Journal) -> list[str]:
        try:
            if self.follows:
                self.worktree.refresh()
            journal.finish(self.ground.state, self.repository, entry)
        except StoreError as error:
            return [f"{entry} is committed; its record is left to the next mak command: {error}"]
        return []
