"""Edits of a file as a whole: Python that has to parse, or any other text."""

from __future__ import annotations

from collections.abc import Sequence

from mak.model import Delete, Edit, NodeId, Replace
from mak.source.file import Newer, Rejected, SourceFile
from mak.source.grant import may_write, not_granted
from mak.source.language import split
from mak.source.python import why
from mak.source.text import BOM, keep_newlines, python_codec, to_bytes, unix


def write_whole(
    file: SourceFile | None,
    path: str,
    whole: Sequence[Replace | Delete],
    edits: Sequence[Edit],
    granted: frozenset[NodeId],
    newer: Newer | None,
) -> SourceFile | Rejected | None:
    """Return the file as one edit wants it; None: deleted."""
    edit, id = whole[0], NodeId(path)
    if len(whole) > 1 or any(isinstance(e, Replace | Delete) and e is not edit for e in edits):
        return Rejected("twice", f"{path} is edited as a whole and in parts", id)
    if file is not None and not may_write(id, granted):
        return not_granted(id)
    if isinstance(edit, Delete):
        if file is None:
            return Rejected("unknown-node", f"there is no {path} to delete", id)
        if len(edits) > 1:
            return Rejected("twice", f"{path} is deleted and edited", id)
        return None
    text = unix(edit.source).removeprefix("\ufeff")
    if "\0" in text:
        return Rejected("syntax", f"the text for {path} holds a NUL character", id)
    if file is not None and not file.encoding:
        return Rejected(
            "encoding", f"{path} is not text that can be written: its coding is unknown", id
        )
    data = _encoded(file, path, text)
    if isinstance(data, Rejected):
        return data
    result = split(data, path, newer=newer)
    is_code = result.language == "python"
    if result.why_whole and (is_code or (file is not None and not file.why_whole)):
        return Rejected("syntax", f"the text for {path} {result.why_whole}", id)
    return result


def _encoded(file: SourceFile | None, path: str, text: str) -> bytes | Rejected:
    """Encode the text of a whole file as the file was, or as its own cookie says."""
    id = NodeId(path)
    codec = file.encoding if file is not None else "utf-8"
    try:
        plain = text.encode("utf-8")
    except UnicodeEncodeError as error:
        return Rejected("encoding", f"the text for {path} is not valid text: {error.reason}", id)
    if split(plain[:200].split(b"\n")[0] + b"\n", path).language == "python":
        try:
            declared = python_codec(plain)
        except SyntaxError as error:
            return Rejected("encoding", f"the text for {path}: {why(error)}", id)
        codec = codec if (codec, declared) == ("utf-8-sig", "utf-8") else declared
    old = file.data if file is not None else b""
    if text and not text.endswith("\n") and (not old or old.endswith((b"\n", b"\r"))):
        text += "\n"
    try:
        data = to_bytes(text, codec, file.newline if file is not None else "\n")
    except (UnicodeEncodeError, LookupError) as error:
        return Rejected(
            "encoding", f"the text for {path} does not fit the coding {codec}: {error}", id
        )
    mark = BOM if codec == "utf-8-sig" else b""
    return mark + keep_newlines(data, old.removeprefix(BOM))
