"""An override no longer fits its base: who calls it through the base would fail.

What a new override leaves out on purpose is not judged, only whether it still takes the plainest
call of the base; one that took every call of its base has to go on taking them.
"""

from __future__ import annotations

from collections.abc import Iterator

from mak.checks.call import shown
from mak.checks.change import tree_check
from mak.checks.view import THERE, Problem, View
from mak.source.facts import Flag
from mak.source.graph import Override
from mak.source.graph.callable import Kind
from mak.source.names import qualified_name, variables
from mak.source.resolve import Variable
from mak.source.signature import Parameters

#: Methods that are called on the class itself, which every class makes as it likes.
_OWN = frozenset({"__init__", "__new__", "__init_subclass__", "__post_init__", "__call__"})


def _problems(view: View, path: str) -> Iterator[Problem]:
    for found in view.graph.overrides(path) if not view.alone else ():
        name = found.method.name
        if not found.certain or name in _OWN or (name.startswith("__") and name[-2:] != "__"):
            continue
        if _is_for_types(view, found.method) or _is_for_types(view, found.base):
            continue
        pair = _signatures(view, found.method, found.base)
        if pair is None or pair[0].accepts_all(pair[1]):
            continue
        own, base = pair
        if not _takes_plainest(own, base):
            what = "does not take the plainest call of"
        elif _fitted(view, found):
            what = "no longer takes every call of"
        else:
            continue
        yield Problem(
            path,
            found.start,
            f"overrides {qualified_name(view.names, found.base)} ({THERE}) and {what} it; take the "
            "same arguments, or change both",
            view.definition(found.base),
            shown(view, found.base),
        )


def _is_for_types(view: View, method: Variable) -> bool:
    """Whether only type checkers see a definition."""
    facts = view.facts(method.path)
    bound = facts.bound(method.scope, method.name) if facts is not None else ()
    return any(binding.flags & Flag.TYPING for binding in bound)


def _signatures(
    view: View, method: Variable, base: Variable
) -> tuple[Parameters, Parameters] | None:
    """Return what both take, the receiver taken out; None: not known, or another kind of thing."""
    ours, theirs = view.graph.callable(method), view.graph.callable(base)
    if ours is None or theirs is None or ours.kind is not theirs.kind:
        return None
    if ours.kind in (Kind.PROPERTY, Kind.OBJECT):
        return None
    if len(ours.signatures) != 1 or len(theirs.signatures) != 1:
        return None
    own, base_own = ours.signatures[0], theirs.signatures[0]
    if ours.kind is Kind.STATIC:
        return own, base_own
    return own.without_first(), base_own.without_first()


def _takes_plainest(own: Parameters, base: Parameters) -> bool:
    """Whether it takes a call of the base that passes what is required, each by its place."""
    places = [name for name in base.ordered if name not in base.optional]
    keywords = [name for name in base.keyword_only if name not in base.optional]
    return own.accepts(len(places), keywords)


def _fitted(view: View, found: Override) -> bool:
    """Whether the override took every call of its base before the change."""
    if view.was is None:
        return False
    method, base = (_same(view, view.was, known) for known in (found.method, found.base))
    if method is None or base is None:
        return False
    pair = _signatures(view.was, method, base)
    return pair is not None and pair[0].accepts_all(pair[1])


def _same(view: View, was: View, variable: Variable) -> Variable | None:
    """Return a variable of this tree as it was in the tree before."""
    node = view.node(view.definition(variable))
    found = variables(was.names, node)
    return found[0] if len(found) == 1 else None


CHECK = tree_check("override", "an override no longer fits its base", _problems)
