"""Python as a language: source to nodes, by the running Python's parser or by a newer one."""

from __future__ import annotations

from mak.errors import MakError
from mak.model import Node, NodeId, NodeKind
from mak.source.collector import paused
from mak.source.file import FLAW, Newer, SourceFile, join
from mak.source.python_ast import statements
from mak.source.python_newer import unfit
from mak.source.text import blob_id, newline_of, python_codec, utf8_lines
from mak.source.tiling import tile

#: How `SourceFile.why_whole` ends when another try may come to another result.
NO_ANSWER = "(the parser for newer syntax gave no answer)"

SUFFIXES = (".py", ".pyi", ".pyw")


class Python:
    """``.py``, ``.pyi``, ``.pyw``, and scripts whose first line runs a Python."""

    name = "python"
    #: Raised whenever the same bytes would give other nodes.
    version = 1

    def claims(self, path: str, data: bytes) -> bool:
        """Whether the file is Python."""
        if path.endswith(SUFFIXES):
            return True
        return data.startswith(b"#!") and b"python" in data.split(b"\n", 1)[0]

    def cut(self, path: str, data: bytes, newer: Newer | None) -> SourceFile:
        """Cut the file into nodes; into one, with the reason, when that cannot be done."""
        with paused():
            return self._cut(path, data, newer)

    def _cut(self, path: str, data: bytes, newer: Newer | None) -> SourceFile:
        raw = data.splitlines(keepends=True)
        codec = "utf-8"
        try:
            codec = python_codec(data)
            lines = utf8_lines(data, raw, codec)
        except UnicodeDecodeError as error:
            return whole(path, data, "", f"is not valid {codec}: byte {error.start}")
        except (SyntaxError, LookupError, UnicodeError) as error:
            return whole(path, data, "", f"has a coding that is not known: {error}")
        if lines is None:
            return whole(path, data, codec, f"has the coding {codec}, which is not based on ASCII")
        is_newer = False
        try:
            found = statements(data, lines)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            reason = f"does not parse: {why(error)}"
            if newer is None or not isinstance(error, SyntaxError):
                return whole(path, data, codec, reason)
            if unfit(data):
                return whole(path, data, codec, reason)
            try:
                found = tuple(newer(data))
            except MakError:
                return whole(path, data, codec, f"{reason} {NO_ANSWER}")
            except (SyntaxError, ValueError, RecursionError):
                return whole(path, data, codec, reason)
            is_newer = True
        try:
            nodes = tile(path, data, raw, lines, found)
        except IndexError:
            return whole(path, data, codec, f"was given lines that it has not, {FLAW}")
        newline = newline_of(data)
        file = SourceFile(path, data, self.name, nodes, newline, codec, newer=is_newer)
        if (flaw := flaw_of(file)) is not None:
            return whole(path, data, codec, f"{flaw}, {FLAW}")
        return file


def whole(
    path: str, data: bytes, codec: str, why_whole: str = "", *, language: str = Python.name
) -> SourceFile:
    """Return the file as one node."""
    lines = len(data.splitlines())
    digest = blob_id(data)
    node = Node(NodeId(path), NodeKind.FILE, 0, len(data), 0, 1, lines, digest=digest, api=digest)
    return SourceFile(path, data, language, (node,), newline_of(data), codec, why_whole)


def flaw_of(file: SourceFile) -> str | None:
    """Say how a cut breaks its promise: the nodes tile the file and their ids are unique."""
    end = 0
    for node in file.nodes:
        if node.start != end or node.end < node.start:
            return f"was cut with a gap before {node.id.symbol}"
        end = node.end
    if join(file) != file.data:
        return "was not cut byte for byte"
    if len({node.id for node in file.nodes}) != len(file.nodes):
        return "was cut into nodes of the same name"
    return None


def why(error: BaseException) -> str:
    """Say in a few words why Python did not take some source."""
    if isinstance(error, SyntaxError):
        line = f" (line {error.lineno})" if error.lineno else ""
        return f"{error.msg}{line}"
    if isinstance(error, RecursionError | MemoryError):
        return "it is nested too deeply"
    return str(error)
