"""A module or a class provably lacks an attribute that is taken from it.

An instance lacks one when its class, everything that derives from it and all of their bases are
known, get their members from their text alone, and none of it binds the name; and when no file of
the repository stores an attribute of that name in anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from mak.checks.change import tree_check
from mak.checks.view import THERE, Problem, Spot, View
from mak.model import NodeId
from mak.source.facts import Context, Guard, Use
from mak.source.graph import Has
from mak.source.hierarchy import descendants
from mak.source.names import qualified_name
from mak.source.resolve import Derived, Instance, Module, Thing, Variable

_OPEN = re.compile(rb"__dict__|__getattribute__|\btype\([^()]*,|locals\(\)|vars\(")


def _problems(view: View, path: str) -> Iterator[Problem]:
    facts = view.facts(path)
    for use in facts.chains if facts is not None else ():
        if not use.names[0] and not use.base:
            continue
        for position in range(1, len(use.names)):
            owners = view.names.receivers(path, use, position)
            if len(owners) != 1 or not _is_loaded(use, position):
                break
            (owner,) = owners
            name, start = use.names[position], use.starts[position]
            if _lacks(view, owner, name):
                assert facts is not None
                if not facts.is_guarded(start, Guard.ATTRIBUTE):
                    yield _problem(view, path, start, owner, name)
                break


def _is_loaded(use: Use, position: int) -> bool:
    last = position == len(use.names) - 1
    return use.starts[position] >= 0 and (not last or use.context is Context.LOAD)


def _problem(view: View, path: str, start: int, owner: Thing, name: str) -> Problem:
    if isinstance(owner, Module):
        return Problem(
            path,
            start,
            f"takes {name} from {owner.path}, which does not bind it; use what is there, or bind "
            "it there first",
            Spot(owner.path, 0),
            owner.path,
            NodeId(owner.path, name),
        )
    klass = owner.klass if isinstance(owner, Instance | Derived) else owner
    assert isinstance(klass, Variable)
    return Problem(
        path,
        start,
        f"takes {name} from {klass.name} ({THERE}), which has no such attribute; use what is "
        "there, or add it there first",
        view.definition(klass),
        f"class {klass.name}",
        NodeId(klass.path, f"{qualified_name(view.names, klass)}.{name}"),
    )


def _lacks(view: View, owner: Thing, name: str) -> bool:
    match owner:
        case Module():
            return view.graph.has(owner, name) is Has.NO
        case Variable():
            return view.names.class_of(owner) is not None and _class_lacks(view, owner, name)
        case Instance(klass) | Derived(klass):
            key = klass, name
            if key not in view.lacking:
                view.lacking[key] = _family_lacks(view, klass, name)
            return view.lacking[key]
        case _:
            return False


def _class_lacks(view: View, klass: Variable, name: str) -> bool:
    if view.graph.has(klass, name) is not Has.NO:
        return False
    return not any(_OPEN.search(view.data(c.path)) for c in view.names.lineage(klass).classes)


def _family_lacks(view: View, klass: Variable, name: str) -> bool:
    """Whether a class, and whatever derives from it, surely has no such attribute."""
    seen = {klass}
    todo = [klass]
    while todo:
        one = todo.pop()
        if not _class_lacks(view, one, name):
            return False
        for derived in descendants(view.names, one):
            if derived not in seen:
                seen.add(derived)
                todo.append(derived)
    return True


CHECK = tree_check(
    "unknown-attribute", "a module or a class lacks an attribute that is used", _problems
)
