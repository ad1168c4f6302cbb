"""Ready tasks in plan order, each tried again only when what held it up has changed.

Tasks that wait for the same mode on the same node are alike: while the first of them is refused
there, the others would be too. They line up behind that key, and a release brings back the first
of each line that it may have freed; the next follows when the first has left the line. A thousand
tasks that want one node cost one try each, not one try each per release.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator

from mak.model import Lock, Mode, NodeId
from mak.schedule.modes import CONFLICTING

_Key = tuple[NodeId, Mode]


class Queue:
    """Positions of ready tasks in the plan; smaller ones first."""

    def __init__(self) -> None:
        #: Worth a try: the position, and the line it comes from.
        self._ready: list[tuple[int, _Key | None]] = []
        self._lines: dict[_Key, list[int]] = {}
        #: Lines whose first is among the ready, with its position.
        self._called: dict[_Key, int] = {}
        self._from: _Key | None = None

    def push(self, position: int) -> None:
        """Add a task that nothing is known to hold up."""
        heapq.heappush(self._ready, (position, None))

    def pop(self) -> int | None:
        """Take the first task that is worth a try; None when there is none.

        After a try the caller says `refused`, or `left` for any other outcome.
        """
        if not self._ready:
            return None
        position, self._from = heapq.heappop(self._ready)
        return position

    def left(self) -> None:
        """Say that the task taken last is out of the queue; the next of its line follows."""
        if self._from is not None:
            del self._called[self._from]
            self._call(self._from)

    def refused(self, position: int, node: NodeId, mode: Mode) -> None:
        """Put the task taken last in line for `mode` on `node`."""
        key = (node, mode)
        heapq.heappush(self._lines.setdefault(key, []), position)
        if self._from == key:
            del self._called[key]
        else:
            self.left()

    def released(self, locks: Iterable[Lock]) -> None:
        """Bring back whom the end of `locks` may have freed."""
        for lock in locks:
            for mode in CONFLICTING[lock.mode]:
                self._call((lock.node, mode))

    def lines(self) -> Iterator[tuple[Lock, tuple[int, ...]]]:
        """Yield what tasks are lined up for, with their positions, in no order."""
        for (node, mode), line in self._lines.items():
            yield Lock(node, mode), tuple(line)
        for (node, mode), position in self._called.items():
            yield Lock(node, mode), (position,)

    def _call(self, key: _Key) -> None:
        line = self._lines.get(key)
        if line is None or key in self._called:
            return
        self._called[key] = position = heapq.heappop(line)
        heapq.heappush(self._ready, (position, key))
        if not line:
            del self._lines[key]
