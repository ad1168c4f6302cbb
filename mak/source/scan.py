"""From a file's bytes to its facts: one parse, one walk.

Expressions are walked with an explicit stack, so that their depth is no concern; statements nest as
deep as Python's own parser allows.
"""

from __future__ import annotations

import ast
import re
import warnings
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

from mak.source.facts import (
    UNPLACED,
    Binding,
    BindingKind,
    Call,
    Context,
    Definition,
    Facts,
    Flag,
    Hint,
    Import,
    Parameter,
    ParameterKind,
    Scope,
    ScopeKind,
    Text,
    Use,
)

_NEWLINE = re.compile(rb"\r\n|\n|\r")
_GAP = rb"(?:[ \t\f]|\\\r?\n|\\\r)+"
_DEF = re.compile(rb"(?:async" + _GAP + rb")?(?:def|class)" + _GAP)
_NAMING = re.compile(r"[^\W\d]\w*(?:[.:][^\W\d]\w*)*")
_LONGEST_TEXT = 200
#: So far in front of the file that every offset computed from it is negative too.
_NOWHERE = -(1 << 40)

#: Callees that look an attribute up by the string they are given.
_BY_STRING = frozenset(
    ("getattr", "setattr", "hasattr", "delattr", "attrgetter", "methodcaller", "object", "patch")
)
_NAMESPACES = frozenset(("globals", "locals", "vars"))
_DYNAMIC = frozenset(("globals", "locals", "vars", "exec", "eval"))

_CONDITIONAL, _TYPING, _LOOP = int(Flag.CONDITIONAL), int(Flag.TYPING), int(Flag.LOOP)
_NONE, _TRY = int(Flag.NONE), int(Flag.TRY)
_UNKNOWN = ("?",)
_CONTEXTS: dict[type, Context] = {
    ast.Load: Context.LOAD,
    ast.Store: Context.STORE,
    ast.Del: Context.DELETE,
}

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def scan(data: bytes, encoding: str = "utf-8") -> Facts | None:
    """Return what `data` says about names; None when it does not parse."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(data)
        return _Scanner(data, encoding).run(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError, LookupError):
        return None


def dotted(node: ast.expr) -> tuple[str, ...] | None:
    """Return ``a.b.c`` as a tuple; None for any other expression."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    parts.append(node.id)
    return tuple(reversed(parts))


class Positions:
    """From the line and column of the parser to offsets into the bytes as they are stored."""

    def __init__(self, data: bytes, encoding: str) -> None:
        bom = 3 if data.startswith(b"\xef\xbb\xbf") else 0
        self.data = data
        self.encoding = "utf-8" if encoding == "utf-8-sig" else encoding
        self.starts = [bom, *(match.end() for match in _NEWLINE.finditer(data))]
        #: Whether columns, which count UTF-8 bytes, are offsets into the line.
        self.plain = self.encoding in ("utf-8", "ascii") or data.isascii()

    def at(self, line: int, column: int) -> int:
        """Return the offset of a position that the parser reported."""
        start = self.starts[line - 1]
        if self.plain:
            return start + column
        end = self.starts[line] if line < len(self.starts) else len(self.data)
        text = self.data[start:end].decode(self.encoding)
        return start + len(text.encode()[:column].decode().encode(self.encoding))

    def start(self, node: Any) -> int:
        """Return where a node starts."""
        return self.at(node.lineno, node.col_offset)

    def end(self, node: Any) -> int:
        """Return where a node ends."""
        return self.at(node.end_lineno, node.end_col_offset)

    def token(self, name: str, start: int) -> int:
        """Return `start` when `name` stands there as it is spelled, else `UNPLACED`."""
        return start if self.data.startswith(name.encode(self.encoding), start) else UNPLACED

    def line(self, offset: int) -> int:
        """Return the 1-based line of an offset."""
        return max(1, bisect_right(self.starts, offset))


class _Scanner:
    """One walk over one module."""

    def __init__(self, data: bytes, encoding: str) -> None:
        self.data = data
        self.positions = Positions(data, encoding)
        self.at = self.positions.at
        self.scopes: list[Scope] = []
        self.global_names: list[set[str]] = []
        self.nonlocal_names: list[set[str]] = []
        self.bindings: list[Binding] = []
        self.definitions: list[Definition] = []
        self.imports: list[Import] = []
        self.loads: dict[str, list[int]] = {}
        self.chains: list[Use] = []
        self.exports: list[Text] | None = None
        self.exports_open = False
        self.texts: list[Text] = []
        self.dynamic: list[tuple[int, int]] = []
        self.statement = _statement_table(self)

    def run(self, tree: ast.Module) -> Facts:
        self.open(ScopeKind.MODULE, 0, "", 0, len(self.data))
        self.block(tree.body, 0, 0)
        scopes = (
            scope._replace(globals=tuple(sorted(g)), nonlocals=tuple(sorted(n)))
            for scope, g, n in zip(self.scopes, self.global_names, self.nonlocal_names, strict=True)
        )
        return Facts(
            tuple(scopes),
            tuple(self.bindings),
            tuple(self.definitions),
            tuple(self.imports),
            self.loads,
            tuple(self.chains),
            None if self.exports is None else tuple(self.exports),
            self.exports_open,
            tuple(self.texts),
            tuple(self.dynamic),
        )

    # ------------------------------------------------------------------------------ scopes

    def open(self, kind: ScopeKind, parent: int, name: str, start: int, end: int) -> int:
        self.scopes.append(Scope(kind, parent, name, start, end))
        self.global_names.append(set())
        self.nonlocal_names.append(set())
        return len(self.scopes) - 1

    def bind(
        self,
        kind: BindingKind,
        scope: int,
        name: str,
        start: int,
        since: int,
        flags: int,
        detail: int = -1,
        hint: Hint = Hint.NOTHING,
        hinted: tuple[str, ...] = (),
    ) -> None:
        if name in self.global_names[scope]:
            scope, flags = 0, flags | _CONDITIONAL | _LOOP
        elif name in self.nonlocal_names[scope]:
            scope, flags = self.enclosing(scope, name), flags | _CONDITIONAL | _LOOP
        self.bindings.append(Binding(kind, scope, name, start, since, flags, detail, hint, hinted))

    def enclosing(self, scope: int, name: str) -> int:
        """Return the function scope that a ``nonlocal`` name belongs to."""
        at = self.scopes[scope].parent
        while at:
            if self.scopes[at].kind is ScopeKind.FUNCTION and (
                name not in self.nonlocal_names[at]
                and any(b.scope == at and b.name == name for b in self.bindings)
            ):
                return at
            at = self.scopes[at].parent
        return scope

    def target(
        self,
        node: ast.expr,
        scope: int,
        since: int,
        flags: int,
        hint: Hint = Hint.NOTHING,
        hinted: tuple[str, ...] = (),
    ) -> None:
        """Bind what an assignment's target names."""
        stack: list[ast.expr] = [node]
        while stack:
            item = stack.pop()
            if isinstance(item, ast.Name):
                start = self.token(item.id, item)
                kind = BindingKind.DELETE if type(item.ctx) is ast.Del else BindingKind.ASSIGN
                if item is node:
                    self.bind(kind, scope, item.id, start, since, flags, -1, hint, hinted)
                else:
                    self.bind(kind, scope, item.id, start, since, flags)
            elif isinstance(item, (ast.Tuple, ast.List)):
                stack.extend(reversed(item.elts))
            elif isinstance(item, ast.Starred):
                stack.append(item.value)
            else:
                self.expression(item, scope)

    def token(self, name: str, node: Any) -> int:
        return self.positions.token(name, self.at(node.lineno, node.col_offset))

    def token_before(self, name: str, end: int) -> int:
        """Place `name` so that it ends at `end`."""
        return self.positions.token(name, end - len(name.encode(self.positions.encoding)))

    def find(self, name: str, start: int, end: int) -> int:
        """Place `name` as a whole word between two offsets."""
        word = re.escape(name.encode(self.positions.encoding))
        match = re.compile(rb"(?<![\w\x80-\xff])" + word + rb"(?![\w\x80-\xff])").search(
            self.data, start, end
        )
        return match.start() if match else UNPLACED

    # -------------------------------------------------------------------------- statements

    def block(self, body: Iterable[ast.stmt], scope: int, flags: int) -> None:
        table = self.statement
        for node in body:
            handler = table.get(type(node))
            if handler is None:
                self.plain(node, scope, flags)
            else:
                handler(node, scope, flags)

    def plain(self, node: ast.AST, scope: int, flags: int) -> None:
        for name in node._fields:
            value = getattr(node, name)
            if isinstance(value, ast.expr):
                self.expression(value, scope, flags)
            elif isinstance(value, list):
                for item in value:
                    if isinstance(item, ast.expr):
                        self.expression(item, scope, flags)

    def function(self, node: _Function, scope: int, flags: int) -> None:
        for decorator in node.decorator_list:
            self.expression(decorator, scope, flags)
        end = self.positions.end(node)
        outer = self.type_parameters(node, scope, end)
        start = self.positions.start(node)
        inner = self.open(ScopeKind.FUNCTION, outer, node.name, start, end)
        parameters = self.parameters(node.args, inner, outer, flags)
        if node.returns is not None:
            self.annotation(node.returns, outer)
        self.define(node, scope, inner, flags, parameters, (), (), start)
        self.block(node.body, inner, 0)

    def define(
        self,
        node: _Function | ast.ClassDef,
        scope: int,
        inner: int,
        flags: int,
        parameters: tuple[Parameter, ...],
        bases: tuple[tuple[str, ...], ...],
        keywords: tuple[str, ...],
        start: int,
    ) -> None:
        match = _DEF.match(self.data, start)
        at = self.positions.token(node.name, match.end()) if match else UNPLACED
        is_class = isinstance(node, ast.ClassDef)
        decorators = tuple(_callee(item) for item in node.decorator_list)
        self.definitions.append(
            Definition(node.name, inner, scope, decorators, bases, keywords, parameters, is_class)
        )
        kind = BindingKind.CLASS if is_class else BindingKind.FUNCTION
        self.bind(kind, scope, node.name, at, at, flags, len(self.definitions) - 1)

    def parameters(
        self, args: ast.arguments, inner: int, outer: int, flags: int
    ) -> tuple[Parameter, ...]:
        result: list[Parameter] = []
        plain = [*args.posonlyargs, *args.args]
        bare = len(plain) - len(args.defaults)
        groups: list[tuple[ast.arg, ParameterKind, bool]] = [
            (
                arg,
                ParameterKind.POSITIONAL if i < len(args.posonlyargs) else ParameterKind.NORMAL,
                i >= bare,
            )
            for i, arg in enumerate(plain)
        ]
        if args.vararg:
            groups.append((args.vararg, ParameterKind.VARIADIC, False))
        groups += [
            (arg, ParameterKind.KEYWORD, default is not None)
            for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True)
        ]
        if args.kwarg:
            groups.append((args.kwarg, ParameterKind.KEYWORDS, False))
        for arg, kind, default in groups:
            start = self.token(arg.arg, arg)
            result.append(Parameter(arg.arg, kind, start, default))
            hint: Hint = Hint.NOTHING
            hinted: tuple[str, ...] = ()
            if arg.annotation is not None:
                self.annotation(arg.annotation, outer)
                if kind not in (ParameterKind.VARIADIC, ParameterKind.KEYWORDS):
                    hint, hinted = _annotated(arg.annotation)
            self.bind(BindingKind.PARAMETER, inner, arg.arg, start, start, 0, -1, hint, hinted)
        for value in (*args.defaults, *args.kw_defaults):
            if value is not None:
                self.expression(value, outer, flags)
        return tuple(result)

    def klass(self, node: ast.ClassDef, scope: int, flags: int) -> None:
        for decorator in node.decorator_list:
            self.expression(decorator, scope, flags)
        end = self.positions.end(node)
        outer = self.type_parameters(node, scope, end)
        for base in node.bases:
            self.annotation(base, outer)
        for keyword in node.keywords:
            self.expression(keyword.value, outer, flags)
        start = self.positions.start(node)
        inner = self.open(ScopeKind.CLASS, outer, node.name, start, end)
        bases = tuple(_base(item) for item in node.bases)
        keywords = tuple(item.arg or "**" for item in node.keywords)
        self.define(node, scope, inner, flags, (), bases, keywords, start)
        self.block(node.body, inner, 0)

    def type_parameters(self, node: Any, scope: int, end: int) -> int:
        """Open the scope of a definition's type parameters, if it has any."""
        parameters = getattr(node, "type_params", None)
        if not parameters:
            return scope
        inner = self.open(ScopeKind.TYPE, scope, "", self.positions.start(node), end)
        for parameter in parameters:
            start = self.find(
                parameter.name, self.positions.start(parameter), self.positions.end(parameter)
            )
            self.bind(BindingKind.ASSIGN, inner, parameter.name, start, start, 0)
            for name in ("bound", "default_value"):
                value = getattr(parameter, name, None)
                if value is not None:
                    self.annotation(value, inner)
        return inner

    def type_alias(self, node: Any, scope: int, flags: int) -> None:
        end = self.positions.end(node)
        inner = self.type_parameters(node, scope, end)
        self.annotation(node.value, inner)
        self.target(node.name, scope, end, flags)

    def import_(self, node: ast.Import, scope: int, flags: int) -> None:
        start, end = self.positions.start(node), self.positions.end(node)
        for alias in node.names:
            at = self.positions.start(alias)
            name = alias.name
            spelled = name.encode(self.positions.encoding)
            if not self.data.startswith(spelled, at):
                at = UNPLACED
            as_at = self.asname(alias)
            self.imports.append(
                Import(scope, 0, name, "", alias.asname or "", at, as_at, start, end, flags)
            )
            bound, bound_at = (alias.asname, as_at) if alias.asname else (name.split(".")[0], at)
            detail = len(self.imports) - 1
            self.bind(BindingKind.IMPORT, scope, bound, bound_at, bound_at, flags, detail)

    def import_from(self, node: ast.ImportFrom, scope: int, flags: int) -> None:
        start, end = self.positions.start(node), self.positions.end(node)
        module = node.module or ""
        for alias in node.names:
            at = self.token(alias.name, alias)
            as_at = self.asname(alias)
            asname = alias.asname or ""
            self.imports.append(
                Import(scope, node.level, module, alias.name, asname, at, as_at, start, end, flags)
            )
            kind = BindingKind.STAR if alias.name == "*" else BindingKind.FROM
            bound, bound_at = (asname, as_at) if asname else (alias.name, at)
            self.bind(kind, scope, bound, bound_at, bound_at, flags, len(self.imports) - 1)

    def asname(self, alias: ast.alias) -> int:
        if not alias.asname:
            return UNPLACED
        return self.token_before(alias.asname, self.positions.end(alias))

    def assign(self, node: ast.Assign, scope: int, flags: int) -> None:
        self.expression(node.value, scope, flags)
        end = self.positions.end(node)
        hint, hinted = _valued(node.value)
        if isinstance(node.value, ast.Constant) and node.value.value is None:
            flags |= _NONE
        for target in node.targets:
            self.target(target, scope, end, flags, hint, hinted)
        if scope == 0 and any(_is_all(target) for target in node.targets):
            self.exports, self.exports_open = [], False
            self.export(node.value)

    def aug_assign(self, node: ast.AugAssign, scope: int, flags: int) -> None:
        self.expression(node.value, scope, flags)
        self.target(node.target, scope, self.positions.end(node), flags)
        if scope == 0 and _is_all(node.target):
            self.export(node.value)

    def ann_assign(self, node: ast.AnnAssign, scope: int, flags: int) -> None:
        self.annotation(node.annotation, scope)
        hint, hinted = _annotated(node.annotation)
        if node.value is not None:
            self.expression(node.value, scope, flags)
        self.target(node.target, scope, self.positions.end(node), flags, hint, hinted)
        if scope == 0 and node.value is not None and _is_all(node.target):
            self.exports, self.exports_open = [], False
            self.export(node.value)

    def expr(self, node: ast.Expr, scope: int, flags: int) -> None:
        value = node.value
        if isinstance(value, ast.Constant):
            return
        self.expression(value, scope, flags)
        if scope or not isinstance(value, ast.Call) or len(value.args) != 1:
            return
        match dotted(value.func):
            case ("__all__", "append"):
                self.export(ast.List([value.args[0]], ast.Load()))
            case ("__all__", "extend"):
                self.export(value.args[0])

    def export(self, value: ast.expr) -> None:
        """Take in what is added to ``__all__``."""
        if self.exports is None:
            self.exports = []
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
            self.export(value.left)
            self.export(value.right)
        elif isinstance(value, (ast.List, ast.Tuple)):
            for item in value.elts:
                if isinstance(item, ast.Constant) and isinstance(item.value, str):
                    start = self.content(item, item.value)
                    self.exports.append(Text(item.value, start))
                else:
                    self.exports_open = True
        else:
            self.exports_open = True

    def if_(self, node: ast.If, scope: int, flags: int) -> None:
        inner = flags | _CONDITIONAL
        while True:
            self.expression(node.test, scope, flags)
            typing = (dotted(node.test) or _UNKNOWN)[-1] == "TYPE_CHECKING"
            self.block(node.body, scope, inner | (_TYPING if typing else 0))
            if len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
                node = node.orelse[0]
                continue
            self.block(node.orelse, scope, inner)
            return

    def while_(self, node: ast.While, scope: int, flags: int) -> None:
        self.expression(node.test, scope, flags | _LOOP)
        self.block(node.body, scope, flags | _CONDITIONAL | _LOOP)
        self.block(node.orelse, scope, flags | _CONDITIONAL)

    def for_(self, node: ast.For | ast.AsyncFor, scope: int, flags: int) -> None:
        self.expression(node.iter, scope, flags)
        inner = flags | _CONDITIONAL | _LOOP
        self.target(node.target, scope, self.positions.end(node.target), inner)
        self.block(node.body, scope, inner)
        self.block(node.orelse, scope, flags | _CONDITIONAL)

    def try_(self, node: Any, scope: int, flags: int) -> None:
        inner = flags | _CONDITIONAL | (_TRY if node.handlers else 0)
        self.block(node.body, scope, inner)
        for handler in node.handlers:
            if handler.type is not None:
                self.expression(handler.type, scope, inner)
            if handler.name:
                after = self.positions.end(handler.type)
                start = self.find(handler.name, after, self.positions.start(handler.body[0]))
                self.bind(BindingKind.ASSIGN, scope, handler.name, start, start, inner)
            self.block(handler.body, scope, inner)
        self.block(node.orelse, scope, inner)
        self.block(node.finalbody, scope, flags)

    def with_(self, node: ast.With | ast.AsyncWith, scope: int, flags: int) -> None:
        for item in node.items:
            self.expression(item.context_expr, scope, flags)
            if item.optional_vars is not None:
                since = self.positions.end(item.optional_vars)
                self.target(item.optional_vars, scope, since, flags)
        self.block(node.body, scope, flags | _CONDITIONAL)

    def match(self, node: ast.Match, scope: int, flags: int) -> None:
        self.expression(node.subject, scope, flags)
        inner = flags | _CONDITIONAL
        for case in node.cases:
            self.pattern(case.pattern, scope, inner)
            if case.guard is not None:
                self.expression(case.guard, scope, inner)
            self.block(case.body, scope, inner)

    def pattern(self, pattern: ast.pattern, scope: int, flags: int) -> None:
        for node in ast.walk(pattern):
            start = UNPLACED
            name: str | None = None
            if isinstance(node, ast.MatchAs | ast.MatchStar):
                name = node.name
                if name:
                    start = self.token_before(name, self.positions.end(node))
            elif isinstance(node, ast.MatchMapping) and node.rest:
                name = node.rest
                after = self.positions.end(node.patterns[-1]) if node.patterns else 0
                begin = max(after, self.positions.start(node))
                start = self.find(name, begin, self.positions.end(node))
            elif isinstance(node, ast.MatchClass):
                self.expression(node.cls, scope, flags)
            elif isinstance(node, ast.MatchValue):
                self.expression(node.value, scope, flags)
            elif isinstance(node, ast.MatchMapping):
                for key in node.keys:
                    self.expression(key, scope, flags)
            if name:
                self.bind(BindingKind.ASSIGN, scope, name, start, start, flags)

    def declare(self, node: ast.Global | ast.Nonlocal, scope: int, flags: int) -> None:
        declared = self.global_names if isinstance(node, ast.Global) else self.nonlocal_names
        declared[scope].update(node.names)
        begin, end = self.positions.start(node), self.positions.end(node)
        begin += len("global") if isinstance(node, ast.Global) else len("nonlocal")
        for name in node.names:
            self.loads.setdefault(name, []).extend((scope, self.find(name, begin, end)))

    def delete(self, node: ast.Delete, scope: int, flags: int) -> None:
        for target in node.targets:
            self.target(target, scope, self.positions.end(node), flags)

    # ------------------------------------------------------------------------- expressions

    def annotation(self, node: ast.expr, scope: int) -> None:
        """Walk an annotation; simple strings in it are annotations too."""
        stack: list[ast.expr] = [node]
        while stack:
            item = stack.pop()
            if isinstance(item, ast.Constant):
                if isinstance(item.value, str):
                    self.quoted(item, item.value, scope)
            elif isinstance(item, ast.Subscript):
                self.expression(item.value, scope)
                name = (dotted(item.value) or _UNKNOWN)[-1]
                if name == "Literal":
                    continue
                if name == "Annotated" and isinstance(item.slice, ast.Tuple):
                    stack.append(item.slice.elts[0])
                    for extra in item.slice.elts[1:]:
                        self.expression(extra, scope)
                else:
                    stack.append(item.slice)
            elif isinstance(item, (ast.Tuple, ast.List)):
                stack.extend(item.elts)
            elif isinstance(item, ast.BinOp):
                stack.extend((item.left, item.right))
            else:
                self.expression(item, scope)

    def quoted(self, node: ast.Constant, value: str, scope: int) -> None:
        """Walk an annotation that is written as a string."""
        start = self.content(node, value)
        try:
            tree = ast.parse(value, mode="eval")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return
        if "\n" in value or "\r" in value or not value.isascii():
            start = UNPLACED
        outer = self.at
        self.at = lambda line, column: start + column if start >= 0 else _NOWHERE
        try:
            self.annotation(tree.body, scope)
        finally:
            self.at = outer

    def content(self, node: ast.Constant, value: str) -> int:
        """Return where the content of a string literal starts, if it stands there as it is."""
        try:
            start, end = self.at(node.lineno, node.col_offset), self.positions.end(node)
        except UnicodeError:
            return UNPLACED
        if start < 0:
            return UNPLACED
        raw = self.data[start:end]
        quotes = 3 if raw[:3] in (b'"""', b"'''") else 1
        try:
            spelled = value.encode(self.positions.encoding)
        except UnicodeError:
            return UNPLACED
        plain = raw[:1] in (b'"', b"'") and raw[quotes:-quotes] == spelled
        return start + quotes if plain else UNPLACED

    def expression(self, node: ast.expr, scope: int, flags: int = 0) -> None:
        """Walk an expression, noting every use in it."""
        stack: list[tuple[ast.AST, int]] = [(node, scope)]
        loads, at, token = self.loads, self.at, self.positions.token
        while stack:
            item, scope = stack.pop()
            kind = type(item)
            if kind is ast.Name:
                name = cast(ast.Name, item)
                start = token(name.id, at(name.lineno, name.col_offset))
                flat = loads.get(name.id)
                if flat is None:
                    loads[name.id] = [scope, start]
                else:
                    flat.append(scope)
                    flat.append(start)
            elif kind is ast.Constant:
                value = cast(ast.Constant, item).value
                if type(value) is str and "." in value:
                    self.text(cast(ast.Constant, item), value, False)
            elif kind is ast.Attribute:
                self.chain(cast(ast.Attribute, item), scope, None, stack)
            elif kind is ast.Call:
                self.call(cast(ast.Call, item), scope, stack)
            elif kind is ast.Lambda:
                self.lambda_(cast(ast.Lambda, item), scope, stack)
            elif kind in _COMPREHENSIONS:
                self.comprehension(cast(ast.ListComp, item), scope, flags, stack)
            elif kind is ast.NamedExpr:
                self.walrus(cast(ast.NamedExpr, item), scope, flags, stack)
            elif kind is ast.Subscript:
                self.subscript(cast(ast.Subscript, item), scope, stack)
            else:
                for field in item._fields:
                    child = getattr(item, field)
                    if isinstance(child, list):
                        for entry in child:
                            if isinstance(entry, ast.AST):
                                stack.append((entry, scope))
                    elif isinstance(child, ast.expr):
                        stack.append((child, scope))

    def chain(
        self,
        node: ast.expr,
        scope: int,
        call: Call | None,
        stack: list[tuple[ast.AST, int]],
    ) -> None:
        """Note a dotted use; what it hangs on goes onto the stack."""
        at, token = self.at, self.positions.token
        context = _CONTEXTS[type(getattr(node, "ctx", None) or ast.Load())]
        names: list[str] = []
        starts: list[int] = []
        encoding = self.positions.encoding
        while type(node) is ast.Attribute:
            attr = node.attr
            end = at(node.end_lineno or 0, node.end_col_offset or 0)
            size = len(attr) if attr.isascii() else len(attr.encode(encoding))
            names.append(attr)
            starts.append(token(attr, end - size))
            node = node.value
        base: tuple[str, ...] = ()
        if type(node) is ast.Name:
            names.append(node.id)
            starts.append(token(node.id, at(node.lineno, node.col_offset)))
        elif names:
            names.append("")
            starts.append(UNPLACED)
            if type(node) is ast.Call:
                base = dotted(node.func) or ()
            stack.append((node, scope))
        else:
            stack.append((node, scope))
            if call is None or type(node) is not ast.Call:
                return
            names.append("")
            starts.append(UNPLACED)
            base = dotted(node.func) or ()
        names.reverse()
        starts.reverse()
        self.chains.append(Use(scope, tuple(names), tuple(starts), context, call, base))

    def call(self, node: ast.Call, scope: int, stack: list[tuple[ast.AST, int]]) -> None:
        star = double = False
        positional = 0
        keywords: list[tuple[str, int]] = []
        func = node.func
        last = func.id if type(func) is ast.Name else getattr(func, "attr", "")
        args: Sequence[ast.expr] = node.args
        for arg in args:
            if type(arg) is ast.Starred:
                star = True
            else:
                positional += 1
        for keyword in node.keywords:
            if keyword.arg is None:
                double = True
            else:
                keywords.append((keyword.arg, self.token(keyword.arg, keyword)))
            stack.append((keyword.value, scope))
        end = self.at(node.end_lineno or 0, node.end_col_offset or 0)
        start = self.at(node.lineno, node.col_offset)
        call = Call(positional, star, double, tuple(keywords), start, end)
        self.chain(func, scope, call, stack)
        if last in _INTERESTING:
            args = self.special(last, node, scope, call, args, stack)
        for arg in args:
            stack.append((arg, scope))

    def special(
        self,
        last: str,
        node: ast.Call,
        scope: int,
        call: Call,
        args: Sequence[ast.expr],
        stack: list[tuple[ast.AST, int]],
    ) -> Sequence[ast.expr]:
        """Look closer at calls that name things in their arguments; return what is left to walk."""
        if last in _DYNAMIC and isinstance(node.func, ast.Name):
            self.dynamic.append((scope, self.positions.start(node)))
        elif last in _BY_STRING:
            for arg in args:
                if isinstance(arg, ast.Constant) and isinstance(arg.value, str):
                    self.text(arg, arg.value, True)
            return [arg for arg in args if not isinstance(arg, ast.Constant)]
        elif last == "partial" and args and dotted(args[0]) is not None:
            passed = call._replace(positional=call.positional - 1, partial=True)
            self.chain(args[0], scope, passed, stack)
            return args[1:]
        elif last == "cast" and len(args) == 2:
            self.annotation(args[0], scope)
            return args[1:]
        elif last == "TypeVar":
            for keyword in node.keywords:
                if keyword.arg == "bound" and isinstance(keyword.value, ast.Constant):
                    self.annotation(keyword.value, scope)
        return args

    def subscript(self, node: ast.Subscript, scope: int, stack: list[tuple[ast.AST, int]]) -> None:
        stack.append((node.slice, scope))
        stack.append((node.value, scope))
        key = node.slice
        if (
            isinstance(key, ast.Constant)
            and isinstance(key.value, str)
            and isinstance(node.value, ast.Call)
            and (dotted(node.value.func) or _UNKNOWN)[-1] in _NAMESPACES
        ):
            self.text(key, key.value, True)

    def text(self, node: ast.Constant, value: str, dynamic: bool) -> None:
        if len(value) <= _LONGEST_TEXT and _NAMING.fullmatch(value):
            self.texts.append(Text(value, self.at(node.lineno, node.col_offset), dynamic))

    def lambda_(self, node: ast.Lambda, scope: int, stack: list[tuple[ast.AST, int]]) -> None:
        inner = self.open(
            ScopeKind.LAMBDA, scope, "", self.positions.start(node), self.positions.end(node)
        )
        self.parameters(node.args, inner, scope, 0)
        stack.append((node.body, inner))

    def comprehension(
        self,
        node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp,
        scope: int,
        flags: int,
        stack: list[tuple[ast.AST, int]],
    ) -> None:
        start, end = self.positions.start(node), self.positions.end(node)
        inner = self.open(ScopeKind.COMPREHENSION, scope, "", start, end)
        for i, generator in enumerate(node.generators):
            stack.append((generator.iter, scope if i == 0 else inner))
            self.target(generator.target, inner, start, 0)
            stack.extend((test, inner) for test in generator.ifs)
        if isinstance(node, ast.DictComp):
            stack.append((node.key, inner))
            stack.append((node.value, inner))
        else:
            stack.append((node.elt, inner))

    def walrus(
        self, node: ast.NamedExpr, scope: int, flags: int, stack: list[tuple[ast.AST, int]]
    ) -> None:
        stack.append((node.value, scope))
        holder = scope
        while self.scopes[holder].kind is ScopeKind.COMPREHENSION:
            holder = self.scopes[holder].parent
        end = self.positions.end(node)
        hint, hinted = _valued(node.value)
        self.target(node.target, holder, end, flags | _CONDITIONAL, hint, hinted)


_COMPREHENSIONS = frozenset((ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp))
_INTERESTING = _BY_STRING | _DYNAMIC | {"partial", "cast", "TypeVar"}

_Handler = Callable[[Any, int, int], None]


def _statement_table(scanner: _Scanner) -> dict[type, _Handler]:
    table: dict[type, _Handler] = {
        ast.FunctionDef: scanner.function,
        ast.AsyncFunctionDef: scanner.function,
        ast.ClassDef: scanner.klass,
        ast.Import: scanner.import_,
        ast.ImportFrom: scanner.import_from,
        ast.Assign: scanner.assign,
        ast.AugAssign: scanner.aug_assign,
        ast.AnnAssign: scanner.ann_assign,
        ast.Expr: scanner.expr,
        ast.If: scanner.if_,
        ast.While: scanner.while_,
        ast.For: scanner.for_,
        ast.AsyncFor: scanner.for_,
        ast.Try: scanner.try_,
        ast.TryStar: scanner.try_,
        ast.With: scanner.with_,
        ast.AsyncWith: scanner.with_,
        ast.Match: scanner.match,
        ast.Global: scanner.declare,
        ast.Nonlocal: scanner.declare,
        ast.Delete: scanner.delete,
    }
    alias = getattr(ast, "TypeAlias", None)
    if alias is not None:
        table[alias] = scanner.type_alias
    return table


def _callee(node: ast.expr) -> tuple[str, ...]:
    return dotted(node.func if isinstance(node, ast.Call) else node) or _UNKNOWN


def _base(node: ast.expr) -> tuple[str, ...]:
    """Return the dotted name of a base class; of ``Generic[T]``, ``Generic``."""
    return dotted(node.value if isinstance(node, ast.Subscript) else node) or _UNKNOWN


def _is_all(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "__all__"


def _valued(value: ast.expr) -> tuple[Hint, tuple[str, ...]]:
    """Return what a value says about what it is assigned to."""
    if isinstance(value, ast.Call):
        name = dotted(value.func)
        return (Hint.CONSTRUCTED, name) if name else (Hint.NOTHING, ())
    name = dotted(value)
    return (Hint.ALIAS, name) if name else (Hint.NOTHING, ())


def _annotated(node: ast.expr) -> tuple[Hint, tuple[str, ...]]:
    """Return the class that a simple annotation names: ``C``, ``"C"``, ``C | None``, …."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            node = ast.parse(node.value, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return Hint.NOTHING, ()
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        sides = [side for side in (node.left, node.right) if not _is_none(side)]
        if len(sides) == 1:
            return _annotated(sides[0])
    if isinstance(node, ast.Subscript):
        outer = dotted(node.value)
        if outer and outer[-1] in ("Optional", "Final", "ClassVar"):
            return _annotated(node.slice)
    name = dotted(node)
    return (Hint.ANNOTATED, name) if name else (Hint.NOTHING, ())


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
