"""Whoever relies on a definition goes along when its interface changes.

A function that stops taking calls it took, or a name that is gone, is fine when everything that
resolves to it is edited too, in this reply or by another task of the plan. What is left over is
what the task needs besides.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mak.checks.change import (
    Change,
    Check,
    Definition,
    definitions,
    differing,
    is_covered,
    names_in,
    plain,
)
from mak.checks.tree import Function, dotted, function
from mak.checks.view import Spot
from mak.model import Finding, Need, NodeId, NodeKind, Place
from mak.source import SourceFile
from mak.source.facts import Call
from mak.source.lacking import takers
from mak.source.names import Reference, ReferenceKind
from mak.source.signature import Arguments, Parameters, parameters_of

#: Decorators that change how a definition is used.
_SHAPES = frozenset({"cached_property", "classmethod", "property", "staticmethod"})
_PROPERTIES = frozenset({"property", "cached_property"})
_BARE = re.compile(r"class \w+(?:\((?:object)?\))?")
#: Methods that stand for a call of their class.
_CONSTRUCTORS = ("__init__", "__new__")


@dataclass(frozen=True, slots=True)
class Interface:
    """How a function is used: what it takes and what kind of thing it is."""

    parameters: Parameters
    #: With what an instance or class in front of the dot fills in.
    unbound: Parameters
    #: Whether a call gives something to await.
    is_async: bool
    shapes: frozenset[str]

    @property
    def is_property(self) -> bool:
        """Whether it is read rather than called."""
        return not self.shapes.isdisjoint(_PROPERTIES)

    def takes(self, call: Arguments) -> bool:
        """Whether a call, as far as it is known, fits."""
        is_open = call.more_positional or call.more_keywords
        return is_open or self.parameters.accepts(call.count, call.keywords)

    def replaces(self, old: Interface) -> bool:
        """Whether every use of the old one is a use of this one."""
        return (
            self.is_async == old.is_async
            and self.shapes == old.shapes
            and self.parameters.replaces(old.parameters)
        )


def interface_of(tree: Function, kind: NodeKind) -> Interface:
    """Read the interface of a function or method, as its callers see it."""
    decorators = {dotted(d).rpartition(".")[2] for d in tree.decorator_list}
    unbound = parameters = parameters_of(tree.args)
    if kind is NodeKind.METHOD and "staticmethod" not in decorators:
        parameters = unbound.without_first()
    shapes = frozenset(decorators & _SHAPES)
    is_async = isinstance(tree, ast.AsyncFunctionDef) and not _yields(tree)
    return Interface(parameters, unbound, is_async, shapes)


def _yields(tree: Function) -> bool:
    """Whether a function is a generator: a call gives something to loop over."""
    todo: list[ast.AST] = [*tree.body]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            todo += ast.iter_child_nodes(node)
    return False


def _findings(change: Change) -> Iterator[Finding]:
    files = [*change.reshaped()]
    edited = _edited(change) if files else frozenset()
    for _, before, after in files:
        if before is None or not before.is_code or (after is not None and after.whole):
            continue
        gone: set[str] = set()
        left = definitions(after) if after else []
        classes = {_qualname(d) for d in left if d.node.kind is NodeKind.CLASS}
        for definition in definitions(before):
            if definition.scope[0] in gone:
                gone.add(_qualname(definition))
            elif definition.scope[0] and after and definition.scope[0] not in classes:
                continue  # the class is defined in another way, or comes from elsewhere
            elif change.by_person:
                if after is not None and definition.node.kind is not NodeKind.CLASS:
                    yield from _misread(change, before, after, definition, edited)
            elif _is_lost(definition, after, change):
                gone.add(_qualname(definition))
                yield from _lost(change, definition, edited)
            elif after is not None and definition.node.kind is not NodeKind.CLASS:
                yield from _changed(change, before, after, definition, edited)
        if not change.by_person:
            yield from _lost_names(change, before, after, edited)


# ---------------------------------------------------------------------------------- names that go


def _lost_names(
    change: Change, before: SourceFile, after: SourceFile | None, edited: frozenset[NodeId]
) -> Iterator[Finding]:
    """Find module-level names that are no definitions, and go while other files take them."""
    left = names_in(after, "") if after else frozenset()
    if after is not None and (b"import *" in after.data or "__getattr__" in left):
        return
    own = {definition.name for definition in definitions(before) if not definition.scope[0]}
    for node in before.nodes:
        for name in sorted({*node.names} - left - own) if "." not in node.id.symbol else ():
            own.add(name)
            users = _takers(change, before.path, name)
            behind = [u for u in users if not _is_handled(change, u, edited)]
            if behind:
                yield Finding(
                    CHECK.id,
                    node.id,
                    f"{before.path} no longer has {name} but {_list(behind)} still "
                    f"use{_s(behind)} it; edit what uses it too, or keep it",
                    node.line,
                    _needs(behind, f"uses {name}, which goes away"),
                )


def _takers(change: Change, module: str, name: str) -> Sequence[NodeId]:
    """Return the nodes of other files that take a name from a module before the change."""
    if change.trees is None or change.trees.before is None:
        return ()
    return takers(change.trees.before.sources, module, name)


def _is_lost(definition: Definition, after: SourceFile | None, change: Change) -> bool:
    if after is None:
        return True
    scope, name = definition.scope[0], definition.name
    if after.get(definition.node.id) is not None or name in names_in(after, scope):
        return False
    # A method may have moved to a base class, or hidden one of the same name there.
    return not (scope and (_is_elsewhere(change, name) or _may_inherit(after, scope, name)))


def _may_inherit(file: SourceFile, scope: str, name: str) -> bool:
    """Whether a class may have a member that it does not define."""
    shells = [node for node in file.nodes if node.kind is NodeKind.CLASS and node.names]
    signatures = [node.signature for node in shells if plain(node.id.symbol) == scope]
    return name.startswith("__") or not all(_BARE.fullmatch(s) for s in signatures)


def _lost(change: Change, definition: Definition, edited: frozenset[NodeId]) -> Iterator[Finding]:
    node = definition.node.id
    references = change.references(node, {})
    importers = {r.node.path: r.node for r in references if r.kind is ReferenceKind.IMPORT}
    moved = _is_elsewhere(change, definition.name)
    # What stands for it elsewhere is what others see of it, and goes along with its own import.
    named = [reference.node for reference in references if reference.direct]
    passed_on = named and all(
        user.node == node or _is_handled(change, user, edited) for user in named
    )
    users = []
    for reference in references:
        if passed_on and not reference.direct:
            continue
        importer = importers.get(reference.path)
        # Where the import goes along, the name means something else from then on.
        follows = importer not in (None, reference.node)
        if importer is None or not follows or not (moved or _is_handled(change, importer, edited)):
            users.append(reference.node)
    left = [
        u for u in dict.fromkeys(users) if u.node != node and not _is_handled(change, u, edited)
    ]
    left += [u for u in _left_behind(change, node, edited) if u not in left]
    if left:
        yield Finding(
            CHECK.id,
            node,
            f"{node} is gone but {_list(left)} still use{_s(left)} it; edit what uses it too, "
            "or keep it",
            definition.node.line,
            _needs(left, f"uses {definition.name}, which goes away"),
        )


def _left_behind(change: Change, node: NodeId, edited: frozenset[NodeId]) -> list[NodeId]:
    """Return nodes of other files that were edited and still use what is gone."""
    as_it_was = {**change.after, node.path: change.before[node.path]}
    users = dict.fromkeys(
        reference.node
        for reference in change.references(node, as_it_was)
        if reference.direct and reference.path != node.path
    )
    return [u for u in users if u.node in edited and not is_covered(u.node, change.planned)]


def _is_elsewhere(change: Change, name: str) -> bool:
    """Whether the change brings a definition of that name to another place."""
    return any(node.symbol.rpartition(".")[2] == name for node in change.created)


# ------------------------------------------------------------------------------ signatures that do


def _changed(
    change: Change,
    before: SourceFile,
    after: SourceFile,
    definition: Definition,
    edited: frozenset[NodeId],
) -> Iterator[Finding]:
    both = interfaces(before, after, definition)
    if both is None:
        return
    known, interface = both
    old = definition.node
    callers = dict.fromkeys(
        reference.node
        for reference in change.references(called(definition), change.after)
        if breaks(reference, interface, known)
        and not is_covered(reference.node.node, change.planned)
        and not (reference.node.node in edited and _may_fit(reference, interface, known))
    )
    left = [caller for caller in callers if caller.node != old.id]
    if left:
        yield Finding(
            CHECK.id,
            old.id,
            f"{old.id} no longer takes the calls that {_list(left)} make{_s(left)}; keep those "
            "calls working (a new parameter with a default, at the end), or edit the callers too",
            after.node(old.id).line,
            _needs(left, f"calls {definition.name}, whose signature changes"),
        )


def _misread(
    change: Change,
    before: SourceFile,
    after: SourceFile,
    definition: Definition,
    edited: frozenset[NodeId],
) -> Iterator[Finding]:
    """Find calls that still fit and mean another thing, unless they were edited too."""
    both = interfaces(before, after, definition)
    if both is None or change.trees is None:
        return
    known, interface = both
    new = after.node(definition.node.id)
    there = Place(after.path, after.code_line(new), new.signature)
    if interface.is_property != known.is_property:
        what = "which is a property now" if interface.is_property else "which is to be called now"
    elif interface.is_async != known.is_async:
        what = "which is to be awaited now" if interface.is_async else "which is not async any more"
    else:
        what = "whose parameters are others at these places now"
    for reference in change.references(called(definition), change.after):
        call = reference.call
        if reference.node.node in edited or not breaks(reference, interface, known):
            continue
        if call is not None and interface.is_property == known.is_property:
            arguments = arguments_of(call)
            if not (interface.takes(arguments) or interface.unbound.may_accept(arguments)):
                continue  # it does not fit: `mak.checks.call` says so
        spot = Spot(reference.path, reference.start)
        message = f"uses {definition.name} ({there.path}:{there.line}), {what}; edit this too"
        yield Finding(
            CHECK.id,
            reference.node,
            message,
            change.trees.after.line(spot),
            (Need(reference.node, write=True, why=message),),
            None,
            change.trees.after.column(spot),
            (there,),
            new.id,
        )


def interfaces(
    before: SourceFile, after: SourceFile, definition: Definition
) -> tuple[Interface, Interface] | None:
    """Return the interface of a function before and after, if callers may notice the difference."""
    old, new = definition.node, after.get(definition.node.id)
    if new is None or old.api == new.api or _has_overloads(before, definition):
        return None
    was, now = function(before, old), function(after, new)
    if was is None or now is None:
        return None
    known, interface = interface_of(was, old.kind), interface_of(now, new.kind)
    return None if interface.replaces(known) else (known, interface)


def called(definition: Definition) -> NodeId:
    """Return what callers name: of a constructor, the class."""
    node = definition.node.id
    if definition.name in _CONSTRUCTORS:
        return NodeId(node.path, node.symbol.rpartition(".")[0])
    return node


def arguments_of(call: Call) -> Arguments:
    """Return what is known of the arguments of a call."""
    return Arguments(
        call.positional,
        tuple(name for name, _ in call.keywords),
        call.star or call.partial,
        call.double_star or call.partial,
    )


def breaks(reference: Reference, interface: Interface, known: Interface) -> bool:
    """Whether a use of the old interface is none of the new one; where it cannot be told, not."""
    if interface.is_property != known.is_property:
        return reference.kind in (ReferenceKind.CALL, ReferenceKind.ATTRIBUTE)
    call = reference.call
    if reference.kind is not ReferenceKind.CALL or call is None:
        return False
    if interface.is_async != known.is_async:
        return True
    arguments = arguments_of(call)
    if known.takes(arguments):
        return not interface.parameters.keeps(arguments, known.parameters)
    # ``C.m(instance, …)``, or a call that was wrong before.
    return not interface.unbound.keeps(arguments, known.unbound)


def _may_fit(reference: Reference, interface: Interface, known: Interface) -> bool:
    """Whether a use that was edited may be meant for the new interface.

    What is awaited, or stands in a place that changed its meaning, cannot be told from the call.
    """
    call = reference.call
    if interface.is_property != known.is_property or call is None:
        return False
    arguments = arguments_of(call)
    return (
        interface.is_async != known.is_async
        or interface.takes(arguments)
        or interface.unbound.may_accept(arguments)
    )


def _has_overloads(file: SourceFile, definition: Definition) -> bool:
    return any(
        other.scope == definition.scope and other.name == definition.name and other.role
        for other in definitions(file)
    )


# ---------------------------------------------------------------------------------- who is left


def _edited(change: Change) -> frozenset[NodeId]:
    """Return the nodes whose text the change touches, and those that it brings."""
    return frozenset(
        node.id
        for _, before, after in change.files()
        for node in (*differing(before, after), *differing(after, before))
    )


def _is_handled(change: Change, user: NodeId, edited: frozenset[NodeId]) -> bool:
    """Whether the node is edited in this change, or by another task of the plan."""
    node = user.node
    return node in edited or is_covered(node, change.planned)


def _needs(users: Sequence[NodeId], why: str) -> tuple[Need, ...]:
    return tuple(Need(user, write=True, why=why) for user in users)


def _list(users: Sequence[NodeId]) -> str:
    shown = ", ".join(map(str, users[:5]))
    return f"{shown} and {len(users) - 5} more" if len(users) > 5 else shown


def _s(users: Sequence[NodeId]) -> str:
    return "s" if len(users) == 1 else ""


def _qualname(definition: Definition) -> str:
    scope = definition.scope[0]
    return f"{scope}.{definition.name}" if scope else definition.name


CHECK = Check(
    "interface",
    "an interface changed without those who use it",
    _findings,
    looks_beyond=True,
    for_people=True,
)
