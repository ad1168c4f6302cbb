"""What a file defined it still defines, unless its removal was declared or it is nowhere missed."""

from __future__ import annotations

import builtins
import re
from collections import Counter
from collections.abc import Iterator, Set

from mak.checks.change import (
    Change,
    Check,
    Definition,
    definitions,
    differing,
    is_covered,
    names_in,
)
from mak.checks.unbound import unbound, users_of
from mak.model import Aspect, Delete, Finding, Need, NodeId, NodeKind, Replace
from mak.source import SourceFile

_GOING = re.compile(
    r"\b(?:remov\w*|delet\w*|drop\w*|renam\w*|mov(?:e|es|ed|ing)|extract\w*|replac\w*|merg\w*|"
    r"inlin\w*|get rid|split\w*|fold\w*)\b",
    re.IGNORECASE,
)


def _findings(change: Change) -> Iterator[Finding]:
    for path, before, after in change.reshaped():
        if before is None or not before.is_code or (after is not None and after.whole):
            continue
        if change.task is not None:
            yield from _vanished(change, path, before, after)
        if after is not None:
            yield from _missed(before, after, change.planned)


# -------------------------------------------------------------------------- definitions that go


def _vanished(
    change: Change, path: str, before: SourceFile, after: SourceFile | None
) -> Iterator[Finding]:
    declared = {edit.node for edit in change.edits if isinstance(edit, Delete)}
    declared |= {
        edit.node
        for edit in change.edits
        if isinstance(edit, Replace) and _may_rename(edit.node, change.grants)
    }
    if NodeId(path) in declared:
        return
    left = Counter(map(_key, definitions(after))) if after else Counter()
    gone: set[str] = set()
    for definition in definitions(before):
        key = _key(definition)
        if left[key] > 0:
            left[key] -= 1
            continue
        scope, name = definition.scope[0], definition.name
        if definition.node.kind is NodeKind.CLASS:
            gone.add(f"{scope}.{name}" if scope else name)
        if scope in gone or _is_declared(definition.node.id, declared):
            continue
        if after and name in names_in(after, scope) and not definition.role:
            continue
        if _is_explained(change, definition):
            continue
        yield Finding(
            CHECK.id,
            definition.node.id,
            f"{definition.node.id} is gone and nothing says that it should be; keep it, or list "
            "it as deleted",
            definition.node.line,
        )


def _may_rename(node: NodeId, grants: frozenset[NodeId]) -> bool:
    """Whether a text for the node may bear another name: its signature was granted too."""
    return not node.is_file and node.aspect is Aspect.TEXT and node.api in grants


def _key(definition: Definition) -> tuple[str, str, str]:
    return definition.scope[0], definition.name, definition.role


def _is_declared(node: NodeId, declared: set[NodeId]) -> bool:
    return node in declared or any(
        edit in declared for edit in node.containers if edit.aspect is Aspect.ALL
    )


def _is_explained(change: Change, definition: Definition) -> bool:
    """Whether the goal names it beside a word for going, or the change defines it elsewhere."""
    name = definition.name
    if any(node.symbol.rpartition(".")[2] == name for node in change.created):
        return True
    return bool(_GOING.search(change.goal) and re.search(rf"\b{re.escape(name)}\b", change.goal))


# ------------------------------------------------------------------------ names still in use


def _missed(before: SourceFile, after: SourceFile, planned: Set[NodeId]) -> Iterator[Finding]:
    """Find module-level names that the file bound, binds no more, and goes on to load.

    Nodes that another task writes do not count: they may be about to stop. Of definitions, only
    nodes that changed do: `mak.checks.interface` knows the others, in other files too.
    """
    defined = {definition.name for definition in definitions(before)}
    lost = names_in(before, "") - names_in(after, "") - {*dir(builtins)}
    if not lost:
        return
    if b"import *" in after.data or b"globals()" in after.data:
        return
    loaded = unbound(after)
    if not loaded:
        return
    changed = {node.id for node in differing(after, before)}
    old = {name: node for node in before.nodes for name in node.names}
    for name in sorted(loaded & lost):
        users = [
            user
            for user in users_of(after, name)
            if not is_covered(user, planned) and (name not in defined or user in changed)
        ]
        if not users:
            continue
        yield Finding(
            CHECK.id,
            old[name].id,
            f"{name} is no longer bound in {after.path}, but {', '.join(map(str, users[:5]))} "
            f"still use{'s' if len(users) == 1 else ''} it; keep it",
            needs=tuple(Need(user, write=True) for user in users if name in defined),
        )


CHECK = Check("lost-symbol", "a symbol was lost", _findings, looks_beyond=True)
