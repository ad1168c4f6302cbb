"""Would a new import close a circle of modules that import one another while they are loaded?"""

from __future__ import annotations

from collections.abc import Iterator

from mak.source.loading import loaded
from mak.source.resolve import Names


def route(
    names: Names,
    start: str,
    goal: str,
    *,
    without: frozenset[tuple[str, str]] = frozenset(),
    added: frozenset[tuple[str, str]] = frozenset(),
) -> list[str]:
    """Return the shortest chain of imports from one module to another; empty when there is none.

    Only imports count that happen while a module is loaded. `without` and `added` are edges
    (importer, imported) that are about to go and to come.
    """
    before: dict[str, str] = {start: ""}
    queue = [start]
    while queue:
        path = queue.pop(0)
        more = (target for importer, target in added if importer == path)
        for target in (*loads(names, path), *more):
            if target in before or (path, target) in without:
                continue
            before[target] = path
            if target == goal:
                chain = [target]
                while before[chain[-1]]:
                    chain.append(before[chain[-1]])
                return chain[::-1]
            queue.append(target)
    return []


def loads(names: Names, path: str) -> Iterator[str]:
    """Yield the modules of the repository that a module cannot be loaded without."""
    return (entry.path for entry in loaded(names, path) if not entry.tried)


def circle(names: Names, importer: str, module: str) -> list[str]:
    """Return how `module` imports `importer` already, if it does and is not imported by it yet."""
    if importer == module or module in set(loads(names, importer)):
        return []
    return route(names, module, importer)
