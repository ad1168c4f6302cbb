"""What unsettled tasks will hold, by level: so that no later level gets in an earlier one's way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mak.model import Lock, Mode, NodeId
from mak.schedule.locks import Conflict
from mak.schedule.modes import CONFLICTING


class Wants:
    """The locks of all unsettled tasks. Asking costs the locks asked for, times their levels."""

    def __init__(self, level_of: Mapping[str, int], locks: Mapping[str, Iterable[Lock]]) -> None:
        self._level_of = level_of
        self._by_node: dict[NodeId, dict[Mode, dict[int, dict[str, None]]]] = {}
        for task in sorted(locks, key=level_of.__getitem__):
            self.add(task, locks[task])

    def add(self, task: str, locks: Iterable[Lock]) -> None:
        """Note that `task` is unsettled and wants `locks`."""
        level = self._level_of[task]
        for lock in locks:
            by_level = self._by_node.setdefault(lock.node, {}).setdefault(lock.mode, {})
            by_level.setdefault(level, {})[task] = None

    def drop(self, task: str, locks: Iterable[Lock]) -> None:
        """Note that `task` wants `locks` no more."""
        level = self._level_of[task]
        for lock in locks:
            by_level = self._by_node[lock.node][lock.mode]
            del by_level[level][task]
            if not by_level[level]:
                del by_level[level]

    def ahead(self, task: str, locks: Iterable[Lock]) -> Conflict | None:
        """Return the first of `locks` that excludes what a task of an earlier level wants."""
        level = self._level_of[task]
        for lock in locks:
            by_mode = self._by_node.get(lock.node, {})
            for mode in CONFLICTING[lock.mode]:
                for other, owners in by_mode.get(mode, {}).items():
                    if other < level:
                        return Conflict(lock.node, next(iter(owners)), lock.mode, mode)
        return None
