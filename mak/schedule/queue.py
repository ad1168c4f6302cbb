"""Ready tasks in order, each tried again only when what held it up has changed.

Tasks that wait for the same mode on the same node are alike: while the first of them is refused
there, the others would be too. That holds among all of them for what is held, and among those of
one level for what goes before that level. They line up behind that key, and a release brings back
the first of each line that it may have freed; the next follows when the first has left the line. A
thousand tasks that want one node cost one try each, not one try each per release.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from itertools import count

from mak.model import Lock, Mode, NodeId
from mak.schedule.modes import CONFLICTING

#: What a line waits for, and which level of the plan it is of (None: of any).
_Key = tuple[NodeId, Mode, int | None]


class Queue:
    """Positions of ready tasks in the order of trying; smaller ones first."""

    def __init__(self) -> None:
        #: Worth a try: the position, a number of its own (a task may be here twice), and the line
        #: it comes from.
        self._ready: list[tuple[int, int, _Key | None]] = []
        self._number = count()
        self._lines: dict[_Key, list[int]] = {}
        #: The lines for a node and a mode, in the order in which they came up.
        self._keys: dict[tuple[NodeId, Mode], dict[_Key, None]] = {}
        #: Lines whose first is among the ready, with its position.
        self._called: dict[_Key, int] = {}
        self._from: _Key | None = None

    def push(self, position: int) -> None:
        """Add a task that nothing is known to hold up."""
        heapq.heappush(self._ready, (position, next(self._number), None))

    def pop(self) -> int | None:
        """Take the first task that is worth a try; None when there is none.

        After a try the caller says `refused`, or `left` for any other outcome.
        """
        if not self._ready:
            return None
        position, _, self._from = heapq.heappop(self._ready)
        return position

    def left(self) -> None:
        """Say that the task taken last is out of the queue; the next of its line follows."""
        if self._from is not None:
            del self._called[self._from]
            self._call(self._from)

    def refused(self, position: int, node: NodeId, mode: Mode, level: int | None) -> None:
        """Put the task taken last in line for `mode` on `node`.

        With a `level`: what is in the way is not held, but goes before the tasks of that level.
        """
        key = (node, mode, level)
        self._keys.setdefault((node, mode), {})[key] = None
        heapq.heappush(self._lines.setdefault(key, []), position)
        if self._from == key:
            del self._called[key]
        else:
            self.left()

    def released(self, locks: Iterable[Lock]) -> None:
        """Bring back whom the end of `locks` may have freed."""
        for lock in locks:
            for mode in CONFLICTING[lock.mode]:
                for key in tuple(self._keys.get((lock.node, mode), ())):
                    self._call(key)

    def lined(self) -> Iterator[int]:
        """Yield the positions that wait in a line, in no order."""
        for line in self._lines.values():
            yield from line
        yield from self._called.values()

    def _call(self, key: _Key) -> None:
        line = self._lines.get(key)
        if line is None or key in self._called:
            return
        self._called[key] = position = heapq.heappop(line)
        heapq.heappush(self._ready, (position, next(self._number), key))
        if not line:
            del self._lines[key]
            alike = self._keys[key[:2]]
            del alike[key]
            if not alike:
                del self._keys[key[:2]]
