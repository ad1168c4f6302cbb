"""The store: everything MAK knows about one branch of one repository, behind one object."""

from __future__ import annotations

import os
import secrets
import socket
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import pygit2
from pygit2.enums import SortMode

from mak.errors import MakBug, StoreError, UsageError
from mak.model import Lock
from mak.store import locks, note, refs, signing
from mak.store.cache import SqliteCache
from mak.store.entries import Entries
from mak.store.ground import Ground
from mak.store.guard import GcGuard, Liveness
from mak.store.locks import Held, LockRow
from mak.store.paths import Paths
from mak.store.recover import recover
from mak.store.repository import Repository, git_errors
from mak.store.runs import Runs
from mak.store.scratch import Scratch, scratch, sweep
from mak.store.state import Holder, State, Update
from mak.store.treeops import difference, prospective
from mak.store.wave import Committed, Moved, WaveHeld, WaveWrite, commit_wave
from mak.store.worktree import Worktree

if TYPE_CHECKING:
    from mak.config import Files
    from mak.config.patterns import Generators, Hidden


class Store(Ground):
    """One process's view of a branch. Not for several threads at once."""

    def __init__(self, repository: Repository) -> None:
        super().__init__(repository)
        self.liveness = Liveness(repository.common_dir)
        cached = repository.common_dir / "mak" / "cache.sqlite"
        self.cache = SqliteCache(cached if os.access(repository.common_dir, os.W_OK) else None)
        #: What `enter` finished or took back, in sentences.
        self.recovered: list[str] = []
        #: What is kept from the planner and the agents; None: nothing.
        self.hidden: Hidden | None = None
        #: What writes generated files, by the configuration; set by `hide`.
        self.generators: Generators | None = None
        self._about: Holder | None = None
        self._entries = Entries(repository)
        self._paths = Paths(repository, self._entries)
        self._runs = Runs(repository, self.lock)
        self._gc = GcGuard(repository.common_dir, self.liveness)

    @classmethod
    def open(cls, work_dir: Path, *, branch: str | None = None, write: bool = True) -> Store:
        """Open the repository around a folder, on `branch` (HEAD's by default).

        A branch that does not exist begins at HEAD. Raise RepositoryRefused, with what to do about
        it, where MAK cannot work; without `write`, only what prevents reading counts.
        """
        return cls(Repository.open(work_dir, branch=branch, write=write))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the files that are open."""
        self.cache.close()
        self.lock.close()
        self.wave_lock.close()

    # ------------------------------------------------------------------------------ where we are

    @property
    def root(self) -> Path | None:
        """The top folder of the worktree; None for a bare repository."""
        return self.repository.root

    @property
    def prefix(self) -> str:
        """The work dir below the root, with a final ``/``; empty when it is the root."""
        return self.repository.prefix

    @property
    def branch(self) -> str:
        """Full name of the branch, or ``detached:`` and the worktree."""
        return self.repository.branch

    @property
    def key(self) -> str:
        """The branch in the names of MAK's refs."""
        return self.repository.key

    @property
    def remarks(self) -> list[str]:
        """Sentences about files that were left out."""
        return self._entries.remarks

    def vanished(self) -> str:
        """Return why there is no branch any more though there was one; empty: there is."""
        with git_errors(f"reading {self.branch}"):
            return self.repository.vanished()

    def tip(self) -> str:
        """Return the commit the branch is at; empty when it has none."""
        with git_errors(f"reading {self.branch}"):
            return self.repository.tip()

    # ---------------------------------------------------------------------------------- reading

    def entries(self, commit: str) -> dict[str, str]:
        """Return path → blob id of the regular files of a commit below the work dir."""
        return self._entries.files(commit)

    def mode(self, commit: str, path: str) -> int:
        """Return the Git mode of a path; 0 when there is nothing."""
        found = self._entries.find(commit, path)
        return found.mode if found else 0

    def read(self, blob: str) -> bytes:
        """Return the bytes of a blob."""
        return self._entries.blob(blob)

    def is_commit(self, commit: str) -> bool:
        """Whether a commit is there (empty: none is asked for)."""
        return not commit or commit in self.repository.handle

    def trailers(self, tip: str, base: str) -> list[tuple[str, dict[str, str]]]:
        """Return the commits of ``base..tip`` that have trailers, newest first, with these.

        An empty `base`, or one that is not there any more, hides nothing.
        """
        if not tip:
            return []
        handle = self.repository.handle
        with git_errors(f"reading the history of {tip[:10]}"):
            walk = handle.walk(pygit2.Oid(hex=tip), SortMode.TOPOLOGICAL)
            if base and base in handle:
                walk.hide(pygit2.Oid(hex=base))
            found = ((str(commit.id), dict(commit.message_trailers)) for commit in walk)
            return [(commit, trailers) for commit, trailers in found if trailers]

    def author(self) -> str | None:
        """Return whose name and address the commits of waves carry; None: MAK's own."""
        found = signing.settings(self.repository).author
        return None if found == signing.MAK else f"{found.name} <{found.email}>"

    # ------------------------------------------------------------------------------------ paths

    def check_path(self, path: str) -> str:
        """Return a path, relative to the root, as Git writes it.

        One that only names something as seen from the work dir is taken for that. Raise UsageError
        when MAK must not write there: it leaves the work dir, goes through a symbolic link, or is
        in ``.git``, in a submodule, left out of a sparse checkout, a folder, not committed yet,
        hidden, or new and the same as another name to some file systems.
        """
        found = self._checked_path(path)
        if self.hidden and (why := self.hidden.why(found)):
            raise UsageError(f"{path} is {why}")
        return found

    def _checked_path(self, path: str) -> str:
        with git_errors(f"looking at {path}"):
            try:
                return self._paths.check(path, self.repository.tip())
            except UsageError:
                if not self.holder:
                    raise
            # It may be that another process is just putting the file there.
            with self.wave_lock.held():
                return self._paths.check(path, self.repository.tip())

    def hide(self, files: Files) -> None:
        """Keep from the planner and the agents what ``.makignore`` and the configuration say.

        The file counts as it is in the working tree, so that it need not be committed; where the
        branch is not checked out, as it is in the tip. Raises `UsageError` for a bad pattern.
        """
        from mak.config.patterns import IGNORE_FILE, Generators, Hidden, Patterns

        prefix = self.prefix
        self.generators = Generators(files.generated, prefix)
        places = {folder: f"{folder}{IGNORE_FILE}" for folder in ("", prefix)}
        lines = [Patterns(path, self._lines(path), folder) for folder, path in places.items()]
        excluded = [*lines, Patterns("files.exclude", files.exclude, prefix)]
        self.hidden = Hidden(excluded, Patterns("files.include", files.include, prefix))

    def _lines(self, path: str) -> list[str]:
        if self.repository.is_checked_out and self.root is not None:
            place = self.root / path
            from mak.config.documents import read_text

            return read_text(place).splitlines() if place.is_file() else []
        with git_errors(f"reading {path}"):
            tip = self.repository.tip()
            found = self._entries.find(tip, path)
            data = self._entries.blob(found.oid) if found else b""
        return data.decode("utf-8", "replace").splitlines()

    def ignored(self, paths: Sequence[str]) -> list[str]:
        """Return those of the paths that Git ignores; what is tracked never is."""
        return self._paths.ignored(paths)

    def uncommitted(self, paths: Iterable[str]) -> list[str]:
        """Return those of the paths that are not in index and working tree as in the tip.

        Waits for the wave of another process, which moves all three.
        """
        if not self.repository.is_checked_out:
            return []
        wanted = list(paths)
        with git_errors("looking for uncommitted changes"), self.wave_lock.held():
            tip = self.repository.tip()
            committed = {path: self._entries.find(tip, path) for path in wanted}
            return Worktree.of(self.repository).uncommitted(wanted, committed)

    def opaque_reason(self, path: str) -> str:
        """Return why a file must stay whole, going by its Git attributes; empty: it need not.

        So must one that a command writes (`hide`).
        """
        if self.generators and (command := self.generators.command(path)):
            return f"is written by `{command}`"
        return self._paths.opaque_reason(path, self.repository.tip())

    def opaque_reasons(self, paths: Sequence[str]) -> dict[str, str]:
        """Return why files must stay whole, also files that are not in the tip, by path."""
        return self._paths.opaque_reasons(paths, self.repository.tip())

    # ------------------------------------------------------------------------------------ locks

    @contextmanager
    def enter(self, run: str) -> Iterator[None]:
        """Take part in the work on the branch while the block runs.

        First finishes, or takes back, a wave that a dead process left half done, and takes away
        the claims of the dead; `recovered` says what was done. Gives up all claims at the end.
        Raises StoreError, saying who it is, where another process carries out the same run.
        """
        if self.holder:
            raise MakBug(f"entering {self.branch} for {run}: already entered")
        holder = f"h-{secrets.token_hex(4)}"
        about = Holder(run, os.getpid(), socket.gethostname(), round(time.time(), 3))
        with git_errors(f"entering {self.branch}"), self.lock.held():
            if at_work := self.at_work(run):
                raise StoreError(
                    f"going on with {run}: it is being carried out by {at_work}", hint="mak locks"
                )
            alive = self.liveness.begin(holder, run)
        self.holder, self._about = holder, about
        try:
            self._gc.enter()
            self.recovered = [*self.recover(), *self._reap()]
            self._sweep()
            yield
        finally:
            # A claim that cannot be given up here is taken away when somebody wants it.
            with suppress(StoreError):
                self.state.cas(self._left)
            self.holder, self._about = "", None
            self.liveness.end(holder, alive)
            self._gc.leave()

    def acquire(
        self, claims: Mapping[str, Sequence[Lock]], *, done: Sequence[str] = ()
    ) -> dict[str, Held]:
        """Take the locks of these tasks, of each task all or none, in one step.

        Returns the tasks that were refused, each with who holds what. What a dead process holds is
        taken from it. Claims stay until the wave is committed or they are released; those of the
        tasks that are `done` are released first, in the same step.
        """
        holder, about = self._entered()
        self._gc.keep()
        refused: dict[str, Held] = {}

        def decide(state: State) -> Update | None:
            nonlocal refused
            alive = locks.release(self._without_dead(state), holder, done)
            new, refused = locks.acquire(alive, holder, about, claims)
            granted = len(claims) - len(refused)
            return _step(new, state, f"acquire locks of {granted} tasks for {about.run}")

        state = self.state.cas(decide)
        if refused and self._is_half_done(state) and self.recover():
            self.state.cas(decide)
        return refused

    def release(self, tasks: Sequence[str]) -> None:
        """Give up what these tasks hold."""
        holder, about = self._entered()
        self.state.cas(
            lambda state: _step(
                locks.release(state, holder, tasks),
                state,
                f"release {len(tasks)} tasks of {about.run}",
            )
        )

    def locks(self) -> list[LockRow]:
        """List the claims on the branch, by node."""
        return locks.rows(self.state.read()[1], self.liveness.is_alive)

    def at_work(self, run: str) -> str:
        """Describe the live process that carries out `run`; empty: there is none."""
        found = self.liveness.carrying_out(run)
        return locks.describe(Holder(*found[:-1])) if found is not None else ""

    def _entered(self) -> tuple[str, Holder]:
        if self._about is None:
            raise MakBug(f"locking on {self.branch}: not entered")
        return self.holder, self._about

    def _left(self, state: State) -> Update | None:
        """Give up everything, unless a wave is half done, which may need it."""
        if state.wave is not None:
            return None
        holder, about = self._entered()
        return _step(locks.leave(state, [holder]), state, f"leave {about.run}")

    def _reap(self) -> list[str]:
        """Take away what the dead hold, and remove their files; return what was done."""
        taken: list[str] = []

        def decide(state: State) -> Update | None:
            taken.clear()
            new = self._without_dead(state)
            for name in sorted(state.holders.keys() - new.holders.keys()):
                taken.append(
                    f"gave up the locks of {locks.describe(state.holders[name])}: it is dead"
                )
            return _step(new, state, f"reap {len(taken)} holders")

        self.state.cas(decide)
        self.liveness.sweep()
        return taken

    def _sweep(self) -> None:
        if (self.repository.common_dir / "mak" / "scratch").is_dir():
            sweep(self.repository)

    def _without_dead(self, state: State) -> State:
        """Return the state without the claims of the dead, except while a wave is half done."""
        if state.wave is not None:
            return state
        dead = [name for name in state.holders if not self.liveness.is_alive(name)]
        return locks.leave(state, dead, "reap")

    def _is_half_done(self, state: State) -> bool:
        return state.wave is not None and any(
            not self.liveness.is_alive(name) for name in state.holders
        )

    # ------------------------------------------------------------------------------------- runs

    def start_run(self, run: str, documents: Mapping[str, bytes]) -> None:
        """Begin the record of a run with these documents."""
        self._runs.start(run, documents)

    def record(self, run: str, documents: Mapping[str, bytes]) -> None:
        """Add documents to the record of a run, or replace them, in one commit."""
        self._gc.keep()
        self._runs.record(run, documents)

    def run_document(self, run: str, path: str) -> bytes | None:
        """Return a document of a run; None when there is no such run or document."""
        return self._runs.document(run, path)

    def run_documents(self, run: str, prefix: str) -> dict[str, bytes]:
        """Return the documents of a run whose path begins with `prefix`, by path."""
        return self._runs.documents(run, prefix)

    def runs(self) -> list[str]:
        """Return the runs of the repository, the one that was started last first."""
        return self._runs.names()

    # ------------------------------------------------------------------------------------ waves

    def commit_wave(self, wave: WaveWrite) -> Committed | Moved | WaveHeld:
        """Put a wave on the branch, with index and working tree, or leave everything as it was."""
        self._gc.keep()
        return commit_wave(self, wave)

    def prospective(self, parent: str, files: Mapping[str, bytes | None]) -> str:
        """Write the tree of the commit `parent` (empty: none) with these files; return its id."""
        with git_errors("writing a tree"):
            return prospective(self.repository, parent, files)

    def difference(self, old: str, new: str) -> dict[str, bytes | None]:
        """Return the contents of files that differ between two trees; None: they are gone."""
        with git_errors("comparing trees"):
            return difference(self.repository, old, new)

    def scratch(self, links: Sequence[str] = ()) -> AbstractContextManager[Scratch]:
        """Make a copy of the tree to run commands in; see `mak.store.scratch`."""
        return scratch(self.repository, self.tip(), links)

    def cut_off(self) -> str:
        """Return what a process that died left half done of a wave; empty: nothing."""
        state = self.state.read()[1]
        if not note.is_left(self.repository.git_dir) and state.wave is None:
            return ""
        if not self.wave_lock.acquire():
            return ""  # somebody is at it
        self.wave_lock.release()
        lock = refs.lock_path(self.repository, self.repository.branch_ref)
        title = str((state.wave or {}).get("title", "")) or "a wave"
        held = f", and Git cannot commit while {lock} is there" if lock.exists() else ""
        return f"{title} was cut off half way{held}"

    def recover(self) -> list[str]:
        """Finish, or take back, a wave that a dead process left half done; say what was done."""
        return recover(self)


def _step(new: State, old: State, subject: str) -> Update | None:
    """Return the step from one state to another, or None when they are the same."""
    return None if new is old else Update(new, subject)
