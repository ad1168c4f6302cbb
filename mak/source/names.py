"""Who refers to a definition: every proven place, and the places that cannot be proved.

Resolution is by scope and import, never by bare name (`mak.source.resolve`). For attributes of a
class the receiver has to be known: ``self``, ``cls``, ``super()``, the class itself, a parameter or
variable annotated with it, or something constructed from it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from mak.model import NodeId
from mak.source.facts import BindingKind, Call, Facts, Use
from mak.source.resolve import Module, Names, Thing, Variable
from mak.source.tree import Sources


class ReferenceKind(StrEnum):
    """How a place refers to a definition."""

    CALL = "call"
    READ = "read"
    IMPORT = "import"
    #: An entry of ``__all__``.
    EXPORT = "export"
    #: A keyword argument that names a parameter.
    KEYWORD = "keyword"
    #: As an attribute of a module, a class or an instance, not called.
    ATTRIBUTE = "attribute"


@dataclass(frozen=True, slots=True, order=True)
class Reference:
    """One token that refers to a definition: the bytes ``[start, end)`` of a file."""

    path: str
    start: int
    end: int
    kind: ReferenceKind
    #: The node that holds it.
    node: NodeId
    #: Whether it names the definition itself, not an import or alias that stands for it.
    direct: bool = False
    call: Call | None = None


def names_of(sources: Sources) -> Names:
    """Return the resolution of a tree, shared by all who ask about the same tree."""
    found = sources.known.get("names")
    if not isinstance(found, Names):
        found = sources.known["names"] = Names(sources)
    return found


def references(sources: Sources, target: NodeId | str) -> tuple[Reference, ...]:
    """Return every proven reference to what a node defines, or to a dotted name, in order.

    A name that cannot be found has none.
    """
    names = names_of(sources)
    found: set[Reference] = set()
    for variable in variables(names, target):
        found.update(refer(names, variable))
    return tuple(sorted(found, key=lambda r: (r.path, r.start)))


def callers(sources: Sources, node: NodeId) -> tuple[NodeId, ...]:
    """Return the nodes that use what `node` defines, other than itself and imports."""
    own = node.node
    return tuple(
        dict.fromkeys(
            reference.node
            for reference in references(sources, node)
            if reference.kind not in (ReferenceKind.IMPORT, ReferenceKind.EXPORT)
            and reference.node != own
        )
    )


def dependents(sources: Sources, node: NodeId) -> tuple[NodeId, ...]:
    """Return the nodes that break when what `node` defines is gone, other than itself.

    Those are the uses in its own module, the imports of it, and attributes of its module or class;
    not what goes through an import, which breaks with that.
    """
    own = node.node
    return tuple(
        dict.fromkeys(
            reference.node
            for reference in references(sources, node)
            if reference.direct and reference.node != own
        )
    )


# ------------------------------------------------------------------------------ what is meant


_QUALIFIED = re.compile(r"\[[^\]]*\]|#\d+")


def variables(names: Names, target: NodeId | str) -> tuple[Variable, ...]:
    """Return the variables that a node binds, or that a dotted name means, where it is defined."""
    if isinstance(target, str):
        found = (find(names, target),)
        return tuple(variable for variable in found if variable is not None)
    parts = _QUALIFIED.sub("", target.symbol).split(".") if target.symbol else []
    facts = names.facts(target.path)
    if facts is None:
        return ()
    if not parts:
        return tuple(Variable(target.path, 0, name) for name in dict.fromkeys(facts.names_in(0)))
    if parts[-1].startswith("@"):
        node = names.sources.node(target)
        bound = node.names if node is not None else ()
        within = [qualified(names, target.path, [*parts[:-1], name]) for name in bound]
    else:
        within = [qualified(names, target.path, parts)]
    return tuple(variable for variable in within if variable is not None)


def qualified(names: Names, path: str, parts: list[str]) -> Variable | None:
    """Return the variable that a qualified name of a file means: ``f``, ``C.m``."""
    facts = names.facts(path)
    scope = 0
    for i, name in enumerate(parts):
        if facts is None or not facts.bound(scope, name):
            return None
        if i == len(parts) - 1:
            return Variable(path, scope, name)
        inner = [
            facts.definitions[binding.detail].scope
            for binding in facts.bound(scope, name)
            if binding.kind is BindingKind.CLASS
        ]
        if not inner:
            return None
        scope = inner[-1]
    return None


def qualified_name(names: Names, variable: Variable) -> str:
    """Return a variable as its file calls it: ``f``, ``C.m``; what functions hold, with them."""
    facts = names.facts(variable.path)
    parts = [variable.name]
    scope = variable.scope
    while facts is not None and scope:
        here = facts.scopes[scope]
        if here.name:
            parts.append(here.name)
        scope = here.parent
    return ".".join(reversed(parts))


def find(names: Names, name: str) -> Variable | None:
    """Return what ``pkg.mod.f`` means, where it is defined; None when nothing or several."""
    found = {
        meant
        for variable in candidates(names, name)
        for meant in [names.the(variable)]
        if isinstance(meant, Variable)
    }
    return next(iter(found)) if len(found) == 1 else None


def candidates(names: Names, name: str) -> tuple[Variable, ...]:
    """Return every variable that a dotted name may mean, through re-exports and classes."""
    parts = name.split(".")
    found: dict[Variable, None] = {}
    for cut in range(len(parts) - 1, 0, -1):
        for module in names.modules.find(".".join(parts[:cut])):
            for thing in names.members([Module(module)], parts[cut:]):
                if isinstance(thing, Variable):
                    found[thing] = None
    return tuple(found)


# -------------------------------------------------------------------------------- references


def refer(names: Names, target: Variable) -> Iterator[Reference]:
    """Yield every proven reference to a variable, its own bindings not counted."""
    for name, paths in names.spellings(target).items():
        for path in paths:
            facts = names.facts(path)
            if facts is not None:
                yield from _in_file(names, facts, path, name, target)


def uses_of(names: Names, target: Variable) -> Iterator[tuple[str, Use, int, bool]]:
    """Yield every use of a variable: file, use, position in its chain, and whether it is certain.

    It is not when the same expression may also mean another definition.
    """
    for name, paths in names.spellings(target).items():
        for path in paths:
            facts = names.facts(path)
            for use in facts.uses(name) if facts is not None else ():
                yield from _meaning(names, path, use, name, target)


def _meaning(
    names: Names, path: str, use: Use, name: str, target: Variable
) -> Iterator[tuple[str, Use, int, bool]]:
    for position, spelled in enumerate(use.names):
        if spelled != name:
            continue
        meant = {what for thing in names.use(path, use, position) for what in names.meant(thing)}
        if target in meant:
            certain = not any(_is_other(names, thing, target) for thing in meant)
            yield path, use, position, certain


def _is_other(names: Names, thing: Thing, target: Variable) -> bool:
    """Whether a thing is another definition than `target`, not just a name for it."""
    if thing == target:
        return False
    return not isinstance(thing, Variable) or bool(names.definitions(thing))


def is_imported(names: Names, variable: Variable) -> bool:
    """Whether another module takes a name from the module that has it."""
    name = variable.name
    for path in names.index.mentioning(name):
        facts = names.facts(path)
        if facts is None or path == variable.path:
            continue
        if any(
            entry.name == name and names.imported(path, entry) == variable
            for entry in facts.imports
        ):
            return True
        if names.star(path, name) == variable:
            return True
        for use in facts.uses(name):
            for position, spelled in enumerate(use.names):
                if position and spelled == name and variable in names.use(path, use, position):
                    return True
    return False


def _in_file(
    names: Names, facts: Facts, path: str, name: str, target: Variable
) -> Iterator[Reference]:
    size = len(name.encode())
    for use in facts.uses(name):
        for _, _, position, _ in _meaning(names, path, use, name, target):
            start = use.starts[position]
            if start < 0:
                continue
            last = position == len(use.names) - 1
            if last and use.call is not None and not use.call.partial:
                kind = ReferenceKind.CALL
            else:
                kind = ReferenceKind.ATTRIBUTE if position else ReferenceKind.READ
            call = use.call if last else None
            direct = target in names.use(path, use, position)
            node = node_at(names.sources, path, start)
            yield Reference(path, start, start + size, kind, node, direct, call)
    for entry in facts.imports:
        if entry.name == name and entry.name_at >= 0:
            thing = names.imported(path, entry)
            if thing is not None and target in names.meant(thing):
                at = entry.name_at
                node = node_at(names.sources, path, at)
                yield Reference(path, at, at + size, ReferenceKind.IMPORT, node, thing == target)
    for text in facts.exports or ():
        if text.value == name and text.start >= 0:
            variable = names.module_variable(path, name)
            if variable is not None and target in names.meant(variable):
                start = text.start
                node = node_at(names.sources, path, start)
                direct = variable == target
                yield Reference(path, start, start + size, ReferenceKind.EXPORT, node, direct)


def node_at(sources: Sources, path: str, offset: int) -> NodeId:
    """Return the node that holds a byte of a file."""
    nodes = sources.nodes(path)
    at = bisect_right(nodes, offset, key=lambda node: node.start) - 1
    return nodes[max(at, 0)].id


def line_of(sources: Sources, path: str, offset: int) -> int:
    """Return the 1-based line of a byte of a file."""
    before = sources.data(path)[: max(offset, 0)].replace(b"\r\n", b"\n")
    return before.count(b"\n") + before.count(b"\r") + 1
