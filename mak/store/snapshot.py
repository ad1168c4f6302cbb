"""What a commit, the index or the working tree holds, as Git would store it, read without a trace.

Invariant: nothing is written, refreshed, locked or fetched. Symbolic links and submodules are left
out, like everywhere else.
"""

from __future__ import annotations

import os
import stat
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import pygit2

from mak.errors import StoreError, UsageError
from mak.store.entries import Entries
from mak.store.objects import blob_id
from mak.store.repository import Repository

_FILES = ("100644", "100755", "100664")
_EMPTY = blob_id(b"")
#: Suffixes of files whose text is looked at although Git does not know them yet.
_CODE = (".py", ".pyi")
#: Bytes from which on a file of the working tree is taken to be data.
_LARGE = 4 << 20
#: Marks a folder that holds somebody else's packages.
_ENVIRONMENT = "pyvenv.cfg"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The regular files of one side of a comparison."""

    #: Path → blob id, relative to the repository's root.
    entries: Mapping[str, str]
    #: The bytes of blobs that are in no object database, by id.
    texts: Mapping[str, bytes] = field(default_factory=dict)
    #: Paths with an unresolved conflict.
    conflicts: tuple[str, ...] = ()
    #: Sentences about what was left out.
    remarks: tuple[str, ...] = ()


class Snapshots:
    """Takes snapshots of a repository that was opened at its root."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._git = repository.git
        self._index_file = _index_in_use(repository)

    def commit(self, commit: str) -> Snapshot:
        """Return what a commit (empty: none) holds."""
        files = Entries(self._repository)
        return Snapshot(files.files(commit), remarks=tuple(files.remarks))

    # ------------------------------------------------------------------ index and working tree

    def index(self) -> Snapshot:
        """Return what the next commit would hold.

        Inside of a commit hook that is the index that Git made for this commit (``commit -a``,
        ``commit PATH``). A file that is only meant to be added is not part of it.
        """
        entries, conflicts, empty = self._read_index()
        if empty:
            for status, path in self._differing("--diff-filter=A"):
                if status == "A":
                    entries.pop(path, None)
        return Snapshot(entries, conflicts=conflicts)

    def worktree(self) -> Snapshot:
        """Return what the working tree holds: tracked files, and new ones that are not ignored."""
        self._refuse_bare("--worktree")
        entries, conflicts, _ = self._read_index()
        texts: dict[str, bytes] = {}
        remarks: list[str] = []
        for _, path in self._differing():
            known = entries.pop(path, None)
            self._take(path, entries, texts, remarks, known)
        for path in self._untracked():
            if path.endswith(_CODE):
                self._take(path, entries, texts, remarks, None)
            else:
                entries.setdefault(path, _EMPTY)
                texts[_EMPTY] = b""
        return Snapshot(entries, texts, conflicts, tuple(remarks))

    def is_dirty(self) -> bool:
        """Whether tracked files of the index or the working tree are not as HEAD has them."""
        if self._repository.root is None:
            return False
        asked = ("status", "--porcelain", "-z", "--untracked-files=no", "--ignore-submodules=all")
        return bool(self._git.run(*asked))

    def _read_index(self) -> tuple[dict[str, str], tuple[str, ...], bool]:
        """Return the index's files, those in conflict, and whether some file in it is empty."""
        self._refuse_bare("--staged")
        entries: dict[str, str] = {}
        conflicts: dict[str, None] = {}
        for line in self._run("ls-files", "-z", "--stage").split(b"\0")[:-1]:
            head, _, name = line.partition(b"\t")
            mode, oid, stage = head.decode().split(" ")
            path = _text(name)
            if path is None:
                continue
            if stage != "0":
                conflicts[path] = None
            elif mode in _FILES:
                entries[path] = oid
        return entries, tuple(conflicts), _EMPTY in entries.values()

    def _differing(self, *options: str) -> Iterator[tuple[str, str]]:
        """Yield status and path of what is in the working tree not as in the index."""
        asked = ("diff-files", "--raw", "-z", "--no-renames", "--ignore-submodules=all", *options)
        fields = self._run(*asked).split(b"\0")
        for head, name in zip(fields[::2], fields[1::2], strict=False):
            path = _text(name)
            if path is not None:
                yield head[-1:].decode(), path

    def _untracked(self) -> list[str]:
        """List new files, but none of a virtual environment or of another repository."""
        asked = ("ls-files", "-z", "--others", "--exclude-standard")
        names = [_text(name) for name in self._run(*asked).split(b"\0")[:-1]]
        paths = [path for path in names if path is not None and not path.endswith("/")]
        foreign = tuple(
            path.removesuffix(_ENVIRONMENT)
            for path in paths
            if PurePosixPath(path).name == _ENVIRONMENT and "/" in path
        )
        return [path for path in paths if not path.startswith(foreign)] if foreign else paths

    def _take(
        self,
        path: str,
        entries: dict[str, str],
        texts: dict[str, bytes],
        remarks: list[str],
        known: str | None,
    ) -> None:
        """Put a file of the working tree among the entries, unless it is gone or no file."""
        root = self._repository.root
        assert root is not None
        try:
            status = (root / path).lstat()
            if not stat.S_ISREG(status.st_mode):
                return
            if status.st_size > _LARGE:
                remarks.append(f"{path} is {status.st_size >> 20} MiB and was not looked at")
                entries.update({path: known} if known else {})
                return
            data = self._as_stored(path, (root / path).read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            raise UsageError(f"reading {path}: {(error.strerror or str(error)).lower()}") from error
        oid = blob_id(data)
        entries[path] = oid
        texts[oid] = data

    def _as_stored(self, path: str, data: bytes) -> bytes:
        """Return a file's bytes with the line endings that Git would store."""
        if b"\r\n" not in data:
            return data
        normal = data.replace(b"\r\n", b"\n")
        root = self._repository.root
        assert root is not None
        try:
            oid = str(self._repository.handle.hashfile(str(root / path), as_path=path))
        except (pygit2.GitError, OSError, KeyError, UnicodeError):
            return data
        return normal if oid == blob_id(normal) else data

    def _run(self, *asked: str) -> bytes:
        return self._git.run(*asked, env=self._index_file)

    def _refuse_bare(self, option: str) -> None:
        if self._repository.root is None:
            raise UsageError(
                f"{option}: a bare repository has no working tree",
                hint="compare commits: mak check --base REV",
            )


def reader(repository: Repository, *sides: Snapshot) -> Callable[[str], bytes]:
    """Return a function from the ids of the blobs of snapshots to their bytes.

    What it read last is kept, up to `_KEPT` bytes: Git unpacks a text anew each time, and a rule
    about a tree asks for the same ones again and again.
    """
    kept: OrderedDict[str, bytes] = OrderedDict()
    size = 0
    texts = {oid: data for side in sides for oid, data in side.texts.items()}

    def read(oid: str) -> bytes:
        nonlocal size
        if oid in texts:
            return texts[oid]
        if oid in kept:
            return kept[oid]
        try:
            data = repository.handle.odb.read(oid)[1]
        except (KeyError, ValueError, pygit2.GitError) as error:
            path = next((p for side in sides for p, o in side.entries.items() if o == oid), oid)
            if repository.is_partial:
                raise StoreError(
                    f"reading {path}: this partial clone does not have its text",
                    hint=f"git cat-file blob {oid} >/dev/null gets it; git diff BASE, all of them",
                ) from error
            raise StoreError(f"reading {path}: {error}", hint="git fsck") from error
        kept[oid] = data
        size += len(data)
        while size > _KEPT:
            size -= len(kept.popitem(last=False)[1])
        return data

    return read


#: Bytes of texts that a reader keeps at most.
_KEPT = 64 << 20


def _text(name: bytes) -> str | None:
    """Return a path as text; None: it is not UTF-8."""
    try:
        return name.decode()
    except UnicodeDecodeError:
        return None


def _index_in_use(repository: Repository) -> dict[str, str]:
    """Return what names the index of the commit that is being made, where a hook was told one.

    An index elsewhere belongs to another repository, in whose hook we are.
    """
    name = os.environ.get("GIT_INDEX_FILE", "")
    path = Path(os.path.normpath((repository.root or repository.git_dir) / name))
    ours = bool(name) and path.resolve().is_relative_to(repository.git_dir)
    return {"GIT_INDEX_FILE": str(path)} if ours else {}
