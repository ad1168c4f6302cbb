"""New text holds no placeholder for code that it should have held.

Models that are asked for a whole function sometimes send the lines they changed and a remark that
the rest stays: ``# ... existing code ...``. Taken as source, that deletes the rest. Only what the
old text did not say is found, and a comment only when it says nothing else.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from enum import IntEnum

from mak.checks.change import (
    Change,
    Check,
    differing,
    is_cut,
    significant_lines,
)
from mak.checks.tree import (
    Function,
    blocks,
    dotted,
    function,
    is_ellipsis,
    is_placeholder,
    real_body,
    without_docstring,
)
from mak.model import Finding, Node, NodeId, NodeKind
from mak.source import SourceFile, decode

_THING = (
    r"(?:code|function|method|class|file|module|implementation|logic|body|content|contents|"
    r"methods|functions|imports|fields|attributes|definitions|lines|tests|cases|unchanged code)"
)
_OLD = r"(?:existing|previous|original|old|current|remaining|other|same|unchanged|your)"
_STAYS = (
    r"(?:stays?|remains?|is|are|goes|go|as|here|the|same|unchanged|before|above|below|omitted|"
    r"elided|intact|untouched|for|brevity|continues|unmodified|snipped)"
)
_MARKER = re.compile(
    rf"""
    (?: (?:the|all|any|keep|\[|\(|<)\s* )*
    (?:
        (?:rest|remainder) \s+ of \s+ (?:the|this|your)? \s* (?:{_OLD}\s+)? {_THING}
            (?:\s+{_STAYS})*
      | (?:{_OLD}\s+)+ {_THING} (?:\s+{_STAYS})*
      | {_THING} (?:\s+{_STAYS})* \s+ (?:unchanged|omitted|elided|untouched|unmodified|
                                          as\s+before|for\s+brevity|the\s+same)
      | (?:unchanged|omitted|snip|snipped|elided) (?:\s+(?:for\s+brevity|from\s+here|below|above))?
      | same \s+ as \s+ (?:before|above|the\s+original)
      | (?:rest|remainder) (?:\s+{_STAYS})* \s+ (?:unchanged|omitted|the\s+same|as\s+before)
      | no \s+ changes? (?:\s+(?:here|below|above|needed|from\s+here))?
    )
    """,
    re.VERBOSE | re.IGNORECASE,
)
_DOTS = re.compile(r"\.{3,}|…")
#: Without dots these words make it plain that code was left out …
_PLAIN = re.compile(
    rf"\b(?:rest|remainder)\s+of\s+(?:\w+\s+)*{_THING}\b|\brest\b.*\b(?:unchanged|omitted|same)\b|"
    r"\b(?:existing|original)\s+(?:code|implementation|logic|body)\b|\bbrevity\b|"
    r"\b(?:stays?|remains?|is|are)\b.*\b(?:unchanged|untouched|unmodified|omitted|elided)\b",
    re.IGNORECASE,
)
#: … and these may as well be a remark on the code that follows.
_HINT = re.compile(
    r"\b(?:unchanged|omitted|elided|snip|snipped|untouched|unmodified|same|remaining|keep|"
    r"no\s+changes?)\b",
    re.IGNORECASE,
)
#: What a goal says when an empty body is what is wanted.
_STUB = re.compile(
    r"\b(?:stubs?|protocols?|abstract\w*|no-?op\w*|interfaces?|empty|placeholders?|overloads?|"
    r"ellips\w+|do(?:es)? nothing|remove\w*|delet\w+|disable\w*)\b",
    re.IGNORECASE,
)
_LINE_COMMENT = re.compile(
    r"^[ \t]*(?:\#+|//+|--+|;+|/\*+|\{/\*|<!--+|%+|(?=[\[(<]?[ \t]*(?:\.{3}|…)))[ \t]?"
    r"(?P<text>.*?)[ \t]*(?:\*+/\}?|--+>)?[ \t]*$",
    re.MULTILINE,
)
_EDGES = " \t.,:;!-–—*=#[]()<>{}"


class Weight(IntEnum):
    """How surely a comment stands in for code."""

    NOT = 0
    #: Only where lines are missing.
    MAYBE = 1
    SURELY = 2


def weigh(comment: str) -> Weight:
    """Judge a comment, given without what opens it."""
    words = " ".join(_DOTS.sub(" ", comment).strip(_EDGES).split())
    if not words or _MARKER.fullmatch(words) is None:
        return Weight.NOT
    if _DOTS.match(comment.lstrip(" \t[(<")) or _PLAIN.search(words):
        return Weight.SURELY
    if _DOTS.search(comment) or _HINT.search(words):
        return Weight.MAYBE
    return Weight.NOT


def _findings(change: Change) -> Iterator[Finding]:
    known = Counter[str]()
    for _, before, after in change.files():
        for node in differing(before, after):
            known.update(text for text, _, _ in _markers(before, node))
    for path, before, after in change.files():
        for node in differing(after, before):
            for text, line, weight in _markers(after, node):
                if known[text] > 0:
                    known[text] -= 1
                elif weight is Weight.SURELY or _shrank(before, after, node):
                    yield Finding(
                        CHECK.id,
                        node.id,
                        f"'{text}' in {path}, line {line}, stands in for code; send the complete "
                        "text",
                        line,
                    )
        if is_cut(before) and is_cut(after):
            yield from _hollow(change, before, after)


def _markers(file: SourceFile | None, node: Node) -> Iterator[tuple[str, int, Weight]]:
    """Yield the comments of a node that stand on lines of their own and may be markers."""
    if file is None:
        return
    text = decode(file, node.id)
    found = [
        (text.count("\n", 0, match.start("text")), match["text"], weight)
        for match in _LINE_COMMENT.finditer(text)
        if (weight := weigh(match["text"]))
    ]
    comments = _comment_lines(text) if found and is_cut(file) else None
    for row, words, weight in found:
        if comments is None or row in comments:
            yield words, node.line + row, weight


def _comment_lines(text: str) -> set[int]:
    """Return the rows of Python text that hold a comment, not a string that looks like one."""
    rows: set[int] = set()
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                rows.add(token.start[0] - 1)
    except (tokenize.TokenError, SyntaxError):
        pass  # the end of a node is not always the end of a file to the tokenizer
    return rows


def _shrank(before: SourceFile | None, after: SourceFile | None, node: Node) -> bool:
    old = before.get(node.id) if before is not None else None
    if before is None or after is None or old is None:
        return False
    return significant_lines(after, node).total() < significant_lines(before, old).total()


def _hollow(change: Change, before: SourceFile, after: SourceFile) -> Iterator[Finding]:
    """Find functions whose statements gave way to ``...`` or ``pass``."""
    for node in differing(after, before):
        old = before.get(node.id)
        if old is None or node.kind not in (NodeKind.FUNCTION, NodeKind.METHOD):
            continue
        now = function(after, node)
        if now is None or not (_gaps(now) or all(map(is_placeholder, real_body(now)))):
            continue
        was = function(before, old)
        if was is None:
            continue
        # Whether somebody asked for it, only the task knows.
        emptied = change.task and _is_emptied(was, now) and not _STUB.search(change.goal)
        if emptied and not _is_declaration(after, node, now):
            what = "has lost its body"
        elif _gaps(now) > _gaps(was):
            what = "has '...' in place of statements"
        else:
            continue
        yield Finding(CHECK.id, node.id, f"{node.id} {what}; send the complete text", node.line)


def _is_emptied(was: Function, now: Function) -> bool:
    old, new = real_body(was), real_body(now)
    if all(map(is_placeholder, old)) or not all(map(is_placeholder, new)):
        return False
    # One or two statements may well give way to `pass`, nothing gives way to `...`.
    return any(map(is_ellipsis, new)) or len(old) > 2 or not isinstance(old[0], _SIMPLE)


def _is_declaration(file: SourceFile, node: Node, tree: Function) -> bool:
    """Whether the function is one that needs no body: abstract, an overload, of a protocol."""
    shell = file.get(NodeId(node.id.path, node.id.symbol.rpartition(".")[0]))
    decorators = {dotted(d).rpartition(".")[2] for d in tree.decorator_list}
    return bool(
        decorators & {"abstractmethod", "overload"}
        or (node.kind is NodeKind.METHOD and shell and "Protocol" in shell.signature)
    )


_SIMPLE = (ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return, ast.Raise, ast.Delete)


def _gaps(tree: Function) -> int:
    """Count the ``...`` that stand among other statements of a block."""
    count = 0
    for block in blocks([tree]):
        statements = without_docstring(block)
        if len(statements) > 1:
            count += sum(map(is_ellipsis, statements))
    return count


CHECK = Check("elision", "a placeholder stands in for code", _findings)
