"""Edits of one file: all of them or none, and nothing but them.

Texts for nodes go in first, then imports, then new symbols; after each the file is cut again and
compared with what it was put together from (`mak.source.splice`). Last, the whole must compile.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from mak.errors import MakBug
from mak.model import AddImport, Aspect, Delete, Edit, Insert, Node, NodeId, NodeKind, Replace
from mak.source.compiled import complaint, still_compiles
from mak.source.entries_edit import edit_entries
from mak.source.file import Applied, Newer, Rejected, SourceFile, label, unknown, unlike
from mak.source.header import add_imports
from mak.source.imports import Name, read_imports
from mak.source.insert import insert
from mak.source.language import split, structured, why_invalid
from mak.source.replace import rewrite, unfold
from mak.source.splice import pieces_of, splice
from mak.source.whole import write_whole

__all__ = ["Applied", "Rejected", "apply", "compiles"]

_DEFINITIONS = (NodeKind.FUNCTION, NodeKind.METHOD, NodeKind.CLASS)


def apply(
    file: SourceFile | None,
    path: str,
    edits: Sequence[Edit],
    *,
    granted: frozenset[NodeId],
    newer: Newer | None = None,
) -> Applied | Rejected:
    """Apply all edits of the file at `path` (None: it does not exist), or none of them.

    New symbols, new files and imports need no grant. A text brings what the agent wrote and leaves
    the rest of its lines as they are: newline style, coding, the comments above a node when it
    brings none. A node that is in `granted` but does not exist is a new symbol.
    """
    before = file
    whole = [e for e in edits if isinstance(e, Replace | Delete) and e.node.is_file]
    if whole:
        outcome = write_whole(file, path, whole, edits, granted, newer)
        if isinstance(outcome, Rejected):
            return outcome
        if outcome is None:
            return _difference(before, None, ())
        file = outcome
    if file is None:
        file = split(b"", path, newer=newer)
    if structured(file) is not None:
        return _apply_entries(before, file, path, edits if not whole else (), granted, newer)
    nodes: list[Replace | Delete] = []
    inserts: list[Insert] = []
    expected: list[NodeId] = []
    imports: list[str] = []
    for edit in edits:
        match edit:
            case AddImport():
                imports.append(edit.statement)
            case Insert():
                inserts.append(edit)
            case Delete() if not edit.node.is_file:
                nodes.append(edit)
            case Replace() if not edit.node.is_file:
                if file.get(edit.node.node) is None and edit.node in granted and not file.whole:
                    inserts.append(Insert(_parent(edit.node), edit.source))
                    expected.append(edit.node.node)
                    continue
                parts = _unfolded(file, edit, granted, newer)
                if isinstance(parts, Rejected):
                    return parts
                for part in parts:
                    if isinstance(part, Insert):
                        inserts.append(part)
                    else:
                        nodes.append(part)
    if twice := _twice(nodes):
        return twice
    result = _apply_parts(file, nodes, imports, inserts, granted, newer)
    if isinstance(result, Rejected):
        return result
    for node in expected:
        if result.get(node) is None:
            return Rejected("shape", f"the text for `{label(node)}` does not define it", node)
    kept = before is not None and still_compiles(before, result)
    if not kept and (reason := compiles(result)) is not None:
        known = compiles(before) if before is not None else None
        if known is None or _unplaced(known) != _unplaced(reason):
            return Rejected(
                "syntax", f"with the edits {path} does not compile: {reason}", _target(edits, path)
            )
    return _difference(before, result, [e.node for e in nodes])


def _apply_entries(
    before: SourceFile | None,
    file: SourceFile,
    path: str,
    edits: Sequence[Edit],
    granted: frozenset[NodeId],
    newer: Newer | None,
) -> Applied | Rejected:
    known = {edit.node.node for edit in edits if isinstance(edit, Replace | Delete)}
    wanted = [
        Insert(file.id, edit.source)
        if isinstance(edit, Replace) and file.get(edit.node.node) is None and edit.node in granted
        else edit
        for edit in edits
    ]
    result = edit_entries(file, wanted, granted, newer) if wanted else file
    if isinstance(result, Rejected):
        return result
    reason = why_invalid(result)
    if reason is not None and (before is None or why_invalid(before) is None):
        text = f"with the edits {path} is not valid: it {reason}"
        return Rejected("syntax", text, _target(edits, path))
    return _difference(before, result, known)


def _apply_parts(
    file: SourceFile,
    nodes: Sequence[Replace | Delete],
    imports: list[str],
    inserts: Sequence[Insert],
    granted: frozenset[NodeId],
    newer: Newer | None,
) -> SourceFile | Rejected:
    if nodes:
        rewritten = rewrite(file, nodes, granted, newer)
        if isinstance(rewritten, Rejected):
            return rewritten
        file, found = rewritten
        imports = [*imports, *found]
    if imports:
        imported = _import(file, imports, newer)
        if isinstance(imported, Rejected):
            return imported
        file = imported
    for edit in inserts:
        inserted = insert(file, edit, newer)
        if isinstance(inserted, Rejected):
            return inserted
        file, late = inserted
        if late:
            imported = _import(file, late, newer)
            if isinstance(imported, Rejected):
                return imported
            file = imported
    return file


def compiles(file: SourceFile) -> str | None:
    """Return why the running Python does not compile the file; None when it does.

    None too for what is not Python and for syntax that the running Python is too old for.
    """
    if file.language != "python" or file.newer:
        return None
    if file.why_whole:
        return file.why_whole
    found = complaint(file.data)
    if found is None:
        return None
    reason, line = found
    return f"{reason} (line {line})" if line else reason


def _unplaced(reason: str) -> str:
    return re.sub(r" \(line \d+\)", "", reason)


# ------------------------------------------------------------------------------- parts


def _parent(node: NodeId) -> NodeId:
    symbol = node.symbol.rpartition(".")[0]
    return NodeId(node.path, symbol)


def _unfolded(
    file: SourceFile, edit: Replace, granted: frozenset[NodeId], newer: Newer | None
) -> list[Replace | Insert] | Rejected:
    return [edit] if edit.node.aspect is Aspect.ALL else unfold(file, edit, granted, newer)


def _target(edits: Iterable[Edit], path: str) -> NodeId:
    """Return the node to name when edits together are at fault."""
    for edit in edits:
        if isinstance(edit, Replace | Delete):
            return edit.node
        if isinstance(edit, Insert):
            return edit.parent
    return NodeId(path)


def _twice(edits: Sequence[Replace | Delete]) -> Rejected | None:
    """Say when two edits are of one node, or of a class and of something in it."""
    seen: set[NodeId] = set()
    for edit in edits:
        if edit.node.node in seen:
            return Rejected("twice", f"`{label(edit.node)}` is edited twice", edit.node)
        seen.add(edit.node.node)
    for edit in edits:
        if edit.node.aspect is not Aspect.ALL:
            continue
        for other in edits:
            if other is not edit and edit.node in other.node.containers:
                return Rejected(
                    "twice",
                    f"`{label(other.node)}` is edited by itself and in `{label(edit.node)}`",
                    other.node,
                )
    return None


def _import(
    file: SourceFile, statements: Iterable[str], newer: Newer | None
) -> SourceFile | Rejected:
    names: list[Name] = []
    for statement in statements:
        found = read_imports(statement)
        if isinstance(found, str):
            return Rejected("import", found, file.id)
        names.extend(found)
    if file.whole:
        return unknown(file, NodeId(file.path, "@header"))
    header = file.nodes[0]
    data = add_imports(file, names)
    if isinstance(data, Rejected):
        return data
    if data == file.data[: header.end]:
        return file
    pieces = pieces_of(file)
    pieces[0].data = data
    pieces[0].allows = frozenset({"@header"})
    pieces[0].culprit = header.id
    if len(pieces) > 1 and header.lead == header.end:
        following = file.nodes[1]
        lead = file.data[following.start : following.start + following.lead]
        wanted = 2 if following.kind in _DEFINITIONS else 1
        blank = len(lead) - len(lead.lstrip()) and lead[: len(lead) - len(lead.lstrip())]
        have = len(blank.splitlines()) if blank else 0
        pieces[1].data = file.newline.encode() * max(wanted - have, 0) + pieces[1].data
    return splice(file, pieces, newer)


# ------------------------------------------------------------------------------- difference


def _difference(
    before: SourceFile | None, after: SourceFile | None, edited: Iterable[NodeId]
) -> Applied:
    """Say what became of the nodes of a file."""
    if before is None and after is not None:
        return Applied(after, created=frozenset((*(node.id for node in after.nodes), after.id)))
    if before is not None and after is None:
        gone = frozenset((*(node.id for node in before.nodes), before.id))
        return Applied(None, deleted=gone, api_changed=gone)
    if before is None or after is None:
        raise MakBug("comparing a file that exists neither before nor after an edit")
    old, new = ({node.id: node for node in nodes} for nodes in unlike(before, after))
    if before.whole or after.whole:
        one = frozenset({after.id})
        changed_whole = one if before.data != after.data else frozenset()
        return Applied(
            after, changed_whole, frozenset(new) - one, frozenset(old) - one, frozenset(old) - one
        )
    touched = {id.node for id in edited}
    common = old.keys() & new.keys()
    changed = {
        id
        for id in common
        if old[id].digest != new[id].digest
        and (id in touched or _core(before, old[id]) != _core(after, new[id]))
    }
    api = {id for id in common if _looks_different(old[id], new[id])}
    deleted = old.keys() - new.keys()
    return Applied(
        after,
        frozenset(changed),
        frozenset(new.keys() - old.keys()),
        frozenset(deleted),
        frozenset(api | deleted),
    )


def _core(file: SourceFile, node: Node) -> bytes:
    return file.data[node.start : node.end - node.tail].strip(b" \t\r\n\x0c")


def _looks_different(old: Node, new: Node) -> bool:
    """Whether callers see another thing: other signature, or a name that is gone."""
    if old.kind in _DEFINITIONS:
        return old.api != new.api
    return not set(old.names) <= set(new.names)
