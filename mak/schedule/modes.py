"""Lock modes: which go together, and which says more than another.

Multi-granularity locking (Gray, Lorie, Putzolu, Traiger 1975), with one mode added. What two
*different* owners may hold on one resource at the same time:

======  ====  ====  ====  ====  ====
held    IS    IX    S     X     A
======  ====  ====  ====  ====  ====
IS      yes   yes   yes   no    yes
IX      yes   yes   no    no    yes
S       yes   no    yes   no    no
X       no    no    no    no    no
A       yes   yes   no    no    yes
======  ====  ====  ====  ====  ====

``A`` appends to a resource without touching what is there: imports to a header, members to a
class, entries to a table. Appends commute, so ``A`` goes with ``A``. On a container it says no
more about the parts than an intention does, so it goes with ``IS`` and ``IX``. A reader of the
whole would see it change, so it excludes ``S``; a writer replaces it, so it excludes ``X``.

There is no ``SIX``: an owner that reads all of a file and writes a part of it holds ``S`` and
``IX`` on that file, which excludes the same others.
"""

from __future__ import annotations

from collections.abc import Iterable

from mak.model import Mode

_COMPATIBLE: dict[Mode, frozenset[Mode]] = {
    Mode.IS: frozenset({Mode.IS, Mode.IX, Mode.S, Mode.A}),
    Mode.IX: frozenset({Mode.IS, Mode.IX, Mode.A}),
    Mode.S: frozenset({Mode.IS, Mode.S}),
    Mode.X: frozenset(),
    Mode.A: frozenset({Mode.IS, Mode.IX, Mode.A}),
}

#: For each mode, those that another owner must not hold beside it.
CONFLICTING: dict[Mode, tuple[Mode, ...]] = {
    mode: tuple(other for other in Mode if other not in beside)
    for mode, beside in _COMPATIBLE.items()
}

#: For each mode, those that are pointless beside it for the same owner. `A` and `IX` exclude the
#: same others; `A` is kept, because it also says what its owner does there.
_COVERED: dict[Mode, frozenset[Mode]] = {
    Mode.IS: frozenset(),
    Mode.IX: frozenset({Mode.IS}),
    Mode.S: frozenset({Mode.IS}),
    Mode.X: frozenset({Mode.IS, Mode.IX, Mode.S, Mode.A}),
    Mode.A: frozenset({Mode.IS, Mode.IX}),
}

#: What an owner holds on everything that encloses a node on which it holds the key.
INTENTION: dict[Mode, Mode] = {
    Mode.IS: Mode.IS,
    Mode.S: Mode.IS,
    Mode.IX: Mode.IX,
    Mode.X: Mode.IX,
    Mode.A: Mode.IX,
}


def compatible(a: Mode, b: Mode) -> bool:
    """Say whether two owners may hold `a` and `b` on one resource at the same time."""
    return b in _COMPATIBLE[a]


def strongest(modes: Iterable[Mode]) -> tuple[Mode, ...]:
    """Drop the modes that others among them cover; at most ``S`` beside ``IX`` or ``A`` stay."""
    distinct = frozenset(modes)
    return tuple(
        mode for mode in Mode if mode in distinct and not any(mode in _COVERED[m] for m in distinct)
    )
