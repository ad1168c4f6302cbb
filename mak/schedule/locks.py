"""What a task must hold, and who holds what.

A table never makes anybody wait: an owner gets all of its locks or none, so that whoever waits
holds nothing and no deadlock can arise (conservative two-phase locking).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from mak.model import Aspect, Lock, Mode, NodeId, Task
from mak.schedule.modes import CONFLICTING, INTENTION, strongest


@dataclass(frozen=True, slots=True)
class Conflict:
    """Why locks were not granted: the first of them that somebody else's lock excludes."""

    node: NodeId
    #: The other owner.
    owner: str
    wanted: Mode
    held: Mode


def locks_for(task: Task, appends: Collection[NodeId] = frozenset()) -> tuple[Lock, ...]:
    """Return the locks that `task` needs, intentions on what encloses them included.

    Nodes in `appends` are written side by side with others that append there.

    A write locks the text of a node, so that it runs beside readers of the signature; ``#api``
    locks the signature too. A read locks the signature: a body may change under a reader. What
    the task creates it alone may name, text and signature, until it exists.
    """
    claims: list[Lock] = []
    for node in task.writes:
        claims.append(Lock(node, Mode.A if node in appends else Mode.X))
        if node.aspect is Aspect.API:
            claims.append(Lock(node.node, Mode.X))
    for node in task.creates:
        claims.append(Lock(node, Mode.X))
        if not node.is_file and node.aspect is Aspect.TEXT:
            claims.append(Lock(node.api, Mode.X))
    for node in task.reads:
        shared = node.api if node.aspect is Aspect.TEXT and not node.is_file else node
        claims.append(Lock(shared, Mode.S))
    return with_intentions(claims)


def with_intentions(locks: Iterable[Lock]) -> tuple[Lock, ...]:
    """Add the intentions that `locks` need on enclosing nodes; keep the strongest of each node.

    In the order of node ids. Doing it twice changes nothing.
    """
    modes: dict[NodeId, set[Mode]] = {}
    for lock in locks:
        modes.setdefault(lock.node, set()).add(lock.mode)
        for container in lock.node.containers:
            modes.setdefault(container, set()).add(INTENTION[lock.mode])
    return tuple(Lock(node, mode) for node in sorted(modes) for mode in strongest(modes[node]))


def exclude(some: Iterable[Lock], others: Iterable[Lock]) -> bool:
    """Whether the holders of two sets of locks cannot hold them at the same time."""
    held: dict[NodeId, list[Mode]] = {}
    for lock in others:
        held.setdefault(lock.node, []).append(lock.mode)
    return any(mode in CONFLICTING[lock.mode] for lock in some for mode in held.get(lock.node, ()))


#: What a task holds while it runs.
Locker = Callable[[Task], tuple[Lock, ...]]


class LockTable:
    """Who holds what. Asking costs the number of locks asked for, whatever the table holds."""

    def __init__(self) -> None:
        self._owners: dict[NodeId, dict[Mode, dict[str, None]]] = {}
        self._locks: dict[str, tuple[Lock, ...]] = {}

    @property
    def holders(self) -> Mapping[str, tuple[Lock, ...]]:
        """Every owner with the locks it holds."""
        return self._locks

    def conflict(self, owner: str, locks: Iterable[Lock]) -> Conflict | None:
        """Return the first of `locks` that another owner's lock excludes; None: all are free."""
        for lock in locks:
            by_mode = self._owners.get(lock.node)
            if by_mode is None:
                continue
            for mode in CONFLICTING[lock.mode]:
                for other in by_mode.get(mode, ()):
                    if other != owner:
                        return Conflict(lock.node, other, lock.mode, mode)
        return None

    def try_acquire(self, owner: str, locks: Iterable[Lock]) -> Conflict | None:
        """Give `owner` all of `locks`, beside what it holds; or nothing, and say who is in the way.

        The caller passes intentions along with the rest (see `with_intentions`).
        """
        wanted = tuple(locks)
        conflict = self.conflict(owner, wanted)
        if conflict is not None:
            return conflict
        if owner in self._locks:
            wanted = with_intentions((*self.release(owner), *wanted))
        for lock in wanted:
            self._owners.setdefault(lock.node, {}).setdefault(lock.mode, {})[owner] = None
        self._locks[owner] = wanted
        return None

    def release(self, owner: str) -> tuple[Lock, ...]:
        """Take everything from `owner`; return what it held."""
        locks = self._locks.pop(owner, ())
        for lock in locks:
            by_mode = self._owners[lock.node]
            owners = by_mode[lock.mode]
            del owners[owner]
            if not owners:
                del by_mode[lock.mode]
                if not by_mode:
                    del self._owners[lock.node]
        return locks
