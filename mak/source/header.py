"""Imports that go into a file's header, in the file's own style.

A new name joins an import of the same module where that has a simple form; otherwise the statement
is put among its kin: ``__future__`` first, then the standard library, other packages and relative
imports, sorted where the neighbours are.
"""

from __future__ import annotations

import ast
import bisect
from collections.abc import Callable, Sequence
from typing import Any

from mak.source.block import indent_unit
from mak.source.file import Rejected, SourceFile
from mak.source.imports import ImportStatement, Name, bound_in_block, names_of
from mak.source.python import why
from mak.source.python_ast import parse
from mak.source.text import BOM, is_trivia, to_bytes, to_str

#: Columns that a line of imports may have when no line of the header is longer.
_WIDTH = 88


def add_imports(file: SourceFile, names: Sequence[Name]) -> bytes | Rejected:
    """Return the header of a file with these names imported; the same header when they all are."""
    header = file.nodes[0]
    data = file.data[: header.end]
    for name in names:
        try:
            editor = _Header(file, data)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            return Rejected(
                "import", f"the imports have syntax that this Python lacks: {why(error)}", header.id
            )
        state = editor.is_there(name)
        if isinstance(state, str):
            return Rejected("import-clash", f"adding `{name}`: {state}", header.id)
        if not state:
            data = editor.add(name)
    return data


class _Header:
    """The header of a file, while a name is added to it."""

    def __init__(self, file: SourceFile, data: bytes) -> None:
        self.file = file
        self.data = data
        self.newline = file.newline.encode()
        body = parse(data).body
        self.docstring = body[0] if body and isinstance(body[0], ast.Expr) else None
        self.imports = [node for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
        self.others = [node for node in body if not isinstance(node, ast.Import | ast.ImportFrom)]
        bare = data.removeprefix(BOM)
        self.mark = data[: len(data) - len(bare)]
        self.raw = bare.splitlines(keepends=True)
        text = to_str(bare, file.encoding)
        self.lines = text.split("\n")
        self.width = max([_WIDTH, *(len(self.lines[node.lineno - 1]) for node in self.imports)])

    # ------------------------------------------------------------------------ is it there

    def is_there(self, name: Name) -> bool | str:
        """Return whether the name is bound the same way already, or why it cannot be."""
        known = [(other, node.lineno) for node in self.imports for other in names_of(node)]
        if any(name.is_bound_by(other) for other, _ in known):
            return True
        if name.target == "*" or name.rank == 0:
            return False
        for other, line in known:
            if other.bound == name.bound and other.origin != name.origin:
                return f"`{name.bound}` is already imported by `{other}` (line {line})"
        for node in self.others:
            state = bound_in_block(node, name)
            if state is True or isinstance(state, str):
                return state
        for piece in self.file.nodes[1:]:
            if "." not in piece.id.symbol and name.bound in piece.names:
                return f"`{name.bound}` is already defined by `{piece.id.symbol}`"
        return False

    # ------------------------------------------------------------------------ put it there

    def add(self, name: Name) -> bytes:
        """Return the header with the name imported."""
        if name.module and name.target != "*":
            for node in reversed(self.imports):
                if isinstance(node, ast.ImportFrom) and names_of(node)[0].module == name.module:
                    joined = self._joined(node, name)
                    if joined is not None:
                        return joined
        at, blank_before, blank_after = self._place(name)
        lines = [str(name)]
        if blank_before:
            lines.insert(0, "")
        if blank_after:
            lines.append("")
        return self._with(at, at, lines)

    def _with(self, start: int, end: int, lines: Sequence[str]) -> bytes:
        """Return the header with the lines ``[start, end)`` replaced."""
        text = "".join(f"{line}\n" for line in lines)
        raw = list(self.raw)
        if start == len(raw) and raw and not raw[-1].endswith((b"\n", b"\r")):
            raw[-1] += self.newline
        raw[start:end] = [to_bytes(text, self.file.encoding, self.file.newline)]
        return self.mark + b"".join(raw)

    def _joined(self, node: ast.ImportFrom, name: Name) -> bytes | None:
        """Return the header with the name in an import of its module; None: not a simple form."""
        aliases = node.names
        first, last = node.lineno - 1, (node.end_lineno or 0) - 1
        lines = self.lines[first : last + 1]
        tail = lines[-1][node.end_col_offset :]
        if aliases[0].name == "*" or node.col_offset or tail.strip():
            return None
        if not all(line.isascii() for line in lines) or any("\\" in line for line in lines):
            return None
        text = f"{name.target} as {name.asname}" if name.asname else name.target
        at = _sorted_index([alias.name for alias in aliases], name.target)
        own_line = [alias.lineno for alias in aliases]
        spread = len(set(own_line)) == len(own_line) and own_line[0] > node.lineno
        if first == last and "#" not in lines[0]:
            return self._joined_line(node, text, at)
        if spread and (node.end_lineno or 0) > own_line[-1]:
            return self._joined_rows(node, text, at)
        return self._joined_last(node, text)

    def _joined_last(self, node: ast.ImportFrom, text: str) -> bytes | None:
        """Return the header with a name behind the last one; the comment on a line stays there."""
        names = node.names
        row = (names[-1].end_lineno or 0) - 1
        column = names[-1].end_col_offset or 0
        line = self.lines[row]
        rest = line[column:]
        has_comment = "#" in rest
        if has_comment and (node.end_lineno or 0) - 1 == row:
            return None
        if not has_comment and len(line) + len(text) + 2 <= self.width:
            return self._with(row, row + 1, [f"{line[:column]}, {text}{rest}"])
        indent = line[: len(line) - len(line.lstrip())]
        if row == node.lineno - 1:
            indent = " " * names[0].col_offset
        if not has_comment:
            return self._with(row, row + 1, [f"{line[:column]},", f"{indent}{text}{rest}"])
        if rest.lstrip().startswith(","):
            return self._with(row + 1, row + 1, [f"{indent}{text},"])
        return self._with(row, row + 1, [f"{line[:column]},{rest}", f"{indent}{text}"])

    def _joined_line(self, node: ast.ImportFrom, text: str, at: int) -> bytes:
        row, line = node.lineno - 1, self.lines[node.lineno - 1]
        parts = [line[alias.col_offset : alias.end_col_offset] for alias in node.names]
        parts.insert(at, text)
        before = line[: node.names[0].col_offset]
        after = line[node.names[-1].end_col_offset :]
        joined = f"{before}{', '.join(parts)}{after}"
        if len(joined) <= self.width:
            return self._with(row, row + 1, [joined])
        head = before.rstrip().removesuffix("(").rstrip()
        unit = indent_unit(self.file)
        rows = [f"{unit}{part}," for part in parts]
        return self._with(row, row + 1, [f"{head} (", *rows, ")"])

    def _joined_rows(self, node: ast.ImportFrom, text: str, at: int) -> bytes:
        aliases = node.names
        row = aliases[min(at, len(aliases) - 1)].lineno - 1
        line = self.lines[row]
        indent = line[: len(line) - len(line.lstrip())]
        if at < len(aliases):
            return self._with(row, row, [f"{indent}{text},"])
        column = aliases[-1].end_col_offset or 0
        if line[column:].lstrip().startswith(","):
            return self._with(row + 1, row + 1, [f"{indent}{text},"])
        return self._with(row, row + 1, [f"{line[:column]},{line[column:]}", f"{indent}{text}"])

    def _place(self, name: Name) -> tuple[int, bool, bool]:
        """Return the line before which a new statement goes, and where blank lines are needed."""
        section = self._section(name)
        if section:
            keys = [_order(names_of(node)[0]) for node in section]
            index = len(section)
            for order in range(len(keys[0])):
                column = [key[order] for key in keys]
                if column == sorted(column):
                    index = bisect.bisect_right(column, _order(name)[order])
                    break
            if index:
                return section[index - 1].end_lineno or 0, False, False
            return section[0].lineno - 1, False, False
        lower = [node for node in self.imports if names_of(node)[0].rank < name.rank]
        if lower and name.rank:
            at = max(node.end_lineno or 0 for node in lower)
            return at, True, self._is_import(at)
        following = [node for node in (*self.imports, *self.others) if node is not self.docstring]
        if following:
            at = min(node.lineno for node in following) - 1
            while at and is_trivia(self.raw[at - 1]) and self.raw[at - 1].strip():
                at -= 1
            if not at or is_trivia(self.raw[at - 1]) or self.docstring is None:
                return self._below_banner(at), False, True
            return at, True, True
        if self.docstring is not None:
            return self.docstring.end_lineno or 0, True, False
        at = len(self.raw)
        return at, bool(at) and bool(self.raw[-1].strip()), False

    def _below_banner(self, at: int) -> int:
        """Move past a comment block that begins the file: it is about the file."""
        if at == 0 and self.docstring is None:
            for number, line in enumerate(self.raw):
                if not is_trivia(line):
                    return at
                if not line.strip():
                    return number + 1
        return at

    def _section(self, name: Name) -> list[ImportStatement]:
        """Return the imports among which `name` belongs: kin without a gap between them."""
        rank = [node for node in self.imports if names_of(node)[0].rank == name.rank]
        same = [node for node in rank if names_of(node)[0].root == name.root]
        seed = same[-1] if same else (rank[0] if rank else None)
        if seed is None:
            return []
        at = rank.index(seed)
        first = last = at
        while first and self._adjoin(rank[first - 1], rank[first]):
            first -= 1
        while last + 1 < len(rank) and self._adjoin(rank[last], rank[last + 1]):
            last += 1
        return rank[first : last + 1]

    def _adjoin(self, one: ImportStatement, other: ImportStatement) -> bool:
        return other.lineno - 1 <= (one.end_lineno or 0)

    def _is_import(self, line: int) -> bool:
        """Whether an import starts right at this 0-based line."""
        return any(node.lineno - 1 == line for node in self.imports)


def _order(name: Name) -> tuple[Any, ...]:
    """Return keys by which people sort imports, the most common one first."""
    module = name.module or name.target
    return (bool(name.module), module.lower()), module.lower(), (bool(name.module), module), module


def _sorted_index(names: Sequence[str], new: str) -> int:
    """Return where a name goes among imported names: in order where they are in one."""
    keys: tuple[Callable[[str], Any], ...] = (_by_type, str, str.lower)
    for key in keys:
        values = [key(name) for name in names]
        if values == sorted(values):
            return bisect.bisect_right(values, key(new))
    return len(names)


def _by_type(name: str) -> tuple[int, str]:
    """Constants, then classes, then the rest, as isort and ruff order them."""
    return (0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2), name
