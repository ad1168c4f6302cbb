"""A name is imported that its module does not bind, or a module that is gone."""

from __future__ import annotations

from collections.abc import Iterator

from mak.checks.change import tree_check
from mak.checks.view import Problem, Spot, View
from mak.model import NodeId
from mak.source.facts import Flag
from mak.source.graph import Has, Imported
from mak.source.graph.members import is_open


def _problems(view: View, path: str) -> Iterator[Problem]:
    for found in view.graph.imports(path):
        entry, module = found.entry, found.module
        if found.guarded or entry.flags & (Flag.TRY | Flag.TYPING):
            continue
        if module is not None and (
            found.has is Has.NO or (found.has is Has.MAYBE and is_lost(view, module, entry.name))
        ):
            yield Problem(
                path,
                entry.name_at if entry.name_at >= 0 else entry.start,
                f"imports {entry.name} from {module}, which does not bind it; import what is "
                "there, or bind it there first",
                Spot(module, 0),
                module,
                NodeId(module, entry.name),
            )
        elif module is None and view.was is not None:
            yield from _gone(view.was, found)


def is_lost(view: View, module: str, name: str) -> bool:
    """Whether a module bound a name before and does not now, though it might while it runs.

    One that begins to make names while it runs in the same change may make this one.
    """
    was = view.was
    if was is None or module not in was.sources or view.names.attribute(module, name) is not None:
        return False
    facts = was.facts(module)
    if facts is None or not facts.bound(0, name) or module.endswith(".pyi"):
        return False
    return is_open(was.names, module) or not is_open(view.names, module)


def _gone(was: View, found: Imported) -> Iterator[Problem]:
    """Find the import of a module that was there; what never was may be somewhere else."""
    path, entry = found.path, found.entry
    old = was.names.modules.imported(entry.level, entry.module, path)
    if old is not None and not old.endswith("/"):
        yield Problem(
            path,
            entry.start,
            f"imports {'.' * entry.level}{entry.module}, but {old} is gone; import from where it "
            "is, or keep the file",
            Spot(old, 0),
            old,
            NodeId(old),
        )


CHECK = tree_check("unknown-import", "a name is imported that is not there", _problems)
