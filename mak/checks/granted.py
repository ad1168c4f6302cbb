"""Nothing changed that was not granted: every other byte is where it was.

A self-check. It trusts neither the code that applied the edits nor the ids after them: it walks the
new file and finds in it, in order, the bytes of every node that was not granted. Beside a node or
an import that came or went, blank lines do not count, nor do comments at the end of the file, which
belong to whoever is last. What is left over has to be a granted node, one declared as new, a header
to which imports were only added, or a class of one line that got its first member.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator

from mak.checks.change import Change, Check, is_covered, node_bytes, split_symbol
from mak.checks.tree import parse
from mak.model import AddImport, Finding, Insert, Node, NodeId, NodeKind
from mak.source import SourceFile, decode, without_separator

_BLANK = re.compile(rb"\A(?:[ \t\f]*(?:\r\n|\n|\r))+")
#: All there is in an empty class, and a class whose body stands on its own line.
_NOTHING = (b"pass", b"...")
_ONE_LINE = re.compile(rb":[ \t]*(?:pass|\.\.\.)[ \t]*(?:#[^\r\n]*)?\s*\Z")
_BODIES = (NodeKind.BODY, NodeKind.CLASS_BODY)


def _findings(change: Change) -> Iterator[Finding]:
    if change.task is None:
        return
    for path, before, after in change.files():
        if NodeId(path) in change.grants:
            continue
        if before is None or after is None:
            if before is not None or not _may_appear(path, change):
                what = "was made" if before is None else "is gone"
                yield _finding(NodeId(path), f"{path} {what}")
        elif before.whole or after.whole:
            yield _finding(NodeId(path), f"{path} changed as a whole")
        else:
            yield from _compare(change, before, after)


def _may_appear(path: str, change: Change) -> bool:
    return any(node.path == path for node in (*change.grants, *change.created))


def _compare(change: Change, before: SourceFile, after: SourceFile) -> Iterator[Finding]:
    grants = frozenset(grant for grant in change.grants if grant.path == before.path)
    kept = [node for node in before.nodes if not is_covered(node.id, grants)]
    header = bool(kept) and kept[0] is before.nodes[0]
    changed = header and node_bytes(before, before.nodes[0]) != node_bytes(after, after.nodes[0])
    imports = changed and _imports_added(change, before, after)
    if imports:
        del kept[0]
    came = imports and _own(before, before.nodes[0]) != _own(after, after.nodes[0])
    loose = came or any(node.path == before.path for node in (*change.created, *change.deleted))
    bodies = _open_bodies(change, before)
    filled = {scope for scope in bodies if scope}
    kept = [node for node in kept if not _gives_way(before, node, filled)]
    texts = [_significant(_own(before, node), loose) for node in kept]
    at = 0
    for node in after.nodes:
        data = _significant(_own(after, node), loose)
        joins = node.kind in _BODIES or (node is after.nodes[0] and bool(change.deleted))
        taken = _matches(data, texts, at, joins, _scope(node) in bodies)
        if taken:
            at += taken
            continue
        allowed = (
            is_covered(node.id, grants)
            or (node.id in change.created and before.get(node.id) is None)
            or (imports and node is after.nodes[0])
            or (node.kind is NodeKind.CLASS and node.id.symbol in filled)
            or (node.kind in _BODIES and _scope(node) in bodies)
            or not data.strip()
        )
        if not allowed:
            yield _finding(node.id, f"{node.id} changed")
            return
    if at < len(kept):
        yield _finding(kept[at].id, f"{kept[at].id} changed, moved or vanished")


def _own(file: SourceFile, node: Node) -> bytes:
    """Return a node's bytes without the comments that end the file, and what separates entries."""
    return without_separator(file, file.data[node.start : node.end - node.tail])


def _gives_way(before: SourceFile, node: Node, filled: Collection[str]) -> bool:
    """Whether a node only stands for an empty class that gets a member."""
    if node.kind is NodeKind.CLASS_BODY and _scope(node) in filled:
        return node_bytes(before, node).strip() in _NOTHING
    is_line = node.kind is NodeKind.CLASS and node.id.symbol in filled
    return is_line and bool(_ONE_LINE.search(node_bytes(before, node)))


def _matches(data: bytes, texts: list[bytes], at: int, joins: bool, mixed: bool) -> int:
    """Return how many of the texts from `at` on this node holds: runs of statements may join.

    `mixed`: it may hold text of a granted run besides.
    """
    if at < len(texts) and data == texts[at]:
        return 1
    if not joins:
        return 0
    place = taken = 0
    while at + taken < len(texts) and texts[at + taken]:
        found = data.find(texts[at + taken], place)
        if found < 0 or (data[place:found].strip() and not mixed):
            break
        place = found + len(texts[at + taken])
        taken += 1
    return taken if mixed or not data[place:].strip() else 0


def _open_bodies(change: Change, before: SourceFile) -> frozenset[str]:
    """Return the scopes in which a run of statements may hold more than what was not granted.

    One of them was granted (its id may change with what stands around it), or something is new.
    """
    granted = {
        _scope(node)
        for node in before.nodes
        if node.kind in _BODIES and is_covered(node.id, change.grants)
    }
    inserts = {
        edit.parent.symbol
        for edit in change.edits
        if isinstance(edit, Insert) and edit.parent.path == before.path
    }
    return frozenset(granted | inserts)


def _scope(node: Node) -> str:
    return split_symbol(node.id.symbol)[0]


def _significant(data: bytes, loose: bool) -> bytes:
    """Drop blank lines at both ends where a neighbour may have come or gone (`loose`)."""
    return _BLANK.sub(b"", data).rstrip() if loose else data


def _imports_added(change: Change, before: SourceFile, after: SourceFile) -> bool:
    """Whether the header gained imports and differs by nothing else."""
    old = parse(decode(before, before.nodes[0].id))
    new = parse(decode(after, after.nodes[0].id))
    if old is None or new is None:  # newer than this Python: take the reply's word for it
        return any(isinstance(e, AddImport) and e.path == before.path for e in change.edits)
    return _bindings(old) <= _bindings(new) and _others(old) == _others(new)


def _bindings(body: list[ast.stmt]) -> set[tuple[str, ...]]:
    found: set[tuple[str, ...]] = set()
    for statement in body:
        if isinstance(statement, ast.Import):
            found.update(("", "", a.name, a.asname or "") for a in statement.names)
        elif isinstance(statement, ast.ImportFrom):
            source = (str(statement.level), statement.module or "")
            found.update((*source, a.name, a.asname or "") for a in statement.names)
    return found


def _others(body: list[ast.stmt]) -> list[str]:
    """Return the statements of a header that are not plain imports."""
    return [ast.dump(s) for s in body if not isinstance(s, ast.Import | ast.ImportFrom)]


def _finding(node: NodeId, what: str) -> Finding:
    return Finding(
        CHECK.id, node, f"{what} without having been granted; edit only what was granted"
    )


CHECK = Check("not-granted", "something changed that was not granted", _findings)
