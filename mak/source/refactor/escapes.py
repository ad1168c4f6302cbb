"""Where a function is handed on as a value, and the calls that may then reach it by keyword.

Who calls it there is not known by name: any call whose callee is not proved to be something else
may. A call that takes the function itself may pass its other arguments on to it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mak.source.facts import BindingKind, Context, Facts, ScopeKind, Use
from mak.source.hierarchy import Doubt
from mak.source.names import line_of
from mak.source.positions import Positions
from mak.source.python_ast import parse
from mak.source.refactor.signature import Site
from mak.source.resolve import Derived, Module, Names, Outside, Variable
from mak.source.written import written

#: Callees that take a function or class and call it with positions alone, or not at all.
_HARMLESS = frozenset(
    {
        "callable",
        "filter",
        "functools.reduce",
        "functools.update_wrapper",
        "functools.wraps",
        "hash",
        "id",
        "isinstance",
        "issubclass",
        "map",
        "print",
        "reduce",
        "repr",
        "str",
        "type",
        "typing.cast",
        "typing.get_type_hints",
        "wraps",
    }
)
#: Keyword arguments whose value is called with one position.
_KEYS = frozenset({"key"})
_UNREAD = (SyntaxError, ValueError, RecursionError, MemoryError)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True, slots=True)
class Escapes:
    """What is known of a function as a value."""

    #: The expressions that hand it on.
    handed: tuple[Doubt, ...] = ()
    #: The calls that may pass one of its parameters by keyword.
    doubts: tuple[Doubt, ...] = ()


def escapes(names: Names, sites: Iterable[Site], parameter: str) -> Escapes:
    """Return where a function is handed on, and what may call it there with `parameter=`.

    `sites` are its proven uses.
    """
    handed: dict[Doubt, None] = {}
    doubts: dict[Doubt, None] = {}
    values = [
        site
        for site in sites
        if site.use.call is None
        and site.use.context is Context.LOAD
        and site.position == len(site.use.names) - 1
    ]
    for path in sorted({site.path for site in values}):
        trees = _Trees(names, path)
        for site in values:
            if site.path != path:
                continue
            node = trees.named(site.use, site.position)
            if node is None or not trees.is_harmless(node):
                handed[trees.doubt(node, site.use)] = None
                if node is not None and (call := trees.passed_with(node, parameter)) is not None:
                    doubts[trees.doubt(call, site.use)] = None
    if not handed:
        return Escapes()
    for path in names.index.mentioning(parameter):
        doubts.update(dict.fromkeys(_Trees(names, path).unproven(parameter)))
    return Escapes(tuple(sorted(handed)), tuple(sorted(doubts)))


class _Trees:
    """The syntax tree of one file, and what encloses what in it."""

    def __init__(self, names: Names, path: str) -> None:
        self.names, self.path = names, path
        file = names.sources.file(path)
        self.at = Positions(file.data, file.encoding)
        self.parents: dict[ast.AST, ast.AST] = {}
        self.ends: dict[int, ast.expr] = {}
        self.calls: list[ast.Call] = []
        try:
            tree = parse(file.data)
        except _UNREAD:
            return
        for node in ast.walk(tree):
            for child in ast.iter_child_nodes(node):
                self.parents[child] = node
            if isinstance(node, ast.Name | ast.Attribute):
                self.ends[self.at.end(node)] = node
            elif isinstance(node, ast.Call):
                self.calls.append(node)

    def named(self, use: Use, position: int) -> ast.expr | None:
        """Return the expression that a use is up to a position."""
        start = use.starts[position]
        return self.ends.get(start + len(use.names[position].encode(self.at.encoding)))

    def doubt(self, node: ast.expr | None, use: Use) -> Doubt:
        """Return a place to name to a person: the expression, with the call that takes it."""
        if node is None:
            line = line_of(self.names.sources, self.path, max(use.starts))
            return Doubt(self.path, line, ".".join(use.names))
        parent = self.parents.get(node)
        parent = self.parents.get(parent) if isinstance(parent, ast.keyword) else parent
        shown = parent if isinstance(parent, ast.Call) else node
        return Doubt(self.path, node.lineno, _short(written(shown)))

    def is_harmless(self, node: ast.expr) -> bool:
        """Whether nobody can call what an expression is worth by keyword, where it stands."""
        parent = self.parents.get(node)
        while isinstance(parent, ast.Tuple | ast.BinOp | ast.Subscript):
            node, parent = parent, self.parents.get(parent)
        match parent:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.arg():
                return True  # a decorator, a base, an annotation
            case ast.AnnAssign():
                return node is parent.annotation
            case ast.Expr() | ast.Compare() | ast.ExceptHandler() | ast.Delete() | ast.Assert():
                return True
            case ast.If() | ast.While() | ast.IfExp():
                return node is parent.test
            case ast.keyword():
                return parent.arg in _KEYS
            case ast.Call():
                return written(parent.func) in _HARMLESS
        return False

    def passed_with(self, node: ast.expr, parameter: str) -> ast.Call | None:
        """Return the call that takes a function and may pass `parameter` on to it."""
        parent = self.parents.get(node)
        call = self.parents.get(parent) if isinstance(parent, ast.keyword) else parent
        if not isinstance(call, ast.Call):
            return None
        for keyword in call.keywords:
            keys = keyword.value.keys if isinstance(keyword.value, ast.Dict) else []
            named = any(isinstance(key, ast.Constant) and key.value == parameter for key in keys)
            if keyword.arg == parameter or named:
                return call
        return None

    def unproven(self, parameter: str) -> Iterator[Doubt]:
        """Yield the calls with `parameter=` whose callee may be any function."""
        for call in self.calls:
            if any(keyword.arg == parameter for keyword in call.keywords) and self._may_be_any(
                call
            ):
                yield Doubt(self.path, call.lineno, _short(written(call)))

    def _may_be_any(self, call: ast.Call) -> bool:
        facts = self.names.facts(self.path)
        if facts is None:
            return True
        if not isinstance(call.func, ast.Name | ast.Attribute):
            return True
        end, name = self.at.end(call.func), written(call.func).rpartition(".")[2]
        use = next(
            (
                use
                for use in facts.uses(name)
                if use.starts[-1] + len(name.encode(self.at.encoding)) == end
            ),
            None,
        )
        if use is None:
            return True
        last = len(use.names) - 1
        things = self.names.use(self.path, use, last)
        if things:
            return not all(self._is_known(thing) for thing in things)
        if isinstance(call.func, ast.Name):
            at = max(use.starts[0], 0)
            return self.names.lookup(self.path, use.scope, name, at) is not None  # else a builtin
        receivers = self.names.receivers(self.path, use, last)
        if receivers and all(isinstance(thing, Outside | Module) for thing in receivers):
            return False
        return self._is_set(name)

    def _is_known(self, thing: object) -> bool:
        """Whether a callee is a definition, or something of another package."""
        found = self.names.the(thing) if isinstance(thing, Variable) else thing
        if isinstance(found, Variable):
            return bool(self.names.definitions(found))
        return isinstance(found, Outside | Module | Derived)

    def _is_set(self, attribute: str) -> bool:
        """Whether the repository puts values into an attribute of that name."""
        for path in self.names.index.mentioning(attribute):
            facts = self.names.facts(path)
            if facts is not None and _sets(facts, attribute):
                return True
        return False


def _sets(facts: Facts, attribute: str) -> bool:
    if any(
        use.context is Context.STORE and use.names[-1] == attribute and len(use.names) > 1
        for use in facts.uses(attribute)
    ):
        return True
    return any(
        facts.scopes[scope].kind is ScopeKind.CLASS
        and any(b.kind is BindingKind.ASSIGN for b in facts.bound(scope, attribute))
        for scope in facts.scopes_binding(attribute)
    )


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 70 else f"{line[:69]}…"
