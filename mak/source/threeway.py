"""Three versions of some lines in one, as `diff3` does it, for what has no finer structure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

#: Lines times lines above which two versions are not compared: it would take seconds.
LIMIT = 4_000_000


def merge_lines(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """Merge by lines; None when both sides changed the same lines or lines side by side."""
    texts = [text.splitlines(keepends=True) for text in (base, ours, theirs)]
    old, one, two = texts
    if max(len(one), len(two)) * len(old) > LIMIT:
        return None
    changes = [(*change, one) for change in _changes(old, one)]
    others = [(*change, two) for change in _changes(old, two)]
    merged: list[bytes] = []
    at = 0
    for start, end, low, high, side in sorted([*changes, *others], key=lambda c: (c[0], c[1])):
        text = side[low:high]
        if start < at or (start == at and at and merged and _touches(changes, others, start)):
            if (start, end, text) in [(c[0], c[1], c[4][c[2] : c[3]]) for c in changes] and (
                start,
                end,
                text,
            ) in [(c[0], c[1], c[4][c[2] : c[3]]) for c in others]:
                continue
            return None
        merged += old[at:start]
        merged += text
        at = end
    return b"".join((*merged, *old[at:]))


_Change = tuple[int, int, int, int, list[bytes]]


def _touches(ours: Sequence[_Change], theirs: Sequence[_Change], at: int) -> bool:
    """Whether changes of both sides meet at a line."""
    return any(at in (c[0], c[1]) for c in ours) and any(at in (c[0], c[1]) for c in theirs)


def _changes(old: list[bytes], new: list[bytes]) -> Iterator[tuple[int, int, int, int]]:
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            yield i1, i2, j1, j2


def wanted(old: int, one: int, two: int) -> int:
    """Return how often something is to be in a merge, by how often it is in base and sides.

    What both added or took away alike counts once.
    """
    if one == two or two == old:
        return one
    if one == old:
        return two
    if one > old and two > old:
        return max(one, two)
    if one < old and two < old:
        return min(one, two)
    return max(one + two - old, 0)
