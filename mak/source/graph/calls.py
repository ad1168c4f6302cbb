"""What a call calls, where that is proved, and what its arguments must fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from mak.source.facts import Binding, BindingKind, Call, Facts, Hint, ScopeKind, Use
from mak.source.graph.callable import Kind, callable_of
from mak.source.graph.construct import constructor
from mak.source.resolve import (
    After,
    Derived,
    Instance,
    Module,
    Names,
    Thing,
    Variable,
    is_placeholder,
)
from mak.source.signature import Arguments, Parameters


class Receiver(StrEnum):
    """What stands before the dot of a call."""

    #: Nothing: the callee is a plain name.
    NOTHING = "nothing"
    MODULE = "module"
    #: A class by its name.
    CLASS = "class"
    #: ``cls``: a class or one derived from it.
    DERIVED = "derived"
    #: ``self``, or a value known to be an instance.
    INSTANCE = "instance"
    #: ``super()``: what follows in the lineage of a class that may not be known.
    SUPER = "super"
    #: It cannot be told; there are no signatures then.
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class CallSite:
    """One call of something that is defined in the repository."""

    path: str
    use: Use
    call: Call
    #: The function or class, where it is defined.
    target: Variable
    receiver: Receiver
    #: The class through which a method is reached.
    klass: Variable | None
    #: Whether an instance is made.
    constructs: bool
    #: Parameter lists, one of which the arguments must fit, the receiver taken out already.
    #: Empty: not known.
    signatures: tuple[Parameters, ...]

    @property
    def start(self) -> int:
        """Where the name that is called stands; negative when that is not known."""
        return self.use.starts[-1]

    @property
    def arguments(self) -> Arguments:
        """What is known of the arguments; a ``functools.partial`` gets more later."""
        call = self.call
        keywords = tuple(name for name, _ in call.keywords)
        return Arguments(
            call.positional, keywords, call.star or call.partial, call.double_star or call.partial
        )

    @property
    def fits(self) -> bool:
        """Whether the arguments fit, or may: False only where they fit none of the signatures."""
        arguments = self.arguments
        return not self.signatures or any(s.may_accept(arguments) for s in self.signatures)


def calls_in(names: Names, path: str, facts: Facts) -> Iterator[CallSite]:
    """Yield the calls of a file whose callee is proved."""
    for use in facts.chains:
        if use.call is not None:
            found = call_site(names, path, use, use.call)
            if found is not None:
                yield found


def call_site(names: Names, path: str, use: Use, call: Call) -> CallSite | None:
    """Return what one use of a file calls; None: it is not proved, or not in the repository."""
    last = len(use.names) - 1
    if last == 0 and not use.names[0]:
        return None
    things = names.use(path, use, last)
    target = names.the(things[0]) if len(things) == 1 else None
    if not isinstance(target, Variable):
        return None
    receiver, klass = _receiver(names, path, use, last)
    if receiver is None:
        return None
    if names.class_of(target) is not None:
        made = constructor(names, target) if receiver is not Receiver.SUPER else ()
        return CallSite(path, use, call, target, receiver, klass, True, made)
    value = names.instance(target)
    if isinstance(value, Derived):
        return CallSite(path, use, call, value.klass, Receiver.DERIVED, value.klass, True, ())
    if isinstance(value, Instance):
        method = names.class_attribute(value.klass, "__call__")
        if method is None:
            return None
        target, receiver, klass = method, Receiver.INSTANCE, value.klass
    elif not names.definitions(target) and callable_of(names, target) is None:
        return None
    if receiver in (Receiver.NOTHING, Receiver.MODULE) and things[0] != target:
        receiver, klass = _through_alias(names, things[0], target) or (receiver, None)
    signatures = tuple(_seen(names, path, use, target, receiver))
    return CallSite(path, use, call, target, receiver, klass, False, signatures)


def _receiver(
    names: Names, path: str, use: Use, position: int
) -> tuple[Receiver | None, Variable | None]:
    if position == 0:
        return Receiver.NOTHING, None
    found = names.receivers(path, use, position)
    thing: Thing | None = next(iter(found)) if len(found) == 1 else None
    match thing:
        case Module():
            return Receiver.MODULE, None
        case Instance(klass):
            return Receiver.INSTANCE, klass
        case Derived(klass):
            return Receiver.DERIVED, klass
        case After(klass):
            return Receiver.SUPER, klass
        case Variable():
            return Receiver.CLASS, thing
        case _:
            return None, None


def _through_alias(
    names: Names, alias: Thing, target: Variable
) -> tuple[Receiver, Variable | None] | None:
    """Return what stood before the dot when a method was given another name: ``m = self.m``.

    None: nothing that could be bound to the target did.
    """
    facts = names.facts(target.path)
    is_member = facts is not None and facts.scopes[target.scope].kind is ScopeKind.CLASS
    found: tuple[Receiver, Variable | None] | None = None
    for _ in range(_STEPS):
        if alias == target:
            if found is None and is_member:
                return Receiver.UNKNOWN, None
            return found if is_member else None
        here = names.facts(alias.path) if isinstance(alias, Variable) else None
        if here is None or not isinstance(alias, Variable):
            break
        bound = [b for b in here.bound(alias.scope, alias.name) if not is_placeholder(b)]
        if len(bound) > 1 and all(binding.kind in _IMPORTS for binding in bound):
            return (Receiver.UNKNOWN, None) if is_member else None
        things = _one_step(names, alias, bound)
        if len(bound) == 1 and bound[0].hint is Hint.ALIAS and len(bound[0].hinted) > 1:
            hinted = bound[0].hinted
            use = Use(alias.scope, hinted, (bound[0].start,) * len(hinted))
            receiver, klass = _receiver(names, alias.path, use, len(hinted) - 1)
            if receiver is not Receiver.MODULE:
                if receiver is None or found is not None or not is_member:
                    break
                found = receiver, klass
        if len(things) != 1:
            break
        alias = things[0]
    return Receiver.UNKNOWN, None


#: How many names for one thing are followed.
_STEPS = 20


_IMPORTS = (BindingKind.IMPORT, BindingKind.FROM)


def _one_step(names: Names, alias: Variable, bound: Sequence[Binding]) -> list[Thing]:
    """Return what an import or a plain alias stands for, one step on."""
    thing: Thing | None = None
    if not bound and alias.scope == 0:
        thing = names.star(alias.path, alias.name)
    elif len(bound) == 1 and bound[0].hint is Hint.ALIAS:
        return names.dotted(alias.path, alias.scope, bound[0].hinted, bound[0].start)
    elif len(bound) == 1 and bound[0].kind in _IMPORTS:
        thing = names.link(alias.path, bound[0])
    return [thing] if thing is not None else []


def _seen(
    names: Names, path: str, use: Use, target: Variable, receiver: Receiver
) -> Iterator[Parameters]:
    """Yield the parameter lists as they are seen through a receiver."""
    function = callable_of(names, target)
    if function is None or function.kind is Kind.PROPERTY or receiver is Receiver.UNKNOWN:
        return
    binds = function.kind is Kind.CLASS or (
        function.kind is Kind.FUNCTION and receiver in (Receiver.INSTANCE, Receiver.SUPER)
    )
    if (
        receiver is Receiver.SUPER
        and function.kind is Kind.FUNCTION
        and _in_class(names, path, use)
    ):
        return
    for signature in function.signatures:
        yield signature.without_first() if binds and receiver in _BINDING else signature


_BINDING = (Receiver.INSTANCE, Receiver.SUPER, Receiver.CLASS, Receiver.DERIVED)


def _in_class(names: Names, path: str, use: Use) -> bool:
    """Whether ``super()`` stands in a method of the class itself: then it does not bind."""
    facts = names.facts(path)
    scope = use.scope
    while facts is not None and scope:
        function = facts.definition_of(scope)
        if function is not None and facts.scopes[function.holder].kind is ScopeKind.CLASS:
            first = function.parameters[0].name if function.parameters else ""
            return not isinstance(names.instance(Variable(path, scope, first)), Instance)
        scope = facts.scopes[scope].parent
    return False
