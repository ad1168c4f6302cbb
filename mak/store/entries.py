"""What a commit holds: paths and blobs, read straight from its trees.

Subtrees that are the same as before are not read again, so that the next commit of a wave costs by
what changed.
"""

from __future__ import annotations

import os
import re
from pathlib import PurePosixPath

import pygit2

from mak.errors import StoreError
from mak.store.repository import Repository
from mak.store.treeops import Entry, entry

_FILES = (b"100644", b"100755", b"100664")
_TREE = b"40000"
#: What the name of a file in a plan must not hold.
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")

#: Paths in remembered directories before all are forgotten.
_REMEMBERED = 2_000_000


class Entries:
    """Reads the files of commits, below the repository's work dir."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        #: Sentences about what was left out.
        self.remarks: list[str] = []
        self._trees: dict[tuple[bytes, str], dict[str, str]] = {}
        self._size = 0
        self._latest: tuple[str, dict[str, str]] = "", {}

    def files(self, commit: str) -> dict[str, str]:
        """Return path → blob id of the regular files of a commit (empty: none), in tree order.

        Symbolic links and submodules are left out, and, with a remark, names that no plan can hold:
        not UTF-8, with control characters (a line break), or with a blank at the very beginning.
        """
        if commit != self._latest[0]:
            if self._size > _REMEMBERED:
                self._trees, self._size = {}, 0
            self._latest = commit, self._read_commit(commit)
        return dict(self._latest[1])

    def find(self, commit: str, path: str) -> Entry | None:
        """Return what a commit (empty: none) holds at a path, of whatever kind."""
        return entry(self._repository, self.tree(commit), path) if commit else None

    def tree(self, commit: str) -> str:
        """Return the tree of a commit."""
        try:
            return str(self._repository.handle[commit].peel(pygit2.Tree).id)
        except (KeyError, ValueError, pygit2.GitError) as error:
            raise StoreError(f"reading commit {commit}: {error}", hint="git fsck") from error

    def blob(self, blob: str) -> bytes:
        """Return the bytes of a blob; in a partial clone, ask the remote for it and its like."""
        odb = self._repository.handle.odb
        try:
            return odb.read(blob)[1]
        except (KeyError, ValueError, pygit2.GitError) as error:
            if not self._repository.is_partial or not isinstance(error, KeyError):
                raise StoreError(f"reading blob {blob}: {error}", hint="git fsck") from error
        self._fetch(blob)
        return self._repository.git.run("cat-file", "blob", blob)

    def _read_commit(self, commit: str) -> dict[str, str]:
        if not commit:
            return {}
        tree, prefix = self.tree(commit), self._repository.prefix
        if prefix:
            below = entry(self._repository, tree, prefix.rstrip("/"))
            if below is None or below.mode != 0o040000:
                return {}
            tree = below.oid
        odb = self._repository.handle.odb
        try:
            return self._read(odb, bytes.fromhex(tree), prefix)
        except (KeyError, pygit2.GitError) as error:
            raise StoreError(f"reading the trees of {commit}: {error}", hint="git fsck") from error

    def _read(self, odb: pygit2.Odb, oid: bytes, where: str) -> dict[str, str]:
        known = self._trees.get((oid, where))
        if known is not None:
            return known
        found: dict[str, str] = {}
        data = odb.read(oid.hex())[1]
        start, size = 0, len(data)
        while start < size:
            space = data.index(b" ", start)
            end = data.index(b"\0", space)
            mode, start = data[start:space], end + 21
            if mode not in _FILES and mode != _TREE:
                continue
            name, inner = data[space + 1 : end], data[end + 1 : start]
            try:
                path = where + name.decode()
            except UnicodeDecodeError:
                self._skip(where, name, "is not UTF-8")
                continue
            if not path.isprintable() and _CONTROL.search(path):
                self._skip(where, name, "holds control characters")
                continue
            if path[0].isspace():
                self._skip(where, name, "begins with a blank")
                continue
            if mode == _TREE:
                found.update(self._read(odb, inner, f"{path}/"))
            else:
                found[path] = inner.hex()
        self._trees[oid, where] = found
        self._size += len(found)
        return found

    def _skip(self, where: str, name: bytes, why: str) -> None:
        text = os.fsdecode(name).encode("utf-8", "backslashreplace").decode()
        shown = _CONTROL.sub(lambda found: repr(found[0])[1:-1], f"{where}{text}")
        self.remarks.append(f"left out {shown}: its name {why}")

    def _fetch(self, blob: str) -> None:
        """Fetch a missing blob together with those of the latest commit that are likely next."""
        odb = self._repository.handle.odb
        files = self._latest[1]
        kinds = {PurePosixPath(path).suffix for path, oid in files.items() if oid == blob}
        wanted = {blob}
        for path, oid in files.items():
            if PurePosixPath(path).suffix in kinds and oid not in odb:
                wanted.add(oid)
        self._repository.git.attempt(
            "-c",
            "fetch.negotiationAlgorithm=noop",
            "fetch",
            self._remote(),
            "--no-tags",
            "--no-write-fetch-head",
            "--recurse-submodules=no",
            "--filter=blob:none",
            "--stdin",
            input="".join(f"{oid}\n" for oid in sorted(wanted)).encode(),
        )

    def _remote(self) -> str:
        config = self._repository.handle.config
        if "extensions.partialclone" in config:
            return config["extensions.partialclone"] or "origin"
        for item in config:
            if item.name.endswith(".promisor"):
                return item.name.split(".", 1)[1].rsplit(".", 1)[0]
        return "origin"
