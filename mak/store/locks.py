"""The lock table of a branch: claims that processes hold against each other.

Inside one process the scheduler decides; here claims of one holder never conflict. Invariant: a
task is granted all it asks for or nothing, in the step in which it is looked at; a holder's claims
go only by itself or when it is dead, and that raises the fence.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from mak.model import Lock, Mode, NodeId
from mak.store.state import Claim, Holder, State

#: Modes that are written down. Intentions follow from the ids: whoever holds a method holds an
#: intention on its class and on its file.
_KEPT = (Mode.S, Mode.X, Mode.A)


@dataclass(frozen=True, slots=True)
class Held:
    """Why a task was not granted its locks."""

    node: str
    #: Who has it, for people.
    holder: str
    run: str


@dataclass(frozen=True, slots=True)
class LockRow:
    """One claim, as ``mak locks`` shows it."""

    node: str
    mode: str
    run: str
    task: str
    holder: str
    alive: bool


def acquire(
    state: State, holder: str, about: Holder, claims: Mapping[str, Sequence[Lock]]
) -> tuple[State, dict[str, Held]]:
    """Grant each task all of its locks or none; return the state then, and the tasks refused."""
    others = _Others.of(state, holder)
    refused: dict[str, Held] = {}
    locks = dict(state.locks)
    fence = state.fence + 1
    for task, wanted in claims.items():
        conflict = others.conflict(wanted)
        if conflict is not None:
            node, claim = conflict
            owner = state.holders[claim.holder]
            refused[task] = Held(node, describe(owner), owner.run)
            continue
        for lock in wanted:
            if lock.mode in _KEPT:
                name = str(lock.node)
                locks[name] = (*locks.get(name, ()), Claim(holder, lock.mode, task, fence))
    if len(refused) == len(claims):
        return state, refused
    holders = {**state.holders, holder: about}
    return replace(state, op="acquire", locks=locks, fence=fence, holders=holders), refused


def release(state: State, holder: str, tasks: Collection[str]) -> State:
    """Give up what these tasks of a holder hold; return the same state when that is nothing."""
    given = frozenset(tasks)
    if not given:
        return state
    return _without(state, "release", lambda c: c.holder == holder and c.task in given)


def leave(state: State, holders: Collection[str], op: str = "leave") -> State:
    """Give up all that these holders hold, and forget them."""
    gone = frozenset(holders) & state.holders.keys()
    if not gone:
        return state
    left = _without(state, op, lambda c: c.holder in gone)
    return replace(
        left,
        op=op,
        fence=left.fence + 1,
        holders={name: h for name, h in state.holders.items() if name not in gone},
    )


def rows(state: State, is_alive: Callable[[str], bool]) -> list[LockRow]:
    """List the claims, by node."""
    alive = {name: is_alive(name) for name in state.holders}
    return [
        LockRow(node, str(c.mode), owner.run, c.task, describe(owner), alive.get(c.holder, False))
        for node, claims in sorted(state.locks.items())
        for c in claims
        for owner in [state.holders[c.holder]]
    ]


def describe(holder: Holder) -> str:
    """Return a holder for people: ``run r7f3 (pid 4711 on vm, since 2031-05-04 10:11)``."""
    since = time.strftime("%Y-%m-%d %H:%M", time.localtime(holder.since))
    return f"run {holder.run} (pid {holder.pid} on {holder.host}, since {since})"


def compatible(a: Mode, b: Mode) -> bool:
    """Whether two holders may have these modes on one node."""
    return a == b and a in (Mode.S, Mode.A)


def compatible_inside(outer: Mode, inner: Mode) -> bool:
    """Whether one holder may have `outer` on what contains the node that another has `inner` on."""
    return outer is Mode.A or (outer is Mode.S and inner is Mode.S)


@dataclass(slots=True)
class _Others:
    """The claims of everybody else, by node and by what contains the node."""

    on: dict[str, list[tuple[str, Claim]]] = field(default_factory=dict)
    inside: dict[str, list[tuple[str, Claim]]] = field(default_factory=dict)

    @classmethod
    def of(cls, state: State, holder: str) -> _Others:
        self = cls()
        if state.holders.keys() <= {holder}:
            return self
        for node, claims in state.locks.items():
            for claim in claims:
                if claim.holder != holder:
                    self.on.setdefault(node, []).append((node, claim))
                    for outer in NodeId.parse(node).containers:
                        self.inside.setdefault(str(outer), []).append((node, claim))
        return self

    def conflict(self, wanted: Sequence[Lock]) -> tuple[str, Claim] | None:
        """Return somebody's claim, and its node, that one of these locks cannot be beside."""
        for lock in wanted if self.on else ():
            if lock.mode not in _KEPT:
                continue
            for found, is_fine in self._met(lock):
                if not is_fine(found[1].mode):
                    return found
        return None

    def _met(self, lock: Lock) -> Iterator[tuple[tuple[str, Claim], Callable[[Mode], bool]]]:
        name, mode = str(lock.node), lock.mode
        for found in self.on.get(name, ()):
            yield found, lambda other: compatible(mode, other)
        for found in self.inside.get(name, ()):
            yield found, lambda other: compatible_inside(mode, other)
        for outer in lock.node.containers:
            for found in self.on.get(str(outer), ()):
                yield found, lambda other: compatible_inside(other, mode)


def _without(state: State, op: str, is_gone: Callable[[Claim], bool]) -> State:
    locks: dict[str, tuple[Claim, ...]] = {}
    changed = False
    for node, claims in state.locks.items():
        kept = tuple(claim for claim in claims if not is_gone(claim))
        changed = changed or len(kept) < len(claims)
        if kept:
            locks[node] = kept
    return replace(state, op=op, locks=locks) if changed else state
