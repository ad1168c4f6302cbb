"""The files of a wave as they will be: edits go in whole or not at all.

Edits of several tasks that did not see each other's are laid over each other in plan order
(`mak.source.layers`), whatever order they come in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from mak.model import AddImport, Edit, Insert, NodeId
from mak.source.file import Rejected, SourceFile
from mak.source.layers import Layer, Layers
from mak.source.tree import Sources


def path_of(edit: Edit) -> str:
    """Return the path of the file that an edit changes."""
    if isinstance(edit, AddImport):
        return edit.path
    if isinstance(edit, Insert):
        return edit.parent.path
    return edit.node.path


@dataclass(frozen=True, slots=True)
class View:
    """A draft as it is at one moment: what an agent is shown."""

    sources: Sources
    #: Ranks of the tasks whose edits are in it.
    ranks: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Shown:
    """What an agent was shown of the nodes that it may write."""

    #: Their digests (see `mak.judge.digest`), by the names of the nodes.
    digests: Mapping[str, str]
    #: Tasks whose edits were in the files of these nodes and had not landed.
    tasks: tuple[str, ...] = ()
    #: The draft that it was shown; None: not known any more.
    view: View | None = None
    #: The tree whose differences from `view` it was told of besides, if it was.
    told: Sources | None = None

    @property
    def known(self) -> Sources | None:
        """What it knows of the nodes that it does not write; None: not known any more."""
        return self.told or (self.view.sources if self.view is not None else None)


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a set of edits would make of a draft; nothing has changed yet."""

    files: Mapping[str, SourceFile | None]
    changed: frozenset[NodeId] = frozenset()
    created: frozenset[NodeId] = frozenset()
    deleted: frozenset[NodeId] = frozenset()
    #: Nodes whose signature differs, also those that were deleted or renamed.
    api_changed: frozenset[NodeId] = frozenset()
    layers: Mapping[str, Layers] = field(default_factory=dict)
    rank: int = 0


@dataclass(slots=True)
class Draft:
    """A tree on top of `base`, changed by proposals that were accepted."""

    base: Sources
    #: Files that differ from the base; None: deleted.
    changes: dict[str, SourceFile | None] = field(default_factory=dict)
    #: Files that one proposal alone has changed, and that were checked with it.
    checked: set[str] = field(default_factory=set)
    #: The edits of each file, as far as tasks may have to be put below others.
    layers: dict[str, Layers] = field(default_factory=dict)
    ranks: set[int] = field(default_factory=set)
    _sources: Sources | None = None
    _view: View | None = None

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

    def view(self) -> View:
        """Return the draft as it is now, for an agent to see."""
        if self._view is None:
            self._view = View(self.sources, frozenset(self.ranks))
        return self._view

    def propose(
        self,
        edits: Iterable[Edit],
        granted: frozenset[NodeId],
        *,
        view: View | None = None,
        rank: int | None = None,
    ) -> Proposal | Rejected:
        """Try edits, of any number of files, in the order given within each file.

        `view` is what their agent was shown (None: the draft as it is), `rank` the place of its
        task in the plan (None: behind all others). Edits from an older view are merged with what
        came since; what does not go together is rejected as ``merge``.
        """
        by_path: dict[str, list[Edit]] = {}
        for edit in edits:
            by_path.setdefault(path_of(edit), []).append(edit)
        place = rank if rank is not None else max(self.ranks, default=-1) + 1
        view = self.view() if view is None else view
        stacks: dict[str, Layers] = {}
        for path, group in by_path.items():
            layer = Layer(place, self._seen(path, view), view.ranks, tuple(group), granted)
            stack = self.layers.get(path) or Layers(path, self.file(path))
            laid = stack.add(layer, self.base.newer)
            if isinstance(laid, Rejected):
                return laid
            stacks[path] = laid
        applied = [stack.of(place) for stack in stacks.values()]
        return Proposal(
            {path: stack.top for path, stack in stacks.items()},
            changed=frozenset().union(*(a.changed for a in applied)),
            created=frozenset().union(*(a.created for a in applied)),
            deleted=frozenset().union(*(a.deleted for a in applied)),
            api_changed=frozenset().union(*(a.api_changed for a in applied)),
            layers=stacks,
            rank=place,
        )

    @staticmethod
    def _seen(path: str, view: View) -> SourceFile | None:
        return view.sources.file(path) if path in view.sources else None

    def accept(self, proposal: Proposal, *, checked: bool = False) -> None:
        """Make a proposal part of the draft; `checked`: the checks have seen all of it."""
        self._sources = self._view = None
        self.layers.update(proposal.layers)
        self.ranks.add(proposal.rank)
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
