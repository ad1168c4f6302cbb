"""The records of runs: ``refs/mak/runs/<run>``, a chain of commits whose last tree is the record.

Invariant: a document that `record` returned from is in Git, whatever is killed then; a record is
only ever added to.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, unquote

import pygit2

from mak.errors import StoreError, UsageError
from mak.store import refs
from mak.store.guard import FileLock
from mak.store.repository import Repository, git_errors

_REFS = "refs/mak/runs/"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*")
_STARTED = "MAK-Started: "

_TREE = b"40000"
_FILE = b"100644"


@dataclass(slots=True)
class _Folder:
    """A folder of the record that we write, with what Git calls it unless it has changed."""

    entries: dict[str, _Folder | bytes] = field(default_factory=dict)
    oid: bytes | None = None


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
            blobs = {
                path: bytes.fromhex(self._repository.put(data)) for path, data in documents.items()
            }
            with self._lock.held(), refs.locked(self._repository, name) as ref:
                if is_new and ref.target:
                    raise StoreError(f"recording run {run}: there is one of that name already")
                if not is_new and not ref.target:
                    raise StoreError(f"recording run {run}: it was never started")
                record = self._current(run, ref.target)
                # Until the ref has moved, what is in memory may be ahead of what is in Git.
                self._open.pop(run, None)
                for path, blob in blobs.items():
                    _insert(record.tree, path, blob)
                tree = self._put_tree(record.tree).hex()
                commit = self._repository.put_commit(
                    tree,
                    [ref.target] if ref.target else [],
                    f"{_subject(run, documents)}\n\n{_STARTED}{record.started:.6f}\n",
                )
                ref.move(commit)
            if self._repository.is_stored(commit):
                record.commit = commit
                self._open[run] = record

    def _current(self, run: str, commit: str) -> _Open:
        if not commit:
            return _Open("", time.time(), _Folder())
        known = self._open.get(run)
        if known is not None and known.commit == commit:
            return known
        found = self._commit(commit)
        return _Open(commit, _started(found), self._read_folder(found.tree))

    def _put_tree(self, folder: _Folder) -> bytes:
        if folder.oid is None:
            data = bytearray()
            for name, item in sorted(folder.entries.items(), key=_order):
                if isinstance(item, _Folder):
                    data += b"%b %b\0%b" % (_TREE, name.encode(), self._put_tree(item))
                else:
                    data += b"%b %b\0%b" % (_FILE, name.encode(), item)
            odb = self._repository.handle.odb
            written = self._repository.write(
                "tree", lambda: odb.write(pygit2.enums.ObjectType.TREE, bytes(data))
            )
            folder.oid = bytes.fromhex(str(written))
        return folder.oid

    # -------------------------------------------------------------------------------- reading

    def document(self, run: str, path: str) -> bytes | None:
        """Return a document of a run; None when there is no such run or document."""
        with git_errors(f"reading run {run}"):
            tree = self._tree(run)
            if tree is None:
                return None
            try:
                found = tree[_quoted(path)]
            except KeyError:
                return None
            return found.data if isinstance(found, pygit2.Blob) else None

    def documents(self, run: str, prefix: str) -> dict[str, bytes]:
        """Return the documents of a run whose path begins with `prefix`, by path."""
        with git_errors(f"reading run {run}"):
            tree = self._tree(run)
            if tree is None:
                return {}
            return {path: data for path, data in _walk(tree, "", prefix) if path.startswith(prefix)}

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
        commit = refs.read(self._repository.handle, _ref(run))
        return self._commit(commit).tree if commit else None

    def _commit(self, commit: str) -> pygit2.Commit:
        found = self._repository.handle[commit]
        assert isinstance(found, pygit2.Commit)
        return found

    def _read_folder(self, tree: pygit2.Tree) -> _Folder:
        return _Folder(
            {
                item.name or "": self._read_folder(item)
                if isinstance(item, pygit2.Tree)
                else bytes.fromhex(str(item.id))
                for item in tree
            },
            bytes.fromhex(str(tree.id)),
        )


def _walk(tree: pygit2.Tree, where: str, prefix: str) -> Iterator[tuple[str, bytes]]:
    for item in tree:
        path = where + unquote(item.name or "")
        if isinstance(item, pygit2.Tree):
            inner = f"{path}/"
            if inner.startswith(prefix) or prefix.startswith(inner):
                yield from _walk(item, inner, prefix)
        elif isinstance(item, pygit2.Blob):
            yield path, item.data


def _insert(folder: _Folder, path: str, blob: bytes) -> None:
    *folders, name = _quoted(path).split("/")
    folder.oid = None
    for part in folders:
        inner = folder.entries.setdefault(part, _Folder())
        if not isinstance(inner, _Folder):
            raise StoreError(f"recording {path}: {part} is a document, not a folder")
        folder, folder.oid = inner, None
    if isinstance(folder.entries.get(name), _Folder):
        raise StoreError(f"recording {path}: it is a folder")
    folder.entries[name] = blob


def _order(item: tuple[str, _Folder | bytes]) -> bytes:
    """Git sorts a folder as if its name ended with a slash."""
    return (item[0] + "/" if isinstance(item[1], _Folder) else item[0]).encode()


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
