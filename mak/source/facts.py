"""What one file says about names: scopes, bindings, uses, exports. Pure in the file's bytes.

Facts hold no resolution across files, so that they can be cached by blob id; `mak.source.resolve`
puts them together. Positions are byte offsets into the file as it is stored. A token whose place
could not be established (it is spelled in another Unicode normal form, or sits in a literal that
has no plain position) has the offset `UNPLACED`: it is known to be there, but cannot be edited.
"""

from __future__ import annotations

import json
import zlib
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from functools import cached_property
from operator import itemgetter
from typing import Any, NamedTuple

UNPLACED = -1
#: Part of every cache key: facts written by another version are not read.
VERSION = "3"


class ScopeKind(IntEnum):
    """What opened a scope."""

    MODULE = 0
    CLASS = 1
    FUNCTION = 2
    LAMBDA = 3
    COMPREHENSION = 4
    #: Type parameters of a definition (PEP 695).
    TYPE = 5


class BindingKind(IntEnum):
    """What binds a name."""

    ASSIGN = 0
    PARAMETER = 1
    FUNCTION = 2
    CLASS = 3
    #: ``import a.b`` and ``import a.b as c``.
    IMPORT = 4
    #: ``from a import b``.
    FROM = 5
    #: ``from a import *``; the name bound is ``*``.
    STAR = 6
    DELETE = 7


class Flag(IntFlag):
    """How a binding happens."""

    #: Inside if, try, with or a loop: it may not happen.
    CONDITIONAL = 1
    #: Under ``if TYPE_CHECKING``.
    TYPING = 2
    #: Inside a loop: it may happen before a use that stands above it.
    LOOP = 4
    #: The value is ``None``.
    NONE = 8
    #: In a ``try`` with a handler, or in that handler.
    TRY = 16


class Scope(NamedTuple):
    """A scope; the module's is the first one and its own parent."""

    kind: ScopeKind
    parent: int
    name: str
    #: From the first byte of what opened it to the last.
    start: int
    end: int
    globals: tuple[str, ...] = ()
    nonlocals: tuple[str, ...] = ()


class Hint(IntEnum):
    """What a dotted name beside a binding says about the value that is bound."""

    NOTHING = 0
    #: ``x = a.C(…)``.
    CONSTRUCTED = 1
    #: ``x: a.C``.
    ANNOTATED = 2
    #: ``x = a.b``.
    ALIAS = 3


class Binding(NamedTuple):
    """One place that binds a name."""

    kind: BindingKind
    scope: int
    name: str
    start: int
    #: Offset from which on straight-line code of that scope sees it.
    since: int
    flags: int = 0
    #: Index into `Facts.definitions` or `Facts.imports`, by kind.
    detail: int = -1
    hint: Hint = Hint.NOTHING
    hinted: tuple[str, ...] = ()


class ParameterKind(IntEnum):
    """How an argument reaches a parameter."""

    POSITIONAL = 0
    NORMAL = 1
    VARIADIC = 2
    KEYWORD = 3
    KEYWORDS = 4


class Parameter(NamedTuple):
    """One parameter of a function."""

    name: str
    kind: ParameterKind
    start: int
    default: bool


#: A keyword argument with its value where that is ``True``, ``False`` or ``None``, else "?".
Option = tuple[str, bool | str | None]


class Definition(NamedTuple):
    """A function or class."""

    name: str
    #: The scope that it opens, and the one it stands in.
    scope: int
    holder: int
    #: Dotted names; an expression that is none is ``("?",)``; a call's are the callee's.
    decorators: tuple[tuple[str, ...], ...]
    bases: tuple[tuple[str, ...], ...]
    #: Keywords of a class statement (``metaclass``).
    keywords: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    is_class: bool
    #: The literal keywords of each decorator that is a call; None: it is not a call.
    options: tuple[tuple[Option, ...] | None, ...] = ()
    #: Of a function: the dotted names that it returns; `("?",)` stands for other expressions.
    returns: tuple[tuple[str, ...], ...] = ()
    #: Of a function: the class that it is annotated to return.
    returned: tuple[str, ...] = ()
    #: Of a class: the dotted name of its metaclass; empty when none is named.
    metaclass: tuple[str, ...] = ()
    #: Where the expressions of the decorators and of the bases start.
    decorators_at: tuple[int, ...] = ()
    bases_at: tuple[int, ...] = ()


class Field(NamedTuple):
    """An assignment in a class body that may declare a field, in the order of the source."""

    scope: int
    name: str
    start: int
    #: Outermost dotted name of the annotation, empty when there is none: ``x: a.B[C]`` → ``a.B``.
    annotation: tuple[str, ...]
    #: Whether the annotation lets it be ``None``.
    optional: bool
    #: The dotted callee of a value that is a call, `("?",)` for other values; None: no value.
    value: tuple[str, ...] | None
    #: The keywords of that call.
    options: tuple[Option, ...] = ()
    #: How many positional arguments the call has.
    positional: int = 0


class Import(NamedTuple):
    """One name of an import statement."""

    scope: int
    level: int
    module: str
    #: Empty for ``import module``; ``*`` for a star import.
    name: str
    #: Empty when there is no ``as``.
    asname: str
    #: Where `name` stands (``import module``: where `module` does), and `asname`.
    name_at: int
    as_at: int
    #: The whole statement.
    start: int
    end: int
    flags: int = 0


class Call(NamedTuple):
    """The arguments that a use is called with."""

    positional: int
    #: Whether there is a ``*args`` or ``**kwargs``.
    star: bool
    double_star: bool
    keywords: tuple[tuple[str, int], ...]
    #: From the first byte of the callee to the one behind the closing parenthesis.
    start: int
    end: int
    #: The use is the first argument of ``functools.partial``, which passes the rest on.
    partial: bool = False


class Context(IntEnum):
    """What happens to the last name of a chain."""

    LOAD = 0
    STORE = 1
    DELETE = 2


class Guard(IntFlag):
    """What code expects to go wrong, or has looked at before."""

    #: A ``TypeError``: calls that do not fit.
    CALL = 1
    #: An ``AttributeError``, or what ``hasattr`` told.
    ATTRIBUTE = 2
    IMPORT = 4
    NAME = 8
    #: The code may not be run at all: a test that is skipped or meant to fail.
    ALL = 15


class Use(NamedTuple):
    """A dotted name where it is used: ``a``, ``a.b.c``, ``a.b(…)``.

    The first name is empty when the chain hangs on an expression; `base` is then the dotted callee
    if that expression is a call (``super().m``: ``("super",)``).
    """

    scope: int
    names: tuple[str, ...]
    starts: tuple[int, ...]
    context: Context = Context.LOAD
    call: Call | None = None
    base: tuple[str, ...] = ()


class Text(NamedTuple):
    """A string literal that may name something: content and where the content starts.

    `dynamic`: it is an argument of ``getattr`` and its kin, or a key of ``globals()``.
    """

    value: str
    start: int
    dynamic: bool = False


@dataclass(frozen=True)
class Facts:
    """Everything that one file says about names."""

    scopes: tuple[Scope, ...]
    bindings: tuple[Binding, ...]
    definitions: tuple[Definition, ...]
    imports: tuple[Import, ...]
    #: Bare names that are loaded and not called, also in ``global`` statements: scope, start, ….
    loads: dict[str, list[int]]
    #: Every other use.
    chains: tuple[Use, ...]
    #: Literal entries of ``__all__``; None: there is no ``__all__``.
    exports: tuple[Text, ...] | None
    #: Whether ``__all__`` also has parts that are not literal.
    exports_open: bool
    texts: tuple[Text, ...]
    #: Offsets of ``globals()``, ``vars()``, ``locals()``, ``exec``, ``eval`` calls, with scope.
    dynamic: tuple[tuple[int, int], ...]
    fields: tuple[Field, ...] = ()
    #: Stretches of code where something is expected to go wrong: start, end, `Guard`.
    guards: tuple[tuple[int, int, int], ...] = ()

    def is_guarded(self, at: int, guard: Guard) -> bool:
        """Whether the code at an offset expects this to go wrong."""
        return any(start <= at < end and guard & what for start, end, what in self.guards)

    def fields_of(self, scope: int) -> Sequence[Field]:
        """Return the assignments of a class body that may declare fields."""
        return self._fields.get(scope, ())

    @cached_property
    def _fields(self) -> dict[int, list[Field]]:
        found: dict[int, list[Field]] = defaultdict(list)
        for field in self.fields:
            found[field.scope].append(field)
        return dict(found)

    @cached_property
    def _bound(self) -> dict[tuple[int, str], list[Binding]]:
        bound: dict[tuple[int, str], list[Binding]] = defaultdict(list)
        for binding in self.bindings:
            bound[binding.scope, binding.name].append(binding)
        return dict(bound)

    @cached_property
    def _chained(self) -> dict[str, list[Use]]:
        chained: dict[str, list[Use]] = defaultdict(list)
        for use in self.chains:
            for name in set(use.names):
                chained[name].append(use)
        return dict(chained)

    @cached_property
    def _opened(self) -> dict[int, Definition]:
        return {definition.scope: definition for definition in self.definitions}

    @cached_property
    def interface(self) -> dict[tuple[str, str], tuple[object, ...]]:
        """What others can rely on, by the class that holds it (empty: the module) and name."""
        scopes = {0: ""}
        for definition in self.definitions:
            if definition.is_class:
                outer = definition.holder
                if self.scopes[outer].kind in (ScopeKind.MODULE, ScopeKind.CLASS):
                    scopes[definition.scope] = (
                        f"{outer}.{definition.name}" if outer else definition.name
                    )
        found: dict[tuple[str, str], list[object]] = {}
        for binding in self.bindings:
            scope = scopes.get(binding.scope)
            if scope is None:
                continue
            said: list[object] = [binding.kind, binding.flags, binding.hint, binding.hinted]
            if binding.kind in (BindingKind.FUNCTION, BindingKind.CLASS):
                what = self.definitions[binding.detail]
                parameters = tuple((p.name, p.kind, p.default) for p in what.parameters)
                said += [what.decorators, what.bases, what.keywords, parameters]
            elif binding.kind in (BindingKind.IMPORT, BindingKind.FROM, BindingKind.STAR):
                entry = self.imports[binding.detail]
                said += [entry.level, entry.module, entry.name]
            found.setdefault((scope, binding.name), []).append(tuple(said))
        result = {key: tuple(said) for key, said in found.items()}
        for text in self.exports or ():
            result["__all__", text.value] = ()
        for use in self.chains:
            if use.context is not Context.LOAD and len(use.names) > 1:
                result["=", use.names[-1]] = ()
        return result

    def bound(self, scope: int, name: str) -> Sequence[Binding]:
        """Return the places that bind `name` in `scope` itself."""
        return self._bound.get((scope, name), ())

    def is_local(self, scope: int, name: str) -> bool:
        """Whether `name` means the variable of this very scope, wherever it stands in it."""
        is_class = self.scopes[scope].kind is ScopeKind.CLASS
        return not is_class and bool(self.bound(scope, name))

    def names_in(self, scope: int) -> Iterator[str]:
        """Yield every name bound in `scope` itself."""
        return (name for at, name in self._bound if at == scope)

    def scopes_binding(self, name: str) -> list[int]:
        """Return the scopes that bind `name`."""
        return [scope for scope, bound in self._bound if bound == name]

    def uses(self, name: str) -> Iterator[Use]:
        """Yield every use with `name` anywhere in its chain."""
        flat = self.loads.get(name, ())
        for i in range(0, len(flat), 2):
            yield Use(flat[i], (name,), (flat[i + 1],))
        yield from self._chained.get(name, ())

    def free(self, name: str) -> Iterator[tuple[int, int]]:
        """Yield scope and offset of the uses that begin with `name`, where it is not local."""
        local: dict[int, bool] = {}
        flat = self.loads.get(name, ())
        pairs = [*zip(flat[::2], flat[1::2], strict=True)]
        for use in self._chained.get(name, ()):
            if use.names[0] == name:
                pairs.append((use.scope, use.starts[0]))
        for scope, start in pairs:
            if scope not in local:
                local[scope] = self.is_local(scope, name)
            if start >= 0 and not local[scope]:
                yield scope, start

    @cached_property
    def _imported(self) -> dict[str, list[Import]]:
        imported: dict[str, list[Import]] = defaultdict(list)
        for entry in self.imports:
            imported[entry.name].append(entry)
        return dict(imported)

    @cached_property
    def _aliases(self) -> dict[str, list[Binding]]:
        aliases: dict[str, list[Binding]] = defaultdict(list)
        for binding in self.bindings:
            if binding.hint is Hint.ALIAS:
                aliases[binding.hinted[-1]].append(binding)
        return dict(aliases)

    @cached_property
    def _named(self) -> dict[str, list[Definition]]:
        named: dict[str, list[Definition]] = defaultdict(list)
        for definition in self.definitions:
            named[definition.name].append(definition)
        return dict(named)

    def imports_of(self, name: str) -> Sequence[Import]:
        """Return the import entries that take `name` from a module."""
        return self._imported.get(name, ())

    def aliases_of(self, name: str) -> Sequence[Binding]:
        """Return the bindings ``x = a.name``, ``x = name``."""
        return self._aliases.get(name, ())

    def definitions_of(self, name: str) -> Sequence[Definition]:
        """Return the functions and classes called `name`, in any scope."""
        return self._named.get(name, ())

    @cached_property
    def decorators_at(self) -> tuple[int, ...]:
        """Where the expressions of decorators start."""
        return tuple(at for definition in self.definitions for at in definition.decorators_at)

    @cached_property
    def bases_at(self) -> tuple[int, ...]:
        """Where the expressions of bases start."""
        return tuple(at for definition in self.definitions for at in definition.bases_at)

    @cached_property
    def _placed(self) -> tuple[list[int], list[Use]]:
        """Every use with where it starts, in order."""
        found = [(max(use.starts), use) for use in self.chains]
        for name, flat in self.loads.items():
            for i in range(0, len(flat), 2):
                found.append((flat[i + 1], Use(flat[i], (name,), (flat[i + 1],))))
        found.sort(key=itemgetter(0))
        return [start for start, _ in found], [use for _, use in found]

    def uses_between(self, start: int, end: int) -> Sequence[Use]:
        """Return the uses whose last name stands between two offsets, in order."""
        starts, uses = self._placed
        return uses[bisect_left(starts, start) : bisect_left(starts, end)]

    def definition_of(self, scope: int) -> Definition | None:
        """Return the function or class that opened `scope`."""
        return self._opened.get(scope)

    @cached_property
    def stars(self) -> tuple[Import, ...]:
        """The module's star imports, last one first: the order in which they win."""
        found = [entry for entry in self.imports if entry.name == "*" and entry.scope == 0]
        return tuple(reversed(found))


# ------------------------------------------------------------------------------------- the cache


def dump(facts: Facts) -> bytes:
    """Write facts as compressed JSON."""
    fields = (
        facts.scopes,
        facts.bindings,
        facts.definitions,
        facts.imports,
        facts.loads,
        facts.chains,
        facts.exports,
        facts.exports_open,
        facts.texts,
        facts.dynamic,
        facts.fields,
        facts.guards,
    )
    text = json.dumps(fields, separators=(",", ":"), ensure_ascii=False)
    return zlib.compress(text.encode("utf-8", "surrogatepass"), 1)


def load(data: bytes) -> Facts:
    """Read what `dump` wrote."""
    raw = json.loads(zlib.decompress(data).decode("utf-8", "surrogatepass"))
    scopes, bindings, definitions, imports, loads, chains, *raw = raw
    exports, is_open, texts, dynamic, fields, guards = raw
    return Facts(
        tuple(
            Scope(ScopeKind(kind), parent, name, start, end, tuple(g), tuple(n))
            for kind, parent, name, start, end, g, n in scopes
        ),
        tuple(_binding(item) for item in bindings),
        tuple(_definition(item) for item in definitions),
        tuple(Import(*item) for item in imports),
        loads,
        tuple(_use(item) for item in chains),
        None if exports is None else tuple(Text(*item) for item in exports),
        is_open,
        tuple(Text(*item) for item in texts),
        tuple((scope, start) for scope, start in dynamic),
        tuple(_field(item) for item in fields),
        tuple(map(tuple, guards)),
    )


_BINDINGS = tuple(BindingKind)
_CONTEXTS = tuple(Context)
_HINTS = tuple(Hint)


def _binding(item: Any) -> Binding:
    kind, scope, name, start, since, flags, detail, hint, hinted = item
    return Binding(
        _BINDINGS[kind], scope, name, start, since, flags, detail, _HINTS[hint], tuple(hinted)
    )


def _definition(item: Any) -> Definition:
    name, scope, holder, decorators, bases, keywords, parameters, is_class, *item = item
    options, returns, returned, metaclass, decorators_at, bases_at = item
    return Definition(
        name,
        scope,
        holder,
        tuple(map(tuple, decorators)),
        tuple(map(tuple, bases)),
        tuple(keywords),
        tuple(Parameter(p[0], ParameterKind(p[1]), p[2], p[3]) for p in parameters),
        is_class,
        tuple(None if option is None else _options(option) for option in options),
        tuple(map(tuple, returns)),
        tuple(returned),
        tuple(metaclass),
        tuple(decorators_at),
        tuple(bases_at),
    )


def _options(item: Any) -> tuple[Option, ...]:
    return tuple((name, value) for name, value in item)


def _field(item: Any) -> Field:
    scope, name, start, annotation, optional, value, options, positional = item
    known = None if value is None else tuple(value)
    annotated = tuple(annotation)
    return Field(scope, name, start, annotated, optional, known, _options(options), positional)


def _use(item: Any) -> Use:
    scope, names, starts, context, call, base = item
    if call is not None:
        positional, star, double, keywords, start, end, partial = call
        call = Call(positional, star, double, tuple(map(tuple, keywords)), start, end, partial)
    return Use(scope, tuple(names), tuple(starts), _CONTEXTS[context], call, tuple(base))
