"""Text from an agent, made fit for the place of a node: newlines, indentation, comments above it.

What is wrong with the text by itself is said here, in terms of the text; what it does to its
neighbours is found by `mak.source.splice`.
"""

from __future__ import annotations

import ast
import re
from contextlib import suppress
from dataclasses import dataclass, replace

from mak.errors import MakError
from mak.model import Aspect, Need, Node, NodeId, NodeKind
from mak.source.file import Newer, Rejected, SourceFile, decode, label
from mak.source.grant import may_write
from mak.source.python import why
from mak.source.python_ast import Reader, parse
from mak.source.statement import Is, Statement
from mak.source.text import (
    BOM,
    indent_of,
    is_trivia,
    keep_newlines,
    reindent,
    to_bytes,
    to_str,
    unix,
)
from mak.source.tiling import header_length

_TRAILING_BLANK = re.compile(r"(?:\n[ \t\x0c]*)+\Z")
_LEADING_BLANK = re.compile(r"\A(?:[ \t\x0c]*\n)+")
_PLACEHOLDERS = ("pass", "...")


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


# ------------------------------------------------------------------------------- reading


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
        tree = parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        if newer is not None and isinstance(error, SyntaxError):
            with suppress(SyntaxError, ValueError, RecursionError, MakError):
                found = tuple(s for s in newer(data) if isinstance(s, Statement))
                return Block(text, found, None)
        raise _Unparsed(why(error)) from error
    found = tuple(Reader(lines, walrus=b":=" in data).block(tree.body, top=True))
    return Block(text, found, tree)


def _sunk(block: Block, base: str, indent: str, unit: str) -> bool:
    """Whether all lines but the first are still where they were, or deeper than they can be."""
    before = [line for line in base.split("\n") if line.strip()]
    kept = {line for line in before if line.startswith(indent)}
    moved = {line.removeprefix(indent) for line in before}
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
    imports = tuple(ast.unparse(node) for node in block.tree.body[:count])
    rest = trimmed(block.cut(block.statements[count - 1].end))
    return replace(_parsed(rest, newer), imports=imports)


def trimmed(text: str) -> str:
    """Return the text without blank lines before and after it."""
    return _TRAILING_BLANK.sub("", _LEADING_BLANK.sub("", text))


# ------------------------------------------------------------------------------- replacing


@dataclass(frozen=True, slots=True)
class Fitted:
    """The bytes that take the place of a node."""

    data: bytes
    #: The name that the definition has in the new text; empty for what is no definition.
    name: str = ""
    role: str = ""
    #: Whether further nodes may appear in it: the members of a class that had none.
    grows: bool = False
    imports: tuple[str, ...] = ()


def fit(
    file: SourceFile,
    node: Node,
    source: str,
    newer: Newer | None,
    granted: frozenset[NodeId],
    *,
    all_of: bool = False,
) -> Fitted | Rejected:
    """Make `source` the text of `node`, or (`all_of`) of the class `node` with its members."""
    indent, unit = indents(file, node)
    is_class = node.kind is NodeKind.CLASS
    base = decode(file, node.id)
    block = read_block(
        source, node.id, newer, indent=indent, unit=unit, base=base, open_suite=is_class
    )
    if isinstance(block, Rejected):
        return block
    if node.kind is not NodeKind.HEADER:
        block = without_imports(block, newer)
    if flaw := _flaw(file, node, block, granted):
        return flaw
    text, grows = block.text, all_of
    if is_class and not all_of:
        has_members = len(file.members(node.id)) > 1
        grows = not has_members
        if has_members:
            shell = _shell(block, node)
            if isinstance(shell, Rejected):
                return shell
            text = shell
    members = file.members(node.id) if all_of else (node,)
    data = _dressed(file, node, members[-1], text, indent, unit)
    if isinstance(data, Rejected):
        return data
    first = block.statements[0] if block.statements else None
    if node.kind in _DEFINITIONS and first is not None:
        return Fitted(data, first.names[0], first.role, grows, block.imports)
    return Fitted(data, imports=block.imports)


_DEFINITIONS = (NodeKind.FUNCTION, NodeKind.METHOD, NodeKind.CLASS)


def _flaw(
    file: SourceFile, node: Node, block: Block, granted: frozenset[NodeId]
) -> Rejected | None:
    """Say when the block is not one of what the node is."""
    name = label(node.id)
    found = block.statements
    defined = [statement.names[0] for statement in found if statement.is_definition]
    if node.kind in _DEFINITIONS:
        if not found:
            return Rejected("shape", f"the text for `{name}` holds no code", node.id)
        if len(found) > 1:
            own = node.names[0]
            extra = [d for d in defined if d != own] or ["other statements"]
            return Rejected(
                "shape",
                f"the text for `{name}` holds more than its definition: {', '.join(extra)}; "
                "return new symbols separately",
                node.id,
            )
        wanted = Is.CLASS if node.kind is NodeKind.CLASS else Is.FUNCTION
        if found[0].kind is not wanted:
            what = "class" if wanted is Is.CLASS else "function"
            return Rejected("shape", f"the text for `{name}` does not define a {what}", node.id)
        return None
    if defined:
        return Rejected(
            "shape",
            f"the text for `{name}` defines {', '.join(defined)}; return new functions and "
            "classes separately",
            node.id,
        )
    if node.kind is NodeKind.HEADER:
        extra_count = len(found) - header_length(found)
        below = file.nodes[1] if len(file.nodes) > 1 else None
        is_run = below is not None and below.kind is NodeKind.BODY
        if extra_count and below is not None and is_run and not may_write(below.id, granted):
            return Rejected(
                "shape",
                f"the text for `{name}` holds statements other than imports; they belong to "
                f"`{label(below.id)}`",
                node.id,
                (Need(below.id, write=True, why="holds the statements after the imports"),),
            )
        return None
    if not found:
        return Rejected("shape", f"the text for `{name}` holds no code", node.id)
    if any(statement.kind is Is.IMPORT for statement in found) and node.id.symbol == "@body":
        return Rejected(
            "shape",
            f"the text for `{name}` holds an import after other statements; return imports "
            "separately",
            node.id,
        )
    return None


def _shell(block: Block, node: Node) -> str | Rejected:
    """Return decorators, class line and docstring of a class whose members are other nodes."""
    statement = block.statements[0]
    tree = block.tree.body[0] if block.tree else None
    if not isinstance(tree, ast.ClassDef):
        return Rejected(
            "shape", f"the text for `{label(node.id)}` has newer syntax than this Python", node.id
        )
    body = tree.body
    own = 1 if ast.get_docstring(tree, clean=False) is not None else 0
    rest = body[own:]
    placeholder = len(rest) <= 1 and all(ast.unparse(part) in _PLACEHOLDERS for part in rest)
    if not placeholder:
        names = [n for s in statement.body for n in s.names] or ["statements"]
        return Rejected(
            "shape",
            f"the text for class `{label(node.id)}` holds members ({', '.join(names[:4])}); return "
            "only decorators, class line and docstring, each member is a node of its own",
            node.id,
            (Need(replace(node.id, aspect=Aspect.ALL), write=True, why="holds the members"),),
        )
    if not rest:
        return block.text
    line, column = rest[0].lineno - 1, rest[0].col_offset
    before = block.lines[line].encode()[:column].decode()
    if before.strip():
        head = f"{block.cut(0, line)}\n{before}" if line else before
        return head.rstrip().removesuffix(";").rstrip()
    kept = block.lines[:line]
    while kept and is_trivia(kept[-1].encode()):
        kept.pop()
    return "\n".join(kept)


# ------------------------------------------------------------------------------- dressing


def indents(file: SourceFile, node: Node) -> tuple[str, str]:
    """Return the indentation of a node's code, and one step of the file's indentation."""
    code = file.data[node.start + node.lead : node.end]
    lines = code.splitlines()
    own = indent_of(lines[0]).decode("ascii") if lines else ""
    return own.replace("\x0c", ""), indent_unit(file)


def indent_unit(file: SourceFile) -> str:
    """Return one step of indentation as the file has it: that of its first indented line."""
    for line in file.data.splitlines():
        space = indent_of(line).lstrip(b"\x0c")
        if space and not is_trivia(line):
            return "\t" if space.startswith(b"\t") else space.decode("ascii")[:8]
    return "    "


def _dressed(
    file: SourceFile, node: Node, last: Node, text: str, indent: str, unit: str
) -> bytes | Rejected:
    """Return the bytes for the place of `node` … `last`: comments above, code, file tail."""
    data = file.data
    old_lead = data[node.start : node.start + node.lead]
    tail = data[last.end - last.tail : last.end]
    old_code = data[node.start + node.lead : last.end - last.tail]
    own, code = _parted(reindent(text, indent, unit))
    try:
        new_code = to_bytes(code, file.encoding, file.newline) if code else b""
        lead = old_lead
        if own:
            mark = BOM if old_lead.startswith(BOM) else b""
            merged = _merged_lead(to_str(old_lead, file.encoding), own)
            lead = mark + to_bytes(merged, file.encoding, file.newline)
    except UnicodeEncodeError as error:
        char = error.object[error.start]
        return Rejected(
            "encoding",
            f"{char!r} in the text for `{label(node.id)}` does not exist in the file's "
            f"coding {file.encoding}",
            node.id,
        )
    if old_code.endswith((b"\n", b"\r")) or not old_code or tail:
        new_code += file.newline.encode()
    return keep_newlines(lead + new_code, old_lead + old_code) + tail


def _parted(text: str) -> tuple[str, str]:
    """Part a block into the comments before its code and the code."""
    lines = text.split("\n")
    count = 0
    while count < len(lines) and is_trivia(lines[count].encode("utf-8", "surrogatepass")):
        count += 1
    own = "".join(f"{line}\n" for line in lines[:count])
    return own, "\n".join(lines[count:])


def _merged_lead(old: str, own: str) -> str:
    """Put an agent's comments where a node's own were; keep section comments above them.

    Agents rarely repeat what stands above a definition with a blank line between.
    """
    lines = old.split("\n")[:-1]
    blank = 0
    while blank < len(lines) and not lines[blank].strip():
        blank += 1
    last = max((i for i, line in enumerate(lines) if not line.strip()), default=-1)
    section = lines[blank : last + 1]
    given = {line.strip() for line in own.split("\n") if line.strip()}
    keeps = bool(section) and not given & {line.strip() for line in section}
    kept = lines[: last + 1] if keeps else lines[:blank]
    return "".join(f"{line}\n" for line in kept) + own
