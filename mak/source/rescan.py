"""Facts of a file where only the code of functions changed, without reading the rest of it.

What a function says about names stands together in the facts of its file, in the order of the
source: it is taken out, what the new text says by itself takes its place, and what follows moves.
Any doubt (a token without a place, a function that may not be defined, a scope with ``global``
names around it), and the whole file is to be read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from mak.model import NodeKind
from mak.source.facts import (
    Binding,
    BindingKind,
    Definition,
    Facts,
    Field,
    Import,
    Parameter,
    Scope,
    ScopeKind,
    Text,
    Use,
)
from mak.source.file import SourceFile, changed_functions
from mak.source.scan import scan

_DEFINED = (BindingKind.FUNCTION, BindingKind.CLASS)
_IMPORTED = (BindingKind.IMPORT, BindingKind.FROM, BindingKind.STAR)
_AROUND = b"class C:\n"

T = TypeVar("T")


def rescan(known: Facts, before: SourceFile, after: SourceFile) -> Facts | None:
    """Return the facts of `after`, knowing those of `before`; None: read the whole file."""
    changed = changed_functions(before, after)
    # From the last one on: what is in front of a function stays where it is.
    for old, new in reversed(changed or ()):
        text = after.data[new.start : new.end]
        found = _replaced(known, old.start, old.end, text, old.kind is NodeKind.METHOD)
        if found is None:
            return None
        known = found
    return known if changed is not None else None


@dataclass(frozen=True, slots=True)
class _Move:
    """Where offsets, scopes, definitions and imports of some facts go."""

    offset: Callable[[int], int]
    scope: Callable[[int], int]
    definition: Callable[[int], int]
    import_: Callable[[int], int]

    def of_scope(self, s: Scope) -> Scope:
        return s._replace(
            parent=self.scope(s.parent), start=self.offset(s.start), end=self.offset(s.end)
        )

    def of_binding(self, b: Binding) -> Binding:
        detail = b.detail
        if b.kind in _DEFINED:
            detail = self.definition(detail)
        elif b.kind in _IMPORTED:
            detail = self.import_(detail)
        start, since = self.offset(b.start), self.offset(b.since)
        return Binding(
            b.kind, self.scope(b.scope), b.name, start, since, b.flags, detail, b.hint, b.hinted
        )

    def of_definition(self, d: Definition) -> Definition:
        return d._replace(
            scope=self.scope(d.scope),
            holder=self.scope(d.holder),
            parameters=tuple(
                [Parameter(p.name, p.kind, self.offset(p.start), p.default) for p in d.parameters]
            ),
            decorators_at=tuple(map(self.offset, d.decorators_at)),
            bases_at=tuple(map(self.offset, d.bases_at)),
        )

    def of_import(self, i: Import) -> Import:
        return i._replace(
            scope=self.scope(i.scope),
            name_at=self.offset(i.name_at),
            as_at=self.offset(i.as_at),
            start=self.offset(i.start),
            end=self.offset(i.end),
        )

    def of_use(self, u: Use) -> Use:
        call = u.call
        if call is not None:
            keywords = tuple([(name, self.offset(at)) for name, at in call.keywords])
            start, end = self.offset(call.start), self.offset(call.end)
            call = call._replace(keywords=keywords, start=start, end=end)
        starts = tuple(map(self.offset, u.starts))
        return Use(self.scope(u.scope), u.names, starts, u.context, call, u.base)

    def of_text(self, t: Text) -> Text:
        return t._replace(start=self.offset(t.start))

    def of_dynamic(self, d: tuple[int, int]) -> tuple[int, int]:
        return self.scope(d[0]), self.offset(d[1])

    def of_field(self, f: Field) -> Field:
        return f._replace(scope=self.scope(f.scope), start=self.offset(f.start))

    def of_guard(self, g: tuple[int, int, int]) -> tuple[int, int, int]:
        return self.offset(g[0]), self.offset(g[1]), g[2]


class _Doubt(Exception):
    """The facts do not tell what belongs to the function."""


def _replaced(known: Facts, start: int, end: int, text: bytes, indented: bool) -> Facts | None:
    """Return the facts with another text for the function in the bytes ``[start, end)``."""
    prefix = _AROUND if indented else b""
    own = scan(prefix + text)
    if own is None:
        return None
    try:
        return _put_in(known, start, end, own, len(text), len(prefix))
    except _Doubt:
        return None


def _put_in(known: Facts, start: int, end: int, own: Facts, size: int, prefix: int) -> Facts:
    around = 1 if prefix else 0
    part = _Part(start, end)
    scopes = part.of(known.scopes, lambda s: s.start)
    definitions = part.of(known.definitions, lambda d: known.scopes[d.scope].start)
    imports = part.of(known.imports, lambda i: i.start)
    bindings = part.of(known.bindings, lambda b: b.start)
    if not definitions or not scopes:
        raise _Doubt
    holder = known.definitions[definitions.start].holder
    for scope in (known.scopes[0], known.scopes[holder]):
        if scope.globals or scope.nonlocals:
            raise _Doubt
    for facts, at in ((known, definitions.start), (own, around)):
        binding = next(
            (b for b in facts.bindings if b.kind is BindingKind.FUNCTION and b.detail == at), None
        )
        if binding is None or binding.flags or binding.start < 0:
            raise _Doubt
    first = 1 + around
    more = len(own.scopes) - first - len(scopes)
    more_definitions = len(own.definitions) - around - len(definitions)
    more_imports = len(own.imports) - len(imports)
    longer = size - (end - start)
    behind = _Move(
        lambda at: at + longer if at >= end else at,
        lambda at: at + more if at >= scopes.stop else at,
        lambda at: at + more_definitions if at >= definitions.stop else at,
        lambda at: at + more_imports if at >= imports.stop else at,
    )
    inside = _Move(
        lambda at: at - prefix + start if at >= 0 else at,
        lambda at: at - first + scopes.start if at >= first else holder if at else 0,
        lambda at: at - around + definitions.start,
        lambda at: at + imports.start,
    )

    def joined(
        old: Sequence[T], where: range, new: Sequence[T], move: Callable[[_Move, T], T]
    ) -> tuple[T, ...]:
        return (
            *old[: where.start],
            *[move(inside, item) for item in new],
            *[move(behind, item) for item in old[where.stop :]],
        )

    around_it = [
        # A class that ends with the function ends where the new one does.
        scope._replace(
            end=inside.offset(own.scopes[1].end)
            if start < scope.end <= end and scope.kind is not ScopeKind.MODULE
            else behind.offset(scope.end)
        )
        for scope in known.scopes[: scopes.start]
    ]
    old_scopes = (*around_it, *known.scopes[scopes.start :])
    chains = part.of(known.chains, _use_at)
    texts = part.of(known.texts, lambda t: t.start)
    dynamic = part.of(known.dynamic, lambda d: d[1])
    fields = part.of(known.fields, lambda f: f.start)
    guards = part.of(known.guards, lambda g: g[0])
    return Facts(
        joined(old_scopes, scopes, own.scopes[first:], _Move.of_scope),
        joined(known.bindings, bindings, own.bindings[around:], _Move.of_binding),
        joined(known.definitions, definitions, own.definitions[around:], _Move.of_definition),
        joined(known.imports, imports, own.imports, _Move.of_import),
        _loads(known.loads, own.loads, part, inside, behind),
        joined(known.chains, chains, own.chains, _Move.of_use),
        None if known.exports is None else tuple(map(behind.of_text, known.exports)),
        known.exports_open,
        joined(known.texts, texts, own.texts, _Move.of_text),
        joined(known.dynamic, dynamic, own.dynamic, _Move.of_dynamic),
        joined(known.fields, fields, own.fields, _Move.of_field),
        joined(known.guards, guards, own.guards, _Move.of_guard),
    )


@dataclass(frozen=True, slots=True)
class _Part:
    """The bytes of a function, to find what belongs to it."""

    start: int
    end: int

    def of(self, items: Sequence[T], place: Callable[[T], int]) -> range:
        """Return where in a list the entries of the function are, or would be."""
        first = last = -1
        for index, item in enumerate(items):
            at = place(item)
            if at < 0:
                raise _Doubt
            if at < self.start:
                if first >= 0:
                    raise _Doubt
            elif first < 0:
                first = index
            if at < self.end:
                if last >= 0:
                    raise _Doubt
            elif last < 0:
                last = index
        first = len(items) if first < 0 else first
        return range(first, len(items) if last < 0 else last)


def _use_at(use: Use) -> int:
    return use.call.start if use.call is not None else use.starts[-1]


def _loads(
    old: dict[str, list[int]], new: dict[str, list[int]], part: _Part, inside: _Move, behind: _Move
) -> dict[str, list[int]]:
    """Return the loads of all names: scope, start, scope, start, …."""
    found: dict[str, list[int]] = {}
    for name in old.keys() | new.keys():
        flat, own = old.get(name, []), new.get(name, [])
        if flat and min(flat[1::2]) < 0:
            raise _Doubt
        where = part.of(flat[1::2], lambda at: at)
        loads = flat[: 2 * where.start]
        for i in range(0, len(own), 2):
            loads += inside.scope(own[i]), inside.offset(own[i + 1])
        for i in range(2 * where.stop, len(flat), 2):
            loads += behind.scope(flat[i]), behind.offset(flat[i + 1])
        if loads:
            found[name] = loads
    return found
