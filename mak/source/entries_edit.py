"""Edits of a file made of entries: a text for an entry, new entries, entries taken out.

What an agent leaves out stays as it is: comments above an entry, the separator behind it, the
indentation it has. The result is cut again, and no other entry may have changed.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence

from mak.model import AddImport, Delete, Edit, Insert, Node, NodeId, NodeKind, Replace
from mak.source.entries import Entry, Structured, symbol_of
from mak.source.file import Newer, Rejected, SourceFile, label, unknown
from mak.source.grant import may_write, not_granted
from mak.source.language import split, structured
from mak.source.splice import Piece, pieces_of, splice
from mak.source.text import indent_of, keep_newlines, to_bytes, unix

#: Entries whose order tells that they are sorted.
_TELLING = 3


def edit_entries(
    file: SourceFile, edits: Sequence[Edit], granted: frozenset[NodeId], newer: Newer | None
) -> SourceFile | Rejected:
    """Apply edits of entries, all or none."""
    language = structured(file)
    if language is None:
        return unknown(file, file.id)
    pieces = pieces_of(file)
    for edit in edits:
        match edit:
            case AddImport():
                reason = f"{file.path} is not Python: there is nothing to import into"
                return Rejected("import", reason, file.id)
            case Insert():
                flaw = _insert(file, language, pieces, edit)
            case Replace() | Delete():
                flaw = _rewrite(file, language, pieces, edit, granted)
        if flaw is not None:
            return flaw
    sealed = seal(language, [piece.data for piece in pieces], [_is_entry(p) for p in pieces])
    for piece, data in zip(pieces, sealed, strict=True):
        piece.data = data
    if flaw := _name_new(file, pieces, newer):
        return flaw
    moved = any(not isinstance(edit, Replace) for edit in edits)
    return splice(
        file,
        [piece for piece in pieces if piece.data or piece.node is not None],
        newer,
        moved=moved,
    )


def _name_new(file: SourceFile, pieces: Sequence[Piece], newer: Newer | None) -> Rejected | None:
    """Find out what new entries are called where they are: a heading lies below those above it."""
    new = [piece for piece in pieces if piece.node is None and piece.is_edit and piece.data]
    if not new:
        return None
    cut = split(b"".join(piece.data for piece in pieces), file.path, newer=newer)
    at = 0
    for piece in pieces:
        start, at = at, at + len(piece.data)
        if piece not in new:
            continue
        [wanted] = piece.allows or ("",)
        found = [n.id.symbol for n in cut.nodes if start <= n.start < at]
        if len(found) != 1 or _uncounted(found[0]).rpartition("/")[2] != wanted.rpartition("/")[2]:
            continue
        known = NodeId(file.path, _uncounted(found[0]))
        is_array = piece.data.lstrip().startswith(b"[[")
        if not is_array and (known.symbol != found[0] or file.get(known) is not None):
            return Rejected("name-taken", f"`{known.symbol}` already exists in {file.path}", known)
        piece.allows = frozenset(found)
    return None


def _is_entry(piece: Piece) -> bool:
    return piece.node.kind is NodeKind.ENTRY if piece.node else piece.is_edit and bool(piece.data)


def seal(language: Structured, parts: Sequence[bytes], is_entry: Sequence[bool]) -> list[bytes]:
    """Put separators behind all entries but the last, which keeps what the last one had."""
    sealed = [*parts]
    numbers = [n for n, part in enumerate(parts) if is_entry[n] and part.strip()]
    if not language.separator:
        return sealed
    for number in numbers:
        text = sealed[number]
        place, at = language.separated(text)
        if number != numbers[-1] and at < 0:
            sealed[number] = text[:place] + language.separator + text[place:]
        elif number == numbers[-1] and at >= 0 and not _trails(language, parts, is_entry):
            sealed[number] = text[:at] + text[at + len(language.separator) :]
    return sealed


def _trails(language: Structured, parts: Sequence[bytes], is_entry: Sequence[bool]) -> bool:
    """Whether every entry had a separator behind it, the last one too."""
    own = [part for n, part in enumerate(parts) if is_entry[n] and part.strip()]
    return len(own) > 1 and all(language.separated(part)[1] >= 0 for part in own)


# ------------------------------------------------------------------------------- one entry


def _rewrite(
    file: SourceFile,
    language: Structured,
    pieces: list[Piece],
    edit: Replace | Delete,
    granted: frozenset[NodeId],
) -> Rejected | None:
    node = file.get(edit.node.node)
    if node is None:
        return unknown(file, edit.node)
    if not may_write(edit.node, granted):
        return not_granted(edit.node)
    piece = next(piece for piece in pieces if piece.node is node)
    if isinstance(edit, Delete):
        if node.kind is not NodeKind.ENTRY:
            return Rejected("shape", f"`{label(node.id)}` cannot be deleted by itself", node.id)
        tail = file.data[node.end - node.tail : node.end]
        piece.data, piece.node = b"", None
        if tail.strip():
            earlier = [other for other in pieces[: pieces.index(piece)] if other.data]
            earlier[-1].data += tail
        return None
    piece.allows, piece.culprit = frozenset({node.id.symbol}), node.id
    fitted = _fitted(file, language, node, edit.source)
    if isinstance(fitted, Rejected):
        return fitted
    piece.data = fitted
    return None


def _fitted(file: SourceFile, language: Structured, node: Node, source: str) -> bytes | Rejected:
    """Return the bytes that take the place of a node."""
    old = file.data[node.start : node.end]
    if node.kind is not NodeKind.ENTRY:
        text = _encoded(file, source.rstrip("\n") + "\n" if source.strip() else "", node.id)
        return text if isinstance(text, Rejected) else keep_newlines(text, old)
    block = _block(file, language, source, node.id)
    if isinstance(block, Rejected):
        return block
    text, entries = block
    symbols = [symbol_of(entry.name) for entry in entries]
    if len(symbols) != 1 or not f"/{_uncounted(node.id.symbol)}".endswith(f"/{symbols[0]}"):
        names = ", ".join(entry.name for entry in entries)
        reason = f"the text for `{label(node.id)}` is {names or 'no entry'}; keep its name"
        return Rejected("shape", reason, node.id)
    lead, tail = old[: node.lead], old[len(old) - node.tail :]
    code = old[node.lead : len(old) - node.tail]
    lines = text.splitlines(keepends=True)
    if entries[0].start:
        lead = _blank(lead) + b"".join(lines[: entries[0].start])
    body = _indented(b"".join(lines[entries[0].start :]), indent_of(code))
    if language.separator:
        place, at = language.separated(body)
        has = language.separated(code)[1] >= 0
        if at < 0 and has:
            body = body[:place] + language.separator + body[place:]
        elif at >= 0 and not has:
            body = body[:at] + body[at + len(language.separator) :]
    if not code.endswith((b"\n", b"\r")) and not tail:
        body = body.rstrip(b"\r\n")
    return keep_newlines(lead + body, lead + code) + tail


def _uncounted(symbol: str) -> str:
    head, mark, count = symbol.rpartition("#")
    return head if mark and count.isdigit() else symbol


def _blank(lead: bytes) -> bytes:
    """Return the blank lines that a node's lead begins with."""
    lines = lead.splitlines(keepends=True)
    count = next((n for n, line in enumerate(lines) if line.strip()), len(lines))
    return b"".join(lines[:count])


def _indented(text: bytes, indent: bytes) -> bytes:
    """Move lines so that the first is indented by `indent`; the others keep their distance."""
    have = indent_of(text)
    if have == indent:
        return text
    lines = text.splitlines(keepends=True)
    if not have:
        rest = [line for line in lines[1:] if line.strip()]
        if rest and all(line.startswith(indent) for line in rest[-1:]) and indent:
            return indent + text  # only the first line lost its indentation
    return b"".join(indent + line.removeprefix(have) if line.strip() else line for line in lines)


def _block(
    file: SourceFile, language: Structured, source: str, node: NodeId
) -> tuple[bytes, Sequence[Entry]] | Rejected:
    """Read an agent's text as entries."""
    text = unix(source)
    if "\0" in text or "\ufeff" in text:
        return Rejected("syntax", f"the text for `{label(node)}` holds a control character", node)
    lines = text.split("\n")
    while lines and not lines[0].strip():
        del lines[0]
    bare = "\n".join(lines).rstrip()
    if not bare:
        reason = f"the text for `{label(node)}` is empty; delete the node to remove it"
        return Rejected("empty", reason, node)
    data = _encoded(file, f"{bare}\n", node)
    if isinstance(data, Rejected):
        return data
    try:
        return data, language.read_block(data)
    except (ValueError, RecursionError) as error:
        return Rejected("syntax", f"the text for `{label(node)}` {error}", node)


def _encoded(file: SourceFile, text: str, node: NodeId) -> bytes | Rejected:
    try:
        return to_bytes(text, file.encoding, file.newline)
    except UnicodeEncodeError as error:
        return Rejected("encoding", f"the text is not valid text: {error.reason}", node)


# ------------------------------------------------------------------------------- new entries


def _insert(
    file: SourceFile, language: Structured, pieces: list[Piece], edit: Insert
) -> Rejected | None:
    if not edit.parent.is_file:
        reason = f"new entries go into {file.path} itself, not into `{label(edit.parent)}`"
        return Rejected("shape", reason, edit.parent)
    block = _block(file, language, edit.source, edit.parent)
    if isinstance(block, Rejected):
        return block
    text, entries = block
    symbols = [symbol_of(entry.name) for entry in entries]
    for symbol in symbols:
        if (known := file.get(NodeId(file.path, symbol))) is not None:
            return Rejected("name-taken", f"`{symbol}` already exists in {file.path}", known.id)
    own = [piece for piece in pieces if _is_entry(piece)]
    if not symbols or not own:
        return Rejected("empty", f"the new text in {file.path} holds no entry", edit.parent)
    at = _place(pieces, own, symbols[0], edit.after)
    sample = next((piece for piece in own if piece.node is not None), own[0])
    code = sample.data[sample.node.lead :] if sample.node is not None else sample.data
    gap = _gap(own)
    body = _indented(text, indent_of(code))
    previous = pieces[at - 1]
    tail = previous.node.tail if previous.node is not None else 0
    moved = previous.data[len(previous.data) - tail :] if tail else b""
    if moved:
        previous.data = previous.data[: len(previous.data) - tail]
    newline = file.newline.encode()
    if previous.data and not previous.data.endswith((b"\n", b"\r")):
        previous.data += newline
    lines = body.splitlines(keepends=True)
    done = 0
    for number, (entry, symbol) in enumerate(zip(entries, symbols, strict=True)):
        end = entry.end if number + 1 < len(entries) else len(lines)
        lead = newline * gap if not number and previous in own else b""
        new = Piece(lead + b"".join(lines[done:end]), None, frozenset({symbol}))
        new.culprit = edit.parent
        pieces.insert(at + number, new)
        done = end
    pieces[at + len(entries) - 1].data += moved
    return None


def _place(pieces: Sequence[Piece], own: Sequence[Piece], symbol: str, after: NodeId | None) -> int:
    """Return before which piece a new entry goes: as asked, in order, or below its kin."""
    symbols = [_symbol(piece) for piece in own]
    if after is not None and after.symbol in symbols:
        return pieces.index(own[symbols.index(after.symbol)]) + 1
    if len(symbols) >= _TELLING and symbols == sorted(symbols):
        index = bisect.bisect_right(symbols, symbol)
        return pieces.index(own[index]) if index < len(own) else pieces.index(own[-1]) + 1
    parts = symbol.split("/")
    for size in range(len(parts) - 1, 0, -1):
        kin = [n for n, other in enumerate(symbols) if other.split("/")[:size] == parts[:size]]
        if kin:
            return pieces.index(own[kin[-1]]) + 1
    return pieces.index(own[-1]) + 1


def _symbol(piece: Piece) -> str:
    if piece.node is not None:
        return piece.node.id.symbol
    return min(piece.allows or ("",))


def _gap(own: Sequence[Piece]) -> int:
    """Return how many blank lines stand between most entries."""
    counts = [
        len(_blank(piece.data[: piece.node.lead]).splitlines())
        for piece in own[1:]
        if piece.node is not None
    ]
    return max(set(counts), key=counts.count) if counts else 0
