"""Two edits of one Python node in one text, and the proof that nothing was lost on the way."""

from __future__ import annotations

import ast
from contextlib import suppress

from mak.source.items import Clash
from mak.source.ledger import discrepancy
from mak.source.python import why
from mak.source.python_rows import context_of, read
from mak.source.text import indent_of
from mak.source.threeway import merge_lines
from mak.source.weave import weave

_UNREAD = (SyntaxError, ValueError, RecursionError, MemoryError)
#: What a class is given to be read by itself, when its members are other nodes.
_MEMBER = b"__mak_members__\n"
_STEPS = (b"    ", b"  ", b"\t", b"        ", b"   ", b" ")


def context_of_shell(shell: bytes) -> str:
    """Return what order means in a class, given its text without members."""
    try:
        texts, _ = _completed([b"", shell, shell])
        node = read(texts[1]).items[0].origin[0]
    except (*_UNREAD, Clash):
        return "class"
    return context_of(node) if isinstance(node, ast.ClassDef) else "class"


def merge_python(
    base: bytes, ours: bytes, theirs: bytes, context: str, *, is_class: bool = False
) -> bytes:
    """Merge three versions of a node's text in UTF-8, of which the first may be empty.

    `context`: what the statements stand in, ``module``, ``class``, ``numbered``, ``fields`` or
    ``function``. `is_class`: the text is a class without its members. Raises `Clash`.
    """
    texts, behind = [base, ours, theirs], 0
    if is_class:
        texts, behind = _completed(texts)
    try:
        rows = [read(text, context) for text in texts]
    except _UNREAD:
        merged = merge_lines(base, ours, theirs)
        if merged is None:
            raise Clash("both sides changed the same lines", final=False) from None
        return merged
    try:
        text = weave(rows[0], rows[1], rows[2])
    except Clash as clash:
        lines = None if clash.final else merge_lines(*texts)
        if lines is None:
            raise
        text = lines
    flaw = _flaw(*texts, text)
    if flaw is not None:
        raise Clash(flaw)
    return text[: len(text) - behind]


def _flaw(*texts: bytes) -> str | None:
    base, ours, theirs, merged = (text.decode("utf-8") for text in texts)
    try:
        return discrepancy(base, ours, theirs, merged)
    except _UNREAD as error:
        return f"the edits of both sides do not fit together: {why(error)}"


def _completed(texts: list[bytes]) -> tuple[list[bytes], int]:
    """Give classes without members one that all three can have; return its length too."""
    first = next((line for line in texts[1].splitlines() if line.strip()[:1] not in b"#"), b"")
    for step in _STEPS:
        body = indent_of(first) + step + _MEMBER
        completed = [text + body if text else text for text in texts]
        with suppress(*_UNREAD):
            for text in completed:
                read(text)
            return completed, len(body)
    raise Clash("both sides changed the same lines", final=False)
