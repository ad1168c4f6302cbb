"""Two edits of one row of items, from the same base, in one: the text of one side, patched.

What a side added, changed or took away is found against the base, item by item. One side's text is
the frame, which keeps every byte of its own; into it goes what the other side did. Where both
changed one item, the rows inside of it are merged in the same way, and what has none line by line.
What both add at one place stands in the order of the sides, or sorted where all three rows are.

Whether two edits may stand beside each other is for the row's language (`Row.rule`); whatever does
not fit is a `Clash`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import pairwise, takewhile
from typing import Any

from mak.source.items import Clash, Item, Layout, Meeting, Row
from mak.source.rows import Patch, arrange, patched
from mak.source.threeway import LIMIT, merge_lines

#: Items that tell by themselves whether a row is sorted.
_TELLING = 3


def weave(base: Row, ours: Row, theirs: Row) -> bytes:
    """Merge the rows that three texts are.

    What `ours` added stands before what `theirs` did. Raises `Clash`.
    """
    patches: list[Patch] = []
    _weave(base, ours, theirs, False, patches)
    return patched(ours.data, patches)


def only_grew(base: Row, side: Row) -> bool:
    """Whether a row holds all that it held, in order, and more."""
    change = _compare(base, side)
    if change.gone:
        return False
    for number in change.changed:
        was, now = base.items[number], change.match[number]
        if now is None or len(was.inner) != len(now.inner) or not was.inner:
            return False
        mine, theirs = _segments(base, was), _segments(side, now)
        if [base.data[slice(*s)] for s in mine] != [side.data[slice(*s)] for s in theirs]:
            return False
        if not all(map(only_grew, was.inner, now.inner)):
            return False
    return True


@dataclass(slots=True)
class _Side:
    """One side of a merge, against the base."""

    row: Row
    #: Its items by number in the base; None: taken away.
    match: list[Item | None]
    #: Items that are not in the base, by how many of the base stand before them.
    added: dict[int, list[Item]]
    changed: set[int]

    @property
    def new(self) -> list[Item]:
        """All that it added, in order."""
        return [item for gap in sorted(self.added) for item in self.added[gap]]

    @property
    def gone(self) -> set[int]:
        """Numbers of what it took away."""
        return {number for number, item in enumerate(self.match) if item is None}

    def touched(self, base: Row) -> list[Item]:
        """Return what it changed or took away: as it was and as it is."""
        found: list[Item] = []
        for number in sorted(self.changed | self.gone):
            found += (item for item in (base.items[number], self.match[number]) if item)
        return found

    @property
    def acts(self) -> bool:
        """Whether it did anything to the items."""
        return bool(self.added or self.changed or self.gone)


def _weave(base: Row, frame: Row, other: Row, other_first: bool, patches: list[Patch]) -> None:
    """Patch the frame's row with what the other side did."""
    if other.layout is Layout.LINES and Layout.LINES not in (base.layout, frame.layout):
        # The other side gave each item a line: its text is the frame here.
        inner: list[Patch] = []
        _weave(base, other, frame, not other_first, inner)
        text = patched(other.data, inner, other.start, other.end)
        patches.append(Patch(frame.start, frame.end, text))
        return
    one, two = _compare(base, frame), _compare(base, other)
    _judge(base, *((two, one) if other_first else (one, two)))
    more = _without_copies(one, two)
    order: list[Item] = []
    for gap in range(len(base.items) + 1):
        mine, theirs = one.added.get(gap, []), more.get(gap, [])
        together = [*theirs, *mine] if other_first else [*mine, *theirs]
        if mine and theirs and (key := _sorting(base, gap, mine, theirs)) is not None:
            together.sort(key=key)
        if mine and theirs:
            following = base.items[gap] if gap < len(base.items) else None
            together = _share_lead(following, (base, frame, other), together, patches)
        order += together
        if gap == len(base.items):
            break
        was, kept, new = base.items[gap], one.match[gap], two.match[gap]
        if kept is None or new is None:
            if gap in two.changed or gap in one.changed:
                raise Clash(f"one side changed {_name(was)}, the other removed it", final=False)
            continue
        order.append(kept)
        change = _Change(base, frame, other, was, kept, new)
        change.merge(gap in one.changed, gap in two.changed, other_first, patches)
    _merge_end(base, frame, other, patches)
    arrange(frame, other, order, patches)


def _share_lead(
    following: Item | None, rows: tuple[Row, Row, Row], added: Sequence[Item], patches: list[Patch]
) -> list[Item]:
    """Leave the lines above new items to the first of them, where each side has them by itself.

    A side that adds an item below a blank line or a comment has it above that item, and no longer
    above what follows. Where items of a kind stand close, a blank line is above the first only.
    """
    base, frame, other = rows
    lead = base.lead(following) if following is not None else b""
    is_close = _are_close(rows)
    shared: list[Item] = []
    for item in added:
        row = frame if any(item is own for own in frame.items) else other
        own = row.lead(item)
        size = _common(lead, own)
        previous = shared[-1] if shared else item
        kind = frame.family(item)
        if not size and is_close and kind is not None and kind == frame.family(previous):
            size = len(own) - len(own.lstrip(b" \t\r\n\x0c")) if own.strip() else len(own)
        if size and shared and row is frame:
            patches.append(Patch(item.start, item.start + size, b""))
        elif size and shared:
            item = replace(item, start=item.start + size)
        shared.append(item)
    return shared


def _common(one: bytes, other: bytes) -> int:
    """Return the length of the lines that two texts begin with."""
    pairs = zip(one.splitlines(keepends=True), other.splitlines(keepends=True), strict=False)
    return sum(len(mine) for mine, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _are_close(rows: Sequence[Row]) -> bool:
    """Whether items of one kind mostly have no blank line between them."""
    apart = close = 0
    for row in rows:
        for one, two in pairwise(row.items):
            if (kind := row.family(two)) is not None and kind == row.family(one):
                is_apart = not row.lead(two).partition(b"\n")[0].strip() and two.start < two.line
                apart, close = apart + is_apart, close + (not is_apart)
    return close >= apart


def _merge_end(base: Row, frame: Row, other: Row, patches: list[Patch]) -> None:
    """Merge the comments below the last item."""
    rows = (base, frame, other)
    if any(row.layout is not Layout.LINES for row in rows):
        return
    old, mine, new = (row.data[row.items[-1].stop : row.end] for row in rows)
    if _words(new) in (_words(old), _words(mine)):
        return
    if _words(mine) != _words(old):
        raise Clash("both sides changed the comment at the end", final=False)
    patches.append(Patch(frame.items[-1].stop, frame.end, new))


# --------------------------------------------------------------------------------- comparing


def _compare(base: Row, side: Row) -> _Side:
    match: list[Item | None] = [None] * len(base.items)
    number_of: dict[int, int] = {}
    changed: set[int] = set()
    for i1, i2, j1, j2, same in _stretches(base.items, side.items):
        at = j1
        for number in range(i1, i2):
            name = base.items[number].name
            found: int | None = j1 + number - i1
            if not same:
                found = next((j for j in range(at, j2) if name == side.items[j].name != ""), None)
            if found is None:
                continue
            match[number] = side.items[found]
            number_of[found] = number
            at = found + 1
            if not same:
                changed.add(number)
    added: dict[int, list[Item]] = {}
    gap = 0
    for j, item in enumerate(side.items):
        if j in number_of:
            gap = number_of[j] + 1
        else:
            added.setdefault(gap, []).append(item)
    return _Side(side, match, added, changed)


def _stretches(old: Sequence[Item], new: Sequence[Item]) -> list[tuple[int, int, int, int, bool]]:
    """Return the stretches of two rows, with whether they are alike."""
    mine, theirs = [item.text for item in old], [item.text for item in new]
    shorter = min(len(mine), len(theirs))
    head = tail = 0
    while head < shorter and mine[head] == theirs[head]:
        head += 1
    while tail < shorter - head and mine[-1 - tail] == theirs[-1 - tail]:
        tail += 1
    left, right = mine[head : len(mine) - tail], theirs[head : len(theirs) - tail]
    if len(left) * len(right) > LIMIT:
        raise Clash("both sides changed too much of it to compare", final=False)
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    return [
        (0, head, 0, head, True),
        *(
            (head + i1, head + i2, head + j1, head + j2, tag == "equal")
            for tag, i1, i2, j1, j2 in matcher.get_opcodes()
        ),
        (len(mine) - tail, len(mine), len(theirs) - tail, len(theirs), True),
    ]


def _without_copies(one: _Side, two: _Side) -> dict[int, list[Item]]:
    """Return what the second side added and the first did not."""
    left = Counter(item.text for item in one.new)
    found: dict[int, list[Item]] = {}
    for gap, items in two.added.items():
        for item in items:
            if left[item.text]:
                left[item.text] -= 1
            else:
                found.setdefault(gap, []).append(item)
    return found


def _sorting(
    base: Row, gap: int, mine: Sequence[Item], theirs: Sequence[Item]
) -> Callable[[Item], Any] | None:
    """Return the key by which the row is sorted around a gap, with either side's; None: by none."""
    kinds = {base.family(item) for item in (*mine, *theirs)}
    if len(kinds) != 1 or (kind := kinds.pop()) is None:
        return None

    def is_kin(item: Item) -> bool:
        return base.family(item) == kind

    before = [*takewhile(is_kin, reversed(base.items[:gap]))][::-1]
    behind = [*takewhile(is_kin, base.items[gap:])]
    if len(before) + len(behind) < _TELLING and not (before and behind):
        return None  # as good as none, and all that is new may be just below it
    for key in base.orders:
        for added in (mine, theirs):
            values = [key(item) for item in (*before, *added, *behind)]
            if values != sorted(values):
                break
        else:
            return key
    return None


# --------------------------------------------------------------------------------- judging


def _judge(base: Row, first: _Side, second: _Side) -> None:
    """Raise `Clash` when what both sides did cannot stand beside each other."""
    if not (first.acts and second.acts):
        return
    _keys(base, first, second)
    common = Counter(i.text for i in first.new) & Counter(i.text for i in second.new)
    beside = _beside(base, first, second, common)
    if base.rule is None:
        return
    added = [[item for item in side.new if item.text not in common] for side in (first, second)]
    touched = [side.touched(base) for side in (first, second)]
    base.rule(Meeting(base, (added[0], added[1]), (touched[0], touched[1]), beside))


def _beside(
    base: Row, first: _Side, second: _Side, common: Counter[bytes]
) -> list[tuple[list[Item], list[Item]]]:
    """Return what both added at one place; what one of them removed there holds nothing apart.

    Raises `Clash` where both put something else in the place of one item.
    """
    gone = first.gone | second.gone
    found: list[tuple[list[Item], list[Item]]] = []
    mine: list[Item] = []
    theirs: list[Item] = []
    lost: Item | None = None
    for gap in range(len(base.items) + 1):
        mine += [item for item in first.added.get(gap, []) if item.text not in common]
        theirs += [item for item in second.added.get(gap, []) if item.text not in common]
        if gap not in gone:
            if mine and theirs:
                if lost is not None:
                    raise Clash(f"both sides changed {_name(lost)}", final=False)
                found.append((mine, theirs))
            mine, theirs, lost = [], [], None
        elif gap in first.gone and gap in second.gone:
            lost = base.items[gap]
    return found


def _keys(base: Row, first: _Side, second: _Side) -> None:
    """Raise `Clash` when both sides add one key with different text."""
    for row in (base, first.row, second.row):
        counts = Counter(item.key for item in row.items if item.key)
        if counts and counts.most_common(1)[0][1] > 1:
            return  # what many begin with is no key
    known = {item.key: item for item in first.new if item.key}
    for item in second.new:
        twin = known.get(item.key)
        if twin is not None and twin.text != item.text:
            where = f" to {base.label}" if base.label else ""
            raise Clash(
                f"both sides add {item.key}{where}: one as {_name(twin)}, the other as "
                f"{_name(item)}"
            )


# --------------------------------------------------------------------------------- one item


@dataclass(slots=True)
class _Change:
    """An item of the base that both sides still have."""

    base: Row
    frame: Row
    other: Row
    was: Item
    mine: Item
    new: Item

    def merge(
        self, mine_changed: bool, new_changed: bool, other_first: bool, patches: list[Patch]
    ) -> None:
        """Patch the frame's item with what the other side made of it."""
        self._merge_around(patches)
        if not new_changed or self.mine.text == self.new.text:
            return
        if mine_changed:
            self._join(other_first, patches)
        else:
            patches.append(Patch(self.mine.code, self.mine.end, self._moved()))

    def _moved(self) -> bytes:
        """Return the other side's code, indented as the frame is."""
        text = self.other.code(self.new)
        have, want = self.other.indent(self.new), self.frame.indent(self.mine)
        if have == want or b"\n" not in text:
            return text
        if Layout.LINES not in (self.other.layout, self.frame.layout):
            return text
        lines = text.splitlines(keepends=True)
        if not all(line.startswith(have) or not line.strip() for line in lines[1:]):
            raise Clash("the two sides indent it differently", final=False)
        return b"".join([lines[0], *(want + line[len(have) :] for line in lines[1:])])

    def _merge_around(self, patches: list[Patch]) -> None:
        """Merge the comments above an item and behind it."""
        if any(row.layout is not Layout.LINES for row in (self.base, self.frame, self.other)):
            return
        versions = ((self.base, self.was), (self.frame, self.mine), (self.other, self.new))
        parts = [
            (row.lead(item), b"" if _ends_inside(item) else row.remark(item))
            for row, item in versions
        ]
        places = ((self.mine.start, self.mine.line), (self._behind, self.mine.stop))
        for (old, mine, new), (start, end) in zip(zip(*parts, strict=True), places, strict=True):
            if new in (old, mine):
                continue
            if mine == old or (_words(mine) == _words(old) != _words(new)):
                patches.append(Patch(start, end, new))
            elif _words(new) not in (_words(old), _words(mine)):
                raise Clash(f"both sides changed the comment at {_name(self.was)}", final=False)

    @property
    def _behind(self) -> int:
        return max(self.mine.end, self.mine.comma + len(self.frame.comma))

    def _join(self, other_first: bool, patches: list[Patch]) -> None:
        """Merge an item that both sides changed: the rows in it, else its lines."""
        inner: list[Patch] = []
        try:
            self._join_rows(other_first, inner)
        except Clash as clash:
            if clash.final:
                raise
            lines = merge_lines(*self._codes())
            if lines is None:
                raise
            inner = [Patch(self.mine.code, self.mine.end, lines)]
        patches += inner

    def _codes(self) -> tuple[bytes, bytes, bytes]:
        return self.base.code(self.was), self.frame.code(self.mine), self.other.code(self.new)

    def _join_rows(self, other_first: bool, patches: list[Patch]) -> None:
        items = (self.was, self.mine, self.new)
        sizes = {len(item.inner) for item in items}
        if len(sizes) != 1 or not self.was.inner:
            raise Clash(f"both sides changed {_name(self.was)}", final=False)
        rows = zip((self.base, self.frame, self.other), items, strict=True)
        old, mine, new = (_segments(row, item) for row, item in rows)
        for number, ((start, end), *_) in enumerate(zip(mine, old, new, strict=True)):
            texts = (
                self.base.data[slice(*old[number])],
                self.frame.data[start:end],
                self.other.data[slice(*new[number])],
            )
            if texts[2] in texts[:2]:
                continue
            if texts[1] == texts[0]:
                patches.append(Patch(start, end, texts[2]))
                continue
            what = self.was.head if number == 0 else ""
            raise Clash(f"both sides changed {what or _name(self.was)}", final=bool(what))
        for was, kept, changed in zip(*(item.inner for item in items), strict=True):
            _weave(was, kept, changed, other_first, patches)


def _ends_inside(item: Item) -> bool:
    """Whether the last line of an item belongs to a row in it."""
    return bool(item.inner) and item.inner[-1].end > item.end


def _segments(row: Row, item: Item) -> list[tuple[int, int]]:
    """Return what of an item lies outside of the rows in it."""
    ends = [item.code, *(inner.end for inner in item.inner)]
    starts = [*(inner.start for inner in item.inner), item.end]
    return list(zip(ends, (max(s, e) for s, e in zip(starts, ends, strict=True)), strict=True))


def _words(text: bytes) -> list[bytes]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _name(item: Item) -> str:
    line = " ".join(item.text.decode("utf-8", "replace").split())
    return f"`{line if len(line) <= 60 else line[:57] + '…'}`"
