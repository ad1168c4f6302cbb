"""Where a function's value goes beyond its calls, and who may then pass an argument by keyword.

The value is followed through names, conditions, ``partial`` and the parameters of functions of the
repository that it is handed to. What calls what it is given by position only (``map``, a key for
sorting) is known by name. Everything else may pass any keyword: the place is in doubt.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from mak.source.expressions import dotted
from mak.source.facts import Call, Context, Definition, Facts, ParameterKind, ScopeKind, Use
from mak.source.graph.calls import CallSite, Receiver, call_site
from mak.source.graph.decorators import Effect, effect_of, returned
from mak.source.hierarchy import Doubt, family
from mak.source.names import line_of, uses_of
from mak.source.positions import Positions
from mak.source.python_ast import parse
from mak.source.resolve import Names, Outside, Variable
from mak.source.text import python_codec

#: What calls its argument without keywords, or not at all.
_BY_POSITION = frozenset(
    (
        "builtins.callable",
        "builtins.filter",
        "builtins.getattr",
        "builtins.hasattr",
        "builtins.hash",
        "builtins.id",
        "builtins.isinstance",
        "builtins.issubclass",
        "builtins.iter",
        "builtins.map",
        "builtins.max",
        "builtins.min",
        "builtins.print",
        "builtins.property",
        "builtins.repr",
        "builtins.sorted",
        "builtins.str",
        "builtins.super",
        "builtins.type",
        "collections.defaultdict",
        "dataclasses.field",
        "functools.cached_property",
        "functools.cmp_to_key",
        "functools.reduce",
        "functools.update_wrapper",
        "functools.wraps",
        "inspect.getdoc",
        "inspect.getfile",
        "inspect.getmodule",
        "inspect.getsource",
        "inspect.isclass",
        "inspect.iscoroutinefunction",
        "inspect.isfunction",
        "inspect.isgeneratorfunction",
        "itertools.accumulate",
        "itertools.dropwhile",
        "itertools.filterfalse",
        "itertools.groupby",
        "itertools.starmap",
        "itertools.takewhile",
        "re.sub",
        "re.subn",
        "signal.signal",
        "sys.setprofile",
        "sys.settrace",
        "typing.NewType",
        "typing.TypeVar",
        "typing.dataclass_transform",
        "weakref.ref",
        "asyncio.iscoroutinefunction",
    )
)
#: What hands its own further arguments on to the function that it is given.
_HANDS_ON = frozenset(
    (
        "asyncio.to_thread",
        "atexit.register",
        "contextvars.copy_context.run",
        "functools.partial",
        "functools.partialmethod",
        "unittest.TestCase.assertRaises",
        "pytest.raises",
        "pytest.warns",
        "weakref.finalize",
    )
)
#: What is given the arguments as a tuple and a mapping, and where the mapping is.
_STARTS = {
    "multiprocessing.Process": 4,
    "threading.Thread": 4,
    "threading.Timer": 3,
}
#: What returns its argument, or something that is called as that is.
_SAME = frozenset(
    (
        "builtins.staticmethod",
        "functools.cache",
        "functools.lru_cache",
        "typing.cast",
        "typing.final",
        "typing.no_type_check",
    )
)
#: Kinds of parameters that an argument can reach by keyword.
BY_KEYWORD = (ParameterKind.NORMAL, ParameterKind.KEYWORD)
#: How many names a value is followed through.
_DEEP = 40
_LONGEST = 60


@dataclass(frozen=True, slots=True)
class _Spot:
    """An expression whose value is the function."""

    path: str
    scope: int
    node: ast.expr


class Handed:
    """Follows the value of one function, for one of its parameters."""

    def __init__(
        self,
        names: Names,
        targets: Collection[Variable],
        keyword: str,
        is_given: Callable[[Call], bool],
    ) -> None:
        self.names = names
        #: What it is defined as; the classes that it makes, for a constructor.
        self.targets = frozenset(targets)
        self.keyword = keyword
        #: Whether the positional arguments of a call reach the parameter already.
        self.is_given = is_given
        self._seen: set[Variable] = set()

    def doubts(self, path: str, use: Use, position: int) -> Iterator[Doubt]:
        """Yield the places where a use that is no call lets others pass the keyword."""
        facts = self.names.facts(path)
        last = len(use.names) - 1
        call = use.call
        if facts is None or (position == last and call is not None and not call.partial):
            return
        at = _tree(self.names, path).name_at(use, position)
        if at is None:
            if use.starts[position] < 0:
                yield self._doubt(path, max(use.starts), ".".join(use.names))
            return  # in an annotation that is a string
        if position < last:
            name = use.names[position + 1]
            if all(self.names.class_attribute(one, name) is None for one in self.targets):
                yield from self._attribute(_Spot(path, use.scope, at))
            return
        yield from self._goes(_Spot(path, use.scope, at))

    def decorated(self, path: str, facts: Facts, definition: Definition) -> Iterator[Doubt]:
        """Yield the decorators that may call the function by keyword, or name the parameter."""
        tree = _tree(self.names, path)
        for index, start in enumerate(definition.decorators_at):
            name = definition.decorators[index]
            found = tree.expression_at(start)
            text = tree.text(found) if found is not None else ".".join(name)
            effect = effect_of(self.names, path, definition, index)
            said = found is not None and self._is_said(found)
            if said or not isinstance(effect, Effect) or effect is Effect.UNKNOWN:
                yield self._doubt(path, start, f"@{text}")
                continue
            thing = self.names.decorator(path, definition, name)
            if isinstance(thing, Variable):
                called = definition.options[index] is not None
                yield from self._received(thing, called, path, start, f"@{text}")

    def _is_said(self, node: ast.expr) -> bool:
        """Whether a decorator holds a string that names the parameter: ``parametrize("x", …)``."""
        return any(
            isinstance(inner, ast.Constant)
            and isinstance(inner.value, str)
            and self.keyword in inner.value.replace(",", " ").split()
            for inner in ast.walk(node)
        )

    def _received(
        self, decorator: Variable, called: bool, path: str, start: int, text: str
    ) -> Iterator[Doubt]:
        """Follow a function into the first parameter of what decorates it."""
        facts = self.names.facts(decorator.path)
        definitions = self.names.definitions(decorator)
        function = definitions[0] if len(definitions) == 1 else None
        if called and function is not None and facts is not None:
            function = returned(facts, function)
        if function is None or not function.parameters:
            yield self._doubt(path, start, text)
            return
        inner = Variable(decorator.path, function.scope, function.parameters[0].name)
        yield from self._variable(inner, decorates=True)

    # -------------------------------------------------------------------- one step onwards

    def _goes(self, spot: _Spot, decorates: bool = False) -> Iterator[Doubt]:
        """Yield the doubts about where the value of an expression goes."""
        tree = _tree(self.names, spot.path)
        parent = tree.parents.get(spot.node)
        node = spot.node
        match parent:
            case None | ast.Expr() | ast.Compare() | ast.FormattedValue() | ast.BinOp():
                return
            case ast.If() | ast.While() | ast.Assert() | ast.UnaryOp() | ast.ExceptHandler():
                return
            case ast.Raise() | ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                return  # a base, a decorator or an annotation
            case ast.arg() | ast.withitem() | ast.MatchClass() | ast.Delete():
                return
            case ast.Return() if decorates:
                return
            case ast.AnnAssign() if parent.annotation is node:
                return
            case ast.Subscript() if parent.slice is node:
                return
            case ast.IfExp() if parent.test is node:
                return
            case ast.Attribute():
                yield from self._attribute(spot)
            case ast.IfExp() | ast.BoolOp() | ast.Subscript() | ast.NamedExpr():
                if isinstance(parent, ast.NamedExpr):
                    yield from self._bound(spot, [parent.target], decorates)
                yield from self._goes(_Spot(spot.path, spot.scope, parent), decorates)
            case ast.Assign():
                yield from self._bound(spot, parent.targets, decorates)
            case ast.AnnAssign():
                yield from self._bound(spot, [parent.target], decorates)
            case ast.Call() if parent.func is node:
                yield from self._called(spot, parent, decorates)
            case ast.Call():
                yield from self._argument(spot, parent, parent.args.index(node), "", decorates)
            case ast.keyword(arg=str(name)):
                call = tree.parents.get(parent)
                if isinstance(call, ast.Call):
                    yield from self._argument(spot, call, -1, name, decorates)
            case ast.arguments():
                yield from self._default(spot, parent)
            case ast.Tuple() | ast.List() | ast.Set():
                yield from self._item(spot, parent)
            case _:
                yield self._at(spot, parent)

    def _attribute(self, spot: _Spot) -> Iterator[Doubt]:
        """Look at ``f.name``, and at ``f.name(x=1)``, which may call the function."""
        tree = _tree(self.names, spot.path)
        attribute = tree.parents.get(spot.node)
        call = tree.parents.get(attribute) if attribute is not None else None
        if (
            isinstance(attribute, ast.Attribute)
            and isinstance(call, ast.Call)
            and call.func is attribute
            and self._names_it(call)
        ):
            yield self._at(spot, call)

    def _called(self, spot: _Spot, call: ast.Call, decorates: bool) -> Iterator[Doubt]:
        """Look at a call of the value under another name than the function's own."""
        if decorates and all(isinstance(k.value, ast.Name) and not k.arg for k in call.keywords):
            return  # hands on what it is given itself
        if self._names_it(call):
            yield self._at(spot, call)

    def _names_it(self, call: ast.Call) -> bool:
        return any(keyword.arg in (None, self.keyword) for keyword in call.keywords)

    def _bound(self, spot: _Spot, targets: Sequence[ast.expr], decorates: bool) -> Iterator[Doubt]:
        for target in targets:
            variable = None
            if isinstance(target, ast.Name):
                at = _tree(self.names, spot.path).positions.start(target)
                variable = self.names.lookup(spot.path, spot.scope, target.id, at)
            facts = self.names.facts(spot.path)
            if (
                variable is None
                or facts is None
                or facts.scopes[variable.scope].kind is ScopeKind.CLASS
            ):
                yield self._at(spot, target)
            elif self.targets.isdisjoint(self.names.meant(variable)):
                yield from self._variable(variable, decorates)

    def _default(self, spot: _Spot, arguments: ast.arguments) -> Iterator[Doubt]:
        """Follow ``def g(call=f)`` into the parameter."""
        tree = _tree(self.names, spot.path)
        ordered = [*arguments.posonlyargs, *arguments.args]
        pairs = [
            *zip(
                ordered[len(ordered) - len(arguments.defaults) :], arguments.defaults, strict=True
            ),
            *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
        ]
        argument = next(arg for arg, default in pairs if default is spot.node)
        facts = self.names.facts(spot.path)
        assert facts is not None
        at = tree.positions.start(argument)
        for binding in facts.bindings:
            if binding.start == at and binding.name == argument.arg:
                yield from self._variable(Variable(spot.path, binding.scope, argument.arg))

    def _item(self, spot: _Spot, parent: ast.expr) -> Iterator[Doubt]:
        """Look at ``(f, g)``: types to be told apart, or values for whoever gets them."""
        tree = _tree(self.names, spot.path)
        holder: ast.AST = parent
        while isinstance(tree.parents.get(holder), ast.Tuple | ast.List):
            holder = tree.parents[holder]
        outer = tree.parents.get(holder)
        if isinstance(outer, ast.Subscript) and outer.slice is holder:
            return
        if isinstance(outer, ast.ExceptHandler | ast.Compare):
            return
        if isinstance(outer, ast.keyword):
            outer = tree.parents.get(outer)
        if isinstance(outer, ast.Call) and outer.func is not holder:
            thing = self._callee(spot, outer)
            known = thing.name if isinstance(thing, Outside) else ""
            if known.replace("typing_extensions.", "typing.") in _BY_POSITION:
                return
        if isinstance(outer, ast.For) and outer.iter is holder and holder is parent:
            yield from self._bound(spot, [outer.target], False)
            return
        yield self._at(spot, outer or parent)

    # --------------------------------------------------------------------------- arguments

    def _argument(
        self, spot: _Spot, call: ast.Call, position: int, name: str, decorates: bool
    ) -> Iterator[Doubt]:
        """Follow a value into what it is handed to."""
        thing = self._callee(spot, call)
        if isinstance(thing, Outside):
            yield from self._outside(spot, call, thing.name, decorates)
            return
        if isinstance(call.func, ast.Attribute) and call.func.attr == "sort" and name == "key":
            return
        site = self._site(spot, call)
        inner = self._parameter(site, call, position, name) if site is not None else None
        if inner is None:
            yield self._at(spot, call)
        else:
            yield from self._variable(inner)

    def _outside(
        self, spot: _Spot, call: ast.Call, callee: str, decorates: bool
    ) -> Iterator[Doubt]:
        """Judge what a library does with it."""
        known = callee.replace("typing_extensions.", "typing.")
        if known in _BY_POSITION:
            return
        if known in _SAME:
            yield from self._goes(_Spot(spot.path, spot.scope, call), decorates)
        elif known in _STARTS:
            given = [k.value for k in call.keywords if k.arg == "kwargs"]
            given += call.args[_STARTS[known] :][:1]
            if (
                any(k.arg is None for k in call.keywords)
                or any(isinstance(item, ast.Starred) for item in call.args)
                or any(not self._is_free_of_it(value) for value in given)
            ):
                yield self._at(spot, call)
        elif known in _HANDS_ON:
            is_partial = known.startswith("functools.")
            if any(
                k.arg is None or (k.arg == self.keyword and not is_partial) for k in call.keywords
            ):
                yield self._at(spot, call)
            elif is_partial:
                passed = Call(len(call.args) - 1, False, False, (), 0, 0)
                if any(isinstance(item, ast.Starred) for item in call.args):
                    yield self._at(spot, call)
                elif not self.is_given(passed):
                    yield from self._goes(_Spot(spot.path, spot.scope, call))
        else:
            yield self._at(spot, call)

    def _is_free_of_it(self, value: ast.expr) -> bool:
        """Whether a mapping surely lacks the keyword."""
        if isinstance(value, ast.Constant):
            return value.value is None
        return isinstance(value, ast.Dict) and all(
            isinstance(key, ast.Constant) and key.value != self.keyword for key in value.keys
        )

    def _callee(self, spot: _Spot, call: ast.Call) -> object:
        names = dotted(call.func)
        if names is None:
            return None
        at = _tree(self.names, spot.path).positions.start(call.func)
        return self.names.the_dotted(spot.path, spot.scope, names, at)

    def _site(self, spot: _Spot, call: ast.Call) -> CallSite | None:
        """Return the call as the graph knows it."""
        tree, facts = _tree(self.names, spot.path), self.names.facts(spot.path)
        assert facts is not None
        end = tree.positions.end(call.func)
        begin = tree.positions.start(call.func)
        for use in facts.uses_between(begin, end):
            if use.call is not None and use.call.end == tree.positions.end(call):
                return call_site(self.names, spot.path, use, use.call)
        return None

    def _parameter(
        self, site: CallSite, call: ast.Call, position: int, name: str
    ) -> Variable | None:
        """Return the parameter that an argument reaches, when nothing else can get it."""
        names = self.names
        target: Variable | None = site.target
        shift = 0
        if site.constructs:
            target = names.class_attribute(site.target, "__init__")
            shift = 1
        facts = names.facts(target.path) if target is not None else None
        definitions = names.definitions(target) if target is not None else []
        if facts is None or target is None or len(definitions) != 1 or definitions[0].is_class:
            return None
        definition = definitions[0]
        if any(
            effect_of(names, target.path, definition, i) not in _PLAIN
            for i in range(len(definition.decorators))
        ):
            return None
        if facts.scopes[target.scope].kind is ScopeKind.CLASS:
            if len(family(names, target).members) > 1:
                return None
            static = ("staticmethod",) in definition.decorators
            bound = site.receiver in (Receiver.INSTANCE, Receiver.SUPER, Receiver.DERIVED)
            if not site.constructs:
                shift = int((bound and not static) or ("classmethod",) in definition.decorators)
        if name:
            found = [p for p in definition.parameters if p.name == name and p.kind in BY_KEYWORD]
            return Variable(target.path, definition.scope, name) if found else None
        if any(isinstance(item, ast.Starred) for item in call.args[: position + 1]):
            return None
        ordered = [p for p in definition.parameters if p.kind <= ParameterKind.NORMAL]
        if position + shift >= len(ordered):
            return None
        return Variable(target.path, definition.scope, ordered[position + shift].name)

    def _variable(self, variable: Variable, decorates: bool = False) -> Iterator[Doubt]:
        """Look at every use of a name that has the value."""
        if variable in self._seen:
            return
        if len(self._seen) >= _DEEP:
            facts = self.names.facts(variable.path)
            start = facts.scopes[variable.scope].start if facts is not None else 0
            yield self._doubt(variable.path, start, variable.name)
            return
        self._seen.add(variable)
        for path, use, position in self._uses(variable):
            at = _tree(self.names, path).name_at(use, position)
            last = position == len(use.names) - 1
            if at is None:
                if use.starts[position] < 0:
                    yield self._doubt(path, max(use.starts), variable.name)
            elif not last or use.context is Context.LOAD:
                yield from self._goes(_Spot(path, use.scope, at), decorates)

    def _uses(self, variable: Variable) -> Iterator[tuple[str, Use, int]]:
        """Yield the uses of a name; that of a function is known to its file only."""
        facts = self.names.facts(variable.path)
        if variable.scope and facts is not None:
            for use in facts.uses(variable.name):
                start = max(use.starts[0], 0)
                found = self.names.lookup(variable.path, use.scope, variable.name, start)
                if use.names[0] == variable.name and found == variable:
                    yield variable.path, use, 0
            return
        for path, use, position, _ in uses_of(self.names, variable):
            yield path, use, position

    # ------------------------------------------------------------------------------ saying

    def _at(self, spot: _Spot, node: ast.AST) -> Doubt:
        tree = _tree(self.names, spot.path)
        shown = node if isinstance(node, ast.expr) else spot.node
        if isinstance(node, ast.Return):
            return self._doubt(
                spot.path, tree.positions.start(node), f"return {tree.text(spot.node)}"
            )
        return self._doubt(spot.path, tree.positions.start(spot.node), tree.text(shown))

    def _doubt(self, path: str, start: int, text: str) -> Doubt:
        return Doubt(path, line_of(self.names.sources, path, start), text)


_PLAIN = (Effect.KEEPS, Effect.STATIC, Effect.CLASS)


class _Tree:
    """The syntax of one file: who holds whom."""

    def __init__(self, data: bytes) -> None:
        codec = python_codec(data)
        self.data = data
        self.positions = Positions(data, codec)
        self.parents: dict[ast.AST, ast.AST] = {}
        self._ends: dict[int, ast.expr] = {}
        self._starts: dict[int, ast.expr] = {}
        for node in ast.walk(parse(data)):
            for child in ast.iter_child_nodes(node):
                self.parents[child] = node
            if isinstance(node, ast.Name | ast.Attribute):
                self._ends[self.positions.end(node)] = node
            if isinstance(node, ast.expr):
                self._starts.setdefault(self.positions.start(node), node)

    def name_at(self, use: Use, position: int) -> ast.expr | None:
        """Return the expression that a use is, up to one of its names."""
        name = use.names[position].encode(self.positions.encoding, errors="replace")
        return self._ends.get(use.starts[position] + len(name))

    def expression_at(self, start: int) -> ast.expr | None:
        """Return the outermost expression that starts at an offset."""
        return self._starts.get(start)

    def text(self, node: ast.AST) -> str:
        """Return an expression as it is written, shortened to one line."""
        begin, end = self.positions.start(node), self.positions.end(node)
        text = " ".join(self.data[begin:end].decode(self.positions.encoding, "replace").split())
        return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _tree(names: Names, path: str) -> _Tree:
    memo = names.memo("syntax")
    if path not in memo:
        memo[path] = _Tree(names.sources.data(path))
    found = memo[path]
    assert isinstance(found, _Tree)
    return found
