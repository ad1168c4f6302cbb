"""A node does not lose most of its lines unless somebody asked for that.

What left may be explained by the goal, or by the reply: it now stands in other nodes, or in
something new that the node uses.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from mak.checks.change import Change, Check, definitions, significant_lines
from mak.model import Finding, Node
from mak.source import SourceFile, decode, unlike

#: Share of its lines that a node must keep.
KEPT = 0.4
#: Significant lines below which a node may shrink at will.
SMALL = 15

_ASKED = re.compile(
    r"\b(?:remov\w*|delet\w*|drop\w*|simplif\w*|extract\w*|mov(?:e|es|ed|ing)|short\w*|"
    r"replac\w*|rewrit\w*|re-?implement\w*|re-?writ\w*|refactor\w*|inline\w*|reduc\w*|"
    r"shrink\w*|strip\w*|trim\w*|clean\w*|condens\w*|collaps\w*|dedup\w*|duplicat\w*|"
    r"delegat\w*|split\w*|merge\w*|consolidat\w*|get rid|stubs?|compact\w*|concise\w*|"
    r"factor\w*|hoist\w*|pull(?:s|ed)? (?:up|out)|push(?:es|ed)? down|instead of|reus\w+|"
    r"deprecat\w*|table[- ]driven|comprehension\w*|vectori[sz]\w*|revert\w*|undo|migrat\w*|"
    r"convert\w*|turn\w* .+ into|in terms of)\b",
    re.IGNORECASE,
)


def _findings(change: Change) -> Iterator[Finding]:
    if change.task is None or _ASKED.search(change.goal):
        return
    shrunk: list[tuple[Node, SourceFile, Counter[str], Counter[str]]] = []
    added = Counter[str]()
    for _, before, after in change.files():
        for old, new in _pairs(before, after):
            was = _lines(before, old)
            now = _lines(after, new)
            added.update(now - was)
            if after and old and new and was.total() >= SMALL and now.total() < KEPT * was.total():
                shrunk.append((old, after, was, now))
    for old, after, was, now in shrunk:
        lost = was - now
        elsewhere = (lost & (added - (now - was))).total()
        if elsewhere * 2 >= lost.total() or _uses_new(change, after, old, lost.total()):
            continue
        yield Finding(
            CHECK.id,
            old.id,
            f"{old.id} shrank from {was.total()} to {now.total()} lines and nothing in the goal "
            "asks for that; send the complete text, with every line that is to stay",
            old.line,
        )


def _pairs(
    before: SourceFile | None, after: SourceFile | None
) -> Iterator[tuple[Node | None, Node | None]]:
    """Yield the nodes that differ, old beside new."""
    if before and after and before.whole != after.whole:
        return
    sides = (
        unlike(before, after)
        if before and after
        else (before.nodes if before else (), after.nodes if after else ())
    )
    old, new = ({node.id: node for node in side} for side in sides)
    for id in dict.fromkeys((*old, *new)):
        a, b = old.get(id), new.get(id)
        if a is None or b is None or a.digest != b.digest:
            yield a, b


def _lines(file: SourceFile | None, node: Node | None) -> Counter[str]:
    return significant_lines(file, node) if file and node else Counter()


def _uses_new(change: Change, after: SourceFile, node: Node, lost: int) -> bool:
    """Whether the node mentions something new that is large enough to hold what left."""
    words = set(re.findall(r"\w+", decode(after, node.id)))
    return any(
        definition.node.id in change.created
        and definition.name in words
        and significant_lines(file, definition.node).total() >= KEPT * lost
        for _, _, file in change.files()
        if file is not None and file.is_code
        for definition in definitions(file)
    )


CHECK = Check("gutted", "a node lost most of its lines", _findings)
