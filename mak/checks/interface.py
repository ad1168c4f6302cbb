"""Whoever relies on a definition goes along when its interface changes.

A function that stops taking calls it took, or a name that is gone, is fine when everything that
resolves to it is edited too, in this reply or by another task of the plan. What is left over is
what the task needs besides.
"""

from __future__ import annotations

import ast
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
)
from mak.checks.signature import Parameters, parameters_of
from mak.checks.tree import Function, dotted, function, parse
from mak.model import Finding, Need, NodeId, NodeKind
from mak.source import SourceFile

#: Decorators that change how a definition is used.
_SHAPES = frozenset(
    {
        "asynccontextmanager",
        "cached_property",
        "classmethod",
        "contextmanager",
        "property",
        "staticmethod",
    }
)
#: Methods that stand for a call of their class.
_CONSTRUCTORS = ("__init__", "__new__")


@dataclass(frozen=True, slots=True)
class Interface:
    """How a function is used: what it takes and what kind of thing it is."""

    parameters: Parameters
    is_async: bool
    shapes: frozenset[str]

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
    parameters = parameters_of(tree.args)
    if kind is NodeKind.METHOD and "staticmethod" not in decorators:
        parameters = parameters.without_first()
    return Interface(
        parameters, isinstance(tree, ast.AsyncFunctionDef), frozenset(decorators & _SHAPES)
    )


def _findings(change: Change) -> Iterator[Finding]:
    edited = _edited(change)
    for _, before, after in change.files():
        if before is None or before.whole or (after is not None and after.whole):
            continue
        gone: set[str] = set()
        for definition in definitions(before):
            if definition.scope[0] in gone:
                gone.add(_qualname(definition))
            elif _is_lost(definition, after, change):
                gone.add(_qualname(definition))
                yield from _lost(change, definition, edited)
            elif after is not None and definition.node.kind is not NodeKind.CLASS:
                yield from _changed(change, before, after, definition, edited)


# ---------------------------------------------------------------------------------- names that go


def _is_lost(definition: Definition, after: SourceFile | None, change: Change) -> bool:
    if after is None:
        return True
    scope, name = definition.scope[0], definition.name
    if after.get(definition.node.id) is not None or name in names_in(after, scope):
        return False
    # A method may have moved to a base class, where it is found all the same.
    moved = any(node.symbol.rpartition(".")[2] == name for node in change.created)
    return not (scope and moved)


def _lost(change: Change, definition: Definition, edited: frozenset[NodeId]) -> Iterator[Finding]:
    node = definition.node.id
    users = _unhandled(change, change.references(node), edited)
    if users:
        yield Finding(
            CHECK.id,
            node,
            f"{node} is gone but {_list(users)} still use{_s(users)} it; edit what uses it too, "
            "or keep it",
            definition.node.line,
            _needs(users, f"uses {definition.name}, which goes away"),
        )


# ------------------------------------------------------------------------------ signatures that do


def _changed(
    change: Change,
    before: SourceFile,
    after: SourceFile,
    definition: Definition,
    edited: frozenset[NodeId],
) -> Iterator[Finding]:
    old, new = definition.node, after.get(definition.node.id)
    if new is None or old.api == new.api or _has_overloads(before, definition):
        return
    was, now = function(before, old), function(after, new)
    if was is None or now is None:
        return
    interface = interface_of(now, new.kind)
    if interface.replaces(interface_of(was, old.kind)):
        return
    if definition.name in _CONSTRUCTORS:
        holder = NodeId(old.id.path, old.id.symbol.rpartition(".")[0])
        users = [
            user
            for user in _unhandled(change, change.references(holder), edited)
            if _breaks(change.text(user), _leaf(definition.scope[0]), interface, only_calls=True)
        ]
    else:
        users = [
            user
            for user in _unhandled(change, change.references(old.id), edited)
            if not user.symbol.endswith("@header")
            and _breaks(change.text(user), definition.name, interface, only_calls=False)
        ]
    if users:
        yield Finding(
            CHECK.id,
            old.id,
            f"{old.id} no longer takes the calls that {_list(users)} make{_s(users)}; keep those "
            "calls working (a new parameter with a default, at the end), or edit the callers too",
            new.line,
            _needs(users, f"calls {definition.name}, whose signature changes"),
        )


def _breaks(text: str, name: str, interface: Interface, *, only_calls: bool) -> bool:
    """Whether what a node does with `name` may not fit the interface; unknown text: it may not."""
    body = parse(text) if text else None
    if body is None:
        return not only_calls
    mentions = calls = texts = 0
    for tree in (child for statement in body for child in ast.walk(statement)):
        if _is_name(tree, name):
            mentions += 1
        texts += isinstance(tree, ast.Constant) and tree.value == name
        if isinstance(tree, ast.Call) and _is_name(tree.func, name):
            calls += 1
            keywords = [keyword.arg for keyword in tree.keywords if keyword.arg is not None]
            spread = any(isinstance(arg, ast.Starred) for arg in tree.args)
            if spread or len(keywords) < len(tree.keywords):
                return True
            if interface.shapes & {"property", "cached_property"} or interface.is_async:
                return True
            if not interface.parameters.accepts(len(tree.args), keywords):
                return True
    if only_calls or (texts and not mentions):
        return False  # an entry of `__all__` calls nothing
    # A mention that is no call hands it on; none at all is a call by another name.
    return mentions != calls or not mentions


def _is_name(tree: ast.AST, name: str) -> bool:
    return (isinstance(tree, ast.Name) and tree.id == name) or (
        isinstance(tree, ast.Attribute) and tree.attr == name
    )


def _has_overloads(file: SourceFile, definition: Definition) -> bool:
    return any(
        other.scope == definition.scope and other.name == definition.name and other.role
        for other in definitions(file)
    )


# ---------------------------------------------------------------------------------- who is left


def _edited(change: Change) -> frozenset[NodeId]:
    """Return the nodes of before whose text the change touches."""
    return frozenset(
        node.id for _, before, after in change.files() for node in differing(before, after)
    )


def _unhandled(change: Change, users: Sequence[NodeId], edited: frozenset[NodeId]) -> list[NodeId]:
    known = change.planned | change.grants
    return [
        user
        for user in dict.fromkeys(user.node for user in users)
        if user not in edited and not is_covered(user, known)
    ]


def _needs(users: Sequence[NodeId], why: str) -> tuple[Need, ...]:
    return tuple(Need(user, write=True, why=why) for user in users)


def _list(users: Sequence[NodeId]) -> str:
    shown = ", ".join(map(str, users[:5]))
    return f"{shown} and {len(users) - 5} more" if len(users) > 5 else shown


def _s(users: Sequence[NodeId]) -> str:
    return "s" if len(users) == 1 else ""


def _leaf(qualname: str) -> str:
    return qualname.rpartition(".")[2]


def _qualname(definition: Definition) -> str:
    scope = definition.scope[0]
    return f"{scope}.{definition.name}" if scope else definition.name


CHECK = Check("interface", "an interface changed without those who use it", _findings)
