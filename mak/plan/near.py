"""What an id that names nothing may have meant.

Another spelling of an id (``pkg.mod.f``, ``pkg/mod.py:42``, ``pkg/mod.py::f()``, a path from
another folder) is read as what it says. A misspelt name is close to another when both have as many
words and each word is close to its partner, so that ``load_usr`` may be ``load_user`` but
``set_user`` is never ``get_user`` and ``test_2`` never ``test_1``.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property

from mak.model import Aspect, Node, NodeId
from mak.source import Sources
from mak.source.names import find, names_of, qualified_name

#: How alike two words must be (`difflib` ratio) to be taken for one.
_CLOSE = 0.75
#: How alike something must be to be mentioned when nothing is close.
_LIKE = 0.6
#: How many suggestions are made.
_SHOWN = 3

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+|[^\w]+")
_LINE = re.compile(r"(?P<path>.+?)(?:::?|#L)(?P<line>\d+)(?:[-:]L?\d+)?")
_COLON = re.compile(r"(?P<path>.+\.pyi?):(?P<symbol>[^\d:].*)")
_DEFINES = re.compile(r"(?:async\s+)?(?:def|class)\s+")
_CALL = re.compile(r"\s*\(.*\)?:?\s*$", re.DOTALL)
_ALIASES = {"header": "@header", "imports": "@header", "@imports": "@header", "body": "@body"}


def is_close(one: str, other: str) -> bool:
    """Whether one name may be a misspelling of the other."""
    if one == other:
        return True
    left, right = _words(one), _words(other)
    return len(left) == len(right) and all(
        a == b or difflib.SequenceMatcher(None, a, b).ratio() >= _CLOSE
        for a, b in zip(left, right, strict=True)
    )


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name)]


def undecorated(id: NodeId) -> NodeId:
    """Return the id without the quotes and spaces that a model may have put around it."""
    return NodeId.parse(str(id).strip().strip("`'\"").strip())


def respelt(id: NodeId) -> Iterator[NodeId]:
    """Yield other ids that the text of this one may stand for."""
    path, sep, rest = id.path.partition("::")
    if sep and id.symbol:
        # path::Class::method
        yield _bare(NodeId(path, f"{rest}.{id.symbol}".replace("::", "."), id.aspect))
    elif id.symbol:
        yield _bare(id)
    elif match := _COLON.fullmatch(str(id)):
        yield _bare(NodeId.parse(f"{match['path']}::{match['symbol']}"))


def _bare(id: NodeId) -> NodeId:
    """Return the id without ``def`` before its symbol and parentheses after it."""
    symbol = _CALL.sub("", _DEFINES.sub("", id.symbol))
    return replace(id, symbol=_ALIASES.get(symbol, symbol))


class Nearby:
    """Looks for what was meant; in the whole repository only when a file gives nothing."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    def meant(self, id: NodeId) -> Sequence[NodeId]:
        """Return what `id`, which names nothing, may have meant; when it is one, it is that."""
        for search in (self._respelt, self._by_line, self._dotted, self._moved, self._misspelt):
            found = tuple(dict.fromkeys(search(id)))
            if found:
                return found
        return ()

    def like(self, id: NodeId) -> tuple[NodeId, ...]:
        """Return what looks like `id` at all, to be suggested."""
        if id.path in self._sources and id.symbol:
            file = self._sources.file(id.path)
            symbols = [node.id.symbol for node in file.nodes]
            close = difflib.get_close_matches(id.symbol, symbols, n=_SHOWN, cutoff=_LIKE)
            return tuple(NodeId(id.path, symbol) for symbol in close)
        close = difflib.get_close_matches(id.path, self._beside(id.path), n=_SHOWN, cutoff=_LIKE)
        return tuple(map(NodeId, close))

    # ------------------------------------------------------------------------ by spelling

    def _respelt(self, id: NodeId) -> Iterator[NodeId]:
        for other in respelt(id):
            if self._exists(other):
                yield other
                return
            elsewhere = [replace(other, path=path) for path in self._paths_like(other.path)]
            found = [candidate for candidate in elsewhere if self._exists(candidate)]
            if found:
                yield from found
                return

    def _by_line(self, id: NodeId) -> Iterator[NodeId]:
        match = _LINE.fullmatch(str(id))
        if match is None:
            return
        line = int(match["line"])
        for path in (match["path"], *self._paths_like(match["path"])):
            if path in self._sources:
                for node in self._sources.file(path).nodes:
                    if node.line <= line <= node.end_line:
                        yield node.id

    def _dotted(self, id: NodeId) -> Iterator[NodeId]:
        """``pkg.mod``, ``pkg.mod.f``, ``f``, ``C.m``: modules first, then any such symbol.

        A name that a module only passes on is where it is defined.
        """
        if id.symbol or not re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*", id.path):
            return
        parts = id.path.split(".")
        for end in range(len(parts), 0, -1):
            stem = "/".join(parts[:end])
            symbol = ".".join(parts[end:])
            found = [
                NodeId(path, symbol)
                for ending in (".py", "/__init__.py", ".pyi", "/__init__.pyi")
                for path in self._ending(stem + ending)
                if self._exists(NodeId(path, symbol))
            ]
            if found:
                yield from found
                return
        names = names_of(self._sources)
        if len(parts) > 1 and (variable := find(names, id.path)) is not None:
            home = NodeId(variable.path, qualified_name(names, variable))
            if home.path in self._sources.visible and self._exists(home):
                yield home
                return
        yield from self._symbols(id.path)

    # ------------------------------------------------------------------------ by place

    def _moved(self, id: NodeId) -> Iterator[NodeId]:
        """The same path from another folder; the same name elsewhere in the file."""
        if id.path not in self._sources:
            moved = [replace(id, path=path) for path in self._paths_like(id.path)]
            yield from (candidate for candidate in moved if self._exists(candidate))
        elif id.symbol:
            leaf = id.symbol.rpartition(".")[2]
            for node in self._sources.file(id.path).nodes:
                if _leaf(node) == leaf:
                    yield _as(id, node)

    def _misspelt(self, id: NodeId) -> Iterator[NodeId]:
        """A close name in the file; else the same name anywhere; for a path, a close one beside."""
        if id.path in self._sources:
            if not id.symbol:
                return
            nodes = self._sources.file(id.path).nodes
            close = [node for node in nodes if is_close(node.id.symbol, id.symbol)]
            if close:
                yield from (_as(id, node) for node in close)
            else:
                for other in self._symbols(id.symbol):
                    yield replace(other, aspect=id.aspect)
            return
        beside = [path for path in self._beside(id.path) if is_close(path, id.path)]
        yield from (
            candidate
            for candidate in (replace(id, path=path) for path in beside)
            if self._exists(candidate)
        )

    # ------------------------------------------------------------------------ the repository

    def _exists(self, id: NodeId) -> bool:
        if id.path not in self._sources:
            return False
        return id.is_file or self._sources.file(id.path).get(id.node) is not None

    def _paths_like(self, path: str) -> list[str]:
        """Return paths that end as `path` does, or that `path` ends with."""
        path = path.removeprefix("./").strip("/")
        if not path:
            return []
        tails = [path]
        while "/" in tails[-1]:
            tails.append(tails[-1].partition("/")[2])
        inner = [tail for tail in tails[1:] if "/" in tail and tail in self._sources]
        return self._ending(path) or inner[:1]

    def _ending(self, tail: str) -> list[str]:
        name = tail.rpartition("/")[2]
        return [
            path
            for path in self._by_name.get(name, ())
            if path == tail or path.endswith(f"/{tail}")
        ]

    def _beside(self, path: str) -> list[str]:
        folder, sep, _ = path.rpartition("/")
        return [
            other
            for other in self._sources.visible
            if other.startswith(folder + sep) and "/" not in other[len(folder + sep) :]
        ]

    def _symbols(self, symbol: str) -> Iterable[NodeId]:
        """Return every node of the repository with this symbol, or that is it in some class."""
        leaf = symbol.rpartition(".")[2]
        named = self._by_leaf.get(leaf, ())
        whole = [id for id in named if id.symbol == symbol]
        return whole or [id for id in named if id.symbol.endswith(f".{symbol}")]

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        names: dict[str, list[str]] = {}
        for path in self._sources.visible:
            names.setdefault(path.rpartition("/")[2], []).append(path)
        return names

    @cached_property
    def _by_leaf(self) -> dict[str, list[NodeId]]:
        self._sources.load()
        leaves: dict[str, list[NodeId]] = {}
        for path in self._sources.visible:
            if path.endswith((".py", ".pyi")):
                for node in self._sources.nodes(path):
                    leaves.setdefault(_leaf(node), []).append(node.id)
        return leaves


def _leaf(node: Node) -> str:
    return node.id.symbol.partition("[")[0].partition("#")[0].rpartition(".")[2]


def _as(id: NodeId, node: Node) -> NodeId:
    """Return the id of `node` with the aspect that was asked for, where there is one."""
    if id.aspect is Aspect.TEXT:
        return node.id
    return replace(node.id, aspect=id.aspect)
