"""The names in expressions: uses with their chains, calls and strings, in nested scopes.

The part of `mak.source.scan` below the statements. Expressions are walked with an explicit stack,
so that their depth is no concern.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Any, cast

from mak.source.expected import expected
from mak.source.facts import (
    UNPLACED,
    Binding,
    BindingKind,
    Call,
    Context,
    Definition,
    Field,
    Flag,
    Guard,
    Hint,
    Import,
    Option,
    Parameter,
    ParameterKind,
    Scope,
    ScopeKind,
    Text,
    Use,
)
from mak.source.positions import Positions

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
_INTERESTING = _BY_STRING | _DYNAMIC | {"partial", "cast", "TypeVar"}
_COMPREHENSIONS = frozenset((ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp))
_CONDITIONAL, _LOOP = int(Flag.CONDITIONAL), int(Flag.LOOP)
#: A dotted name that an expression does not have.
UNKNOWN = ("?",)
#: What the base of a use begins with that hangs on ``super(C, …)``.
SUPER = "super()"
_CONTEXTS: dict[type, Context] = {
    ast.Load: Context.LOAD,
    ast.Store: Context.STORE,
    ast.Del: Context.DELETE,
}


_LOAD = ast.Load()


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


class Expressions:
    """What a walk over a module has found so far, and the walk over its expressions."""

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
        self.fields: list[Field] = []
        self.guards: list[tuple[int, int, int]] = []

    # ------------------------------------------------------------------------------ scopes

    def open(self, kind: ScopeKind, parent: int, name: str, start: int, end: int) -> int:
        """Add a scope and return its index."""
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
        """Note that a name is bound, in the scope that it belongs to."""
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
        """Place `name` where a node starts."""
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

    def parameters(
        self, args: ast.arguments, inner: int, outer: int, flags: int
    ) -> tuple[Parameter, ...]:
        """Bind parameters in `inner`; their defaults and annotations are seen from `outer`."""
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
                    hint, hinted = annotated(arg.annotation)
            self.bind(BindingKind.PARAMETER, inner, arg.arg, start, start, 0, -1, hint, hinted)
        for value in (*args.defaults, *args.kw_defaults):
            if value is not None:
                self.expression(value, outer, flags)
        return tuple(result)

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
                name = (dotted(item.value) or UNKNOWN)[-1]
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
        stack: list[tuple[Any, int]] = [(node, scope)]
        loads, at, token = self.loads, self.at, self.positions.token
        while stack:
            item, scope = stack.pop()
            kind = type(item)
            if kind is ast.Name:
                start = token(item.id, at(item.lineno, item.col_offset))
                flat = loads.get(item.id)
                if flat is None:
                    loads[item.id] = [scope, start]
                else:
                    flat.append(scope)
                    flat.append(start)
            elif kind is ast.Constant:
                value = item.value
                if type(value) is str and "." in value:
                    self._text(item, value, False)
            elif kind is ast.Attribute:
                self._chain(item, scope, None, stack)
            elif kind is ast.Call:
                self._call(item, scope, stack)
            elif kind is ast.Lambda:
                self._lambda(item, scope, stack)
            elif kind in _COMPREHENSIONS:
                self._comprehension(item, scope, flags, stack)
            elif kind is ast.NamedExpr:
                self._walrus(item, scope, flags, stack)
            elif kind is ast.Subscript:
                self._subscript(item, scope, stack)
            else:
                for field in _PARTS.get(kind) or _parts(kind):
                    child = getattr(item, field)
                    if type(child) is list:
                        stack += [(entry, scope) for entry in child if isinstance(entry, ast.AST)]
                    elif isinstance(child, ast.expr):
                        stack.append((child, scope))

    def _chain(
        self,
        node: ast.expr,
        scope: int,
        call: Call | None,
        stack: list[tuple[Any, int]],
    ) -> None:
        """Note a dotted use; what it hangs on goes onto the stack."""
        at, token = self.at, self.positions.token
        context = _CONTEXTS[type(getattr(node, "ctx", _LOAD))]
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
                base = _callee(node)
            stack.append((node, scope))
        else:
            stack.append((node, scope))
            if call is None or type(node) is not ast.Call:
                return
            names.append("")
            starts.append(UNPLACED)
            base = _callee(node)
        names.reverse()
        starts.reverse()
        self.chains.append(Use(scope, tuple(names), tuple(starts), context, call, base))

    def _call(self, node: ast.Call, scope: int, stack: list[tuple[Any, int]]) -> None:
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
        self._chain(func, scope, call, stack)
        if expected(node):
            self.guards.append((start, end, int(Guard.ALL)))
        if last in _INTERESTING:
            args = self._special(last, node, scope, call, args, stack)
        for arg in args:
            stack.append((arg, scope))

    def _special(
        self,
        last: str,
        node: ast.Call,
        scope: int,
        call: Call,
        args: Sequence[ast.expr],
        stack: list[tuple[Any, int]],
    ) -> Sequence[ast.expr]:
        """Look closer at calls that name things in their arguments; return what is left to walk."""
        if last in _DYNAMIC and isinstance(node.func, ast.Name):
            self.dynamic.append((scope, self.positions.start(node)))
        elif last in _BY_STRING:
            for arg in args:
                if isinstance(arg, ast.Constant) and isinstance(arg.value, str):
                    self._text(arg, arg.value, True)
            return [arg for arg in args if not isinstance(arg, ast.Constant)]
        elif last == "partial" and args and dotted(args[0]) is not None:
            passed = call._replace(positional=call.positional - 1, partial=True)
            self._chain(args[0], scope, passed, stack)
            return args[1:]
        elif last == "cast" and len(args) == 2:
            self.annotation(args[0], scope)
            return args[1:]
        elif last == "TypeVar":
            for keyword in node.keywords:
                if keyword.arg == "bound" and isinstance(keyword.value, ast.Constant):
                    self.annotation(keyword.value, scope)
        return args

    def _subscript(self, node: ast.Subscript, scope: int, stack: list[tuple[Any, int]]) -> None:
        stack.append((node.slice, scope))
        stack.append((node.value, scope))
        key = node.slice
        if (
            isinstance(key, ast.Constant)
            and isinstance(key.value, str)
            and isinstance(node.value, ast.Call)
            and (dotted(node.value.func) or UNKNOWN)[-1] in _NAMESPACES
        ):
            self._text(key, key.value, True)

    def _text(self, node: ast.Constant, value: str, dynamic: bool) -> None:
        if len(value) <= _LONGEST_TEXT and _NAMING.fullmatch(value):
            self.texts.append(Text(value, self.at(node.lineno, node.col_offset), dynamic))

    def _lambda(self, node: ast.Lambda, scope: int, stack: list[tuple[Any, int]]) -> None:
        inner = self.open(
            ScopeKind.LAMBDA, scope, "", self.positions.start(node), self.positions.end(node)
        )
        self.parameters(node.args, inner, scope, 0)
        stack.append((node.body, inner))

    def _comprehension(
        self,
        node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp,
        scope: int,
        flags: int,
        stack: list[tuple[Any, int]],
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

    def _walrus(
        self, node: ast.NamedExpr, scope: int, flags: int, stack: list[tuple[Any, int]]
    ) -> None:
        stack.append((node.value, scope))
        holder = scope
        while self.scopes[holder].kind is ScopeKind.COMPREHENSION:
            holder = self.scopes[holder].parent
        end = self.positions.end(node)
        hint, hinted = valued(node.value)
        self.target(node.target, holder, end, flags | _CONDITIONAL, hint, hinted)


#: The fields of each kind of node that may hold expressions.
_PARTS: dict[type[ast.AST], tuple[str, ...]] = {}


def _parts(kind: type[ast.AST]) -> tuple[str, ...]:
    found = tuple(field for field in kind._fields if field not in ("ctx", "op", "ops"))
    return _PARTS.setdefault(kind, found)


def _callee(node: ast.Call) -> tuple[str, ...]:
    """Return the dotted callee; of ``super(C, self)``, ``super()`` and the class."""
    name = dotted(node.func) or ()
    if name == ("super",) and node.args:
        return (SUPER, *(dotted(node.args[0]) or UNKNOWN))
    return name


def valued(value: ast.expr) -> tuple[Hint, tuple[str, ...]]:
    """Return what a value says about what it is assigned to."""
    if isinstance(value, ast.Call):
        name = dotted(value.func)
        return (Hint.CONSTRUCTED, name) if name else (Hint.NOTHING, ())
    name = dotted(value)
    return (Hint.ALIAS, name) if name else (Hint.NOTHING, ())


def annotated(node: ast.expr) -> tuple[Hint, tuple[str, ...]]:
    """Return the class that a simple annotation names: ``C``, ``"C"``, ``C | None``, …."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            node = ast.parse(node.value, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return Hint.NOTHING, ()
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        sides = [side for side in (node.left, node.right) if not _is_none(side)]
        if len(sides) == 1:
            return annotated(sides[0])
    if isinstance(node, ast.Subscript):
        outer = dotted(node.value)
        if outer and outer[-1] in ("Optional", "Final", "ClassVar"):
            return annotated(node.slice)
    name = dotted(node)
    return (Hint.ANNOTATED, name) if name else (Hint.NOTHING, ())


def outermost(node: ast.expr) -> tuple[tuple[str, ...], bool]:
    """Return the outermost dotted name of an annotation, and whether it lets a value be None."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            node = ast.parse(node.value, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return UNKNOWN, True
    if isinstance(node, ast.Subscript):
        name = dotted(node.value) or UNKNOWN
        inner = name[-1] in ("Annotated", "Final", "Required") and outermost(node.slice)[1]
        return name, name[-1] == "Optional" or inner
    if isinstance(node, ast.Tuple) and node.elts:
        return outermost(node.elts[0])
    if isinstance(node, ast.BinOp):
        optional = any(_is_none(s) or outermost(s)[1] for s in (node.left, node.right))
        return UNKNOWN, optional
    name = dotted(node) or UNKNOWN
    return name, _is_none(node) or name[-1] in ("Any", "object")


def options_of(call: ast.Call) -> tuple[Option, ...]:
    """Return the keywords of a call; ``**`` stands for what a dictionary brings."""
    found: list[Option] = []
    for keyword in call.keywords:
        value = keyword.value
        literal = isinstance(value, ast.Constant) and (
            value.value is None or isinstance(value.value, bool)
        )
        known = cast(ast.Constant, value).value if literal else "?"
        found.append((keyword.arg or "**", cast("bool | str | None", known)))
    return tuple(found)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
