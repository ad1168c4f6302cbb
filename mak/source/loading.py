"""What a module imports while it is loaded: not in functions, for type checkers or as a program."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from mak.source.facts import Facts, Flag, ScopeKind
from mak.source.names import node_at
from mak.source.resolve import Module, Names


class Loaded(NamedTuple):
    """One import of a module of the repository."""

    #: A file, or the folder of a namespace package with ``/``.
    path: str
    #: Where the statement starts.
    start: int
    #: Whether it may fail without harm.
    tried: bool


def loaded(names: Names, path: str) -> Iterator[Loaded]:
    """Yield the imports that run when a file is imported, in order."""
    facts = names.facts(path)
    for entry in facts.imports if facts is not None else ():
        if entry.flags & Flag.TYPING or not _runs(facts, entry.scope):
            continue
        if entry.flags & Flag.CONDITIONAL and _is_main(names, path, entry.start):
            continue
        module = names.modules.imported(entry.level, entry.module, path)
        if module is None:
            continue
        thing = names.imported(path, entry) if entry.name not in ("", "*") else None
        found = thing.path if isinstance(thing, Module) else module
        yield Loaded(found, entry.start, bool(entry.flags & Flag.TRY))


def _runs(facts: Facts | None, scope: int) -> bool:
    while facts is not None and scope:
        if facts.scopes[scope].kind is not ScopeKind.CLASS:
            return False
        scope = facts.scopes[scope].parent
    return True


def _is_main(names: Names, path: str, start: int) -> bool:
    """Whether code only runs when the file is started, not when it is imported."""
    return node_at(names.sources, path, start).symbol == "@main"
