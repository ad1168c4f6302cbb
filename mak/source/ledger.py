"""Proof that a merge of Python texts lost nothing and doubled nothing, whatever made it.

The syntax trees of base, both sides and merge are compared level by level. Everything at a level
has to be there as often as the base had it, plus what a side added, minus what a side took away;
what both added alike is there once. What is accounted for is looked at no further; what both sides
changed has to be in the merge under its name, and is compared inside. The comments are counted as
one lot.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mak.source.imports import names_of
from mak.source.python_rows import element_name, statement_name
from mak.source.threeway import wanted
from mak.source.written import written

_MARKS = ("<<<<<<< ", "=======", ">>>>>>> ", "||||||| ")
_WORD = re.compile(r"\w+|\S")
_Tree = ast.AST | None


@dataclass(frozen=True, slots=True)
class _Part:
    """Something that a level holds: a statement, an element, a name of an import."""

    text: str
    #: By what it is known when its text differs.
    name: str
    #: None: a text that is what it is.
    node: ast.AST | tuple[ast.expr | None, ast.expr] | None = None


def discrepancy(base: str, ours: str, theirs: str, merged: str) -> str | None:
    """Return what is wrong with a merge; None: nothing.

    Raises as `ast.parse` where a text does not parse.
    """
    sources = [f"if 1:\n{text}" if _is_indented(text) else text for text in (base, ours, theirs)]
    sources.append(f"if 1:\n{merged}" if _is_indented(merged) else merged)
    levels = [[part for node in _top(source) for part in _statement(node)] for source in sources]
    found = _compare(*levels)
    if found is None:
        comments = [[_Part(text, "") for text in _comments(source)] for source in sources]
        found = _compare(*comments)
    if found is not None:
        return found
    for mark in _MARKS:
        if _marks(merged, mark) > max(_marks(ours, mark), _marks(theirs, mark)):
            return "it would hold the marks of a conflict"
    return None


def _compare(
    old: Sequence[_Part], one: Sequence[_Part], two: Sequence[_Part], new: Sequence[_Part]
) -> str | None:
    rows = (old, one, two, new)
    counts = [Counter(part.text for part in row) for row in rows]
    off: dict[str, int] = {}
    for text in dict.fromkeys(part.text for row in rows for part in row):
        before, mine, theirs, after = (count[text] for count in counts)
        if after != (count := wanted(before, mine, theirs)):
            off[text] = after - count
    if not off:
        return None
    differ = {text for text in counts[3] if len({count[text] for count in counts}) > 1}
    for name in dict.fromkeys(part.name for row in rows for part in row if part.text in off):
        parts = [[part for part in row if part.text in off and part.name == name] for row in rows]
        if not parts[1] or not parts[2]:
            # One side did what the other did, and more: the merge is what it made.
            more = off.keys() | differ
            parts = [[p for p in row if p.text in more and p.name == name] for row in rows]
        was = [p for p in old if p.name == name and p.text not in {q.text for q in (*one, *two)}]
        if not name or [len(part) for part in parts[1:]] != [1, 1, 1] or len(was) > 1:
            text = next(part.text for row in rows for part in row if part.text in off)
            return f"`{_short(text)}` would be {'lost' if off[text] < 0 else 'twice'}"
        found = _inside(was[0] if was else None, *(part[0] for part in parts[1:]))
        if found is not None:
            return found
    return None


def _inside(old: _Part | None, one: _Part, two: _Part, new: _Part) -> str | None:
    """Compare what is in something that both sides changed."""
    levels = [_levels(part) for part in (one, two, new)]
    before = _levels(old) if old is not None else [[] for _ in levels[0]]
    if not levels[0] or len({len(before), *map(len, levels)}) > 1:
        words = [Counter(_WORD.findall(p.text)) if p else Counter() for p in (old, one, two, new)]
        for word in set().union(*words):
            if words[3][word] != words[1][word] + words[2][word] - words[0][word]:
                return f"`{_short(new.text)}` would not be what the two sides made of it"
        return None
    for four in zip(before, *levels, strict=True):
        found = _compare(*four)
        if found is not None:
            return found
    return None


# --------------------------------------------------------------------------------- parts


def _top(source: str) -> list[ast.stmt]:
    return ast.parse(source).body


def _statement(node: ast.stmt) -> Iterator[_Part]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        for name in names_of(node):
            yield _Part(str(name), f"import {name.bound}")
        return
    if isinstance(node, ast.If) and isinstance(node.test, ast.Constant) and node.test.value == 1:
        for child in node.body:
            yield from _statement(child)
        return
    yield _Part(written(node), statement_name(node), node)


def _levels(part: _Part) -> list[list[_Part]]:
    """Return what is in a part, one list for each place in it; () when there is nothing."""
    node = part.node
    if isinstance(node, tuple):
        return _of_value(node[1])
    if isinstance(node, ast.stmt):
        bodies = [*_bodies(node)]
        if bodies:
            head = [_Part(text, "") for text in _head(node)]
            return [head, *([p for s in body for p in _statement(s)] for body in bodies)]
        value = getattr(node, "value", None)
        return _of_value(value) if isinstance(value, ast.expr) else []
    if isinstance(node, ast.keyword):
        return _of_value(node.value)
    return _of_value(node) if isinstance(node, ast.expr) else []


def _bodies(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    for field in ("body", "orelse", "finalbody"):
        if body := getattr(node, field, None):
            yield body
    for handler in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield handler.body


def _head(node: ast.stmt) -> Iterator[str]:
    """Yield what a compound statement is besides its blocks."""
    for field, value in ast.iter_fields(node):
        if field in ("body", "orelse", "finalbody", "handlers", "cases"):
            continue
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, ast.AST):
                yield f"{field} {written(item)}"
            elif item is not None:
                yield f"{field} {item}"
    for handler in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        kept = [written(v) for _, v in ast.iter_fields(handler) if isinstance(v, ast.AST)]
        yield f"{type(handler).__name__} {' '.join(kept)}"


def _of_value(node: ast.expr) -> list[list[_Part]]:
    if isinstance(node, ast.Await | ast.Starred):
        return _of_value(node.value)
    if isinstance(node, ast.Dict):
        return [
            [
                _Part(
                    f"{written(key) if key else '**'}: {written(value)}",
                    element_name((key, value)),
                    (key, value),
                )
                for key, value in zip(node.keys, node.values, strict=True)
            ]
        ]
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return [[_Part(written(e), element_name(e), e) for e in node.elts]]
    if isinstance(node, ast.Call):
        arguments = [*node.args, *node.keywords]
        head = [_Part(written(node.func), "")]
        return [head, [_Part(written(a), element_name(a), a) for a in arguments]]
    return []


# --------------------------------------------------------------------------------- text


def _is_indented(text: str) -> bool:
    for line in text.split("\n"):
        if line.strip() and not line.lstrip().startswith("#"):
            return line[:1] in (" ", "\t", "\x0c")
    return False


def _comments(source: str) -> list[str]:
    if "#" not in source:
        return []
    found: list[str] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT:
                found.append(token.string.strip())
    except (tokenize.TokenError, SyntaxError):
        return found  # the parser took it: only its end is unusual
    return found


def _marks(text: str, mark: str) -> int:
    return sum(line.startswith(mark) for line in text.split("\n"))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else line[:57] + "…"
