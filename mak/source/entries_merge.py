"""Two edits of one entry in one text, and the proof that nothing was lost on the way."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from mak.source.entries import Structured
from mak.source.items import Clash, Layout, Row
from mak.source.threeway import merge_lines, wanted
from mak.source.weave import weave


def merge_entries(language: Structured, base: bytes, ours: bytes, theirs: bytes) -> bytes:
    """Merge three versions of an entry's text, of which the first may be empty. Raises `Clash`."""
    texts = (base, ours, theirs)
    try:
        rows = [language.row(text) if text.strip() else _nothing(text) for text in texts]
        merged = weave(rows[0], rows[1], rows[2])
    except (Clash, ValueError, RecursionError) as error:
        lines = None
        if not (isinstance(error, Clash) and error.final):
            lines = merge_lines(base, ours, theirs)
        if lines is None:
            if isinstance(error, Clash):
                raise
            raise Clash(f"both sides changed it, and it {error}", final=False) from error
        merged = lines
    if flaw := _flaw(language, base, ours, theirs, merged):
        raise Clash(flaw)
    return merged


def _nothing(text: bytes) -> Row:
    return Row(text, 0, len(text), (), Layout.EMPTY)


def _flaw(language: Structured, *texts: bytes) -> str | None:
    """Return what a merge lost or doubled: of what the texts say, and of their comments."""
    if language.comment:
        base, ours, theirs, merged = ([*_comments(language, text)] for text in texts)
        if found := _compare_lists(base, ours, theirs, merged):
            return found
    try:
        base, ours, theirs, merged = (language.load_entry(text) for text in texts)
    except (ValueError, RecursionError) as error:
        return f"with the edits of both sides it {error}"
    return _compare(base, ours, theirs, merged)


def _comments(language: Structured, text: bytes) -> list[str]:
    lines = (line.strip() for line in text.splitlines())
    return [line.decode() for line in lines if line.startswith(language.comment)]


def _compare(base: Any, ours: Any, theirs: Any, merged: Any) -> str | None:
    if merged == (ours if theirs == base or ours == theirs else theirs if ours == base else None):
        return None
    kinds = {type(value) for value in (ours, theirs, merged)}
    if kinds == {dict}:
        return _compare_dicts(base if isinstance(base, dict) else {}, ours, theirs, merged)
    if kinds == {list}:
        return _compare_lists(base if isinstance(base, list) else [], ours, theirs, merged)
    if kinds == {str} and isinstance(base, str):
        return None if merge_lines(*(v.encode() for v in (base, ours, theirs))) else _lost(merged)
    return _lost(merged)


_GONE = object()


def _compare_dicts(
    base: dict[str, Any], ours: dict[str, Any], theirs: dict[str, Any], merged: dict[str, Any]
) -> str | None:
    for key in {*base, *ours, *theirs, *merged}:
        found = _compare(*(each.get(key, _GONE) for each in (base, ours, theirs, merged)))
        if found is not None:
            return found
    return None


def _compare_lists(
    base: Sequence[Any], ours: Sequence[Any], theirs: Sequence[Any], merged: Sequence[Any]
) -> str | None:
    counts = [Counter(map(_text, each)) for each in (base, ours, theirs, merged)]
    off: list[set[str]] = [set(), set()]
    for text in set().union(*counts):
        old, one, two, new = (count[text] for count in counts)
        if new != (count := wanted(old, one, two)):
            off[new > count].add(text)
    if not off[0] and not off[1]:
        return None
    changed = [[v for v in each if _text(v) in off[0] | off[1]] for each in (ours, theirs, merged)]
    if [len(each) for each in changed] == [1, 1, 1]:
        gone = [v for v in base if _text(v) not in counts[1] and _text(v) not in counts[2]]
        if len(gone) == 1:
            return _compare(gone[0], *(each[0] for each in changed))
    return _lost(next(iter(off[0] or off[1])))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)


def _lost(value: Any) -> str:
    text = _text(value)
    return f"`{text if len(text) <= 60 else text[:57] + '…'}` would be lost or there twice"
