"""An interface that an agent was shown changed under it, and its edit still uses the old one.

What no longer fits is found by `mak.checks.call`; here are the uses that still fit and mean another
thing: parameters that changed places, a function that is to be awaited now, a method that became a
property.
"""

from __future__ import annotations

from collections.abc import Iterator

from mak.checks.change import Change, Check, definitions, is_cut
from mak.checks.interface import breaks, called, interfaces
from mak.model import Finding, NodeKind, Place
from mak.source import SourceFile, Sources


def _findings(change: Change) -> Iterator[Finding]:
    if change.seen is None or change.trees is None or change.trees.before is None:
        return
    if not change.trees.affected:
        return
    now = change.trees.before.sources
    for path in change.moved():
        was, file = _file(change.seen, path), _file(now, path)
        if not is_cut(was) or not is_cut(file):
            continue
        for definition in definitions(was):
            if definition.node.kind is NodeKind.CLASS:
                continue
            both = interfaces(was, file, definition)
            if both is None:
                continue
            seen, interface = both
            node = file.node(definition.node.id)
            there = Place(path, file.code_line(node), node.signature)
            for reference in change.references(called(definition), change.after):
                if reference.node.node not in change.trees.edited or reference.path == path:
                    continue
                if breaks(reference, interface, seen):
                    yield Finding(
                        CHECK.id,
                        reference.node,
                        f"{reference.node} uses {node.id} as it was shown, "
                        f"`{definition.node.signature}`; meanwhile it is `{node.signature}` "
                        f"({path}:{there.line}): use it as it is",
                        related=(there,),
                    )
                    break


def _file(sources: Sources, path: str) -> SourceFile | None:
    return sources.file(path) if path in sources else None


CHECK = Check("stale-read", "what was shown changed under the edit", _findings, looks_beyond=True)
