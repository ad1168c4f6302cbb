"""What happens when modules are imported: in which order they are loaded, and where that fails.

A circle of imports does no harm by itself. It fails where a name is taken from a module that is
still being loaded and has not got that far; so the modules are loaded here as Python would, from
what their files say: packages before what lies in them, each import in its place.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from mak.source.facts import Facts, Flag, Import, ScopeKind
from mak.source.names import node_at
from mak.source.resolve import Names


class Loaded(NamedTuple):
    """One import of a module of the repository that runs when a file is imported."""

    #: A file, or the folder of a namespace package with ``/``.
    path: str
    #: Where the statement starts.
    start: int
    entry: Import

    @property
    def tried(self) -> bool:
        """Whether it may fail without harm."""
        return bool(self.entry.flags & Flag.TRY)


class Failure(NamedTuple):
    """A name that is taken too early."""

    #: The module that takes it, and where.
    path: str
    start: int
    name: str
    #: The module that it is taken from, and that is still being loaded.
    source: str


def loaded(names: Names, path: str) -> tuple[Loaded, ...]:
    """Return the imports that run when a file is imported, in order.

    Not those in functions, for type checkers, or in what only runs as a program.
    """
    memo = names.memo("loaded")
    if path not in memo:
        memo[path] = tuple(sorted(_loaded(names, path), key=lambda one: one.start))
    found = memo[path]
    assert isinstance(found, tuple)
    return found


def failure(names: Names, first: str) -> Failure | None:
    """Return what fails when a module is imported before any other; None: nothing for sure."""
    done: set[str] = set()
    #: What is being loaded, innermost last, by how far it has got.
    reached: dict[str, int] = {}
    #: The same, with what is left of its imports, the next one last, and whether somebody expects
    #: that it cannot be loaded.
    stack: list[tuple[str, list[Loaded], bool]] = []

    def begin(wanted: str, tried: bool) -> bool:
        """Load the outermost that is missing for a module; return whether something is."""
        for path in _outer(names, wanted):
            if path not in done and path not in reached:
                reached[path] = 0
                stack.append((path, [*loaded(names, path)][::-1], tried))
                return True
        return False

    begin(first, False)
    while stack or begin(first, False):
        path, left, sheltered = stack[-1]
        if not left:
            stack.pop()
            del reached[path]
            done.add(path)
            continue
        reached[path] = left[-1].start
        if begin(left[-1].path, sheltered or left[-1].tried):
            continue
        found = _too_early(names, path, left.pop(), reached)
        if found is not None and not sheltered:
            return found
    return None


def _loaded(names: Names, path: str) -> Iterator[Loaded]:
    facts = names.facts(path)
    if path.endswith(".pyi"):
        return  # nobody loads it
    for entry in facts.imports if facts is not None else ():
        if entry.flags & Flag.TYPING or not _runs(facts, entry.scope):
            continue
        if entry.flags & Flag.CONDITIONAL and _is_main(names, path, entry.start):
            continue
        module = names.modules.imported(entry.level, entry.module, path)
        if module is None:
            continue
        child = names.modules.child(module, entry.name) if entry.name not in ("", "*") else None
        yield Loaded(child or module, entry.start, entry)


def _outer(names: Names, path: str) -> list[str]:
    """Return a module after the packages that it lies in, outermost first."""
    found = [path]
    folder = path.rpartition("/")[0]
    while folder:
        package = f"{folder}/__init__.py"
        if package not in names.sources:
            break
        if package != path:
            found.append(package)
        folder = folder.rpartition("/")[0]
    return found[::-1]


def _too_early(names: Names, path: str, entry: Loaded, reached: dict[str, int]) -> Failure | None:
    """Return what an import takes from a module that has not got that far."""
    source, name = entry.path, entry.entry.name
    if source not in reached or source == path or name in ("", "*"):
        return None
    if source != names.modules.imported(entry.entry.level, entry.entry.module, path):
        return None  # a module of a package, which is found without it
    if entry.entry.flags & (Flag.TRY | Flag.CONDITIONAL):
        return None
    facts = names.facts(source)
    bound = facts.bound(0, name) if facts is not None else ()
    if facts is None or not bound or facts.bound(0, "__getattr__"):
        return None
    at = reached[source]
    if any(b.since <= at or b.start <= at for b in bound) or any(s.start < at for s in facts.stars):
        return None
    return Failure(path, entry.start, name, source)


def _runs(facts: Facts | None, scope: int) -> bool:
    while facts is not None and scope:
        if facts.scopes[scope].kind is not ScopeKind.CLASS:
            return False
        scope = facts.scopes[scope].parent
    return True


def _is_main(names: Names, path: str, start: int) -> bool:
    """Whether code only runs when the file is started, not when it is imported."""
    return node_at(names.sources, path, start).symbol == "@main"
