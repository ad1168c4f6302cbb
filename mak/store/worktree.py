"""What a working tree and its index hold at given paths, in the form Git would store.

Invariant: a file is replaced only while it is, byte for byte, the file that was looked at, and
always in one step (rename).
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

import pygit2

from mak.errors import StoreError
from mak.store.filters import Filters
from mak.store.git import Git
from mak.store.objects import blob_id
from mak.store.repository import Repository
from mak.store.treeops import EXECUTABLE, FILE, Entry

LINK = 0o120000

#: Git knows this tree everywhere.
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


class Kind(StrEnum):
    """What stands at a path."""

    ABSENT = "absent"
    FILE = "file"
    LINK = "link"
    DIRECTORY = "directory"
    #: A socket, a device, ….
    OTHER = "other"
    #: A parent of the path is not a directory, or is a symbolic link.
    BLOCKED = "blocked"


@dataclass(frozen=True, slots=True)
class Found:
    """What stands at a path of the working tree."""

    kind: Kind
    #: Blob id after Git's clean filters; empty unless a file or a link.
    oid: str = ""
    #: As in a tree; 0 where Git does not look at the exec bit (core.fileMode).
    mode: int = 0
    #: Device-independent identity of the exact file: inode, size, mtime, ctime (ns), mode.
    stamp: tuple[int, ...] = ()

    def holds(self, entry: Entry | None) -> bool:
        """Whether this is what a checkout of the entry would leave."""
        if entry is None:
            return self.kind is Kind.ABSENT
        return self.oid == entry.oid and self.mode in (0, entry.mode)


@dataclass(frozen=True, slots=True)
class Staged:
    """What the index holds at a path."""

    entry: Entry
    #: 0; 1 to 3 in a conflict.
    stage: int = 0
    #: Git does not look at the file: assume-unchanged.
    assumed: bool = False
    #: Git keeps the file out of the working tree: skip-worktree.
    skipped: bool = False


ABSENT = Found(Kind.ABSENT)


@dataclass(frozen=True, slots=True)
class Worktree:
    """A checked-out working tree."""

    repository: Repository
    root: Path
    filters: Filters

    @classmethod
    def of(cls, repository: Repository) -> Worktree:
        """Return the working tree of a repository that is not bare."""
        assert repository.root is not None
        return cls(repository, repository.root, Filters(repository))

    @property
    def _modes_count(self) -> bool:
        config = self.repository.handle.config
        return "core.filemode" not in config or config.get_bool("core.filemode")

    @property
    def _git(self) -> Git:
        return self.repository.git

    # ------------------------------------------------------------------------ looking

    def look(self, paths: Iterable[str]) -> dict[str, Found]:
        """Return what stands at these paths."""
        parents = {"": Kind.DIRECTORY}
        found = {path: self._look(path, parents) for path in paths}
        files = [path for path, one in found.items() if one.kind is Kind.FILE]
        self.filters.learn(files)
        ask_git: list[str] = []
        for path in files:
            oid = self.hash_as(self.root / path, path)
            found[path] = replace(found[path], oid=oid)
            if not oid:
                ask_git.append(path)
        if ask_git:
            for path, oid in zip(ask_git, self._hash_object(ask_git), strict=True):
                found[path] = replace(found[path], oid=oid)
        if not self._modes_count:
            found = {path: replace(one, mode=0) for path, one in found.items()}
        return found

    def is_as(self, path: str, found: Found) -> bool:
        """Whether the very file that was found is still there; costs one `lstat`."""
        try:
            return stamp(os.lstat(self.root / path)) == found.stamp
        except (FileNotFoundError, NotADirectoryError):
            return found.kind is Kind.ABSENT

    def _look(self, path: str, parents: dict[str, Kind]) -> Found:
        """Return what stands at a path, a file without its blob."""
        state = self._reachable(path.rpartition("/")[0], parents)
        if state is not Kind.DIRECTORY:
            return Found(state)
        try:
            status = os.lstat(self.root / path)
        except FileNotFoundError:
            return ABSENT
        if stat.S_ISLNK(status.st_mode):
            target = os.fsencode(os.readlink(self.root / path))  # noqa: PTH115, it tidies
            return Found(Kind.LINK, blob_id(target), LINK, stamp(status))
        if stat.S_ISDIR(status.st_mode):
            return Found(Kind.DIRECTORY)
        if not stat.S_ISREG(status.st_mode):
            return Found(Kind.OTHER)
        mode = EXECUTABLE if status.st_mode & stat.S_IXUSR else FILE
        return Found(Kind.FILE, "", mode, stamp(status))

    def _reachable(self, directory: str, known: dict[str, Kind]) -> Kind:
        """DIRECTORY: a real one, all the way down; ABSENT: could be made; BLOCKED: neither."""
        if directory not in known:
            above = self._reachable(directory.rpartition("/")[0], known)
            if above is Kind.DIRECTORY:
                try:
                    mode = os.lstat(self.root / directory).st_mode
                    above = Kind.DIRECTORY if stat.S_ISDIR(mode) else Kind.BLOCKED
                except FileNotFoundError:
                    above = Kind.ABSENT
            known[directory] = above
        return known[directory]

    def hash_as(self, file: Path, path: str) -> str:
        """Hash a file as Git would store it at `path`; empty: only git itself can tell."""
        if self.filters.are_git_s(path):
            return ""
        try:
            data = file.read_bytes()
            if self.filters.keep(path, data):
                return blob_id(data)
            return str(self.repository.handle.hashfile(str(file), as_path=path))
        except (pygit2.GitError, OSError, KeyError, UnicodeError):
            return ""

    def _hash_object(self, paths: Sequence[str], *options: str) -> list[str]:
        plain = [path for path in paths if "\n" not in path]
        out = b""
        if plain:
            given = b"".join(os.fsencode(path) + b"\n" for path in plain)
            out = self._git.run("hash-object", *options, "--stdin-paths", input=given)
        ids = dict(zip(plain, out.decode().split(), strict=True))
        for path in paths:
            if path not in ids:
                ids[path] = self._git.run("hash-object", *options, "--", path).decode().strip()
        return [ids[path] for path in paths]

    def staged(self, paths: Sequence[str]) -> dict[str, Staged]:
        """Return what the index holds at these paths; a conflict shows as a stage above 0."""
        found: dict[str, Staged] = {}
        out = self._git.run_over("ls-files", "-z", "-v", "--stage", paths=list(paths))
        for line in out.split(b"\0")[:-1]:
            head, _, name = line.partition(b"\t")
            tag, mode, oid, stage = head.decode().split(" ")
            found[os.fsdecode(name)] = Staged(
                Entry(oid, int(mode, 8)), int(stage), assumed=tag.islower(), skipped=tag in "Ss"
            )
        return {path: found[path] for path in paths if path in found}

    def uncommitted(self, paths: Iterable[str], tip: Mapping[str, Entry | None]) -> list[str]:
        """Return the paths whose working tree or index differs from `tip`, in order.

        Sees what `git status` hides: ignored files in the way and changes to files marked
        assume-unchanged. A file that skip-worktree keeps out is no difference.
        """
        wanted = list(dict.fromkeys(paths))
        found, staged = self.look(wanted), self.staged(wanted)
        different = []
        for path in wanted:
            entry, index = tip.get(path), staged.get(path)
            out = index is not None and index.skipped and found[path].kind is Kind.ABSENT
            in_index = None if index is None else index.entry
            if in_index != entry or not (out or found[path].holds(entry)):
                different.append(path)
        return different

    # ------------------------------------------------------------------------ reading

    def keep(self, path: str) -> str:
        """Store the file as Git would, and return the blob's id."""
        return self._hash_object([path], "-w")[0]

    def blob(self, oid: str) -> bytes:
        """Return the bytes of a blob; git has them fetched where a partial clone lacks them."""
        try:
            found = self.repository.handle[oid]
        except KeyError:
            return self._git.run("cat-file", "blob", oid)
        assert isinstance(found, pygit2.Blob)
        return found.data

    def read(self, path: str) -> bytes:
        """Return the file's bytes as they are."""
        return (self.root / path).read_bytes()

    def texts(
        self, entries: Mapping[str, str], known: Mapping[str, bytes] | None = None
    ) -> dict[str, bytes]:
        """Return the bytes that a checkout of these blobs, given by path, would write.

        `known` are some blobs by id.
        """
        plain = self.filters.plain([*entries])
        found = {
            path: known[oid] if known and oid in known else self.blob(oid)
            for path, oid in entries.items()
            if path in plain
        }
        filtered = {path: oid for path, oid in entries.items() if path not in found}
        return {**found, **self._smudged(filtered)}

    def _smudged(self, entries: Mapping[str, str]) -> dict[str, bytes]:
        """Let git check blobs out, so that every filter and attribute counts.

        From an index of their own into a folder of their own. One at a time: the caller holds the
        wave's lock.
        """
        if not entries:
            return {}
        folder = self.repository.git_dir / "mak" / "checkout"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        env = {"GIT_INDEX_FILE": str(folder / "index")}
        lines = (b"%o %s\t%s\0" % (FILE, o.encode(), os.fsencode(p)) for p, o in entries.items())
        try:
            self._git.run("update-index", "-z", "--index-info", input=b"".join(lines), env=env)
            self._git.run("checkout-index", "-a", f"--prefix={folder}/files/", env=env)
            return {path: (folder / "files" / path).read_bytes() for path in entries}
        except OSError as error:
            raise StoreError(f"checking out {', '.join(entries)}: {error}") from error
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def is_checkout(self, path: str, oid: str) -> bool:
        """Whether the file is, byte for byte, what a checkout of this blob writes.

        Git may still see a change in it: attributes that make text of a blob with CRLF, or a
        filter that does not give back what it was given.
        """
        return self.read(path) == self.texts({path: oid})[path]

    # ------------------------------------------------------------------------ the index

    def set_index(self, entries: Mapping[str, Entry | None], staged: Mapping[str, Staged]) -> None:
        """Put entries into the index, or take them out, whatever the working tree holds.

        `staged` is what the index holds there; its marks are kept.
        """
        if not entries:
            return
        lines = (
            b"%o %s\t%s\0"
            % (e.mode if e else 0, (e.oid if e else "0" * 40).encode(), os.fsencode(p))
            for p, e in entries.items()
        )
        self._git.run("update-index", "-z", "--index-info", input=b"".join(lines))
        for mark in ("skip-worktree", "assume-unchanged"):
            marked = [
                os.fsencode(path) + b"\0"
                for path, old in staged.items()
                if entries.get(path) and (old.skipped if mark[0] == "s" else old.assumed)
            ]
            if marked:
                self._git.run("update-index", f"--{mark}", "-z", "--stdin", input=b"".join(marked))

    def advance_index(self, base: str, new: str) -> None:
        """Bring the index from one commit to another; refuse, or change nothing else.

        Commits are ids, empty for none. ``git read-tree -m`` takes the index's lock first, and
        refuses when the index, or a file, is not as in `base` where the commits differ. It keeps
        what is staged, changed or sparse elsewhere.
        """
        command = ("read-tree", "-m", base or EMPTY_TREE, new)
        try:
            self._git.run(*command)
        except StoreError as error:
            # A file that was touched, or copied with the repository, and still holds what it did.
            if "not uptodate" not in str(error):
                raise
            self.refresh()
            self._git.run(*command)

    def refresh(self) -> None:
        """Let the index learn which files are as it says."""
        self._git.run("update-index", "-q", "--refresh", check=False)


def stamp(status: os.stat_result) -> tuple[int, ...]:
    """Return what tells this very file, with this content, from another one: see `Found.stamp`."""
    return (
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
        status.st_mode,
    )
