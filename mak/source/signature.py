"""Does a function still take every call it took, and give each argument to the same parameter?

For a fixed number ``k`` of positional arguments, the keyword sets that a signature accepts are
exactly those between two bounds: the names it still *requires* and the names it still *allows*. So
one signature accepts all that another does when, for every ``k``, its bounds enclose the other's.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from mak.source.facts import Parameter, ParameterKind


@dataclass(frozen=True, slots=True)
class Arguments:
    """What is known of a call."""

    count: int = 0
    keywords: tuple[str, ...] = ()
    #: Whether there is a ``*args`` or ``**kwargs``, whose length is not known.
    more_positional: bool = False
    more_keywords: bool = False


@dataclass(frozen=True, slots=True)
class Parameters:
    """What a call must fit. The order within the positional ones is the order of the source."""

    positional_only: tuple[str, ...] = ()
    positional: tuple[str, ...] = ()
    keyword_only: tuple[str, ...] = ()
    #: Names, of any kind, that a call may leave out.
    optional: frozenset[str] = frozenset()
    #: ``*args``: any number of further positional arguments.
    many: bool = False
    #: ``**kwargs``: any other keyword.
    any_keyword: bool = False

    @property
    def ordered(self) -> tuple[str, ...]:
        """All that a positional argument can fill, in order."""
        return self.positional_only + self.positional

    @property
    def names(self) -> frozenset[str]:
        """All parameters that have a name of their own."""
        return frozenset((*self.ordered, *self.keyword_only))

    def without_first(self) -> Parameters:
        """What a call through an instance or a class has to fit."""
        if self.positional_only:
            return replace(self, positional_only=self.positional_only[1:])
        return replace(self, positional=self.positional[1:])

    def after(self, count: int, keywords: Collection[str]) -> Parameters:
        """Return what is left to fit when `functools.partial` has passed these on."""
        only, rest = self.positional_only[count:], max(0, count - len(self.positional_only))
        return replace(
            self,
            positional_only=only,
            positional=self.positional[rest:],
            optional=self.optional | frozenset(keywords),
        )

    def accepts(self, count: int, keywords: Collection[str]) -> bool:
        """Whether a call with `count` positional arguments and these keywords fits."""
        bounds = _bounds(self, count)
        if bounds is None:
            return False
        names = frozenset(keywords)
        return bounds.required <= names and bounds.allows(names)

    def may_accept(self, call: Arguments) -> bool:
        """Whether a call may fit: False only where it is certain that it does not."""
        given = frozenset(call.keywords)
        last = call.count
        if call.more_positional:
            last = max(len(self.ordered), last)
        for count in range(call.count, last + 1):
            bounds = _bounds(self, count)
            if bounds is None or not bounds.allows(given):
                continue
            if call.more_keywords or bounds.required <= given:
                return True
        return False

    def accepts_all(self, old: Parameters) -> bool:
        """Whether every call that fits `old` fits here."""
        # Past the longer one nothing changes with the count, except that `*args` must be there.
        last = max(len(old.ordered), len(self.ordered)) + 1
        for count in range(last + 1):
            theirs, ours = _bounds(old, count), _bounds(self, count)
            if theirs is None:
                continue
            if ours is None or not ours.required <= theirs.required or not ours.encloses(theirs):
                return False
        return True

    def keeps(self, call: Arguments, old: Parameters) -> bool:
        """Whether a call of `old` may go on and mean the same: False only where that is certain.

        What ``*args`` and ``**kwargs`` of the call bring is not known, but that `old` took it is.
        """
        given = frozenset(call.keywords)
        if given & {*old.positional, *old.keyword_only} & {*self.positional_only}:
            return False  # `**kwargs` takes what went to a parameter
        if not self._keeps_places(old, call.count):
            return False
        last = call.count
        if call.more_positional:
            last = max(len(old.ordered), len(self.ordered), last) + 1
        was_taken = False
        for count in range(call.count, last + 1):
            theirs, ours = _bounds(old, count), _bounds(self, count)
            if theirs is None or not theirs.allows(given):
                continue
            if not call.more_keywords and not theirs.required <= given:
                continue
            was_taken = True
            if ours is None or not ours.allows(given):
                continue
            missing = ours.required - given
            if not missing or (call.more_keywords and theirs.allows(missing)):
                return True
        return not was_taken

    def _keeps_places(self, old: Parameters, count: int) -> bool:
        """Whether the first `count` positional arguments go to the parameters they went to."""
        known, kept = old.names, self.names
        for i, (before, after) in enumerate(zip(old.ordered, self.ordered, strict=False)):
            renamed = before not in kept and after not in known
            if i < count and before != after and not renamed:
                return False
        taken = min(count, max(len(old.ordered), len(self.ordered)))
        if taken > len(old.ordered) and old.many and self.many:
            return False  # a new parameter takes what went to `*args`
        # `*args` must not take what went to a parameter that is still there by name
        return not {*old.ordered[len(self.ordered) : taken]} & {*self.keyword_only}

    def replaces(self, old: Parameters) -> bool:
        """Whether every call of `old` fits here and no argument changes its parameter.

        ``f(a, b)`` → ``f(b, a)`` takes every positional call and means another thing by it.
        """
        if {*old.positional, *old.keyword_only} & {*self.positional_only}:
            return False  # `**kwargs` takes what went to a parameter
        return self.accepts_all(old) and self._keeps_places(old, len(old.ordered) + old.many)


@dataclass(frozen=True, slots=True)
class _Bounds:
    required: frozenset[str]
    #: What may be named; with `others`, what may not.
    names: frozenset[str]
    others: bool

    def allows(self, keywords: frozenset[str]) -> bool:
        if self.others:
            return not keywords & self.names
        return keywords <= self.names

    def encloses(self, other: _Bounds) -> bool:
        if other.others:
            return self.others and self.names <= other.names
        return self.allows(other.names)


def _bounds(parameters: Parameters, count: int) -> _Bounds | None:
    """Return the keywords that may go with `count` positional arguments; None: no call fits."""
    ordered = parameters.ordered
    if count > len(ordered) and not parameters.many:
        return None
    if any(name not in parameters.optional for name in parameters.positional_only[count:]):
        return None
    skip = max(0, count - len(parameters.positional_only))
    filled, free = parameters.positional[:skip], parameters.positional[skip:]
    named = frozenset((*free, *parameters.keyword_only))
    required = named - parameters.optional
    if parameters.any_keyword:
        return _Bounds(required, frozenset(filled), others=True)
    return _Bounds(required, named, others=False)


def signature_of(parameters: Sequence[Parameter]) -> Parameters:
    """Return what a call of a function with these parameters must fit."""
    named = {kind: [p.name for p in parameters if p.kind is kind] for kind in ParameterKind}
    return Parameters(
        positional_only=tuple(named[ParameterKind.POSITIONAL]),
        positional=tuple(named[ParameterKind.NORMAL]),
        keyword_only=tuple(named[ParameterKind.KEYWORD]),
        optional=frozenset(p.name for p in parameters if p.default),
        many=bool(named[ParameterKind.VARIADIC]),
        any_keyword=bool(named[ParameterKind.KEYWORDS]),
    )


def parameters_of(arguments: ast.arguments) -> Parameters:
    """Read the parameters of a function's syntax tree."""
    ordered = [*arguments.posonlyargs, *arguments.args]
    defaults = {arg.arg for arg in ordered[len(ordered) - len(arguments.defaults) :]}
    pairs = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    defaults |= {arg.arg for arg, default in pairs if default is not None}
    return Parameters(
        positional_only=tuple(arg.arg for arg in arguments.posonlyargs),
        positional=tuple(arg.arg for arg in arguments.args),
        keyword_only=tuple(arg.arg for arg in arguments.kwonlyargs),
        optional=frozenset(defaults),
        many=arguments.vararg is not None,
        any_keyword=arguments.kwarg is not None,
    )
