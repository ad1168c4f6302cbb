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

from mak.model import Node, NodeId, NodeKind
from mak.plan.words import Mentions, split, stem
from mak.source import SourceFile, Sources

#: A name that more files than this define is no name but a word.
_COMMON = 8
#: How many of the best files others can be close to.
_SEEDS = 8
#: What scores less than this share of the best is shown only where there is room to spare.
_FAINT = 0.03


@dataclass(frozen=True, slots=True)
class Ranking:
    """A repository in the light of a request."""

    #: Paths that have anything to do with it, best first.
    paths: tuple[str, ...]
    #: Paths of other code, best first.
    rest: tuple[str, ...]
    #: What the request names outright, best first: its source is worth showing.
    named: tuple[NodeId, ...]
    #: Nodes that define a name or a word of the request, by path.
    wanted: Mapping[str, frozenset[NodeId]]


@dataclass(slots=True)
class _Entry:
    """One file with everything that words are looked for in, in lower case."""

    path: str
    #: None when it is not code.
    file: SourceFile | None
    #: Its bytes; 0 when it is not code.
    size: int
    #: The path in lower case, and parts of it; the module in the case it has.
    place: str
    module: str
    folder: str
    stem: str
    #: Symbols and signatures.
    head: str
    text: bytes
    imports: bytes
    score: float = 0.0


def rank(request: Mentions, sources: Sources) -> Ranking:
    """Rank the files of `sources`; reads and cuts all that is Python."""
    sources.load()
    entries = [_entry(sources, path) for path in sources.visible]
    named_files = _score_paths(request.paths, entries)
    wanted: dict[str, set[NodeId]] = {}
    named_nodes = [
        *_score_dotted(request.dotted, entries, wanted),
        *_score_names(request.names, entries, wanted),
    ]
    _score_words(request.words, entries, wanted)
    _score_proximity(entries)
    for entry in entries:
        entry.score /= 1 + 0.1 * math.log10(1 + entry.size / 4_000)
    entries.sort(key=_by_score)
    least = _FAINT * max((entry.score for entry in entries), default=0.0)
    scored = [entry for entry in entries if entry.score > least]
    rest = [entry for entry in entries[len(scored) :] if entry.size]
    position = {entry.path: i for i, entry in enumerate(entries)}
    named = sorted({*named_files, *named_nodes}, key=lambda id: (position[id.path], id))
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
    place = path.lower()
    folder, _, name = place.rpartition("/")
    stem_ = name.partition(".")[0]
    if not is_code(path):
        return _Entry(path, None, 0, place, "", folder, stem_, "", b"", b"")
    file = sources.file(path)
    head = "\n".join([f"{node.id.symbol} {node.signature}" for node in file.nodes]).lower()
    text = file.data.lower()
    first = file.nodes[0]
    imports = text[: first.end] if first.kind is NodeKind.HEADER else b""
    module = path.rpartition(".")[0].removesuffix("/__init__").replace("/", ".")
    return _Entry(path, file, len(file.data), place, module, folder, stem_, head, text, imports)


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


def _score_dotted(
    dotted: Iterable[str], entries: list[_Entry], wanted: dict[str, set[NodeId]]
) -> list[NodeId]:
    """Score files that define ``module.name`` or ``Class.name``; return those definitions."""
    named: list[NodeId] = []
    for name in dotted:
        leaf = name.rpartition(".")[2]
        found = [
            (entry, node.id)
            for entry in entries
            if entry.file is not None and leaf.lower() in entry.head
            for node in entry.file.nodes
            if defines(node)
            and name_of(node) == leaf
            and f".{entry.module}.{node.id.symbol}".endswith(f".{name}")
        ]
        for entry, id in found:
            entry.score += 80 / len(found)
            wanted.setdefault(entry.path, set()).add(id)
        if len(found) <= _COMMON:
            named += [id for _, id in found]
    return named


def _score_names(
    names: Iterable[str], entries: list[_Entry], wanted: dict[str, set[NodeId]]
) -> list[NodeId]:
    """Score files that define or mention a name, or are called like it; return definitions."""
    definitions: dict[str, list[tuple[_Entry, Node]]] = {name: [] for name in names}
    modules: dict[str, list[_Entry]] = {name.lower(): [] for name in definitions}
    for entry in entries:
        if entry.file is None:
            continue
        if entry.stem in modules:
            modules[entry.stem].append(entry)
        for node in entry.file.nodes:
            for name in (name_of(node),) if defines(node) else node.names:
                if name in definitions:
                    definitions[name].append((entry, node))
    named: list[NodeId] = []
    for name, found in definitions.items():
        for entry, node in found:
            entry.score += 40 / len(found)
            wanted.setdefault(entry.path, set()).add(node.id)
            if len(found) <= _COMMON and defines(node):
                named.append(node.id)
        for entry in modules[name.lower()]:
            entry.score += 15 / len(modules[name.lower()])
        users = [entry for entry in entries if name.lower().encode() in entry.text]
        for entry in users:
            entry.score += 6 / (1 + math.log2(len(users)))
    return named


def _score_words(
    words: Iterable[str], entries: list[_Entry], wanted: dict[str, set[NodeId]]
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
    code = [entry for entry in entries if entry.file is not None]
    seeds = sorted((entry for entry in code if entry.score > 0), key=_by_score)[:_SEEDS]
    bonus = [0.0] * len(code)
    for seed in seeds:
        imported = seed.stem.encode() if len(seed.stem) > 3 else None
        tests = (f"test_{seed.stem}", f"{seed.stem}_test", seed.stem.removeprefix("test_"))
        for i, entry in enumerate(code):
            near = 0.1 if entry.folder == seed.folder else 0.0
            if entry.stem in tests and entry.stem != seed.stem:
                near += 0.3
            if len(entry.stem) > 3 and entry.stem.encode() in seed.imports:
                near += 0.15
            if imported is not None and imported in entry.imports:
                near += 0.15
            if near and entry is not seed:
                bonus[i] += near * seed.score
    for entry, more in zip(code, bonus, strict=True):
        entry.score += more


def _by_score(entry: _Entry) -> tuple[float, int, int, str]:
    """Order by score, then place near the top, then size; a path settles what is left."""
    return -round(entry.score, 6), entry.place.count("/"), entry.size, entry.path
