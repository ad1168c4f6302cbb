"""Text from an agent, made fit for the place of a node: newlines, indentation, comments around it.

What is wrong with the text by itself is said here, in terms of the text; what it does to its
neighbours is found by `mak.source.splice`.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from mak.model import Aspect, Need, Node, NodeId, NodeKind
from mak.source.block import Block, indents, read_block, trimmed, without_imports
from mak.source.file import Newer, Rejected, SourceFile, label
from mak.source.grant import may_write
from mak.source.statement import Is
from mak.source.text import (
    BOM,
    is_trivia,
    keep_newlines,
    reindent,
    to_bytes,
    to_str,
    unix,
)
from mak.source.tiling import header_length
from mak.source.written import written

_DEFINITIONS = (NodeKind.FUNCTION, NodeKind.METHOD, NodeKind.CLASS)
_PLACEHOLDERS = ("pass", "...")


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
    members = file.members(node.id) if all_of else (node,)
    old = file.data[node.start : members[-1].end]
    base = to_str(old, file.encoding)
    indent, unit = indents(file, node)
    is_class = node.kind is NodeKind.CLASS
    block = read_block(
        source, node.id, newer, indent=indent, unit=unit, base=base, open_suite=is_class
    )
    if isinstance(block, Rejected):
        return block
    if node.kind is not NodeKind.HEADER:
        block = without_imports(block, newer)
    if flaw := _flaw(file, node, block, granted):
        return flaw
    is_shell = is_class and not all_of and len(file.members(node.id)) > 1
    grows = is_class and not is_shell
    first = block.statements[0] if block.statements else None
    named = first if node.kind in _DEFINITIONS else None
    name, role = (named.names[0], named.role) if named else ("", "")
    if trimmed(unix(source)) == trimmed(base):
        return Fitted(old, name, role, grows)
    text = block.text
    if is_shell:
        shell = _shell(block, node)
        if isinstance(shell, Rejected):
            return shell
        text = shell
    elif _first_indent(source) == indent and not block.imports:
        text = trimmed(unix(source))
        if text.startswith("#") and text.partition("\n")[0] not in base.split("\n"):
            text = indent + text
    is_cut = is_shell and text != block.text
    below = 0 if is_cut or not block.statements else _comments_below(block)
    data = _dressed(file, node, members[-1], reindent(text, indent, unit), below)
    return data if isinstance(data, Rejected) else Fitted(data, name, role, grows, block.imports)


def _first_indent(source: str) -> str | None:
    """Return the indentation of the first line of code."""
    for line in unix(source).split("\n"):
        if not is_trivia(line.encode("utf-8", "surrogatepass")):
            return line[: len(line) - len(line.lstrip(" \t"))]
    return None


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
    body = statement.body
    if not body:
        return _shell_of_one_line(block, node)
    rest = body[1:] if body[0].kind is Is.DOCSTRING else body
    if len(rest) > 1 or any(block.cut(s.start, s.end).strip() not in _PLACEHOLDERS for s in rest):
        return _has_members(node, [name for s in rest for name in s.names])
    if not rest:
        return block.text
    kept = block.lines[: rest[0].start]
    while kept and is_trivia(kept[-1].encode("utf-8", "surrogatepass")):
        kept.pop()
    return "\n".join(kept)


def _has_members(node: Node, names: list[str]) -> Rejected:
    held = ", ".join(names[:4]) or "statements"
    return Rejected(
        "shape",
        f"the text for class `{label(node.id)}` holds members ({held}); return only decorators, "
        "class line and docstring: each member is a node of its own",
        node.id,
        (Need(replace(node.id, aspect=Aspect.ALL), write=True, why="holds the members"),),
    )


def _shell_of_one_line(block: Block, node: Node) -> str | Rejected:
    """Return ``class A(B):`` of ``class A(B): pass``."""
    tree = block.tree.body[0] if block.tree else None
    if not isinstance(tree, ast.ClassDef):
        return Rejected(
            "shape", f"the text for `{label(node.id)}` needs a body of its own lines", node.id
        )
    own = 1 if ast.get_docstring(tree, clean=False) is not None else 0
    rest = tree.body[own:]
    if len(rest) > 1 or any(written(part) not in _PLACEHOLDERS for part in rest):
        return _has_members(node, [])
    if not rest:
        return block.text
    line, column = rest[0].lineno - 1, rest[0].col_offset
    before = block.lines[line].encode()[:column].decode()
    head = f"{block.cut(0, line)}\n{before}" if line else before
    return head.rstrip().removesuffix(";").rstrip()


# ------------------------------------------------------------------------------- dressing


def _dressed(file: SourceFile, node: Node, last: Node, text: str, below: int) -> bytes | Rejected:
    """Return the bytes for the place of `node` … `last`: comments above, code, comments below.

    The last `below` lines of the text are comments that its code ends above.
    What the text says nothing about stays: comments above a node and at the end of its scope.
    """
    data = file.data
    old_lead = data[node.start : node.start + node.lead]
    old_tail = data[last.end - last.tail : last.end]
    old_code = data[node.start + node.lead : last.end - last.tail]
    own, code = _parted(text)
    lines = code.split("\n")
    code, own_tail = "\n".join(lines[: len(lines) - below]), lines[len(lines) - below :]
    if _words(own_tail) != _words(to_str(old_tail, file.encoding).split("\n")) and own_tail:
        if not _ends_scope(file, last):
            return Rejected(
                "shape",
                f"the text for `{label(node.id)}` ends with a comment that would belong to what "
                "follows; indent it deeper or drop it",
                node.id,
            )
    elif own_tail:
        own_tail = []
    try:
        tail = old_tail
        if own_tail:
            tail = to_bytes("".join(f"{line}\n" for line in own_tail), file.encoding, file.newline)
        new_code = to_bytes(trimmed(code), file.encoding, file.newline)
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
    if new_code and (old_code.endswith((b"\n", b"\r")) or not old_code or tail):
        new_code += file.newline.encode()
    return keep_newlines(lead + new_code, old_lead + old_code) + tail


def _words(lines: list[str]) -> list[str]:
    return [line.strip() for line in lines if line.strip()]


def _comments_below(block: Block) -> int:
    """Return how many lines at the end of a block are comments that its last statement ends above.

    Those that are indented deeper than the statement belong to it.
    """
    lines = block.lines
    end = block.statements[-1].end
    for number in range(end, len(lines)):
        if lines[number].strip() and lines[number][:1].isspace():
            end = number + 1
    return len(lines) - end


def _ends_scope(file: SourceFile, node: Node) -> bool:
    """Whether nothing follows the node in its file or class."""
    index = file.nodes.index(node) + 1
    depth = node.id.symbol.count(".")
    return index == len(file.nodes) or file.nodes[index].id.symbol.count(".") < depth


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
