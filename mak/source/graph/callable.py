"""What a call of a definition must fit: through decorators, overloads and ``functools.partial``.

Only what is certain counts. A decorator that is not known to keep or to replace the signature makes
it unknown, and so does any binding that is not a definition.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from mak.source.facts import (
    Binding,
    BindingKind,
    Definition,
    Facts,
    Hint,
    ScopeKind,
)
from mak.source.graph.decorators import Effect, effect_of
from mak.source.resolve import Names, Outside, Variable, is_placeholder
from mak.source.signature import Parameters, signature_of


class Kind(StrEnum):
    """How a definition takes the object that stands before the dot."""

    FUNCTION = "function"
    STATIC = "staticmethod"
    CLASS = "classmethod"
    #: It is read, not called.
    PROPERTY = "property"
    #: It does not bind: an object with state of its own, such as a partial.
    OBJECT = "object"


@dataclass(frozen=True, slots=True)
class Callable_:
    """A function, with each parameter list that it may have, one of which a call must fit."""

    kind: Kind
    signatures: tuple[Parameters, ...]


def callable_of(names: Names, variable: Variable) -> Callable_ | None:
    """Return what a variable is called with, wherever it may be defined; None: not known."""
    memo = names.memo("callable")
    if variable not in memo:
        memo[variable] = _callable_of(names, variable)
    found = memo[variable]
    assert found is None or isinstance(found, Callable_)
    return found


def _callable_of(names: Names, variable: Variable) -> Callable_ | None:
    facts = names.facts(variable.path)
    if facts is None:
        return None
    bound = [b for b in facts.bound(variable.scope, variable.name) if not is_placeholder(b)]
    if len(bound) == 1 and bound[0].hint is Hint.CONSTRUCTED:
        return _partial(names, facts, variable, bound[0])
    found: list[Callable_] = []
    defined = [facts.definitions[b.detail] for b in bound if b.kind is BindingKind.FUNCTION]
    if not defined or len(defined) != len(bound):
        return None
    for definition in _implementations(names, variable.path, defined):
        one = _callable(names, variable.path, facts, definition)
        if one is None or (found and found[0].kind is not one.kind):
            return None
        found.append(one)
    signatures = [signature for one in found for signature in one.signatures]
    return Callable_(found[0].kind, tuple(dict.fromkeys(signatures)))


def _implementations(names: Names, path: str, defined: list[Definition]) -> list[Definition]:
    """Leave out overloads, which are never called where there is an implementation."""
    if len(defined) == 1:
        return defined
    plain = [
        d for d in defined if not any(_is(names, path, d, n, _OVERLOADS) for n in d.decorators)
    ]
    return plain or defined


_OVERLOADS = frozenset(("typing.overload", "typing_extensions.overload"))


def _is(
    names: Names, path: str, definition: Definition, name: tuple[str, ...], known: frozenset[str]
) -> bool:
    thing = names.decorator(path, definition, name)
    return isinstance(thing, Outside) and thing.name in known


_KINDS = {
    Effect.STATIC: Kind.STATIC,
    Effect.CLASS: Kind.CLASS,
    Effect.PROPERTY: Kind.PROPERTY,
}
#: Methods that are static, or of the class, without a decorator that says so.
_IMPLIED = {
    "__new__": Kind.STATIC,
    "__init_subclass__": Kind.CLASS,
    "__class_getitem__": Kind.CLASS,
}


def _callable(names: Names, path: str, facts: Facts, definition: Definition) -> Callable_ | None:
    is_member = facts.scopes[definition.holder].kind is ScopeKind.CLASS
    kind = _IMPLIED.get(definition.name, Kind.FUNCTION) if is_member else Kind.FUNCTION
    signature = signature_of(definition.parameters)
    for index in reversed(range(len(definition.decorators))):
        effect = effect_of(names, path, definition, index)
        if isinstance(effect, Parameters):
            signature = effect
        elif effect is Effect.UNKNOWN:
            return None
        elif effect is not Effect.KEEPS:
            kind = _KINDS[effect]
    return Callable_(kind, (signature,))


def _partial(names: Names, facts: Facts, variable: Variable, binding: Binding) -> Callable_ | None:
    """Return what is left of a function's parameters for ``x = partial(f, …)``."""
    name = binding.hinted
    if names.the_dotted(variable.path, variable.scope, name, binding.start) != Outside(
        "functools.partial"
    ):
        return None
    passed = [
        use
        for use in facts.chains
        if use.call is not None and use.call.partial and binding.start < use.call.start
        if use.call.end <= binding.since and use.scope == variable.scope
    ]
    if len(passed) != 1 or passed[0].call is None:
        return None
    use, call = passed[0], passed[0].call
    if call.star or call.double_star:
        return None
    things = names.use(variable.path, use, len(use.names) - 1)
    target = names.the(things[0]) if len(things) == 1 else None
    inner = callable_of(names, target) if isinstance(target, Variable) else None
    if inner is None or inner.kind is not Kind.FUNCTION or len(use.names) > 1:
        return None
    keywords = [keyword for keyword, _ in call.keywords]
    left = tuple(signature.after(call.positional, keywords) for signature in inner.signatures)
    return Callable_(Kind.OBJECT, left)
