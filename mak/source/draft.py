"""The files of a wave as they will be: edits go in whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from mak.model import AddImport, Edit, Insert, NodeId
from mak.source.edit import Applied, Rejected, apply
from mak.source.file import SourceFile
from mak.source.tree import Sources


def path_of(edit: Edit) -> str:
    """Return the path of the file that an edit changes."""
    if isinstance(edit, AddImport):
        return edit.path
    if isinstance(edit, Insert):
        return edit.parent.path
    return edit.node.path


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a set of edits would make of a draft; nothing has changed yet."""

    files: Mapping[str, SourceFile | None]
    changed: frozenset[NodeId] = frozenset()
    created: frozenset[NodeId] = frozenset()
    deleted: frozenset[NodeId] = frozenset()
    #: Nodes whose signature differs, also those that were deleted or renamed.
    api_changed: frozenset[NodeId] = frozenset()


@dataclass(slots=True)
class Draft:
    """A tree on top of `base`, changed by proposals that were accepted."""

    base: Sources
    #: Files that differ from the base; None: deleted.
    changes: dict[str, SourceFile | None] = field(default_factory=dict)
    #: Files that one proposal alone has changed, and that were checked with it.
    checked: set[str] = field(default_factory=set)
    _sources: Sources | None = None

    @property
    def sources(self) -> Sources:
        """The whole tree as it will be."""
        if self._sources is None:
            self._sources = self.base.overlay(self.changes)
        return self._sources

    def file(self, path: str) -> SourceFile | None:
        """Return a file as it will be; None when there will be none."""
        if path in self.changes:
            return self.changes[path]
        return self.base.file(path) if path in self.base else None

    def before(self, path: str) -> SourceFile | None:
        """Return a file as it is in the base; None when there is none."""
        return self.base.file(path) if path in self.base else None

    def propose(self, edits: Iterable[Edit], granted: frozenset[NodeId]) -> Proposal | Rejected:
        """Try edits, of any number of files, in the order given within each file."""
        by_path: dict[str, list[Edit]] = {}
        for edit in edits:
            by_path.setdefault(path_of(edit), []).append(edit)
        results: dict[str, Applied] = {}
        for path, group in by_path.items():
            result = apply(self.file(path), path, group, granted=granted, newer=self.base.newer)
            if isinstance(result, Rejected):
                return result
            results[path] = result
        applied = results.values()
        return Proposal(
            {path: result.file for path, result in results.items()},
            changed=frozenset().union(*(a.changed for a in applied)),
            created=frozenset().union(*(a.created for a in applied)),
            deleted=frozenset().union(*(a.deleted for a in applied)),
            api_changed=frozenset().union(*(a.api_changed for a in applied)),
        )

    def accept(self, proposal: Proposal, *, checked: bool = False) -> None:
        """Make a proposal part of the draft; `checked`: the checks have seen all of it."""
        self._sources = None
        for path, file in proposal.files.items():
            before = self.before(path)
            if checked and path not in self.changes:
                self.checked.add(path)
            else:
                self.checked.discard(path)
            same = file.data == before.data if file and before else file is before
            if same:
                self.changes.pop(path, None)
            else:
                self.changes[path] = file
