"""As much of a repository as a planner is shown within a budget.

Its tree, outlines of the files that rank best, the source of what the request names and who relies
on that; a binary search finds how far down the ranking the budget reaches. What is shown stands in
the order of paths, so that a prompt for the same tree begins with the same bytes.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import cached_property

from mak.model import NodeId
from mak.plan.outline import outline, source, tree
from mak.plan.rank import rank
from mak.plan.untrusted import Fence
from mak.plan.users import users_of
from mak.plan.words import mentions
from mak.source import Sources

#: Characters that one token stands for, on average.
CHARS_PER_TOKEN = 3.6
#: Shares of the room, at most: the tree, the source of what is named (of one node half of that),
#: who relies on it, the outline of one of the first files and of a later one, all outlines of faint
#: files.
_TREE = 1 / 6
_SOURCE = 1 / 2
_CALLERS = 1 / 8
_OUTLINE = 1 / 6
_SMALL = 1 / 25
_OTHERS = 1 / 4
#: How many files are the first.
_FIRST = 5


class Shown:
    """What fits into `room` characters; put together when it is first looked at."""

    def __init__(self, request: str, sources: Sources, room: int) -> None:
        self._request = request
        self._sources = sources
        self._room = room
        #: Nodes from whose source something was taken out, and what.
        self.removed: tuple[tuple[NodeId, str], ...] = ()

    @cached_property
    def text(self) -> str:
        """All of it, fenced."""
        return "\n\n".join(
            f"{title}{self.fence.block(kind, text)}" for kind, title, text in self._parts
        )

    @cached_property
    def fence(self) -> Fence:
        """The fence around everything in the prompt that was not written by MAK."""
        return Fence.around(self._request, *(text for *_, text in self._parts))

    @cached_property
    def _parts(self) -> tuple[tuple[str, str, str], ...]:
        """Kinds, titles and texts. A title holds nothing from outside, not even a path."""
        if not self._sources.visible:
            return (("tree", "The repository holds no file yet.\n", ""),)
        ranking = rank(mentions(self._request), self._sources)
        folders = tree(self._sources, room=int(self._room * _TREE))
        room = self._room - len(folders)
        sources = self._source_of(ranking.named, int(room * _SOURCE))
        room -= sum(len(text) for _, text in sources)
        users = users_of(ranking.named, self._sources, int(room * _CALLERS))
        room -= len(users)
        best = self._outlines(ranking.paths, room, ranking.wanted)
        room -= sum(len(text) + 1 for text in best.values())
        others = self._outlines(ranking.rest, min(room, int(self._room * _OTHERS)), {})
        outlines = "\n".join(text for _, text in sorted({**best, **others}.items()))
        parts = [("tree", "The repository:\n", folders)]
        if outlines:
            parts.append(("outlines", "Outlines of files that may matter:\n", outlines))
        if users:
            parts.append(("callers", "What is proved to rely on what the request names:\n", users))
        return (*parts, *(("source", "", f"{id}\n{text}") for id, text in sources))

    def _source_of(self, named: Sequence[NodeId], room: int) -> list[tuple[NodeId, str]]:
        """Return the source of the nodes, as far down the ranking as fits."""
        found: list[tuple[NodeId, str, str]] = []
        whole: set[str] = set()
        for id in named:
            file = self._sources.file(id.path)
            if id.path in whole or not file.encoding or len(file.text(id)) > room // 2:
                continue
            if id.is_file:
                whole.add(id.path)
            found.append((id, *source(file, id)))
        fits = _fits([len(text) + len(str(id)) + 100 for id, text, _ in found], room)
        kept = sorted(found[:fits])
        self.removed = tuple((id, removed) for id, _, removed in kept if removed)
        return [(id, text) for id, text, _ in kept]

    def _outlines(
        self, paths: Sequence[str], room: int, wanted: Mapping[str, frozenset[NodeId]]
    ) -> dict[str, str]:
        """Return the outlines of the first paths, as many as fit."""
        texts: dict[str, str] = {}
        used = 0
        for path in paths:
            if used > room:
                break
            nodes = wanted.get(path, frozenset())
            share = _OUTLINE if len(texts) < _FIRST else _SMALL
            texts[path] = outline(
                self._sources.file(path), room=int(self._room * share), wanted=nodes
            )
            used += len(texts[path]) + 1
        fits = _fits([len(text) + 1 for text in texts.values()], room)
        return dict(itertools.islice(texts.items(), fits))


def _fits(sizes: Sequence[int], room: int) -> int:
    """Return how many of the first ones fit, by binary search."""
    return bisect_right(list(itertools.accumulate(sizes)), room)
