"""One repository as one process sees it: where it is, which branch, and how it is written.

Invariants: one libgit2 handle per thread and process (a shared one crashes); the index and the
working tree are never written through libgit2, whose index loses concurrent ``git add``s and whose
checkout overwrites staged work.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pygit2
from pygit2.enums import ReferenceType

from mak.errors import RepositoryRefused, StoreError, UsageError
from mak.model import DETACHED
from mak.store import kinds, objects
from mak.store.git import Git

T = TypeVar("T")

_HEADS = "refs/heads/"


class Repository:
    """Where objects and refs are read and written. Ids are hexadecimal strings."""

    def __init__(self, git_dir: Path, common_dir: Path, root: Path | None, prefix: str) -> None:
        #: The worktree's own git directory: HEAD, index, rebase state.
        self.git_dir = git_dir
        #: The git directory that all worktrees share: objects, refs, MAK's files.
        self.common_dir = common_dir
        #: The top folder of the worktree; None for a bare repository.
        self.root = root
        #: The work dir below the root, with a final ``/``; empty when it is the root.
        self.prefix = prefix
        #: Full name of the branch, or ``detached:`` and the worktree.
        self.branch = ""
        #: Whether the branch was there when this was opened, or has been made since.
        self.has_been = False
        #: Whether missing objects are to be had from a remote.
        self.is_partial = False
        self.git = Git(git_dir, root)
        self._local = threading.local()
        self.before_write = lambda what: None

    @classmethod
    def open(cls, work_dir: Path, *, branch: str | None = None, write: bool = True) -> Repository:
        """Open the repository around a folder; raise RepositoryRefused where MAK cannot work.

        `branch` (a short or full name) is HEAD's by default. Only `write` looks at what would make
        writing unsafe: an operation in progress, a branch that another worktree shows, no access.
        """
        handle = kinds.discover(work_dir)
        kinds.refuse_tree_less(handle, work_dir)
        git_dir = Path(handle.path).resolve()
        root = Path(handle.workdir).resolve() if handle.workdir else None
        self = cls(git_dir, _common_dir(git_dir), root, _prefix(work_dir, git_dir, root))
        self.is_partial = kinds.is_partial(handle)
        self._local.handle = os.getpid(), handle
        self.branch = self.head() if branch is None else self._full_name(branch)
        self.has_been = bool(self.ref(self.branch_ref))
        if write:
            self._refuse_unsafe(work_dir)
        return self

    @property
    def handle(self) -> pygit2.Repository:
        """The libgit2 handle of this thread; never hand one, or what came from it, to another."""
        found: tuple[int, pygit2.Repository] | None = getattr(self._local, "handle", None)
        if found is None or found[0] != os.getpid():
            found = self._local.handle = os.getpid(), pygit2.Repository(str(self.git_dir))
        return found[1]

    @property
    def before_write(self) -> Callable[[str], None]:
        """Called before every write with what it is; raising stops the write. A test seam."""
        return self._before_write

    @before_write.setter
    def before_write(self, called: Callable[[str], None]) -> None:
        self._before_write = self.git.before_write = called

    # ----------------------------------------------------------------------------- the branch

    @property
    def key(self) -> str:
        """The branch as a ref component: flat and short, whatever the branch is called."""
        return hashlib.sha256(os.fsencode(self.branch)).hexdigest()[:16]

    @property
    def branch_ref(self) -> str:
        """The ref to lock and move for the branch: itself, or HEAD where that is detached."""
        return "HEAD" if self.branch.startswith(DETACHED) else self.branch

    def head(self) -> str:
        """Return what HEAD is on, as `branch` is written."""
        try:
            head = self.handle.references["HEAD"]
        except (KeyError, pygit2.GitError, ValueError) as error:
            raise RepositoryRefused(
                f"reading HEAD of {self.git_dir}: {error}", hint="git switch <branch>"
            ) from error
        if head.type == ReferenceType.SYMBOLIC:
            return _named(head)
        return DETACHED + ("." if self.git_dir == self.common_dir else self.git_dir.name)

    @property
    def is_checked_out(self) -> bool:
        """Whether the branch is what this worktree shows, so that its files follow it."""
        return self.root is not None and self.head() == self.branch

    def tip(self) -> str:
        """Return the commit the branch is at; empty when it has none.

        A branch that does not exist starts where HEAD is.
        """
        return self.ref(self.branch_ref) or ("" if self.is_checked_out else self.ref("HEAD"))

    def vanished(self) -> str:
        """Return why there is no branch any more though there was one; empty: there is."""
        if not self.has_been or self.ref(self.branch_ref):
            return ""
        name = self.branch.removeprefix(_HEADS)
        return f"the branch {name} is gone: it was deleted or renamed during the run"

    def ref(self, name: str) -> str:
        """Return the commit id that a ref resolves to; empty when there is no such ref."""
        try:
            return str(self.handle.references[name].resolve().target)
        except KeyError:
            return ""

    def operation(self) -> tuple[str, str] | None:
        """Return what a person is in the middle of (a merge, …) and how to end it, if anything."""
        return kinds.operation(self.git_dir)

    # -------------------------------------------------------------------------------- writing

    def write(self, what: str, write: Callable[[], T]) -> T:
        """Write something through libgit2, with the retry that git itself has."""

        def once() -> T:
            self.before_write(what)
            return write()

        return objects.put(once)

    def put(self, data: bytes) -> str:
        """Write a blob."""
        handle = self.handle
        return str(self.write("blob", lambda: handle.create_blob(data)))

    def put_commit(
        self, tree: str, parents: Sequence[str], message: str, when: float | None = None
    ) -> str:
        """Write a commit of MAK's own: never signed, the same author everywhere.

        `when` is in Unix seconds: now, by default.
        """
        handle = self.handle
        seconds = int(time.time() if when is None else when)
        author = pygit2.Signature("MAK", "mak@localhost", seconds, 0)
        return str(
            self.write(
                "commit",
                lambda: handle.create_commit(None, author, author, message, tree, list(parents)),
            )
        )

    def is_stored(self, oid: str) -> bool:
        """Whether an object that was just written is still there, as another process would see."""
        if (self.common_dir / "objects" / oid[:2] / oid[2:]).exists():
            return True
        return oid in pygit2.Repository(str(self.git_dir))

    # --------------------------------------------------------------------------------- opening

    def _full_name(self, branch: str) -> str:
        name = branch if branch.startswith("refs/") else _HEADS + branch
        if not name.startswith(_HEADS) or branch.startswith("-"):
            raise UsageError(f"--branch {branch}: only a local branch can be written")
        if not pygit2.reference_is_valid_name(name):
            raise UsageError(f"--branch {branch}: not a name that Git allows")
        if not self.ref(name):
            for other in self.handle.branches.local:
                if f"{other}/".startswith(f"{name.removeprefix(_HEADS)}/") or name.startswith(
                    f"{_HEADS}{other}/"
                ):
                    raise UsageError(
                        f"--branch {branch}: it cannot exist beside the branch {other}",
                        hint="choose a name that is not a part of another branch's",
                    )
        return name

    def _refuse_unsafe(self, work_dir: Path) -> None:
        where = f"opening {work_dir}"
        busy = self.operation()
        if busy is not None:
            raise RepositoryRefused(f"{where}: {busy[0]} is in progress", hint=busy[1])
        if not self.branch.startswith((_HEADS, DETACHED)):
            raise RepositoryRefused(
                f"{where}: HEAD is on {self.branch}, which is not a branch",
                hint="git switch <branch>",
            )
        for git_dir, folder in kinds.worktrees_on(self.common_dir, self.branch):
            if git_dir.resolve() != self.git_dir:
                raise RepositoryRefused(
                    f"{where}: {self.branch.removeprefix(_HEADS)} is checked out at {folder}",
                    hint=f"run MAK there: --work-dir '{folder}', or choose another --branch",
                )
        self._refuse_symbolic(where)
        self._refuse_read_only(where)
        if self.is_checked_out and self.git.run("ls-files", "-u", "-z"):
            raise RepositoryRefused(
                f"{where}: the index holds unresolved conflicts",
                hint="resolve them and git add the files (git status lists them)",
            )

    def _refuse_symbolic(self, where: str) -> None:
        try:
            found = self.handle.references[self.branch]
        except (KeyError, ValueError, pygit2.GitError):
            return
        if found.type == ReferenceType.SYMBOLIC:
            target = _named(found)
            raise RepositoryRefused(
                f"{where}: {self.branch} is only another name of {target}",
                hint=f"git switch {target.removeprefix(_HEADS)}",
            )

    def _refuse_read_only(self, where: str) -> None:
        reason = ""
        for name in (".", "objects", "refs", "mak", "mak/holders", "mak/store.lock"):
            path = self.common_dir / name
            if path.exists() and not os.access(path, os.W_OK):
                reason = f"{path} is read-only"
        try:
            if not reason:
                self.put(b"1\n")
        except StoreError as error:
            reason = str(error)
        if reason:
            raise RepositoryRefused(
                f"{where}: {reason}", hint="mount or chown it so that it can be written"
            )


@contextmanager
def git_errors(doing: str) -> Iterator[None]:
    """Turn what libgit2 and the file system raise into a StoreError about what was being done."""
    try:
        yield
    except (pygit2.GitError, OSError) as error:
        raise StoreError(f"{doing}: {error}") from error


def _named(reference: pygit2.Reference) -> str:
    """Return the name that a symbolic ref holds."""
    target = reference.raw_target
    assert isinstance(target, bytes)
    return os.fsdecode(target)


def _common_dir(git_dir: Path) -> Path:
    try:
        named = (git_dir / "commondir").read_text().strip()
    except OSError:
        return git_dir
    return (git_dir / named).resolve()


def _prefix(work_dir: Path, git_dir: Path, root: Path | None) -> str:
    resolved = work_dir.resolve()
    if root is None:
        return ""
    if not resolved.is_relative_to(root) or resolved.is_relative_to(git_dir):
        raise RepositoryRefused(
            f"opening {work_dir}: it is inside {git_dir}", hint=f"use --work-dir '{root}'"
        )
    inner = resolved.relative_to(root).as_posix()
    return "" if inner == "." else f"{inner}/"
