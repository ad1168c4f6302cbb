"""Which files and nodes a request is about, most likely first.

Mention counts most: a path, a name, then words in paths, definitions, and elsewhere in the text;
a word that is everywhere says little. Next comes proximity to what is mentioned: the same folder,
the test beside it, an import from one to the other. Of two that are alike, the smaller one wins.
Everything is a function of the request and the tree; nothing depends on the order of a set.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from mak.model import Node, NodeId, NodeKind
from mak.plan.words import Mentions, split, stem
from mak.source import SourceFile, Sources

#: A name that more files than this define is no name but a word.
_COMMON = 8
#: How many of the best files others can be close to.
_SEEDS = 8


@dataclass(frozen=True, slots=True)
class Ranking:
    """A repository in the light of a request."""

    #: Paths that have anything to do with it, best first.
    paths: tuple[str, ...]
    #: Paths of code that have not, smallest and shallowest first.
    rest: tuple[str, ...]
    #: What the request names outright, best first: its source is worth showing.
    named: tuple[NodeId, ...]
    #: Nodes that define a name or a word of the request, by path.
    wanted: Mapping[str, frozenset[NodeId]]


@dataclass(slots=True)
class _Entry:
    """One file with everything that words are looked for in."""

    path: str
    file: SourceFile | None
    size: int
    place: str
    head: str
    text: bytes
    score: float = 0.0


def rank(request: Mentions, sources: Sources) -> Ranking:
    """Rank the files of `sources`; reads and cuts all that is Python."""
    sources.load()
    entries = [_entry(sources, path) for path in sources.paths]
    named_files = _score_paths(request.paths, entries)
    named_nodes, wanted = _score_names(request.names, entries)
    _score_words(request.words, entries, wanted)
    _score_proximity(entries)
    for entry in entries:
        entry.score *= 1 / (1 + 0.1 * math.log10(1 + entry.size / 4_000))
    scored = sorted(
        (entry for entry in entries if entry.score > 0),
        key=lambda entry: (-round(entry.score, 6), entry.size, entry.path),
    )
    rest = sorted(
        (entry for entry in entries if entry.score <= 0 and entry.file is not None and entry.size),
        key=lambda entry: (entry.path.count("/"), entry.size, entry.path),
    )
    position = {entry.path: i for i, entry in enumerate(scored)}
    named = sorted(
        dict.fromkeys((*named_files, *named_nodes)), key=lambda id: (position[id.path], id)
    )
    return Ranking(
        tuple(entry.path for entry in scored),
        tuple(entry.path for entry in rest),
        tuple(named),
        {path: frozenset(ids) for path, ids in wanted.items()},
    )


def is_code(path: str) -> bool:
    """Whether the path is that of Python source."""
    return path.endswith((".py", ".pyi"))


def name_of(node: Node) -> str:
    """Return the plain name of a definition: without its class, role and number."""
    return node.id.symbol.partition("[")[0].partition("#")[0].rpartition(".")[2]


def defines(node: Node) -> bool:
    """Whether the node is a function, a class or a method."""
    return node.kind in (NodeKind.FUNCTION, NodeKind.CLASS, NodeKind.METHOD)


def _entry(sources: Sources, path: str) -> _Entry:
    if not is_code(path):
        return _Entry(path, None, 0, path.lower(), "", b"")
    file = sources.file(path)
    head = "\n".join(f"{node.id.symbol} {node.signature}" for node in file.nodes).lower()
    return _Entry(path, file, len(file.data), path.lower(), head, file.data.lower())


def _score_paths(paths: Iterable[str], entries: list[_Entry]) -> list[NodeId]:
    named: list[NodeId] = []
    for wanted in paths:
        exact = [entry for entry in entries if entry.path == wanted]
        found = exact or [entry for entry in entries if entry.path.endswith(f"/{wanted}")]
        for entry in found[:_COMMON]:
            entry.score += 100 / len(found)
            named.append(NodeId(entry.path))
        if not found and "." not in wanted.rpartition("/")[2]:
            inside = [entry for entry in entries if f"/{wanted}/" in f"/{entry.path}"]
            for entry in inside:
                entry.score += 30 / math.sqrt(len(inside))
    return named


def _score_names(
    names: tuple[str, ...], entries: list[_Entry]
) -> tuple[list[NodeId], dict[str, set[NodeId]]]:
    """Score files that define or mention a name; return its definitions."""
    definitions: dict[str, list[tuple[_Entry, NodeId]]] = {name: [] for name in names}
    modules: dict[str, list[_Entry]] = {name: [] for name in names}
    for entry in entries:
        if entry.file is None:
            continue
        module = PurePosixPath(entry.path).stem
        if module in modules:
            modules[module].append(entry)
        for node in entry.file.nodes:
            for name in (name_of(node),) if defines(node) else node.names:
                if name in definitions:
                    definitions[name].append((entry, node.id))
    named: list[NodeId] = []
    wanted: dict[str, set[NodeId]] = {}
    for name in names:
        found = definitions[name]
        for entry, id in found:
            entry.score += 40 / len(found)
            wanted.setdefault(entry.path, set()).add(id)
            if len(found) <= _COMMON:
                named.append(id)
        for entry in modules[name]:
            entry.score += 15 / len(modules[name])
        users = [entry for entry in entries if name.lower().encode() in entry.text]
        for entry in users:
            entry.score += 6 / (1 + math.log2(len(users)))
    return named, wanted


def _score_words(
    words: tuple[str, ...], entries: list[_Entry], wanted: dict[str, set[NodeId]]
) -> None:
    total = len(entries)
    for word in words:
        data = word.encode()
        hits = [
            (entry, 3.0 * (word in entry.place) + 2.0 * (word in entry.head) + (data in entry.text))
            for entry in entries
        ]
        hits = [(entry, weight) for entry, weight in hits if weight]
        rarity = math.log(1 + total / (1 + len(hits)))
        for entry, weight in hits:
            entry.score += weight * rarity
        for entry, weight in hits[:200]:
            if entry.file is not None and weight >= 2 and word in entry.head:
                wanted.setdefault(entry.path, set()).update(
                    node.id for node in entry.file.nodes if _has_word(node, word)
                )


def _has_word(node: Node, word: str) -> bool:
    return word in node.signature.lower() and (
        any(stem(part) == word for part in split(name_of(node)))
        or re.search(rf"\b_*{re.escape(word)}", node.signature.lower()) is not None
    )


def _score_proximity(entries: list[_Entry]) -> None:
    seeds = sorted(
        (entry for entry in entries if entry.score > 0 and entry.file is not None),
        key=lambda entry: (-round(entry.score, 6), entry.size, entry.path),
    )[:_SEEDS]
    bonus = [0.0] * len(entries)
    for seed in seeds:
        folder, stem_ = str(PurePosixPath(seed.path).parent), PurePosixPath(seed.path).stem
        seed_imports = _header(seed)
        for i, entry in enumerate(entries):
            if entry is seed or entry.file is None:
                continue
            path = PurePosixPath(entry.path)
            near = 0.1 if str(path.parent) == folder else 0.0
            if path.stem in (f"test_{stem_}", f"{stem_}_test") or stem_ == f"test_{path.stem}":
                near += 0.3
            if len(path.stem) > 3 and path.stem.lower().encode() in seed_imports:
                near += 0.15
            if len(stem_) > 3 and stem_.lower().encode() in _header(entry):
                near += 0.15
            bonus[i] += near * seed.score
    for entry, more in zip(entries, bonus, strict=True):
        entry.score += more


def _header(entry: _Entry) -> bytes:
    """Return the lower-case text of a file's imports."""
    assert entry.file is not None
    first = entry.file.nodes[0]
    return entry.text[: first.end] if first.kind is NodeKind.HEADER else b""
