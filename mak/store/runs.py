"""The records of runs: ``refs/mak/runs/<run>``, a chain of commits whose last tree is the record.

Invariant: a document that `record` returned from is in Git, whatever is killed then; a record is
only ever added to.
"""

from __future__ import annotations

import bisect
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import quote, unquote

import pygit2
from pygit2.enums import ObjectType

from mak.errors import StoreError, UsageError
from mak.store import refs
from mak.store.guard import FileLock
from mak.store.repository import Repository, git_errors

_REFS = "refs/mak/runs/"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*")
_STARTED = "MAK-Started: "

_TREE = b"40000"
_FILE = b"100644"


class _Folder:
    """A folder of the record that we write: rows as Git stores them, kept in Git's order."""

    def __init__(self) -> None:
        self._folders: dict[bytes, _Folder] = {}
        #: Names; those of folders with a slash, as Git sorts them.
        self._keys: list[bytes] = []
        self._rows: dict[bytes, bytes] = {}
        self._changed: set[bytes] = set()

    @classmethod
    def read(cls, tree: pygit2.Tree) -> _Folder:
        """Read a folder that is in Git."""
        self = cls()
        for item in tree:
            key = (item.name or "").encode()
            if isinstance(item, pygit2.Tree):
                self._folders[key] = cls.read(item)
                self._put(key + b"/", _row(_TREE, key, item.id))
            else:
                self._put(key, _row(_FILE, key, item.id))
        return self

    def insert(self, path: str, blob: str) -> None:
        """Add or replace a document."""
        *folders, name = _quoted(path).encode().split(b"/")
        folder = self
        for part in folders:
            if part in folder._rows:
                raise StoreError(f"recording {path}: {part.decode()} is a document, not a folder")
            folder._changed.add(part)
            folder = folder._folders.setdefault(part, _Folder())
        if name in folder._folders:
            raise StoreError(f"recording {path}: it is a folder")
        folder._put(name, _row(_FILE, name, pygit2.Oid(hex=blob)))

    def write(self, repository: Repository) -> pygit2.Oid:
        """Write what has changed; return the tree."""
        for key in self._changed:
            self._put(key + b"/", _row(_TREE, key, self._folders[key].write(repository)))
        self._changed.clear()
        odb = repository.handle.odb
        data = b"".join(map(self._rows.__getitem__, self._keys))
        return repository.write("tree", lambda: odb.write(ObjectType.TREE, data))

    def _put(self, key: bytes, row: bytes) -> None:
        if key not in self._rows:
            bisect.insort(self._keys, key)
        self._rows[key] = row


def _row(mode: bytes, name: bytes, oid: pygit2.Oid) -> bytes:
    return b"%b %b\0%b" % (mode, name, oid.raw)


@dataclass(slots=True)
class _Open:
    """The record that this process is writing."""

    commit: str
    started: float
    tree: _Folder


class Runs:
    """Writes and reads the records of runs."""

    def __init__(self, repository: Repository, lock: FileLock) -> None:
        self._repository = repository
        self._lock = lock
        self.stale_after = refs.STALE_AFTER
        self._open: dict[str, _Open] = {}

    # -------------------------------------------------------------------------------- writing

    def start(self, run: str, documents: Mapping[str, bytes]) -> None:
        """Begin a record; raise StoreError when there is one of that name."""
        self._write(run, documents, is_new=True)

    def record(self, run: str, documents: Mapping[str, bytes]) -> None:
        """Add these documents, or replace them, in one commit."""
        if documents:
            self._write(run, documents, is_new=False)

    def _write(self, run: str, documents: Mapping[str, bytes], *, is_new: bool) -> None:
        name = _ref(run)
        with git_errors(f"recording run {run}"):
            blobs = {path: self._repository.put(data) for path, data in documents.items()}
            with (
                self._lock.held(),
                refs.locked(self._repository, name, stale_after=self.stale_after) as ref,
            ):
                if is_new and ref.target:
                    raise StoreError(f"recording run {run}: there is one of that name already")
                if not is_new and not ref.target:
                    raise StoreError(f"recording run {run}: it was never started")
                record = self._current(run, ref.target)
                # Until the ref has moved, what is in memory may be ahead of what is in Git.
                self._open.pop(run, None)
                for path, blob in blobs.items():
                    record.tree.insert(path, blob)
                parents = [ref.target] if ref.target else []
                tree = str(record.tree.write(self._repository))
                text = f"{_subject(run, documents)}\n\n{_STARTED}{record.started:.6f}\n"
                record.commit = self._repository.put_commit(tree, parents, text)
                ref.move(record.commit)
            self._open[run] = record

    def _current(self, run: str, commit: str) -> _Open:
        if not commit:
            return _Open("", time.time(), _Folder())
        known = self._open.get(run)
        if known is not None and known.commit == commit:
            return known
        with _reading(run):
            found = self._commit(commit)
            return _Open(commit, _started(found), _Folder.read(found.tree))

    # -------------------------------------------------------------------------------- reading

    def document(self, run: str, path: str) -> bytes | None:
        """Return a document of a run; None when there is no such run or document."""
        with _reading(run):
            tree = self._tree(run)
            name = _quoted(path)
            if tree is None or name not in tree:
                return None
            found = tree[name]
            return found.data if isinstance(found, pygit2.Blob) else None

    def documents(self, run: str, prefix: str) -> dict[str, bytes]:
        """Return the documents of a run whose path begins with `prefix`, by path."""
        with _reading(run):
            tree = self._tree(run)
            found = _walk(tree, "", prefix) if tree is not None else ()
            return {path: data for path, data in found if path.startswith(prefix)}

    def names(self) -> list[str]:
        """Return the runs of the repository, the one that was started last first."""
        git = self._repository.git
        listed = git.run("for-each-ref", "--format=%(refname)%00%(contents:body)%00%01", _REFS)
        started = {}
        for line in listed.decode("utf-8", "replace").split("\0\x01\n"):
            name, _, body = line.partition("\0")
            if name.startswith(_REFS):
                started[name.removeprefix(_REFS)] = _parse_started(body)
        return sorted(started, key=lambda run: (started[run], run), reverse=True)

    def _tree(self, run: str) -> pygit2.Tree | None:
        commit = self._repository.ref(_ref(run))
        return self._commit(commit).tree if commit else None

    def _commit(self, commit: str) -> pygit2.Commit:
        found = self._repository.handle[commit]
        assert isinstance(found, pygit2.Commit)
        return found


@contextmanager
def _reading(run: str) -> Iterator[None]:
    with git_errors(f"reading run {run}"):
        try:
            yield
        except KeyError as error:
            raise StoreError(
                f"reading run {run}: an object is missing: {error.args[0]}", hint="git fsck"
            ) from error


def _walk(tree: pygit2.Tree, where: str, prefix: str) -> Iterator[tuple[str, bytes]]:
    for item in tree:
        path = where + unquote(item.name or "")
        if isinstance(item, pygit2.Tree):
            inner = f"{path}/"
            if inner.startswith(prefix) or prefix.startswith(inner):
                yield from _walk(item, inner, prefix)
        elif isinstance(item, pygit2.Blob):
            yield path, item.data


def _quoted(path: str) -> str:
    """Return a document's path with names that any file system and Git accept."""
    if not all(path.split("/")):
        raise StoreError(f"recording {path!r}: not the name of a document")
    parts = (quote(part, safe="@+=,").replace("~", "%7E") for part in path.split("/"))
    return "/".join(f"%2E{part[1:]}" if part.startswith(".") else part for part in parts)


def _ref(run: str) -> str:
    if not _NAME.fullmatch(run) or run.endswith(".lock"):
        raise UsageError(f"run {run!r}: not the name of a run", hint="mak log lists them")
    return _REFS + run


def _subject(run: str, documents: Mapping[str, bytes]) -> str:
    first = next(iter(documents), "nothing")
    more = f" and {len(documents) - 1} more" if len(documents) > 1 else ""
    return f"mak {run}: {_quoted(first)}{more}"


def _started(commit: pygit2.Commit) -> float:
    return _parse_started(commit.message)


def _parse_started(text: str) -> float:
    for line in text.splitlines():
        if line.startswith(_STARTED):
            return float(line.removeprefix(_STARTED))
    return 0.0
