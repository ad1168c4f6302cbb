"""What happens when modules are imported: in which order they are loaded, and where that fails.

A circle of imports does no harm by itself. It fails where a name is taken from a module that is
still being loaded and has not got that far; so the modules are loaded here as Python would, from
what their files say: packages before what lies in them, each import in its place.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from mak.source.facts import Context, Facts, Flag, Import, ScopeKind
from mak.source.immediate import immediate
from mak.source.names import node_at
from mak.source.resolve import Module, Names


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


class Taken(NamedTuple):
    """An attribute that is taken from a module of the repository while a file is imported."""

    #: The module.
    path: str
    start: int
    name: str


class Failure(NamedTuple):
    """A name that is taken too early."""

    #: The module that takes it, and where.
    path: str
    start: int
    name: str
    #: The module that it is taken from, and that is still being loaded.
    source: str


#: What the interpreter has loaded before anything is imported, in a tree that is its library.
_AT_START = (
    "_collections_abc.py",
    "_sitebuiltins.py",
    "abc.py",
    "codecs.py",
    "genericpath.py",
    "io.py",
    "ntpath.py",
    "os.py",
    "posixpath.py",
    "site.py",
    "stat.py",
)


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
    done: set[str] = {*_AT_START}
    #: What is being loaded, innermost last, by how far it has got.
    reached: dict[str, int] = {}
    #: The same, with what is left of its imports, the next one last, and whether somebody expects
    #: that it cannot be loaded.
    stack: list[tuple[str, list[Loaded | Taken], bool]] = []

    def begin(wanted: str, tried: bool) -> bool:
        """Load the outermost that is missing for a module; return whether something is."""
        for path in _outer(names, wanted):
            if path not in done and path not in reached:
                reached[path] = 0
                steps: list[Loaded | Taken] = [*loaded(names, path), *_taken(names, path)]
                steps.sort(key=_start, reverse=True)
                stack.append((path, steps, tried))
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
        step = left[-1]
        reached[path] = step.start
        if isinstance(step, Loaded) and begin(step.path, sheltered or step.tried):
            continue
        left.pop()
        if isinstance(step, Loaded):
            found = _too_early(names, path, step, reached)
        else:
            found = _missing(names, path, step.start, step.name, step.path, reached)
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
    return _missing(names, path, entry.start, name, source, reached)


def _missing(
    names: Names, path: str, start: int, name: str, source: str, reached: dict[str, int]
) -> Failure | None:
    """Return that a module has not got as far as a name that it binds."""
    if source not in reached or source == path:
        return None
    facts = names.facts(source)
    bound = facts.bound(0, name) if facts is not None else ()
    if facts is None or not bound or facts.bound(0, "__getattr__"):
        return None
    at = reached[source]
    if any(b.since <= at or b.start <= at for b in bound) or any(s.start < at for s in facts.stars):
        return None
    return Failure(path, start, name, source)


def _start(step: Loaded | Taken) -> int:
    return step.start


def _taken(names: Names, path: str) -> tuple[Taken, ...]:
    """Return the attributes of imported modules that a file surely takes when it is imported."""
    memo = names.memo("taken at once")
    if path not in memo:
        memo[path] = tuple(_taken_at_once(names, path))
    found = memo[path]
    assert isinstance(found, tuple)
    return found


def _taken_at_once(names: Names, path: str) -> Iterator[Taken]:
    facts = names.facts(path)
    plain = {e.path for e in loaded(names, path) if not e.tried}
    surely: set[int] | None = None
    for use in facts.chains if facts is not None and plain else ():
        if not use.names[0] or min(use.starts) < 0 or not _runs(facts, use.scope):
            continue
        for position in range(1, len(use.names)):
            found = names.receivers(path, use, position)
            owner = next(iter(found)) if len(found) == 1 else None
            if not isinstance(owner, Module):
                break
            name, start = use.names[position], use.starts[position]
            if owner.path not in plain or names.modules.child(owner.path, name) is not None:
                continue
            if use.context is not Context.LOAD and position == len(use.names) - 1:
                continue
            if surely is None:
                surely = set(immediate(names.sources.data(path)))
            if use.starts[0] in surely:
                yield Taken(owner.path, start, name)


def _runs(facts: Facts | None, scope: int) -> bool:
    while facts is not None and scope:
        if facts.scopes[scope].kind is not ScopeKind.CLASS:
            return False
        scope = facts.scopes[scope].parent
    return True


def _is_main(names: Names, path: str, start: int) -> bool:
    """Whether code only runs when the file is started, not when it is imported."""
    return node_at(names.sources, path, start).symbol == "@main"
