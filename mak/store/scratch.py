"""Copies of a tree to run commands in: repositories of their own among the temporary files.

A copy borrows the person's objects and reads their configuration; whatever a command does to its
index, refs, configuration or ``.git`` it does to the copy. ``mak/scratch/<name>`` in the person's
git dir says where a copy is, and is flocked by the process that made it; a copy without such a
process is taken away by the next one that enters.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from mak.errors import StoreError
from mak.store import settings, treeops
from mak.store.git import Git
from mak.store.guard import FileLock
from mak.store.repository import Repository, git_errors
from mak.store.treeops import Entry

_SUBMODULE = 0o160000
_REGULAR = (treeops.FILE, treeops.EXECUTABLE)
_PREFIX = "mak-scratch-"
_REF = "--format=%(objectname) %(refname)"
_REMOTES = "refs/remotes"
_PACKED = b"# pack-refs with: sorted\n"


class Scratch:
    """A folder that shows one tree after the other; what Git ignores stays between them."""

    def __init__(self, repository: Repository, root: Path, head: str, links: Sequence[str]) -> None:
        self._repository = repository
        self._head = head
        self._links = links
        #: The top folder, as a command sees the repository's.
        self.root = root
        self._git_dir = root.parent / "git"
        self._account_file = root.parent / "account"
        # A command may take away `.git`; whatever lies above is the person's.
        self.git = Git(self._git_dir, root, pinned=True)
        self._pointer = f"gitdir: {self._git_dir}\n".encode()
        self._tree = ""
        self._add()
        self._modules: dict[str, str] = {}
        self._stamp = 0

    @property
    def work_dir(self) -> Path:
        """The folder that stands for the work directory."""
        return self.root / self._repository.prefix

    @property
    def environment(self) -> dict[str, str]:
        """What keeps a command's git within the copy, also when it has taken `.git` away."""
        return {
            "GIT_CEILING_DIRECTORIES": str(self.root.parent),
            "GIT_CONFIG_GLOBAL": str(self._account_file),
        }

    def show(self, tree: str) -> Path:
        """Make the files those of `tree`; return the work directory.

        What the last command left is removed unless Git ignores it; a copy that it has ruined is
        made anew. A file that changes gets a time of change that it never had, so that no cache
        takes it for the one before.
        """
        with git_errors(f"checking out {tree[:10]} in {self.root}"):
            try:
                if self._tree and (self.root / ".git").read_bytes() != self._pointer:
                    raise StoreError(f"{self.root}/.git was changed")
                self._show(tree)
            except (StoreError, OSError):
                if not self._tree:
                    raise
                self._renew()
                self._show(tree)
        return self.work_dir

    def _show(self, tree: str) -> None:
        self._set_up()
        if self._tree:
            kept = (f"--exclude=/{self._repository.prefix}{name}" for name in self._links)
            self.git.run("clean", "-ffdq", *kept)
        self.git.run("read-tree", "--reset", "-u", tree)
        if not self._tree:
            self._stamp = max(int(time.time()), self._stamp)
        elif self._tree != tree:
            self._touch(self._changed(self._tree, tree))
        self._tree = tree
        self._fill_submodules()
        self.work_dir.mkdir(parents=True, exist_ok=True)
        self._link()

    def _add(self) -> None:
        """Make the copy, without files: a repository with the person's objects, branches and tags.

        By hand, since what `git init` makes depends on the person's configuration.
        """
        theirs = self._repository.common_dir
        for folder in (self.root, self._git_dir / "objects/info", self._git_dir / "refs"):
            folder.mkdir(parents=True, exist_ok=True)
        (self.root / ".git").write_bytes(self._pointer)
        borrowed = self._git_dir / "objects/info/alternates"
        borrowed.write_bytes(os.fsencode(theirs / "objects") + b"\n")
        for name in ("shallow", "info/exclude", "info/attributes"):
            if (theirs / name).is_file():
                (self._git_dir / name).parent.mkdir(exist_ok=True)
                shutil.copyfile(theirs / name, self._git_dir / name)
        listed = self._repository.git.run("for-each-ref", _REF, "refs/heads", "refs/tags", _REMOTES)
        (self._git_dir / "packed-refs").write_bytes(_PACKED + listed)
        self._config = settings.of_copy(self._repository, self.root)
        self._account = settings.of_account(self._repository)
        self._set_up()

    def _set_up(self) -> None:
        """Undo what a command may have set."""
        (self._git_dir / "config").write_text(self._config, errors="surrogateescape")
        (self._git_dir / "HEAD").write_text(f"{self._head}\n")
        self._account_file.write_text(self._account, errors="surrogateescape")

    def _renew(self) -> None:
        """Begin anew at the same place; what cannot be removed yet goes with the whole folder."""
        for folder in (self.root, self._git_dir):
            if folder.exists():
                folder.rename(Path(tempfile.mkdtemp(dir=self.root.parent)) / folder.name)
        self._tree, self._modules = "", {}
        self._stamp += 1
        self._add()

    def written(self, wanted: Callable[[str], bool]) -> str:
        """Return the tree that is shown, with what was written since of the regular files `wanted`.

        Their paths are those of the repository. What Git ignores does not count.
        """
        with git_errors(f"taking in what was written in {self.root}"):
            self._set_up()
            listed = self.git.run("ls-files", "-zmdo", "--exclude-standard").split(b"\0")[:-1]
            names = [name for name in dict.fromkeys(listed) if wanted(os.fsdecode(name))]
            if names:
                paths = b"\0".join(names)
                self.git.run("update-index", "-z", "--add", "--remove", "--stdin", input=paths)
            staged = self.git.run("write-tree").decode().strip()
            changes: dict[str, Entry | None] = {}
            raw = self.git.run("diff-tree", "-r", "-z", "--no-renames", self._tree, staged).split(
                b"\0"
            )
            for about, name in zip(raw[:-1:2], raw[1::2], strict=True):
                path = os.fsdecode(name)
                _, mode, _, oid, status = about.decode().split(" ")
                if not wanted(path):
                    continue
                if status == "D":
                    changes[path] = None
                elif int(mode, 8) in _REGULAR:
                    # It is in the copy so far.
                    self._repository.put(self.git.run("cat-file", "blob", oid))
                    changes[path] = Entry(oid, int(mode, 8))
            return treeops.update_tree(self._repository, self._tree, changes)

    def _changed(self, old: str, new: str) -> list[Path]:
        listed = self.git.run("diff-tree", "-r", "-z", "--name-only", "--no-renames", old, new)
        return [self.root / os.fsdecode(name) for name in listed.split(b"\0")[:-1]]

    def _touch(self, files: Sequence[Path]) -> None:
        """Date files: caches compare times in whole seconds."""
        self._stamp = max(int(time.time()), self._stamp + 1)
        for file in files:
            if file.is_file() and not file.is_symlink():
                os.utime(file, (self._stamp, self._stamp))
        self.git.run("update-index", "-q", "--refresh", check=False)

    def _link(self) -> None:
        """Let commands find what is beside the person's files and in no commit."""
        theirs = self._repository.root
        if theirs is None:
            return
        for name in self._links:
            target, link = theirs / self._repository.prefix / name, self.work_dir / name
            if target.exists() and not os.path.lexists(link) and link.parent.is_dir():
                link.symlink_to(target)

    def _fill_submodules(self) -> None:
        """Check submodules out that the person has; the others stay empty folders."""
        theirs = self._repository.root
        if theirs is None or not (self.root / ".gitmodules").is_file():
            return
        for path, entry in self._staged():
            if entry.mode != _SUBMODULE or self._modules.get(path) == entry.oid:
                continue
            self._modules[path] = entry.oid
            if not (theirs / path / ".git").exists():
                continue
            source = Git(theirs / path / ".git", theirs / path)
            git_dir = source.run("rev-parse", "--absolute-git-dir").decode().strip()
            place = self.root / path
            place.mkdir(parents=True, exist_ok=True)
            index = {"GIT_INDEX_FILE": f"{place}.mak-index"}
            options = (f"--git-dir={git_dir}", f"--work-tree={place}")
            done = self.git.attempt(*options, "read-tree", "--reset", "-u", entry.oid, env=index)
            Path(index["GIT_INDEX_FILE"]).unlink(missing_ok=True)
            if done.returncode:
                raise StoreError(
                    f"checking out the submodule {path}: {done.stderr.decode('utf-8', 'replace')}",
                    hint=f"git submodule update --init {path}",
                )

    def _staged(self) -> Iterator[tuple[str, Entry]]:
        for line in self.git.run("ls-files", "-z", "--stage").split(b"\0")[:-1]:
            head, _, name = line.partition(b"\t")
            mode, oid, _ = head.decode().split(" ")
            yield os.fsdecode(name), Entry(oid, int(mode, 8))


@contextmanager
def scratch(repository: Repository, head: str, links: Sequence[str] = ()) -> Iterator[Scratch]:
    """Make a copy whose HEAD is at the commit `head` (empty: at one without files), for a while."""
    with git_errors("making a folder for a copy of the tree"):
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX)).resolve()
        mark = _marked(repository, folder)
    git = repository.git
    try:
        at = head or repository.put_commit(git.run("mktree").decode().strip(), [], "nothing yet\n")
        yield Scratch(repository, folder / folder.name, at, links)
    finally:
        _remove(folder)
        mark.path.unlink(missing_ok=True)
        mark.close()


def sweep(repository: Repository) -> None:
    """Take away the copies of processes that are dead."""
    for path in (repository.common_dir / "mak" / "scratch").glob(f"{_PREFIX}*"):
        lock = FileLock(path)
        with suppress(OSError):
            if lock.acquire() and lock.is_current():
                folder = Path(path.read_text())
                if folder.name == path.name:
                    _remove(folder)
                path.unlink(missing_ok=True)
        lock.close()


def _marked(repository: Repository, folder: Path) -> FileLock:
    path = repository.common_dir / "mak" / "scratch" / folder.name
    while True:
        lock = FileLock(path)
        # Whoever sweeps up may have removed the file between its creation and our lock.
        with suppress(FileNotFoundError):
            if lock.acquire(5.0) and lock.is_current():
                path.write_text(str(folder))
                return lock
        lock.close()


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():  # a command has left folders that may not be written
        for place, names, _ in os.walk(folder):
            for inner in (Path(place, name) for name in names):
                if not inner.is_symlink():
                    inner.chmod(0o700)
        shutil.rmtree(folder, ignore_errors=True)
