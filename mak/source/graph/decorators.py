"""What a decorator does to the function under it: keeps its signature, replaces it, or who knows.

Decorators of the standard library are known by name. One that is written in the repository is read:
it keeps the signature when it returns its argument, or an inner function that hands all it is given
to that argument; otherwise the signature is the inner function's own.
"""

from __future__ import annotations

from enum import Enum, auto

from mak.source.facts import (
    BindingKind,
    Definition,
    Facts,
    ParameterKind,
    ScopeKind,
)
from mak.source.resolve import Names, Outside, Variable
from mak.source.signature import Parameters, signature_of


class Effect(Enum):
    """What a decorator does to a function."""

    KEEPS = auto()
    STATIC = auto()
    CLASS = auto()
    PROPERTY = auto()
    UNKNOWN = auto()


_KEEPING = frozenset(
    (
        "abc.abstractmethod",
        "asyncio.coroutine",
        "atexit.register",
        "contextlib.asynccontextmanager",
        "contextlib.contextmanager",
        "functools.cache",
        "functools.lru_cache",
        "functools.wraps",
        "types.coroutine",
        "typing.final",
        "typing.no_type_check",
        "typing.overload",
        "typing.override",
        "unittest.expectedFailure",
        "unittest.skip",
        "unittest.skipIf",
        "unittest.skipUnless",
        "warnings.deprecated",
    )
)
_EFFECTS = {
    "builtins.staticmethod": Effect.STATIC,
    "builtins.classmethod": Effect.CLASS,
    "abc.abstractstaticmethod": Effect.STATIC,
    "abc.abstractclassmethod": Effect.CLASS,
    "abc.abstractproperty": Effect.PROPERTY,
    "builtins.property": Effect.PROPERTY,
    "enum.property": Effect.PROPERTY,
    "functools.cached_property": Effect.PROPERTY,
    "types.DynamicClassAttribute": Effect.PROPERTY,
}
_ACCESSORS = ("setter", "getter", "deleter")


def effect_of(names: Names, path: str, definition: Definition, index: int) -> Effect | Parameters:
    """Return what the decorator of this index does, or the parameters that it leaves."""
    name = definition.decorators[index]
    called = definition.options[index] is not None
    if len(name) > 1 and name[-1] in _ACCESSORS:
        return Effect.PROPERTY
    thing = names.decorator(path, definition, name)
    if isinstance(thing, Outside):
        known = thing.name.replace("typing_extensions.", "typing.")
        if known.startswith("pytest.mark."):
            return Effect.KEEPS
        return Effect.KEEPS if known in _KEEPING else _EFFECTS.get(known, Effect.UNKNOWN)
    if not isinstance(thing, Variable):
        return Effect.UNKNOWN
    key = thing, called
    memo = names.memo("decorators")
    if key not in memo:
        memo[key] = Effect.UNKNOWN  # a decorator that decorates itself
        memo[key] = _read(names, thing, called)
    found = memo[key]
    assert isinstance(found, Effect | Parameters)
    return found


def _read(names: Names, decorator: Variable, called: bool) -> Effect | Parameters:
    function = _only(names, decorator)
    facts = names.facts(decorator.path)
    if function is None or facts is None:
        return Effect.UNKNOWN
    if called:
        inner = returned(facts, function)
        if inner is None or inner.decorators:
            return Effect.UNKNOWN
        function = inner
    if not function.parameters or function.parameters[0].kind > ParameterKind.NORMAL:
        return Effect.UNKNOWN
    if any(not parameter.default for parameter in function.parameters[1:]) and not called:
        return Effect.UNKNOWN
    argument = function.parameters[0].name
    if len(facts.bound(function.scope, argument)) != 1:
        return Effect.UNKNOWN
    if function.returns == ((argument,),):
        return Effect.KEEPS
    wrapper = returned(facts, function)
    if wrapper is None or not _is_plain(names, decorator.path, wrapper):
        return Effect.UNKNOWN
    if _hands_on(facts, wrapper, argument):
        return Effect.KEEPS
    return signature_of(wrapper.parameters)


def _only(names: Names, variable: Variable) -> Definition | None:
    """Return the undecorated function that a variable is, if it is nothing else."""
    facts = names.facts(variable.path)
    bound = facts.bound(variable.scope, variable.name) if facts is not None else ()
    if facts is None or len(bound) != 1 or bound[0].kind is not BindingKind.FUNCTION:
        return None
    function = facts.definitions[bound[0].detail]
    is_method = facts.scopes[function.holder].kind is ScopeKind.CLASS
    return None if function.decorators or is_method else function


def returned(facts: Facts, function: Definition) -> Definition | None:
    """Return the inner function that a function returns, whatever happens in it."""
    if len(function.returns) != 1 or len(function.returns[0]) != 1:
        return None
    bound = facts.bound(function.scope, function.returns[0][0])
    if len(bound) != 1 or bound[0].kind is not BindingKind.FUNCTION or bound[0].flags:
        return None
    return facts.definitions[bound[0].detail]


def _is_plain(names: Names, path: str, wrapper: Definition) -> bool:
    """Whether nothing but `functools.wraps` decorates a wrapper."""
    things = [names.decorator(path, wrapper, name) for name in wrapper.decorators]
    return all(thing == Outside("functools.wraps") for thing in things)


def _hands_on(facts: Facts, wrapper: Definition, argument: str) -> bool:
    """Whether a wrapper calls the function with just what it is given, and never otherwise."""
    kinds = [parameter.kind for parameter in wrapper.parameters]
    if kinds != [ParameterKind.VARIADIC, ParameterKind.KEYWORDS]:
        return False
    calls = 0
    for use in facts.uses(argument):
        if use.scope != wrapper.scope or use.names != (argument,):
            continue
        call = use.call
        if call is None or call.partial or call.positional or call.keywords:
            return False
        if not (call.star and call.double_star):
            return False
        calls += 1
    for parameter in wrapper.parameters:
        if len(facts.bound(wrapper.scope, parameter.name)) != 1:
            return False
        if sum(use.scope == wrapper.scope for use in facts.uses(parameter.name)) != calls:
            return False
    return calls > 0
