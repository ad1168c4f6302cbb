"""The order that tasks depend on: circles, and who is surely before whom."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

Order = Mapping[str, Sequence[str]]


def circle(depends_on: Order) -> tuple[str, ...]:
    """Return one circle of tasks, each depending on the next, the first again at the end; or ()."""
    settled: set[str] = set()
    for root in depends_on:
        if root in settled:
            continue
        path = [root]
        position = {root: 0}
        left = [iter(depends_on[root])]
        while left:
            after = next(left[-1], None)
            if after is None:
                left.pop()
                done = path.pop()
                del position[done]
                settled.add(done)
            elif after in position:
                return (*path[position[after] :], after)
            elif after not in settled and after in depends_on:
                position[after] = len(path)
                path.append(after)
                left.append(iter(depends_on[after]))
    return ()


class Ancestry:
    """Who is before whom in an acyclic order; sets of tasks are bits of integers."""

    def __init__(self, depends_on: Order) -> None:
        self._tasks = list(depends_on)
        self._bit = {task: 1 << i for i, task in enumerate(self._tasks)}
        self._before = dict.fromkeys(self._tasks, 0)
        self._after = dict.fromkeys(self._tasks, 0)
        order = _sorted(depends_on)
        for task in order:
            for needed in depends_on[task]:
                self._before[task] |= self._bit[needed] | self._before[needed]
        for task in reversed(order):
            for needed in depends_on[task]:
                self._after[needed] |= self._bit[task] | self._after[task]

    def is_before(self, earlier: str, later: str) -> bool:
        """Whether `later` depends on `earlier`, directly or not."""
        return bool(self._before[later] & self._bit[earlier])

    def group(self, tasks: Iterable[str]) -> int:
        """Return tasks as bits, for `unordered`."""
        bits = 0
        for task in tasks:
            bits |= self._bit[task]
        return bits

    def unordered(self, task: str, group: int) -> str:
        """Return the first task of `group` that is neither before nor after `task`; or ``""``."""
        apart = group & ~(self._bit[task] | self._before[task] | self._after[task])
        return self._tasks[(apart & -apart).bit_length() - 1] if apart else ""


def _sorted(depends_on: Order) -> list[str]:
    """Return the tasks, each after those it depends on."""
    found: dict[str, None] = {}
    for root in depends_on:
        stack = [root]
        while stack:
            task = stack[-1]
            missing = [needed for needed in depends_on[task] if needed not in found]
            if missing and task not in found:
                stack.extend(missing)
            else:
                found[stack.pop()] = None
    return list(found)
