"""Python source as rows of items: the statements of blocks, the elements of displays and calls."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from mak.source.commute import commute
from mak.source.imports import names_of
from mak.source.items import Item, Layout, Row
from mak.source.python_ast import DEFINITIONS, parse
from mak.source.spans import Span, bracketed, line_end
from mak.source.text import is_trivia
from mak.source.written import written

#: Bases whose members are numbered or laid out in the order in which they stand.
_NUMBERED = ("Enum", "IntEnum", "StrEnum", "Flag", "IntFlag", "ReprEnum", "NamedTuple", "Structure")
#: Decorators and bases that make parameters of the class's annotated names, in order.
_FIELDS = ("dataclass", "define", "s", "attrs", "frozen", "mutable", "attr", "dataclass_transform")
_MODELS = ("BaseModel", "Struct", "TypedDict", "Protocol")


def context_of(node: ast.ClassDef) -> str:
    """Return what order means in the body of a class: ``numbered``, ``fields`` or ``class``."""
    bases = {_last_word(base) for base in node.bases} | {
        _last_word(keyword.value) for keyword in node.keywords
    }
    decorators = {_last_word(decorator) for decorator in node.decorator_list}
    if any(base.endswith(_NUMBERED) for base in bases):
        return "numbered"
    if decorators & {*_FIELDS} or bases & {*_MODELS}:
        return "fields"
    return "class"


def _last_word(node: ast.expr) -> str:
    while isinstance(node, ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def read(data: bytes, context: str = "module") -> Row:
    """Return a text at any column as a row of statements.

    Raises SyntaxError, ValueError, RecursionError or MemoryError.
    """
    opening = b""
    first = next((line for line in data.splitlines() if not is_trivia(line)), b"")
    if first[:1] in (b" ", b"\t", b"\x0c"):
        opening = b"if 1:\n"
    reader = _Reader(data, len(opening))
    body = reader.parsed(opening)
    return reader.block(body, 0, len(data), context, "")


#: Start, end and syntax tree of an element; of an entry of a dict, key and value.
_Place = tuple[int, int, Any]


class _Reader:
    def __init__(self, data: bytes, shift: int) -> None:
        self.data = data
        self.lines = data.splitlines(keepends=True)
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))
        self.first = 2 if shift else 1

    def parsed(self, opening: bytes) -> list[ast.stmt]:
        if not opening:
            return parse(self.data).body
        body = parse(opening + self.data).body
        inside: list[ast.stmt] = [*body[0].body, *body[1:]]  # type: ignore[attr-defined]
        return inside

    # ------------------------------------------------------------------------ places

    def at(self, line: int, column: int) -> int:
        return self.starts[line - self.first] + column

    def start(self, node: Any) -> int:
        return self.at(node.lineno, node.col_offset)

    def end(self, node: Any) -> int:
        return self.at(node.end_lineno, node.end_col_offset)

    # ------------------------------------------------------------------------ blocks

    def block(
        self, body: Sequence[ast.stmt], start: int, end: int, context: str, label: str
    ) -> Row:
        """Return statements that have their lines to themselves; `start` is a line's start."""
        items: list[Item] = []
        at = start
        index = 0
        while index < len(body):
            last = index + 1
            begin, stop = self._span(body[index])
            while last < len(body) and self.start(body[last]) < stop:
                stop = self._span(body[last])[1]
                last += 1
            items.append(self._statement(body[index:last], at, begin, stop, context))
            at = stop
            index = last
        layout = Layout.LINES if items else Layout.EMPTY
        return Row(
            self.data,
            start,
            max(end, at),
            tuple(items),
            layout,
            label=label,
            rule=commute,
            orders=_STATEMENT_ORDERS,
            family=_family,
            context=context,
        )

    def _span(self, node: ast.stmt) -> tuple[int, int]:
        """Return where a statement's first line starts and its last line ends."""
        begin = node.lineno
        if isinstance(node, DEFINITIONS) and node.decorator_list:
            begin = node.decorator_list[0].lineno
            while not self.lines[begin - self.first].lstrip().startswith(b"@"):
                begin -= 1
        last = (node.end_lineno or node.lineno) - self.first
        while last + 1 < len(self.lines) and self.lines[last].rstrip(b"\r\n").endswith(b"\\"):
            last += 1
        return self.starts[begin - self.first], self.starts[last + 1]

    def _statement(
        self, nodes: Sequence[ast.stmt], start: int, line: int, stop: int, context: str
    ) -> Item:
        node = nodes[0]
        blank = self.data[line:stop]
        code = line + len(blank) - len(blank.lstrip(b" \t\x0c"))
        end = self.end(nodes[-1])
        text = self.data[code:end]
        if len(nodes) > 1:
            return Item(start, line, code, end, stop, text, origin=tuple(nodes))
        return Item(
            start,
            line,
            code,
            end,
            stop,
            text,
            name=statement_name(node),
            key=_key_of_statement(node),
            inner=self._inner(node, context),
            head=_head_of(node),
            origin=(node,),
        )

    def _inner(self, node: ast.stmt, context: str) -> tuple[Row, ...]:
        """Return the rows in a statement that are merged by themselves."""
        if isinstance(node, DEFINITIONS):
            inside = context_of(node) if isinstance(node, ast.ClassDef) else "function"
            return self._blocks(node, [node.body], inside, f"`{node.name}`")
        if isinstance(node, ast.If | ast.For | ast.AsyncFor | ast.While):
            return self._blocks(node, [node.body, node.orelse], context, "")
        if isinstance(node, ast.With | ast.AsyncWith):
            return self._blocks(node, [node.body], context, "")
        if isinstance(node, ast.Try | ast.TryStar):
            parts = [node.body, *(h.body for h in node.handlers), node.orelse, node.finalbody]
            return self._blocks(node, parts, context, "")
        value = getattr(node, "value", None)
        if isinstance(node, ast.ImportFrom):
            row = self.names(node)
            return (row,) if row else ()
        targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
        label = written(targets[0]) if targets[0] is not None else ""
        found = self.display(value, f"`{label}`" if label else "") if value is not None else None
        return (found,) if found is not None else ()

    def _blocks(
        self, node: ast.stmt, parts: Sequence[list[ast.stmt]], context: str, label: str
    ) -> tuple[Row, ...]:
        rows: list[Row] = []
        for body in parts:
            if not body:
                continue
            elif_ = len(body) == 1 and isinstance(body[0], ast.If)
            if elif_ and self.data[self.start(body[0]) :].startswith(b"elif"):
                return ()  # a chain of conditions is one thing
            begin = self._span(body[0])[0]
            head = self.data[begin : self.start(body[0])]
            if head.strip() and not head.lstrip().startswith(b"@"):
                return ()  # on the line of its colon
            number = self.starts.index(begin)
            while number and is_trivia(self.lines[number - 1]):
                number -= 1
            rows.append(self.block(body, self.starts[number], begin, context, label))
        return tuple(rows)

    # ------------------------------------------------------------------------ elements

    def names(self, node: ast.ImportFrom) -> Row | None:
        """Return the names of an import."""
        if node.names[0].name == "*":
            return None
        spans = [(self.start(alias), self.end(alias), alias) for alias in node.names]
        last = self.end(node)
        closing = last - 1 if self.data[last - 1 : last] == b")" else last
        start = spans[0][0] if closing == last else self.data.index(b"(", self.start(node)) + 1
        row = self._row(spans, start, closing, "the imported names", node)
        row.may_trail = closing != last
        row.may_wrap = closing != last
        return row

    def display(self, node: ast.expr, label: str) -> Row | None:
        """Return the elements of a list, tuple, set, dict or call."""
        if isinstance(node, ast.Await | ast.Starred):
            return self.display(node.value, label)
        opening = self.start(node) + 1
        closing = self.end(node) - 1
        if isinstance(node, ast.Dict):
            spans: list[_Place] = [
                (
                    self._behind_stars(value) if key is None else self.start(key),
                    self.end(value),
                    (key, value),
                )
                for key, value in zip(node.keys, node.values, strict=True)
            ]
            return self._row(spans, opening, closing, label, node)
        if isinstance(node, ast.List | ast.Set | ast.Tuple):
            bare = isinstance(node, ast.Tuple) and self.data[opening - 1 : opening] != b"("
            if bare or (isinstance(node, ast.Tuple) and not self._is_enclosed(node)):
                return None
            spans = [(self.start(e), self.end(e), e) for e in node.elts]
            row = self._row(spans, opening, closing, label, node)
            row.one_trails = isinstance(node, ast.Tuple)
            return row
        if isinstance(node, ast.Call):
            only = node.args[0] if len(node.args) == 1 and not node.keywords else None
            if isinstance(only, ast.GeneratorExp):
                return None
            args = sorted([*node.args, *node.keywords], key=self.start)
            if any(isinstance(a, ast.keyword) and a.arg is None for a in args):
                return None
            spans = [(self.start(a), self.end(a), a) for a in args]
            found = self.data.find(b"(", self.end(node.func))
            return self._row(spans, found + 1, closing, label or written(node.func), node)
        return None

    def _is_enclosed(self, node: ast.Tuple) -> bool:
        """Whether the parentheses at both ends are the tuple's own."""
        first, last = node.elts[:1], node.elts[-1:]
        return not first or (
            self.start(first[0]) > self.start(node) and self.end(last[0]) < self.end(node)
        )

    def _behind_stars(self, value: ast.expr) -> int:
        return self.data.rindex(b"**", 0, self.start(value))

    def _row(self, spans: Sequence[_Place], start: int, end: int, label: str, node: ast.AST) -> Row:
        places = [(*self._grown(s, e, start, end), origin) for s, e, origin in spans]
        found: list[Span] = []
        for number, (begin, stop, origin) in enumerate(places):
            following = places[number + 1][0] if number + 1 < len(places) else end
            found.append(
                Span(
                    begin,
                    stop,
                    self._comma(stop, following),
                    element_name(origin),
                    _element_key(origin),
                    self._element_rows(origin),
                    origin,
                )
            )
        row = bracketed(self.data, start, end, found)
        row.label = label
        row.rule = commute
        row.orders = _ELEMENT_ORDERS
        row.may_wrap = True
        row.context = "call" if isinstance(node, ast.Call) else "display"
        return row

    def _grown(self, start: int, end: int, low: int, high: int) -> tuple[int, int]:
        """Include the parentheses around an element, which the syntax tree leaves out."""
        while True:
            left, right = start, end
            while left > low and self.data[left - 1 : left].isspace():
                left -= 1
            while right < high and self.data[right : right + 1].isspace():
                right += 1
            if not (self.data[left - 1 : left] == b"(" and left > low):
                return start, end
            if self.data[right : right + 1] != b")" or right >= high:
                return start, end
            start, end = left - 1, right + 1

    def _comma(self, start: int, end: int) -> int:
        """Return where a comma stands between two places, outside of comments."""
        at = start
        while at < end:
            byte = self.data[at : at + 1]
            if byte == b",":
                return at
            if byte == b"#":
                at = line_end(self.data, at)
                continue
            at += 1
        return -1

    def _element_rows(self, origin: Any) -> tuple[Row, ...]:
        value = origin[1] if isinstance(origin, tuple) else getattr(origin, "value", origin)
        if isinstance(origin, ast.alias):
            return ()
        label = ""
        if isinstance(origin, tuple) and origin[0] is not None:
            label = f"`{written(origin[0])}`"
        row = self.display(value, label) if isinstance(value, ast.expr) else None
        return (row,) if row is not None else ()


# --------------------------------------------------------------------------------- names, keys


def statement_name(node: ast.stmt) -> str:
    """Return by what a statement is known again when it was changed."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return f"def {node.name}"
        case ast.ClassDef():
            return f"class {node.name}"
        case ast.Assign():
            return " = ".join(map(written, node.targets))
        case ast.AnnAssign():
            return written(node.target)
        case ast.AugAssign():
            return f"{written(node.target)} +="
        case ast.ImportFrom():
            return f"from {'.' * node.level}{node.module or ''}"
        case ast.Expr(value=ast.Call() as call):
            return f"{written(call.func)}({_first(call)}"
        case ast.Expr(value=ast.Constant(value=str())):
            return "a text"
        case ast.If() | ast.While():
            return f"{type(node).__name__} {written(node.test)}"
        case ast.For() | ast.AsyncFor():
            return f"for {written(node.target)} in {written(node.iter)}"
        case ast.With() | ast.AsyncWith():
            return f"with {', '.join(map(written, node.items))}"
        case ast.Try() | ast.TryStar() | ast.Return() | ast.Match():
            return type(node).__name__
    return ""


def _head_of(node: ast.stmt) -> str:
    if isinstance(node, DEFINITIONS):
        return f"the header of `{node.name}`"
    return ""


def _first(call: ast.Call) -> str:
    """Return the first argument of a call when it is a constant, as text."""
    values = [*call.args, *(keyword.value for keyword in call.keywords)]
    first = values[0] if values else None
    return written(first) if isinstance(first, ast.Constant) else ""


def _key_of_statement(node: ast.stmt) -> str:
    """Return what must differ between two statements of a run that registers things."""
    match node:
        case ast.Expr(value=ast.Call() as call) if _first(call) and _size(call) > 1:
            return f"`{written(call.func)}({_first(call)}, …)`"
        case ast.Assign(targets=[ast.Subscript() as target]):
            return f"`{written(target)}`"
    return ""


def _size(call: ast.Call) -> int:
    return len(call.args) + len(call.keywords)


def element_name(origin: Any) -> str:
    """Return by what an element is known again when it was changed; empty: by nothing."""
    if isinstance(origin, tuple):
        return f"**{written(origin[1])}" if origin[0] is None else written(origin[0])
    if isinstance(origin, ast.keyword):
        return f"{origin.arg or '**'}="
    if isinstance(origin, ast.alias):
        return origin.asname or origin.name
    return _element_key(origin)


def _element_key(origin: Any) -> str:
    """Return what must differ between two elements."""
    if isinstance(origin, tuple):
        return f"the key `{written(origin[0])}`" if origin[0] is not None else ""
    if isinstance(origin, ast.keyword):
        return f"the argument `{origin.arg}`" if origin.arg else ""
    if isinstance(origin, ast.alias):
        return f"the name `{origin.asname or origin.name}`"
    if isinstance(origin, ast.Call) and _first(origin) and _size(origin) > 1:
        return f"`{written(origin.func)}({_first(origin)}, …)`"
    if isinstance(origin, ast.Tuple) and len(origin.elts) > 1:
        first = origin.elts[0]
        return f"`({written(first)}, …)`" if isinstance(first, ast.Constant) else ""
    return ""


# --------------------------------------------------------------------------------- orders


def _element_text(item: Item) -> str:
    value = item.origin[0] if isinstance(item.origin, tuple) else item.origin
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return value.value
    return item.text.decode("utf-8", "replace")


def _family(item: Item) -> str | None:
    """Return what statements of a run have in common; None: they are no run."""
    node = item.origin[0]
    match node:
        case ast.Import() | ast.ImportFrom():
            return f"import {names_of(node)[0].rank}"
        case ast.Expr(value=ast.Call() as call):
            return written(call.func)
        case ast.Assign(targets=[ast.Subscript() as target]):
            return f"{written(target.value)}[]"
        case ast.Assign(targets=[ast.Name()]):
            return "="
    return None


def _statement_text(item: Item) -> str:
    node = item.origin[0]
    if isinstance(node, ast.Import | ast.ImportFrom):
        name = names_of(node)[0]
        return f"{name.module or name.target}"
    return item.text.decode("utf-8", "replace")


_ELEMENT_ORDERS: tuple[Callable[[Item], Any], ...] = (
    _element_text,
    lambda item: _element_text(item).lower(),
)
_STATEMENT_ORDERS: tuple[Callable[[Item], Any], ...] = (
    _statement_text,
    lambda item: _statement_text(item).lower(),
)
