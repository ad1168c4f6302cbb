"""From a file's bytes to its facts: one parse, one walk.

Statements are walked here, as deep as Python's own parser allows; what is below them is
`mak.source.expressions`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from typing import Any

from mak.source.expected import LOOKING, caught, expected, is_skip, looked_at
from mak.source.expressions import (
    UNKNOWN,
    Expressions,
    annotated,
    dotted,
    options_of,
    outermost,
    valued,
)
from mak.source.facts import (
    UNPLACED,
    BindingKind,
    Definition,
    Facts,
    Field,
    Flag,
    Guard,
    Import,
    Parameter,
    ScopeKind,
    Text,
)
from mak.source.python_ast import parse

_GAP = rb"(?:[ \t\f]|\\\r?\n|\\\r)+"
_DEF = re.compile(rb"(?:async" + _GAP + rb")?(?:def|class)" + _GAP)
_CONDITIONAL, _TYPING, _LOOP = int(Flag.CONDITIONAL), int(Flag.TYPING), int(Flag.LOOP)
_NONE, _TRY = int(Flag.NONE), int(Flag.TRY)

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Handler = Callable[[Any, int, int], None]


def scan(data: bytes, encoding: str = "utf-8") -> Facts | None:
    """Return what `data` says about names; None when it does not parse."""
    try:
        return _Scanner(data, encoding).run(parse(data))
    except (SyntaxError, ValueError, RecursionError, MemoryError, LookupError):
        return None


class _Scanner(Expressions):
    """One walk over one module."""

    def __init__(self, data: bytes, encoding: str) -> None:
        super().__init__(data, encoding)
        self.statement = _statement_table(self)
        #: What the function being walked returns.
        self.returns: list[tuple[str, ...]] = []

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
            tuple(self.fields),
            tuple(self.guards),
        )

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
        at = self.define(node, scope, inner, flags, parameters, (), (), start)
        outer_returns, self.returns = self.returns, []
        self.block(node.body, inner, 0)
        returned = annotated(node.returns)[1] if node.returns is not None else ()
        definition = self.definitions[at]
        returns = tuple(dict.fromkeys(self.returns))
        self.definitions[at] = definition._replace(returns=returns, returned=returned)
        self.returns = outer_returns
        if any(is_skip(name) for name in definition.decorators):
            self.guards.append((start, end, int(Guard.ALL)))

    def return_(self, node: ast.Return, scope: int, flags: int) -> None:
        if node.value is None:
            self.returns.append(UNKNOWN)
            return
        self.returns.append(dotted(node.value) or UNKNOWN)
        self.expression(node.value, scope, flags)

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
        metaclass: tuple[str, ...] = (),
    ) -> int:
        match = _DEF.match(self.data, start)
        at = self.positions.token(node.name, match.end()) if match else UNPLACED
        is_class = isinstance(node, ast.ClassDef)
        decorators = tuple(_callee(item) for item in node.decorator_list)
        options = tuple(
            options_of(item) if isinstance(item, ast.Call) else None for item in node.decorator_list
        )
        self.definitions.append(
            Definition(
                node.name,
                inner,
                scope,
                decorators,
                bases,
                keywords,
                parameters,
                is_class,
                options,
                metaclass=metaclass,
                decorators_at=tuple(map(self.positions.start, node.decorator_list)),
                bases_at=tuple(map(self.positions.start, getattr(node, "bases", ()))),
            )
        )
        kind = BindingKind.CLASS if is_class else BindingKind.FUNCTION
        index = len(self.definitions) - 1
        self.bind(kind, scope, node.name, at, at, flags, index)
        return index

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
        metaclass = next((item.value for item in node.keywords if item.arg == "metaclass"), None)
        named = () if metaclass is None else dotted(metaclass) or UNKNOWN
        self.define(node, scope, inner, flags, (), bases, keywords, start, named)
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
        hint, hinted = valued(node.value)
        if isinstance(node.value, ast.Constant) and node.value.value is None:
            flags |= _NONE
        for target in node.targets:
            self.target(target, scope, end, flags, hint, hinted)
        if isinstance(node.value, ast.Call) and self.scopes[scope].kind is ScopeKind.CLASS:
            for target in node.targets:
                self.field(target, scope, None, node.value)
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
        hint, hinted = annotated(node.annotation)
        if node.value is not None:
            self.expression(node.value, scope, flags)
        self.target(node.target, scope, self.positions.end(node), flags, hint, hinted)
        if self.scopes[scope].kind is ScopeKind.CLASS:
            self.field(node.target, scope, node.annotation, node.value)
        if scope == 0 and node.value is not None and _is_all(node.target):
            self.exports, self.exports_open = [], False
            self.export(node.value)

    def field(
        self, target: ast.expr, scope: int, annotation: ast.expr | None, value: ast.expr | None
    ) -> None:
        """Note an assignment of a class body that may declare a field."""
        if not isinstance(target, ast.Name):
            return
        start = self.token(target.id, target)
        outer, optional = outermost(annotation) if annotation is not None else ((), False)
        found = Field(scope, target.id, start, outer, optional, None if value is None else UNKNOWN)
        if isinstance(value, ast.Call):
            callee, options = dotted(value.func) or UNKNOWN, options_of(value)
            found = found._replace(value=callee, options=options, positional=len(value.args))
        self.fields.append(found)

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
            begin, end = self.positions.start(node.test), self.positions.end(node.test)
            looked = looked_at(node.test) if LOOKING.search(self.data, begin, end) else 0
            self.guard(node.body, looked)
            self.guard(node.orelse, looked)
            typing = (dotted(node.test) or UNKNOWN)[-1] == "TYPE_CHECKING"
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
        guard = 0
        for handler in node.handlers:
            guard |= int(Guard.ALL) if handler.type is None else caught(handler.type)
        self.guard(node.body, guard)
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
            if isinstance(item.context_expr, ast.Call):
                self.guard(node.body, expected(item.context_expr))
        self.block(node.body, scope, flags | _CONDITIONAL)

    def guard(self, body: list[ast.stmt], guard: int) -> None:
        """Note that statements expect something to go wrong."""
        if guard and body:
            self.guards.append(
                (self.positions.start(body[0]), self.positions.end(body[-1]), int(guard))
            )

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
        ast.Return: scanner.return_,
    }
    alias = getattr(ast, "TypeAlias", None)
    if alias is not None:
        table[alias] = scanner.type_alias
    return table


def _callee(node: ast.expr) -> tuple[str, ...]:
    return dotted(node.func if isinstance(node, ast.Call) else node) or UNKNOWN


def _base(node: ast.expr) -> tuple[str, ...]:
    """Return the dotted name of a base class; of ``Generic[T]``, ``Generic``."""
    return dotted(node.value if isinstance(node, ast.Subscript) else node) or UNKNOWN


def _is_all(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "__all__"
