"""All files of a repository at one tree, cut when they are looked at."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from mak.model import Node, NodeId
from mak.source import packed
from mak.source.collector import paused
from mak.source.file import Newer, SourceFile, of_file
from mak.source.language import LANGUAGES, Whole, split
from mak.source.packed import Cut
from mak.source.python import NO_ANSWER, SUFFIXES, whole
from mak.source.text import blob_id, text_codec

#: What a cached cut depends on besides the bytes it is of (and whether newer syntax is known).
KIND = "cut-{}-{}-{}".format(
    packed.VERSION,
    ".".join(str(language.version) for language in LANGUAGES),
    "{}.{}".format(*sys.version_info[:2]),
)
#: How many cuts go to the cache at once.
_BATCH = 500


class Cache(Protocol):
    """Bytes by kind and key that outlive the process; losing any of them costs only time."""

    def get_many(self, kind: str, keys: Sequence[str]) -> dict[str, bytes]:
        """Return what is known of these keys."""

    def put_many(self, kind: str, items: Mapping[str, bytes]) -> None:
        """Remember values."""


class Sources:
    """A read-only view of a repository's files, by path.

    `entries` maps paths to blob ids, `read` returns a blob's bytes, `opaque` says why a path must
    stay one node (Git attributes) or returns ``""``, `newer` is as for `split`.
    """

    def __init__(
        self,
        entries: Mapping[str, str],
        read: Callable[[str], bytes],
        cache: Cache | None = None,
        *,
        opaque: Callable[[str], str] | None = None,
        hidden: Callable[[str], str] | None = None,
        newer: Newer | None = None,
    ) -> None:
        self._entries = entries
        self._read = read
        self._cache = cache
        self._opaque = opaque
        self._hidden = hidden
        self.newer = newer
        self._kind = f"{KIND}+" if newer else KIND
        self._cuts: dict[str, Cut] = {}
        self._files: dict[str, SourceFile] = {}
        self._paths: tuple[str, ...] | None = None
        self._visible: tuple[str, ...] | None = None
        #: What others have found out about this tree, by who they are; it goes when the tree does.
        self.known: dict[str, object] = {}

    @property
    def paths(self) -> Sequence[str]:
        """All paths, sorted."""
        if self._paths is None:
            self._paths = tuple(sorted(self._entries))
        return self._paths

    @property
    def visible(self) -> Sequence[str]:
        """Paths that the planner and agents may see, sorted; everything else is for MAK alone."""
        if self._visible is None:
            self._visible = tuple(path for path in self.paths if not self.why_hidden(path))
        return self._visible

    def why_hidden(self, path: str) -> str:
        """Return why the planner and agents may neither see nor touch a path; empty: they may."""
        return "" if self._hidden is None else self._hidden(path)

    def __contains__(self, path: str) -> bool:
        return path in self._entries

    def blob(self, path: str) -> str:
        """Return the blob id of a file; raise KeyError."""
        return self._entries[path]

    @property
    def below(self) -> Sources | None:
        """The tree that this one is with some files changed; None: it is one by itself."""
        return None

    @property
    def cache(self) -> Cache | None:
        """Where what is found out about a blob may be kept."""
        return self._cache

    def keep_nothing(self) -> None:
        """Neither read nor keep what is found out: for a copy of this process."""
        self._cache = None

    def data(self, path: str) -> bytes:
        """Return the bytes of a file, without cutting it; raise KeyError."""
        found = self._files.get(path)
        return self._read(self._entries[path]) if found is None else found.data

    def file(self, path: str) -> SourceFile:
        """Return a file, cut; raise KeyError."""
        found = self._files.get(path)
        if found is None:
            blob = self._entries[path]
            data = self._read(blob)
            cut = self._cut(path, blob)
            found = (cut.file(path, data) if cut else None) or self._split(path, blob, data)
            self._files[path] = found
        return found

    def nodes(self, path: str) -> tuple[Node, ...]:
        """Return the nodes of a file, without reading it when they are cached; raise KeyError."""
        if path not in self._files and (cut := self._cut(path, self._entries[path])):
            return cut.nodes(path)
        return self.file(path).nodes

    def node(self, id: NodeId) -> Node | None:
        """Return a node; None when there is none of this id."""
        return self.file(id.path).get(id.node) if id.path in self._entries else None

    def recall(self, paths: Iterable[str]) -> None:
        """Take what the cache knows of files at once, instead of one by one."""
        wanted = {path: self._entries[path] for path in paths if self._is_unknown(path)}
        if self._cache is not None and wanted:
            known = self._cache.get_many(self._kind, tuple(dict.fromkeys(wanted.values())))
            for path, blob in wanted.items():
                self._remember(path, known.get(blob))

    def load(self, paths: Iterable[str] | None = None) -> None:
        """Cut files (all, or these) at once: known cuts are read in bulk, new ones remembered."""
        wanted = [*(self._entries if paths is None else paths)]
        self.recall(wanted)
        with paused():
            self._cut_afresh(filter(self._is_unknown, wanted))

    def _is_unknown(self, path: str) -> bool:
        return path not in self._cuts and path not in self._files and _may_be_code(path)

    def overlay(self, changes: Mapping[str, SourceFile | None]) -> Sources:
        """Return this tree with some files changed, added or (None) removed."""
        return _Overlay(self, changes)

    def moved(self, entries: Mapping[str, str], files: Mapping[str, SourceFile | None]) -> Sources:
        """Return the view of another tree, with what is known of files that are in it unchanged.

        `files` are known besides, where the tree holds their very bytes.
        """
        view = Sources(
            entries,
            self._read,
            self._cache,
            opaque=self._opaque,
            hidden=self._hidden,
            newer=self.newer,
        )
        if _attributes(entries) != _attributes(self._entries):
            return view  # what was cut may have to stay whole now, and the other way round
        same = {path for path in {*self._files, *self._cuts} if self._stays(path, entries)}
        view._files = {path: file for path, file in self._files.items() if path in same}
        view._cuts = {path: cut for path, cut in self._cuts.items() if path in same}
        for path, file in files.items():
            if file is not None and entries.get(path) == _blob(file):
                view._files[path] = file
        return view

    def _stays(self, path: str, entries: Mapping[str, str]) -> bool:
        return entries.get(path) == self._entries[path]

    # ------------------------------------------------------------------------ cutting

    def _cut(self, path: str, blob: str) -> Cut | None:
        if path not in self._cuts and self._cache is not None and _may_be_code(path):
            self._remember(path, self._cache.get_many(self._kind, (blob,)).get(blob))
        return self._cuts.get(path)

    def _cut_afresh(self, paths: Iterable[str]) -> None:
        fresh: dict[str, bytes] = {}
        for path in paths:
            blob = self._entries[path]
            file = self._fresh(path, self._read(blob))
            cut = self._cuts[path] = Cut.of(file)
            if self._cache is not None and self._lasts(path, file):
                fresh[blob] = cut.dump()
                if len(fresh) >= _BATCH:
                    self._cache.put_many(self._kind, fresh)
                    fresh = {}
        if self._cache is not None and fresh:
            self._cache.put_many(self._kind, fresh)

    def _remember(self, path: str, value: bytes | None) -> None:
        if value is None or self._why_opaque(path):
            return
        try:
            self._cuts[path] = Cut.load(value)
        except ValueError:
            return

    def _split(self, path: str, blob: str, data: bytes) -> SourceFile:
        file = self._fresh(path, data)
        if self._cache is not None and self._lasts(path, file):
            self._cache.put_many(self._kind, {blob: Cut.of(file).dump()})
        return file

    def _fresh(self, path: str, data: bytes) -> SourceFile:
        reason = self._why_opaque(path)
        if reason:
            return whole(path, data, text_codec(data), reason, language=Whole.name)
        return split(data, path, newer=self.newer)

    def _lasts(self, path: str, file: SourceFile) -> bool:
        """Whether the same bytes will be cut like this again, here and at any such path."""
        return (
            _may_be_code(path)
            and not file.why_whole.endswith(NO_ANSWER)
            and not self._why_opaque(path)
        )

    def _why_opaque(self, path: str) -> str:
        return self._opaque(path) if self._opaque is not None else ""


class _Overlay(Sources):
    """A tree with some files changed; everything else is the base's, its memory included."""

    def __init__(
        self,
        base: Sources,
        changes: Mapping[str, SourceFile | None],
        below: Sources | None = None,
    ) -> None:
        self._base = base
        self._below = below or base
        self.newer = base.newer
        self._hidden = base.why_hidden
        self._changes = dict(changes)
        self._paths = None
        self._visible = None
        self.known = {}

    @property
    def paths(self) -> Sequence[str]:
        if self._paths is None and all(
            file is not None and path in self._base for path, file in self._changes.items()
        ):
            self._paths = tuple(self._base.paths)
        if self._paths is None:
            kept = (path for path in self._base.paths if path not in self._changes)
            added = (path for path, file in self._changes.items() if file is not None)
            self._paths = tuple(sorted((*kept, *added)))
        return self._paths

    def __contains__(self, path: str) -> bool:
        if path in self._changes:
            return self._changes[path] is not None
        return path in self._base

    def blob(self, path: str) -> str:
        return _blob(self.file(path)) if path in self._changes else self._base.blob(path)

    @property
    def below(self) -> Sources | None:
        return self._below

    @property
    def cache(self) -> Cache | None:
        return self._base.cache

    def keep_nothing(self) -> None:
        self._base.keep_nothing()

    def data(self, path: str) -> bytes:
        return self.file(path).data if path in self._changes else self._base.data(path)

    def file(self, path: str) -> SourceFile:
        if path not in self._changes:
            return self._base.file(path)
        file = self._changes[path]
        if file is None:
            raise KeyError(path)
        return file

    def nodes(self, path: str) -> tuple[Node, ...]:
        return self.file(path).nodes if path in self._changes else self._base.nodes(path)

    def node(self, id: NodeId) -> Node | None:
        return self.file(id.path).get(id.node) if id.path in self else None

    def load(self, paths: Iterable[str] | None = None) -> None:
        wanted = self._base.paths if paths is None else paths
        self._base.load(path for path in wanted if path not in self._changes)

    def recall(self, paths: Iterable[str]) -> None:
        self._base.recall(path for path in paths if path not in self._changes)

    def overlay(self, changes: Mapping[str, SourceFile | None]) -> Sources:
        return _Overlay(self._base, {**self._changes, **changes}, self)


@of_file
def _blob(file: SourceFile) -> str:
    return blob_id(file.data)


def _attributes(entries: Mapping[str, str]) -> dict[str, str]:
    return {path: blob for path, blob in entries.items() if path.endswith(".gitattributes")}


def _may_be_code(path: str) -> bool:
    """Whether the name alone says that the file is Python; only such cuts are remembered."""
    return path.endswith(SUFFIXES)
