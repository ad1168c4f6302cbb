"""What a file takes from modules of the repository that do not have it: it would fail there.

Only what is certain counts. A module that can get names at run time (star imports, ``__getattr__``,
``globals()``) has them all; so has one that something besides Python may stand for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mak.model import NodeId
from mak.source.facts import Context, Facts, Flag
from mak.source.names import names_of, node_at
from mak.source.resolve import Module, Names
from mak.source.tree import Sources


@dataclass(frozen=True, slots=True, order=True)
class Lacking:
    """A name that is taken from a module which lacks it."""

    #: The path of the module.
    module: str
    name: str
    #: Where it is taken.
    node: NodeId


def lacking(sources: Sources, path: str) -> frozenset[Lacking]:
    """Return what a file takes from modules that lack it, by import or as an attribute."""
    names = names_of(sources)
    facts = names.facts(path) if path in sources else None
    return frozenset(_found(names, path, facts)) if facts is not None else frozenset()


def takers(sources: Sources, module: str, name: str) -> tuple[NodeId, ...]:
    """Return the nodes of other files that take a name from a module, where that is certain."""
    names = names_of(sources)
    found = {
        node
        for path in names.index.mentioning(name)
        if path != module
        for facts in [names.facts(path)]
        if facts is not None
        for taken, what, node in _taken(names, path, facts, name)
        if (taken, what) == (module, name)
    }
    return tuple(sorted(found))


def _found(names: Names, path: str, facts: Facts) -> Iterator[Lacking]:
    for module, name, node in _taken(names, path, facts):
        if _lacks(names, module, name):
            yield Lacking(module, name, node)


def _taken(
    names: Names, path: str, facts: Facts, only: str = ""
) -> Iterator[tuple[str, str, NodeId]]:
    """Yield what a file takes from modules: module, name and where."""
    for entry in facts.imports:
        if entry.name in ("", "*") or entry.flags & Flag.TRY or only not in ("", entry.name):
            continue
        module = names.modules.imported(entry.level, entry.module, path)
        if module is not None and module != path:
            yield module, entry.name, node_at(names.sources, path, entry.start)
    data = names.sources.data(path)
    if b"AttributeError" in data or b"hasattr" in data:
        return
    for use in facts.uses(only) if only else facts.chains:
        if not use.names[0]:
            continue
        for position in range(1, len(use.names)):
            last = position == len(use.names) - 1
            if use.starts[position] < 0 or (last and use.context is not Context.LOAD):
                continue
            if only in ("", use.names[position]):
                found = names.receivers(path, use, position)
                thing = next(iter(found)) if len(found) == 1 else None
                if not isinstance(thing, Module):
                    break
                node = node_at(names.sources, path, use.starts[position])
                yield thing.path, use.names[position], node


def _lacks(names: Names, module: str, name: str) -> bool:
    """Whether a module surely has no such name."""
    facts = names.facts(module) if module.endswith(".py") else None
    if facts is None or name.startswith("__") or names.attribute(module, name) is not None:
        return False
    if facts.stars or facts.dynamic or facts.bound(0, "__getattr__"):
        return False
    folder = module.removesuffix("__init__.py") if module.endswith("/__init__.py") else ""
    # An extension, or a module that is made when the package is built.
    return not folder or not any(p.startswith(f"{folder}{name}.") for p in names.sources.paths)
