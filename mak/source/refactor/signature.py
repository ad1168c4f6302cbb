"""A function as its callers see it: all its definitions, and every place that calls it.

A class is called like its ``__init__``; a method goes with all that override it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mak.source.facts import BindingKind, Definition, Facts, ScopeKind, Use
from mak.source.hierarchy import Doubt, Family, doubtful, family
from mak.source.names import uses_of
from mak.source.refactor.sites import Refusal
from mak.source.refactor.target import spell, stub_of
from mak.source.resolve import Names, Variable


@dataclass(frozen=True, slots=True)
class Site:
    """One use of the function, called or not."""

    path: str
    use: Use
    position: int
    #: Whether it cannot mean another function.
    certain: bool


@dataclass(frozen=True, slots=True)
class Signature:
    """What is defined under one name: a function, or methods that override one another."""

    names: Names
    members: tuple[Variable, ...]
    #: None for a function of a module.
    family: Family | None = None

    @property
    def is_constructor(self) -> bool:
        """Whether classes are called in its place."""
        return self.family is not None and self.family.name == "__init__"

    @property
    def targets(self) -> frozenset[Variable]:
        """What its value is known as: the functions, and the classes that a constructor makes."""
        if self.is_constructor and self.family is not None:
            return self.family.classes.union(self.members)
        return frozenset(self.members)

    def definitions(self) -> Iterator[tuple[str, Facts, Definition]]:
        """Yield every ``def`` of it: file, facts, definition."""
        for member in (*self.members, *self._stubs()):
            facts = self.names.facts(member.path)
            for definition in self.names.definitions(member):
                if facts is not None and not definition.is_class:
                    yield member.path, facts, definition

    def _stubs(self) -> Iterator[Variable]:
        """Yield what declares it in stubs beside its modules."""
        for member in self.members:
            stub = stub_of(self.names, member)
            if stub is not None:
                yield stub

    def sites(self) -> Iterator[Site]:
        """Yield every proven use."""
        for member in self.members:
            for found in uses_of(self.names, member):
                yield Site(*found)
        if self.is_constructor and self.family is not None:
            yield from self._constructions(self.family)

    def doubts(self) -> tuple[Doubt, ...]:
        """Return the places that may call it or something else."""
        if self.family is None or self.is_constructor:
            return ()
        return doubtful(self.names, self.family)

    def _constructions(self, group: Family) -> Iterator[Site]:
        owners = set(self.members)
        for klass in group.classes:
            if self.names.class_attribute(klass, "__init__") not in owners:
                continue
            for found in uses_of(self.names, klass):
                yield Site(*found)
            yield from self._through_self(klass)

    def _through_self(self, klass: Variable) -> Iterator[Site]:
        """Yield ``cls(…)`` and ``type(self)(…)`` in the methods of a class."""
        facts = self.names.facts(klass.path)
        inner = self.names.class_of(klass)
        if facts is None or inner is None:
            return
        for definition in facts.definitions:
            if definition.holder != inner.scope or not definition.parameters:
                continue
            first = definition.parameters[0].name
            if ("classmethod",) in definition.decorators:
                for use in facts.uses(first):
                    means = self.names.lookup(klass.path, use.scope, first, use.starts[0])
                    own = Variable(klass.path, definition.scope, first)
                    if use.names == (first,) and means == own and use.call is not None:
                        yield Site(klass.path, use, 0, True)
            else:
                for use in facts.uses(""):
                    if (
                        use.names == ("",)
                        and use.base == ("type",)
                        and _inside(facts, use.scope, definition.scope)
                    ):
                        yield Site(klass.path, use, 0, True)


def signature(names: Names, target: Variable) -> Signature | Refusal:
    """Return the function that a target is, or the ``__init__`` of the class that it is."""
    facts = names.facts(target.path)
    assert facts is not None
    klass = names.class_of(target)
    if klass is not None:
        if not facts.bound(klass.scope, "__init__"):
            return Refusal(f"{spell(names, target)} has no __init__ of its own")
        target = Variable(target.path, klass.scope, "__init__")
    bound = facts.bound(target.scope, target.name)
    if not any(binding.kind is BindingKind.FUNCTION for binding in bound):
        return Refusal(f"{spell(names, target)} is not a function")
    if facts.scopes[target.scope].kind is ScopeKind.CLASS:
        group = family(names, target)
        if target not in group.members:
            return Refusal(f"{spell(names, target)} is in a class that is bound in several ways")
        if target.name == "__init__":
            return Signature(names, (target,), group)
        return Signature(names, group.members, group)
    return Signature(names, (target,))


def _inside(facts: Facts, scope: int, outer: int) -> bool:
    while scope:
        if scope == outer:
            return True
        scope = facts.scopes[scope].parent
    return False
