"""Classes and what derives from them: which methods stand for one another, and who calls them.

Methods of one name in classes that are related override one another: they are one *family*, and
change together or not at all.
"""

from __future__ import annotations

import abc
import builtins
import enum
import typing
from collections.abc import Iterator
from dataclasses import dataclass, field

from mak.source.facts import BindingKind, Flag, Hint, Use
from mak.source.names import line_of
from mak.source.resolve import After, Derived, Instance, Module, Names, Outside, Thing, Variable

#: Modules whose classes we may look at to see that they lack an attribute.
_OPEN = {"abc": abc, "builtins": builtins, "enum": enum, "typing": typing}


@dataclass(frozen=True, slots=True, order=True)
class Doubt:
    """A place where it cannot be proved what is meant."""

    path: str
    line: int
    text: str
    #: Whether an annotation of the name in front of the dot would prove what is meant.
    annotatable: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.text}"


@dataclass(frozen=True, slots=True)
class Family:
    """Methods of one name that override one another."""

    name: str
    #: As attributes of their classes, in order.
    members: tuple[Variable, ...]
    #: Every class that has one of them or inherits it, or that such a class derives from.
    classes: frozenset[Variable]
    #: Classes that may inherit the method from outside the repository too.
    doubts: tuple[Doubt, ...]


def family(names: Names, method: Variable) -> Family:
    """Return the methods that override `method` or that it overrides."""
    facts = names.facts(method.path)
    assert facts is not None
    definition = facts.definition_of(method.scope)
    assert definition is not None
    classes: set[Variable] = set()
    members: set[Variable] = set()
    doubts: set[Doubt] = set()
    todo = [Variable(method.path, definition.holder, definition.name)]
    while todo:
        klass = todo.pop()
        if klass in classes:
            continue
        classes.add(klass)
        lineage = names.lineage(klass)
        for base in lineage.unknown:
            if _may_have(base, method.name):
                doubts.add(_at_class(names, klass, f"class {klass.name}({base})"))
        for owner in lineage.classes:
            own = names.class_of(owner)
            owner_facts = names.facts(owner.path)
            if own is None or owner_facts is None:
                doubts.add(
                    _at_class(names, owner, f"class {owner.name} is defined in several ways")
                )
            elif owner_facts.bound(own.scope, method.name):
                members.add(Variable(owner.path, own.scope, method.name))
                todo.append(owner)
        todo.extend(descendants(names, klass))
    return Family(method.name, tuple(sorted(members)), frozenset(classes), tuple(sorted(doubts)))


def descendants(names: Names, klass: Variable) -> Iterator[Variable]:
    """Yield the classes that derive from `klass` directly."""
    for spelling, paths in names.spellings(klass).items():
        for path in paths:
            facts = names.facts(path)
            for definition in facts.definitions if facts is not None else ():
                if not definition.is_class or not any(
                    base[-1] == spelling for base in definition.bases
                ):
                    continue
                derived = Variable(path, definition.holder, definition.name)
                if klass in names.lineage(derived).classes[1:]:
                    yield derived


def doubtful(names: Names, group: Family) -> tuple[Doubt, ...]:
    """Return the uses of the family's name whose receiver may be one of its classes or not."""
    found = set(group.doubts)
    for path, use, position in doubtful_uses(names, group):
        line = line_of(names.sources, path, max(use.starts))
        found.add(
            Doubt(path, line, spell(use, position), is_annotatable(names, path, use, position))
        )
    return tuple(sorted(found))


def is_annotatable(names: Names, path: str, use: Use, position: int) -> bool:
    """Whether an annotation would prove the receiver: a parameter, or a variable bound once."""
    if position != 1 or not use.names[0] or use.starts[0] < 0:
        return False
    variable = names.lookup(path, use.scope, use.names[0], use.starts[0])
    facts = names.facts(path)
    if variable is None or facts is None:
        return False
    bound = facts.bound(variable.scope, variable.name)
    return (
        len(bound) == 1
        and bound[0].kind in (BindingKind.PARAMETER, BindingKind.ASSIGN)
        and bound[0].hint is not Hint.ANNOTATED
        and not bound[0].flags & Flag.LOOP
    )


def doubtful_uses(names: Names, group: Family) -> Iterator[tuple[str, Use, int]]:
    """Yield file, use and position in its chain of what `doubtful` lists."""
    for path in names.index.mentioning(group.name):
        facts = names.facts(path)
        for use in facts.uses(group.name) if facts is not None else ():
            for position, spelled in enumerate(use.names):
                if (
                    position
                    and spelled == group.name
                    and _may_mean(names, path, use, position, group)
                ):
                    yield path, use, position


def _may_mean(names: Names, path: str, use: Use, position: int, group: Family) -> bool:
    """Whether an attribute may be a member of the family without being proven to be one."""
    receivers = names.receivers(path, use, position)
    if not receivers:
        return True
    members = frozenset(group.members)
    unlike = [thing for thing in receivers if names.member(thing, group.name) not in members]
    if not unlike:
        return use.starts[position] < 0
    if len(unlike) < len(receivers):
        return True
    return any(_could_be(names, thing, group) for thing in unlike)


def _could_be(names: Names, thing: Thing, group: Family) -> bool:
    """Whether a receiver without the attribute could turn out to be one of the family's classes."""
    match thing:
        case Module() | Outside():
            return False
        case Instance(klass) | Derived(klass) | After(klass):
            if names.member(thing, group.name) is not None:
                return False
            return any(klass in names.lineage(other).classes for other in group.classes)
        case Variable():
            return names.class_of(thing) is None
        case _:
            return True


def spell(use: Use, position: int) -> str:
    """Return a use as text, up to one of its names."""
    if use.names[0]:
        return ".".join(use.names[: position + 1])
    root = f"{'.'.join(use.base)}()" if use.base else "(…)"
    return ".".join((root, *use.names[1 : position + 1]))


def _at_class(names: Names, klass: Variable, text: str) -> Doubt:
    facts = names.facts(klass.path)
    bound = facts.bound(klass.scope, klass.name) if facts is not None else ()
    start = bound[0].start if bound else 0
    return Doubt(klass.path, line_of(names.sources, klass.path, start), text)


def _may_have(base: str, name: str) -> bool:
    """Whether a base class that is not in the repository may have an attribute."""
    module, _, klass = base.rpartition(".")
    known = getattr(_OPEN.get(module), klass, None)
    return known is None or hasattr(known, name)
