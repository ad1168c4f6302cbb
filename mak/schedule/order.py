"""The order in which tasks are tried: those that hold up most first.

How long a task holds others up is the longest line it stands in: of tasks that depend on it, one
after the other, and of tasks that want to write what it writes, which run one after the other too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from mak.model import Lock, Mode


def order(
    tasks: Sequence[str],
    locks: Mapping[str, Sequence[Lock]],
    dependants: Mapping[str, Sequence[str]],
    levels: Sequence[Sequence[str]],
) -> tuple[str, ...]:
    """Return the tasks by the length of what they hold up, longest first.

    Equals keep the order of their levels, then of the plan.
    """
    writers = Counter(lock.node for task in tasks for lock in locks[task] if lock.mode is Mode.X)
    length: dict[str, int] = {}
    for level in reversed(levels):
        for task in level:
            line = max((writers[k.node] for k in locks[task] if k.mode is Mode.X), default=1)
            after = 1 + max((length[later] for later in dependants[task]), default=0)
            length[task] = max(line, after)
    by_level = [task for level in levels for task in level]
    return tuple(sorted(by_level, key=lambda task: -length[task]))
