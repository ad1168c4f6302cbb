"""A module or a class provably lacks an attribute that is taken from it.

An instance lacks one when its class, everything that derives from it and all of their bases are
known, get their members from their text alone, and none of it binds the name; and when no file of
the repository stores an attribute of that name in anything. A class that nothing makes instances of
may be a mixin for others: only what it had before is missed there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from mak.checks.change import tree_check
from mak.checks.view import THERE, Problem, Spot, View
from mak.model import NodeId
from mak.source.facts import Context, Guard, Use
from mak.source.graph import Has
from mak.source.graph.construct import HARMLESS
from mak.source.graph.members import is_stored
from mak.source.hierarchy import descendants
from mak.source.names import qualified, qualified_name, uses_of
from mak.source.resolve import Derived, Instance, Module, Outside, Thing, Variable

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
            if isinstance(owner, Outside) or (
                isinstance(owner, Variable) and view.names.class_of(owner) is None
            ):
                break
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


def _is_unset(view: View, klass: Variable, name: str) -> bool:
    """Whether no class of the lineage binds a name, and none of their files stores it."""
    if view.names.class_attribute(klass, name) is not None:
        return False
    return not any(
        use.context is Context.STORE and use.names[-1] == name
        for owner in view.names.lineage(klass).classes
        for facts in [view.facts(owner.path)]
        if facts is not None
        for use in facts.uses(name)
    )


def _is_made(view: View, klass: Variable) -> bool:
    """Whether the repository makes instances of a class itself."""
    return any(
        use.call is not None and position == len(use.names) - 1
        for _, use, position, _ in uses_of(view.names, klass)
    )


def _went(view: View, klass: Variable, name: str) -> bool:
    """Whether a class had a member of this name before, and nothing gives it one now."""
    was = view.was
    if was is None or klass.path not in was.sources:
        return False
    old = qualified(was.names, klass.path, qualified_name(view.names, klass).split("."))
    if old is None or was.names.class_attribute(old, name) is None:
        return False
    return not is_stored(view.names, name) and all(
        _binds_nothing(view, one, name) for one in _family(view, klass)
    )


def _binds_nothing(view: View, klass: Variable, name: str) -> bool:
    names = view.names
    if names.class_attribute(klass, name) is not None:
        return False
    lineage = names.lineage(klass)
    if not HARMLESS.issuperset(lineage.unknown):
        return False
    return not any(
        names.class_attribute(klass, maker) is not None
        for maker in ("__getattr__", "__getattribute__")
    )


def _family(view: View, klass: Variable) -> Iterator[Variable]:
    """Yield a class and whatever derives from it."""
    seen = {klass}
    todo = [klass]
    while todo:
        one = todo.pop()
        yield one
        for derived in descendants(view.names, one):
            if derived not in seen:
                seen.add(derived)
                todo.append(derived)


def _lacks(view: View, owner: Thing, name: str) -> bool:
    match owner:
        case Module():
            return view.graph.has(owner, name) is Has.NO
        case Variable():
            return _class_lacks(view, owner, name)
        case Instance(klass) | Derived(klass):
            key = klass, name
            if key not in view.lacking:
                view.lacking[key] = _is_unset(view, klass, name) and (
                    _went(view, klass, name)
                    or (
                        all(_class_lacks(view, one, name) for one in _family(view, klass))
                        and _is_made(view, klass)
                    )
                )
            return view.lacking[key]
        case _:
            return False


def _class_lacks(view: View, klass: Variable, name: str) -> bool:
    if view.graph.has(klass, name) is not Has.NO:
        return False
    # A stub tells what others may use, not all that is there.
    return not any(c.path.endswith(".pyi") for c in view.names.lineage(klass).classes) and not any(
        _OPEN.search(view.data(c.path)) for c in view.names.lineage(klass).classes
    )


CHECK = tree_check(
    "unknown-attribute", "a module or a class lacks an attribute that is used", _problems
)
