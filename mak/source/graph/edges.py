"""The edges that start in one file: what its names mean, and in which way they are used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from mak.source.facts import (
    UNPLACED,
    BindingKind,
    Call,
    Context,
    Facts,
    Import,
    ScopeKind,
    Text,
    Use,
)
from mak.source.resolve import Module, Names, Thing, Variable


class EdgeKind(StrEnum):
    """How one piece of code relies on another."""

    CALL = "call"
    #: A call of a class.
    CONSTRUCT = "construct"
    #: The first argument of ``functools.partial``.
    PARTIAL = "partial"
    READ = "read"
    #: An assignment to it, or its deletion, as an attribute from outside.
    WRITE = "write"
    DECORATE = "decorate"
    SUBCLASS = "subclass"
    #: From a method to the one of the same name in a base.
    OVERRIDE = "override"
    IMPORT = "import"
    #: An import in an ``__init__``, or of what ``__all__`` lists: others take it from here.
    REEXPORT = "re-export"
    #: An entry of ``__all__``.
    EXPORT = "export"


@dataclass(frozen=True, slots=True)
class Edge:
    """One token that refers to a definition or a module of the repository."""

    kind: EdgeKind
    path: str
    #: The bytes ``[start, end)`` of the token in the file.
    start: int
    end: int
    #: What is referred to, where it is defined.
    target: Variable | Module
    #: The arguments, when it is called.
    call: Call | None = None
    #: The name that an import of this file or an alias gives it stands between.
    direct: bool = True


def edges_in(names: Names, path: str, facts: Facts) -> Iterator[Edge]:
    """Yield the edges that start in a file; names of functions' own scopes have none."""
    heads = _heads(facts)
    yield from _uses(names, path, facts, heads)
    for entry in facts.imports:
        yield from _import(names, path, facts, entry)
    for text in facts.exports or ():
        yield from _export(names, path, text)
    yield from overrides_in(names, path, facts)


def edges_named(names: Names, path: str, facts: Facts, name: str) -> Iterator[Edge]:
    """Yield the edges of a file whose token is `name`, without looking at the rest of the file."""
    heads = _heads(facts)
    for use in facts.uses(name):
        yield from _chain(names, path, use, heads, name)
    for entry in facts.imports_of(name):
        yield from _import(names, path, facts, entry)
    for text in facts.exports or ():
        if text.value == name:
            yield from _export(names, path, text)
    yield from overrides_in(names, path, facts, name)


def _heads(facts: Facts) -> dict[int, EdgeKind]:
    """Return where decorators and bases stand."""
    heads = dict.fromkeys(facts.decorators_at, EdgeKind.DECORATE)
    return heads | dict.fromkeys(facts.bases_at, EdgeKind.SUBCLASS)


def _export(names: Names, path: str, text: Text) -> Iterator[Edge]:
    variable = names.module_variable(path, text.value)
    if variable is not None and text.start >= 0:
        end = text.start + len(text.value.encode())
        for thing in defined(names, variable):
            yield Edge(EdgeKind.EXPORT, path, text.start, end, thing, None, thing == variable)


def _uses(names: Names, path: str, facts: Facts, heads: dict[int, EdgeKind]) -> Iterator[Edge]:
    scopes = facts.scopes
    for name, flat in facts.loads.items():
        for i in range(0, len(flat), 2):
            scope, start = flat[i], flat[i + 1]
            variable = names.lookup(path, scope, name, max(start, 0)) if start >= 0 else None
            if variable is None or scopes[variable.scope].kind > ScopeKind.CLASS:
                continue
            kind = heads.get(start, EdgeKind.READ)
            end = start + len(name.encode())
            for thing in defined(names, variable):
                yield Edge(kind, path, start, end, thing, None, thing == variable)
    for use in facts.chains:
        yield from _chain(names, path, use, heads)


def _chain(
    names: Names, path: str, use: Use, heads: dict[int, EdgeKind], only: str = ""
) -> Iterator[Edge]:
    last = len(use.names) - 1
    for position, name in enumerate(use.names):
        start = use.starts[position]
        if not name or start < 0 or (only and name != only):
            continue
        things = names.use(path, use, position)
        if not things:
            if position:
                return
            continue
        kind = EdgeKind.READ
        if position == last:
            if use.call is not None:
                kind = EdgeKind.PARTIAL if use.call.partial else EdgeKind.CALL
            elif use.context is not Context.LOAD:
                kind = EdgeKind.WRITE
            kind = heads.get(use.starts[0], kind)
        call = use.call if position == last else None
        end = start + len(name.encode())
        for thing in things:
            for meant in defined(names, thing):
                own = kind
                if own is EdgeKind.CALL and isinstance(meant, Variable) and names.class_of(meant):
                    own = EdgeKind.CONSTRUCT
                yield Edge(own, path, start, end, meant, call, meant == thing)


def defined(names: Names, thing: Thing) -> Iterator[Variable | Module]:
    """Yield what a thing is, where it is defined: not what only a function's own scope knows."""
    for meant in names.meant(thing):
        if isinstance(meant, Module):
            yield meant
        elif isinstance(meant, Variable):
            facts = names.facts(meant.path)
            if facts is not None and facts.scopes[meant.scope].kind <= ScopeKind.CLASS:
                yield meant


def _import(names: Names, path: str, facts: Facts, entry: Import) -> Iterator[Edge]:
    kind = EdgeKind.IMPORT
    bound = entry.asname or entry.name
    if entry.scope == 0 and entry.name:
        is_package = path.rpartition("/")[2] in ("__init__.py", "__init__.pyi")
        listed = any(text.value == bound for text in facts.exports or ())
        if listed or (is_package and (facts.exports is None or facts.exports_open)):
            kind = EdgeKind.REEXPORT
    if entry.name in ("", "*"):
        module = names.modules.imported(entry.level, entry.module, path)
        if module is not None:
            yield Edge(kind, path, entry.start, entry.end, Module(module))
        return
    start = entry.name_at if entry.name_at != UNPLACED else entry.start
    thing = names.imported(path, entry)
    if thing is not None:
        for meant in defined(names, thing):
            end = start + len(entry.name.encode())
            yield Edge(kind, path, start, end, meant, None, meant == thing)


def overrides_in(names: Names, path: str, facts: Facts, only: str = "") -> Iterator[Edge]:
    """Yield the edges from methods of a file (`only`: of one name) to what they override."""
    for definition in facts.definitions_of(only) if only else facts.definitions:
        holder = facts.definition_of(definition.holder)
        if definition.is_class or holder is None or not holder.is_class:
            continue
        klass = Variable(path, holder.holder, holder.name)
        own = names.class_of(klass)
        if own is None or own.scope != holder.scope:
            continue
        base = names.class_attribute(klass, definition.name, after=True)
        if base is not None:
            for binding in facts.bound(definition.holder, definition.name):
                end = binding.start + len(definition.name.encode())
                if binding.kind is not BindingKind.FUNCTION or binding.start < 0:
                    continue
                if facts.definitions[binding.detail] is definition:
                    yield Edge(EdgeKind.OVERRIDE, path, binding.start, end, base)
