"""Text from an agent, read: parsed by itself and brought to column 0."""

from __future__ import annotations

import ast
import re
from contextlib import suppress
from dataclasses import dataclass, replace

from mak.errors import MakError
from mak.model import Node, NodeId
from mak.source.file import Newer, Rejected, SourceFile, label
from mak.source.python import why
from mak.source.python_ast import Reader, parse_text
from mak.source.statement import Statement
from mak.source.text import indent_of, is_trivia, reindent, step_of, to_str, unix
from mak.source.written import written

_LEADING_BLANK = re.compile(r"\A(?:[ \t\x0c]*\n)+")


@dataclass(frozen=True, slots=True)
class Block:
    """Code at column 0, ``\\n`` newlines, without blank lines around it."""

    text: str
    statements: tuple[Statement, ...]
    #: Its syntax tree; None when its syntax is newer than the running Python.
    tree: ast.Module | None
    #: Import statements that stood before it and belong into the header.
    imports: tuple[str, ...] = ()

    @property
    def lines(self) -> list[str]:
        """The lines of the text, without newlines."""
        return self.text.split("\n")

    def cut(self, start: int, end: int | None = None) -> str:
        """Return some of its lines as text."""
        return "\n".join(self.lines[start:end])


def read_block(
    source: str,
    node: NodeId,
    newer: Newer | None,
    *,
    indent: str = "",
    unit: str = "    ",
    base: str = "",
    open_suite: bool = False,
) -> Block | Rejected:
    """Bring an agent's text to column 0 and parse it.

    `indent` is where the code will stand, `unit` one step of it and `base` what stands there: text
    of which only the first line lost its indentation is recognised by them. `open_suite`: a class
    line alone will do.
    """
    text = unix(source)
    if "\0" in text or "\ufeff" in text:
        what = "a NUL character" if "\0" in text else "a byte order mark"
        return Rejected("syntax", f"the text for `{label(node)}` holds {what}", node)
    text = trimmed(text)
    if not text.strip():
        return Rejected(
            "empty", f"the text for `{label(node)}` is empty; delete the node to remove it", node
        )
    flat = reindent(text, "", unit)
    error: str | None = None
    try:
        block = _parsed(flat, newer)
    except _Unparsed as failure:
        block, error = None, str(failure)
    if indent and not text[:1].isspace() and (block is None or _sunk(block, base, indent, unit)):
        # Only the first line was stripped of its indentation.
        with suppress(_Unparsed):
            return _parsed(reindent(indent + text, "", unit), newer)
    if block is None and open_suite:
        with suppress(_Unparsed):
            return _parsed(f"{flat}\n{unit}pass", newer)
    if block is None:
        return Rejected("syntax", f"the text for `{label(node)}` does not parse: {error}", node)
    return block


class _Unparsed(Exception):
    pass


def _parsed(text: str, newer: Newer | None) -> Block:
    data = text.encode("utf-8", "surrogatepass")
    lines = data.splitlines(keepends=True)
    try:
        tree = parse_text(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        if newer is not None and isinstance(error, SyntaxError):
            with suppress(SyntaxError, ValueError, RecursionError, MakError):
                return Block(text, tuple(newer(data)), None)
        raise _Unparsed(why(error)) from error
    found = tuple(Reader(lines, walrus=b":=" in data).block(tree.body, top=True))
    return Block(text, found, tree)


def _sunk(block: Block, base: str, indent: str, unit: str) -> bool:
    """Whether all lines but the first are still where they were, or deeper than they can be."""
    kept = {line for line in base.split("\n") if line.strip() and line.startswith(indent)}
    moved = {line.removeprefix(indent) for line in kept}
    rest = [line for line in block.lines[1:] if line.strip()]
    if as_kept := sum(line in kept for line in rest):
        return as_kept > sum(line in moved for line in rest)
    if block.tree is None or len(block.tree.body) != 1:
        return False
    node = block.tree.body[0]
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return False
    first = node.body[0]
    return first.lineno > node.lineno and first.col_offset == len(indent + unit)


def without_imports(block: Block, newer: Newer | None) -> Block:
    """Take the import statements at the start of the block out of it."""
    count = 0
    if block.tree is None:
        return block
    for node, statement in zip(block.tree.body, block.statements, strict=True):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            break
        below = block.statements[count + 1 :]
        if below and below[0].start < statement.end:
            break
        count += 1
    if not count or count == len(block.statements):
        return block
    imports = tuple(written(node) for node in block.tree.body[:count])
    rest = trimmed(block.cut(block.statements[count - 1].end))
    return replace(_parsed(rest, newer), imports=imports)


def trimmed(text: str) -> str:
    """Return the text without blank lines before and after it."""
    text = _LEADING_BLANK.sub("", text)
    code = text.rstrip(" \t\x0c\n")
    return code + text[len(code) :].partition("\n")[0]


def indents(file: SourceFile, node: Node) -> tuple[str, str]:
    """Return the indentation of a node's code, and one step of indentation in it."""
    code = to_str(file.data[node.start + node.lead : node.end], file.encoding)
    own = code[: len(code) - len(code.lstrip(" \t\x0c"))]
    return own.replace("\x0c", ""), step_of(code) or indent_unit(file)


def indent_unit(file: SourceFile) -> str:
    """Return one step of indentation as the file has it: that of its first indented line."""
    for line in file.data.splitlines():
        space = indent_of(line).lstrip(b"\x0c")
        if space and not is_trivia(line):
            return "\t" if space.startswith(b"\t") else space.decode("ascii")[:8]
    return "    "
