"""Where changes meet, and what each way of locking makes of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from mak.model import NodeId
from mak.source import SourceFile, split
from mak.source.collector import paused
from mak.source.python import whole
from mak.study.history import Blobs, Change, FileDiff
from mak.study.mapping import Touch, touches
from mak.study.statistics import wilson

#: Files beyond this many bytes are one node: they are data, and cutting them takes long.
MOST_BYTES = 1_000_000
#: How many of a replay's agents there are, as powers of two.
AGENTS = (2, 4, 8, 16, 32, 64)
#: A further agent is worth it while it does at least this share of the work of one alone.
WORTH = 0.5


class Grain(StrEnum):
    """What two changes may not both have."""

    FILE = "file"
    #: A node, each for one change at a time.
    NODE = "node"
    #: A node, unless both only add to it: what MAK locks.
    APPEND = "append"
    #: A node whose signature one of them changes.
    SIGNATURE = "signature"


@dataclass(frozen=True, slots=True)
class Footprint:
    """What a change touches, by grain."""

    change: Change
    files: frozenset[str]
    #: Node to whether the change only adds to it.
    nodes: Mapping[NodeId, bool]
    #: Nodes whose signature changes.
    api: frozenset[NodeId]

    def meets(self, other: Footprint, grain: Grain) -> bool:
        """Whether two changes may not go on side by side."""
        if grain is Grain.FILE:
            return not self.files.isdisjoint(other.files)
        small, large = sorted((self, other), key=lambda one: len(one.nodes))
        shared = (node for node in small.nodes if node in large.nodes)
        match grain:
            case Grain.NODE:
                return any(True for _ in shared)
            case Grain.APPEND:
                return any(not (small.nodes[n] and large.nodes[n]) for n in shared)
            case Grain.SIGNATURE:
                return any(n in small.api or n in large.api for n in shared)


def footprint(change: Change, blobs: Blobs, cuts: dict[tuple[str, str], SourceFile]) -> Footprint:
    """Return what a change touches; `cuts` keeps what was cut, by path and blob."""
    nodes: dict[NodeId, bool] = {}
    api = set()
    files = set()
    for diff in change.files:
        files |= {path for path in (diff.old_path, diff.new_path) if path}
        for touch in file_touches(diff, blobs, cuts):
            nodes[touch.node] = touch.adds
            if touch.api:
                api.add(touch.node)
    return Footprint(change, frozenset(files), nodes, frozenset(api))


def file_touches(
    diff: FileDiff, blobs: Blobs, cuts: dict[tuple[str, str], SourceFile]
) -> tuple[Touch, ...]:
    """Return the nodes that a change of one file touches."""
    if diff.old_blob == diff.new_blob:
        return (Touch(NodeId(diff.path), api=False, adds=False),)
    before = cut(diff.old_path, diff.old_blob, blobs, cuts) if diff.old_path else None
    after = cut(diff.new_path, diff.new_blob, blobs, cuts) if diff.new_path else None
    return touches(diff, before, after)


def cut(path: str, blob: str, blobs: Blobs, cuts: dict[tuple[str, str], SourceFile]) -> SourceFile:
    """Return a file cut into nodes; what is not there or too long is one node."""
    key = (path, blob)
    if key not in cuts:
        data = blobs.read(blob)
        # A submodule has a commit in place of a blob: it is a thing of one piece.
        text = blob.encode() if data is None else data
        if data is None or len(text) > MOST_BYTES:
            cuts[key] = whole(path, text, "")
        else:
            cuts[key] = split(text, path)
    return cuts[key]


def footprints(changes: Sequence[Change], blobs: Blobs, *, batch: int = 50) -> list[Footprint]:
    """Return what changes touch; blobs are read and files cut a few changes at a time."""
    found = []
    cuts: dict[tuple[str, str], SourceFile] = {}
    for at in range(0, len(changes), batch):
        some = changes[at : at + batch]
        blobs.load([b for c in some for d in c.files for b in (d.old_blob, d.new_blob)])
        with paused():
            found += [footprint(change, blobs, cuts) for change in some]
        cuts.clear()
    return found


# ------------------------------------------------------------------------------------ meetings


@dataclass(slots=True)
class Meetings:
    """Of pairs of changes, how many meet, by grain."""

    pairs: int = 0
    met: Counter[Grain] = field(default_factory=Counter)

    def rate(self, grain: Grain) -> tuple[float, float, float]:
        """Return the share of pairs that meet, with its 95 % interval."""
        hits = self.met[grain]
        return (hits / self.pairs if self.pairs else 0.0, *wilson(hits, self.pairs))


def in_flight(prints: Sequence[Footprint]) -> Iterator[tuple[Footprint, Footprint]]:
    """Yield the pairs of changes by different authors that were under way at the same time.

    The first landed after the second had begun and before it landed. Changes of which it is not
    known when they began are in no pair as the second.
    """
    by_place = {one.change.landed: one for one in prints}
    for later in prints:
        if later.change.began < 0:
            continue
        for place in range(later.change.began + 1, later.change.landed):
            earlier = by_place.get(place)
            if earlier is not None and earlier.change.author != later.change.author:
                yield earlier, later


def meetings(pairs: Iterable[tuple[Footprint, Footprint]]) -> Meetings:
    """Count where pairs meet."""
    found = Meetings()
    for one, other in pairs:
        found.pairs += 1
        if not one.meets(other, Grain.FILE):
            continue
        found.met[Grain.FILE] += 1
        if one.meets(other, Grain.NODE):
            found.met.update(g for g in Grain if g is not Grain.FILE and one.meets(other, g))
    return found


# ------------------------------------------------------------------------------------ replay


def rounds(prints: Sequence[Footprint], grain: Grain) -> int:
    """Return in how many rounds changes can be carried out when those that meet take turns.

    All begin at the same state; each goes to the first round in which it meets nobody, in the order
    in which they landed.
    """
    filled: list[list[Footprint]] = []
    for one in prints:
        for members in filled:
            if not any(one.meets(other, grain) for other in members):
                members.append(one)
                break
        else:
            filled.append([one])
    return len(filled)


@dataclass(frozen=True, slots=True)
class Replayed:
    """What so many agents would have made of a history, at one grain."""

    agents: int
    grain: Grain
    #: Windows of `agents` changes that followed each other.
    windows: int
    #: Rounds of a window, on average.
    rounds: float
    #: Share of changes that had to wait for another one.
    waited: float
    interval: tuple[float, float]

    @property
    def speedup(self) -> float:
        """How many times as fast as one agent, if every change took as long."""
        return self.agents / self.rounds


def replay(
    prints: Sequence[Footprint], agents: int, grain: Grain, *, most: int = 400
) -> Replayed | None:
    """Replay a history in waves of `agents` changes; None where there are not so many.

    At most `most` windows, evenly spread.
    """
    count = len(prints) // agents
    if not count:
        return None
    chosen = sorted({round(i * (count - 1) / max(1, most - 1)) for i in range(min(count, most))})
    if count <= most:
        chosen = list(range(count))
    total = late = 0
    for number in chosen:
        window = prints[number * agents : (number + 1) * agents]
        total += rounds(window, grain)
        late += waiting(window, grain)
    changes = agents * len(chosen)
    return Replayed(
        agents, grain, len(chosen), total / len(chosen), late / changes, wilson(late, changes)
    )


def waiting(prints: Sequence[Footprint], grain: Grain) -> int:
    """Return how many of some changes meet one that landed before them."""
    return sum(any(one.meets(o, grain) for o in prints[:i]) for i, one in enumerate(prints))


def worth(replays: Iterable[Replayed]) -> int:
    """Return how many agents are worth it: while each further one adds `WORTH` of the first."""
    best, before = 1, (1, 1.0)
    for each in sorted(replays, key=lambda one: one.agents):
        agents, speedup = before
        if (each.speedup - speedup) / (each.agents - agents) < WORTH:
            break
        best, before = each.agents, (each.agents, each.speedup)
    return best


# ------------------------------------------------------------------------------------ hot nodes


@dataclass(frozen=True, slots=True)
class Hot:
    """How often a node is touched, and in how many of these changes it only grows."""

    node: NodeId
    changes: int
    adds: int


def hot_nodes(prints: Iterable[Footprint]) -> list[Hot]:
    """Return every node that is touched, the most often touched first."""
    touched: Counter[NodeId] = Counter()
    adds: Counter[NodeId] = Counter()
    for one in prints:
        touched.update(one.nodes.keys())
        adds.update(node for node, only in one.nodes.items() if only)
    ranked = sorted(touched.items(), key=lambda item: (-item[1], item[0]))
    return [Hot(node, count, adds[node]) for node, count in ranked]


def is_python(one: Footprint) -> bool:
    """Whether a change touches Python at all."""
    return any(path.endswith((".py", ".pyi")) for path in one.files)


def only(prints: Iterable[Footprint], wanted: Callable[[str], bool]) -> list[Footprint]:
    """Return changes as far as they touch wanted paths, without those that then touch nothing."""
    found = []
    for one in prints:
        files = frozenset(filter(wanted, one.files))
        if files:
            nodes = {node: adds for node, adds in one.nodes.items() if node.path in files}
            api = frozenset(node for node in one.api if node.path in files)
            found.append(Footprint(one.change, files, nodes, api))
    return found
