"""What a class is made with: its ``__init__``, or the one that its fields stand for.

Dataclasses, ``typing.NamedTuple``, attrs classes and pydantic models get the signature that their
fields declare, inherited ones included. Where a base, a metaclass or a decorator is not known, so
is the signature.
"""

from __future__ import annotations

from collections.abc import Iterator

from mak.source.facts import Definition
from mak.source.graph.callable import Kind, callable_of
from mak.source.graph.fields import Flavour, declared, flavour_of
from mak.source.resolve import Names, Outside, Variable
from mak.source.signature import Parameters

#: Bases from outside that take no part in making an instance.
HARMLESS = frozenset(
    (
        "abc.ABC",
        "builtins.object",
        "typing.Generic",
        "typing.Protocol",
        "typing_extensions.Generic",
        "typing_extensions.Protocol",
    )
)
_METACLASSES = (Outside("abc.ABCMeta"), Outside("builtins.type"))


def constructor(names: Names, klass: Variable) -> tuple[Parameters, ...]:
    """Return the parameter lists, one of which a call of a class must fit; empty: not known."""
    memo = names.memo("constructors")
    if klass not in memo:
        memo[klass] = ()
        memo[klass] = tuple(_constructor(names, klass))
    found = memo[klass]
    assert isinstance(found, tuple)
    return found


def maker_of(names: Names, klass: Variable) -> Variable | bool:
    """Return the method that a class is made with; True: its fields; False: not known."""
    if not constructor(names, klass):
        return False
    maker = _maker(names, klass, dict(_flavours(names, klass)))
    return maker if isinstance(maker, Variable) else True


def _flavours(names: Names, klass: Variable) -> Iterator[tuple[Variable, Flavour]]:
    """Yield each class of a lineage with who makes its constructor, up to one that is not known."""
    for owner in names.lineage(klass).classes:
        definition = names.class_of(owner)
        flavour = flavour_of(names, owner, definition) if definition is not None else None
        if definition is None or flavour is None or not _is_plain(names, owner, definition):
            return
        yield owner, flavour


def _constructor(names: Names, klass: Variable) -> Iterator[Parameters]:
    flavours = dict(_flavours(names, klass))
    maker = None
    if len(flavours) == len(names.lineage(klass).classes):
        maker = _maker(names, klass, flavours)
    if maker is None:
        return
    if isinstance(maker, Parameters):
        yield maker
        return
    method = callable_of(names, maker)
    wanted = Kind.STATIC if maker.name == "__new__" else Kind.FUNCTION
    if method is not None and method.kind is wanted:
        yield from (signature.without_first() for signature in method.signatures)


def _is_plain(names: Names, klass: Variable, definition: Definition) -> bool:
    """Whether no metaclass and no keyword of the class statement may change how it is called."""
    if not definition.keywords:
        return True
    if definition.keywords != ("metaclass",):
        return False
    facts = names.facts(klass.path)
    assert facts is not None
    at = facts.scopes[definition.scope].start
    return names.the_dotted(klass.path, klass.scope, definition.metaclass, at) in _METACLASSES


def _maker(
    names: Names, klass: Variable, flavours: dict[Variable, Flavour]
) -> Variable | Parameters | None:
    """Return the method that makes instances, or the parameters that fields stand for."""
    found: Variable | Parameters | None = None
    for owner in names.lineage(klass).classes:
        definition, facts = names.class_of(owner), names.facts(owner.path)
        assert definition is not None and facts is not None
        own = [name for name in ("__init__", "__new__") if facts.bound(definition.scope, name)]
        if found is None and len(own) == 2:
            return None
        if found is None and own:
            if flavours[owner] is Flavour.ATTRS_OLD or (
                own == ["__new__"] and flavours[owner] is not Flavour.PLAIN
            ):
                return None
            found = Variable(owner.path, definition.scope, own[0])
        elif found is None and flavours[owner] is not Flavour.PLAIN:
            found = declared(names, klass, owner)
            return found
        elif own and own != [found.name if isinstance(found, Variable) else ""]:
            return None  # `__new__` and `__init__` both have their say
        for base in names.lineage(owner).bases:
            if isinstance(base, Outside) and base.name not in HARMLESS:
                is_known = isinstance(found, Variable) and found.name == "__init__"
                return found if is_known and not _looks_up(base) else None
            if base is None:
                return None
    return found if found is not None else Parameters()


def _looks_up(base: Outside) -> bool:
    """Whether a call of a class with this base may find a member instead of making one."""
    return base.name.startswith("enum.") or base.name.endswith(("Enum", "Flag", "Choices"))
