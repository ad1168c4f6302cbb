"""Statements of a Python file, read off the running Python's own parser."""

from __future__ import annotations

import ast
import re
import warnings
from collections import OrderedDict
from collections.abc import Iterator
from functools import lru_cache

from mak.source.bindings import bound_names, is_main, is_string, only_imports
from mak.source.statement import Is, Statement, digest_api, role_of
from mak.source.text import one_line, squeeze

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
#: A definition's first line when it is all of its header and holds nothing that needs a lexer.
_PLAIN = re.compile(rb"[ \t\x0c]*((?:async def|def|class) [^#'\"\\]*[^\s#'\"\\])\s*:\s*$")


#: How many files' trees are kept for who asks next.
KEPT = 32


_kept: OrderedDict[bytes, ast.Module] = OrderedDict()


def parse(data: bytes) -> ast.Module:
    """Parse Python source; no warning about the analysed code escapes.

    The tree belongs to all who ask and is not to be changed. Raises SyntaxError, ValueError (NUL),
    RecursionError or MemoryError.
    """
    tree = parsed(data)
    if tree is None:
        tree = _kept[data] = _parse(data)
        if len(_kept) > KEPT:
            _kept.popitem(last=False)
    return tree


def parsed(data: bytes) -> ast.Module | None:
    """Return the tree of Python source if it was parsed lately; it is not to be changed."""
    tree = _kept.get(data)
    if tree is not None:
        _kept.move_to_end(data)
    return tree


@lru_cache(32)
def parse_text(text: str) -> ast.Module:
    """Parse a short text that several ask about; the tree is theirs together and not to be changed.

    Raises as `parse`. A coding cookie is a comment here.
    """
    return _parse(text)


def _parse(source: bytes | str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source)


def statements(data: bytes, lines: list[bytes]) -> tuple[Statement, ...]:
    """Return the top-level statements of `data`; `lines` are its lines in UTF-8 without BOM.

    Raises as `parse`.
    """
    return tuple(Reader(lines, walrus=b":=" in data).block(parse(data).body, top=True))


class Reader:
    """Turns syntax trees into statements, with the source at hand."""

    def __init__(self, lines: list[bytes], *, walrus: bool) -> None:
        self.lines = lines
        self.walrus = walrus

    def block(self, body: list[ast.stmt], top: bool = False) -> Iterator[Statement]:
        """Yield the statements of a module or class body."""
        for number, node in enumerate(body):
            if isinstance(node, DEFINITIONS):
                yield self.definition(node)
                continue
            kind = Is.OTHER
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                kind = Is.IMPORT
            elif isinstance(node, ast.Expr):
                if number == 0 and is_string(node.value):
                    kind = Is.DOCSTRING
            elif isinstance(node, (ast.If, ast.Try, ast.TryStar)):
                if top and isinstance(node, ast.If) and is_main(node.test):
                    kind = Is.MAIN
                elif only_imports(node):
                    kind = Is.IMPORT
            names = bound_names((node,), walrus=self.walrus)
            yield Statement(kind, node.lineno - 1, node.end_lineno or 0, names)

    def definition(self, node: _Definition) -> Statement:
        """Return a function or class as a statement."""
        start = self._first_line(node)
        decorators = tuple([self._code(d) for d in node.decorator_list])
        role = role_of(node.name, decorators) if decorators else ""
        end = node.end_lineno or 0
        if isinstance(node, ast.ClassDef):
            bases = [self._code(base) for base in node.bases]
            keywords = [f"{k.arg or '**'}={self._code(k.value)}" for k in node.keywords]
            statement = Statement(
                Is.CLASS,
                start,
                end,
                (node.name,),
                role,
                digest_api("class", *bases, *keywords, "@", *decorators),
                self._signature(node),
            )
            statement.head = max(
                [
                    node.lineno,
                    *(
                        part.end_lineno or 0
                        for part in (*node.bases, *node.keywords, *getattr(node, "type_params", ()))
                    ),
                ]
            )
            if self._is_block(node):
                statement.body = tuple(self.block(node.body))
            return statement
        is_async = "async" if isinstance(node, ast.AsyncFunctionDef) else ""
        api = digest_api("def", is_async, parameters(node.args), "@", *decorators)
        return Statement(Is.FUNCTION, start, end, (node.name,), role, api, self._signature(node))

    def _first_line(self, node: _Definition) -> int:
        if not node.decorator_list:
            return node.lineno - 1
        first = node.decorator_list[0]
        line = first.lineno - 1
        while line and not self.lines[line].lstrip(b" \t\x0c").startswith(b"@"):
            line -= 1
        return line

    def _is_block(self, node: ast.ClassDef) -> bool:
        """Whether the class body starts on a logical line of its own."""
        first = node.body[0]
        if isinstance(first, DEFINITIONS) and first.decorator_list:
            return True
        line, column = first.lineno - 1, first.col_offset
        return (
            line >= node.lineno
            and not self.lines[line][:column].strip()
            and not self.lines[line - 1].rstrip(b"\r\n").endswith(b"\\")
        )

    def _code(self, node: ast.expr) -> str:
        if type(node) is ast.Name:
            return node.id
        return squeeze(self._segment(node))

    def _segment(self, node: ast.expr) -> str:
        return self._between(
            node.lineno - 1, node.col_offset, (node.end_lineno or 1) - 1, node.end_col_offset or 0
        )

    def _between(self, line: int, column: int, end_line: int, end_column: int) -> str:
        if line == end_line:
            return self.lines[line][column:end_column].decode()
        first, last = self.lines[line][column:], self.lines[end_line][:end_column]
        return b"".join((first, *self.lines[line + 1 : end_line], last)).decode()

    def _signature(self, node: _Definition) -> str:
        if match := _PLAIN.match(self.lines[node.lineno - 1]):
            return match[1].decode()
        body = node.body[0]
        line, column = body.lineno - 1, body.col_offset
        if isinstance(body, DEFINITIONS) and body.decorator_list:
            line, column = self._first_line(body), 0
        text = one_line(self._between(node.lineno - 1, node.col_offset, line, column))
        return text.rstrip(" \\").removesuffix(":").rstrip()


def parameters(args: ast.arguments) -> str:
    """Return names, kinds and presence of defaults of parameters: ``a,/,b=,*,c``."""
    parts: list[str] = []
    positional = [arg.arg for arg in args.posonlyargs]
    split = len(positional)
    positional += [arg.arg for arg in args.args]
    required = len(positional) - len(args.defaults)
    for index, name in enumerate(positional):
        if split and index == split:
            parts.append("/")
        parts.append(name if index < required else f"{name}=")
    if split and split == len(positional):
        parts.append("/")
    if args.vararg:
        parts.append(f"*{args.vararg.arg}")
    elif args.kwonlyargs:
        parts.append("*")
    for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        parts.append(arg.arg if default is None else f"{arg.arg}=")
    if args.kwarg:
        parts.append(f"**{args.kwarg.arg}")
    return ",".join(parts)
