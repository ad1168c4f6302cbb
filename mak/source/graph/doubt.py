"""What speaks against a call going where it seems to go: monkeypatching, overriding, open modules.

Looked at only when a finding is at stake, because it looks at the whole tree.
"""

from __future__ import annotations

from collections.abc import Iterator

from mak.source.facts import Context, Guard
from mak.source.graph.callable import Kind, callable_of
from mak.source.graph.calls import CallSite, Receiver
from mak.source.graph.construct import HARMLESS
from mak.source.hierarchy import descendants
from mak.source.resolve import After, Derived, Instance, Module, Names, Variable

#: Attributes of a function that change what it takes.
_SIGNATURE = ("__defaults__", "__kwdefaults__", "__code__", "__signature__")


def is_certain(names: Names, site: CallSite) -> bool:
    """Whether a call surely goes to its target, and is not meant to fail."""
    facts = names.facts(site.path)
    if facts is None or facts.is_guarded(site.call.start, Guard.CALL):
        return False
    if site.receiver in (Receiver.SUPER, Receiver.UNKNOWN):
        return False
    target = site.target
    if target.scope == 0 and _may_rebind(names, target.path):
        return False
    if site.klass is not None and (
        not owner_is_sure(names, site.klass, target) or _declares_only(names, site.klass)
    ):
        return False
    if is_replaced(names, target) or is_replaced(names, Variable(target.path, 0, target.name)):
        return False
    if site.receiver in (Receiver.INSTANCE, Receiver.DERIVED) and site.klass is not None:
        return not any(_may_take(names, site, other) for other in overriding(names, site))
    return True


def owner_is_sure(names: Names, klass: Variable, member: Variable) -> bool:
    """Whether no base from outside may have the member before the class that it was found in."""
    lineage = names.lineage(klass)
    for owner in lineage.classes:
        inner = names.class_of(owner)
        if inner is None:
            return False
        if (owner.path, inner.scope) == (member.path, member.scope):
            return True
        for base in names.lineage(owner).bases:
            if isinstance(base, Variable):
                if _holder(names, member) in names.lineage(base).classes:
                    break  # what is named after it comes after it
            elif base is None or base.name not in HARMLESS:
                return False
    return False


def _may_rebind(names: Names, path: str) -> bool:
    """Whether a module may give its own functions' names to something else while it runs."""
    facts, data = names.facts(path), names.sources.data(path)
    if facts is None or any(
        names.modules.imported(entry.level, entry.module, path) is None for entry in facts.stars
    ):
        return True
    if any(data.startswith((b"globals", b"vars"), at) for _, at in facts.dynamic):
        return True
    # With a namespace of its own, `exec` changes that one.
    calls = [use.call for use in facts.uses("exec") if use.names == ("exec",)]
    return any(call is not None and call.positional < 2 for call in calls)


def _declares_only(names: Names, klass: Variable) -> bool:
    """Whether a class says what others have to look like: its methods take no ``self``."""
    return any(
        base.startswith("zope.interface.") or base.rpartition(".")[2] == "Interface"
        for base in names.lineage(klass).unknown
    )


def _holder(names: Names, member: Variable) -> Variable | None:
    facts = names.facts(member.path)
    definition = facts.definition_of(member.scope) if facts is not None else None
    if definition is None:
        return None
    return Variable(member.path, definition.holder, definition.name)


def overriding(names: Names, site: CallSite) -> Iterator[Variable | None]:
    """Yield what the method is in classes derived from the one it is called on; None: unknown."""
    seen: set[Variable] = set()
    todo = [site.klass] if site.klass is not None else []
    while todo:
        klass = todo.pop()
        for derived in descendants(names, klass):
            if derived not in seen:
                seen.add(derived)
                todo.append(derived)
                member = names.class_attribute(derived, site.target.name)
                if member != site.target:
                    yield member


def _may_take(names: Names, site: CallSite, other: Variable | None) -> bool:
    if other is None:
        return True
    target = names.the(other)
    function = callable_of(names, target) if isinstance(target, Variable) else None
    if function is None or function.kind is Kind.PROPERTY:
        return True
    binds = function.kind is Kind.CLASS or (
        function.kind is Kind.FUNCTION and site.receiver is Receiver.INSTANCE
    )
    signatures = (s.without_first() if binds else s for s in function.signatures)
    return any(signature.may_accept(site.arguments) for signature in signatures)


def is_replaced(names: Names, variable: Variable) -> bool:
    """Whether something in the tree assigns to a function from outside, or may."""
    memo = names.memo("replaced")
    if variable not in memo:
        memo[variable] = any(_replacements(names, variable))
    return bool(memo[variable])


def _replacements(names: Names, variable: Variable) -> Iterator[bool]:
    own = _holder(names, variable)
    for path in names.index.mentioning(variable.name):
        facts = names.facts(path)
        if facts is None:
            continue
        if any(text.dynamic and text.value == variable.name for text in facts.texts):
            yield True
        for use in facts.uses(variable.name):
            last = len(use.names) - 1
            if last == 0 or use.context is Context.LOAD:
                continue
            if use.names[last] in _SIGNATURE and use.names[last - 1] == variable.name:
                yield True
            if use.names[last] != variable.name:
                continue
            for thing in names.receivers(path, use, last):
                match thing:
                    case Module(other):
                        yield other == variable.path and own is None
                    case Variable() | Instance() | Derived() | After():
                        other_class = thing if isinstance(thing, Variable) else thing.klass
                        yield own is not None and _are_related(names, own, other_class)
                    case _:
                        pass


def _are_related(names: Names, one: Variable, other: Variable) -> bool:
    return one in names.lineage(other).classes or other in names.lineage(one).classes
