"""Which files mention a word, and the facts of each: read once per blob, kept in the cache.

The words of a file are found without parsing it, so that a question about one name parses only the
files that spell it.
"""

from __future__ import annotations

import re
import sys
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import TypeVar

from mak.source import facts as facts_
from mak.source.collector import paused
from mak.source.compiled import complaint
from mak.source.facts import Facts
from mak.source.modules import Modules
from mak.source.rescan import rescan
from mak.source.scan import scan
from mak.source.text import python_codec
from mak.source.tree import Sources

_WORD = re.compile(rb"[A-Za-z_\x80-\xff][0-9A-Za-z_\x80-\xff]*")
_SUFFIXES = (".py", ".pyi")
#: What is kept depends on what the running Python can parse and compile.
_PYTHON = "{}.{}".format(*sys.version_info[:2])
_FACTS = f"facts-{facts_.VERSION}-{_PYTHON}"
_COMPILES = f"compiles-1-{_PYTHON}"
_WORDS = "words-1"
#: Files whose facts stay in memory; a big repository has a few thousand.
_KEPT = 4096
#: From so many questions about words on, looking through all files for each takes longer.
_MANY = 200

T = TypeVar("T")


class _Memo(OrderedDict[str, T]):
    """The most recently used values by blob id."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def keep(self, key: str, value: T) -> None:
        self[key] = value
        while len(self) > self.size:
            self.popitem(last=False)


_facts: _Memo[Facts | None] = _Memo(_KEPT)
_words: _Memo[bytes] = _Memo(64 * _KEPT)
_compiles: _Memo[bool] = _Memo(64 * _KEPT)


class Index:
    """Words and facts of the Python files of one tree."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self.paths, self.modules = _modules_of(tuple(sources.paths))
        self._asked = 0

    def facts(self, path: str) -> Facts | None:
        """Return what a file says about names; None when it does not parse or does not exist."""
        if not path.endswith(_SUFFIXES) or path not in self.sources:
            return None
        blob = self.sources.blob(path)
        if blob not in _facts:
            self.load([path])
        return _facts[blob]

    @cached_property
    def _blobs(self) -> dict[str, str]:
        return {path: self.sources.blob(path) for path in self.paths}

    def load(self, paths: Iterable[str]) -> None:
        """Read the facts of many files at once."""
        blobs = {self.sources.blob(path): path for path in paths}
        wanted = {blob: path for blob, path in blobs.items() if blob not in _facts}
        self._fill(wanted, _facts, _FACTS, self._scan, _write, _read)

    def read(self) -> None:
        """Read everything about every file at once: facts, words, and whether it compiles."""
        files = {blob: path for path, blob in self._blobs.items()}
        cold = {blob: path for blob, path in files.items() if blob not in _facts}
        # What the cache does not know is compiled while its syntax tree is at hand.
        self._fill(cold, _facts, _FACTS, self._scan_and_compile, _write, _read)
        unknown = {blob: path for blob, path in files.items() if blob not in _compiles}
        self._fill(unknown, _compiles, _COMPILES, self._compile, _of_bool, bool)
        self.mentioning("")
        self._asked = _MANY

    def compiles(self, path: str) -> bool:
        """Whether the running Python compiles a file, which `read` has seen."""
        return _compiles[self.sources.blob(path)]

    def mentioning(self, name: str) -> list[str]:
        """Return the files that hold `name` as a word, also in comments and strings."""
        missing = {blob: path for path, blob in self._blobs.items() if blob not in _words}
        if missing:
            self._fill(missing, _words, _WORDS, self._spell, bytes, bytes)
        if not name.isascii():
            return [path for path in self.paths if not _words[self._blobs[path]].isascii()]
        self._asked += 1
        if self._asked > _MANY:
            return self._spelled.get(name.encode(), [])
        word = b"\n%b\n" % name.encode()
        return [path for path, blob in self._blobs.items() if word in _words[blob]]

    @cached_property
    def _spelled(self) -> dict[bytes, list[str]]:
        """The files by word."""
        found: dict[bytes, list[str]] = {}
        for path, blob in self._blobs.items():
            for word in _words[blob].split():
                found.setdefault(word, []).append(path)
        return found

    def _fill(
        self,
        wanted: dict[str, str],
        memo: _Memo[T],
        kind: str,
        make: Callable[[str], T],
        write: Callable[[T], bytes],
        read: Callable[[bytes], T],
    ) -> None:
        """Take what is wanted (path by blob id) from the cache; make and keep the rest."""
        cache = self.sources.cache
        found = cache.get_many(kind, list(wanted)) if cache and wanted else {}
        made: dict[str, bytes] = {}
        with paused():
            for blob, path in wanted.items():
                if blob in found:
                    memo.keep(blob, read(found[blob]))
                else:
                    value = make(path)
                    memo.keep(blob, value)
                    if cache and not self._is_edited(path):
                        made[blob] = write(value)
        if cache and made:
            cache.put_many(kind, made)

    def _is_edited(self, path: str) -> bool:
        """Whether the file is as in no tree of Git, yet; most such texts nobody asks for again."""
        tree, blob = self.sources, self.sources.blob(path)
        while tree.below is not None:
            tree = tree.below
        return path not in tree or tree.blob(path) != blob

    def _scan(self, path: str) -> Facts | None:
        below = self.sources.below
        if below is not None and path in below and below.blob(path) != self.sources.blob(path):
            known = Index(below).facts(path)
            found = known and rescan(known, below.file(path), self.sources.file(path))
            if found is not None:
                return found
        data = self.sources.data(path)
        try:
            return scan(data, python_codec(data))
        except SyntaxError:
            return None

    def _scan_and_compile(self, path: str) -> Facts | None:
        facts = self._scan(path)
        self._compile(path)
        return facts

    def _compile(self, path: str) -> bool:
        return complaint(self.sources.data(path)) is None

    def _spell(self, path: str) -> bytes:
        words: Sequence[bytes] = sorted(set(_WORD.findall(self.sources.data(path))))
        return b"\n%b\n" % b"\n".join(words)


def _modules_of(paths: tuple[str, ...]) -> tuple[tuple[str, ...], Modules]:
    """Return the Python files of a tree and its modules; trees of the same paths share them."""
    for known, files, modules in _trees:
        if known is paths or known == paths:
            return files, modules
    files = tuple(path for path in paths if path.endswith(_SUFFIXES))
    _trees.append((paths, files, Modules(files)))
    return _trees[-1][1:]


#: The last few sets of paths, each with its Python files and modules.
_trees: deque[tuple[tuple[str, ...], tuple[str, ...], Modules]] = deque(maxlen=4)


def _of_bool(value: bool) -> bytes:
    return b"1" if value else b""


def _write(facts: Facts | None) -> bytes:
    return b"" if facts is None else facts_.dump(facts)


def _read(data: bytes) -> Facts | None:
    return facts_.load(data) if data else None
