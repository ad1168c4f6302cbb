"""Where a refactoring changes what, or why it will not; and the edits that this comes to.

A change is a patch of bytes: only the tokens that must differ are touched. Patches are grouped by
*unit*, the node that has to be granted for them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, Self

from mak.errors import MakBug
from mak.model import AddImport, Aspect, Delete, Edit, Insert, NodeId, NodeKind, Replace
from mak.source.facts import ScopeKind
from mak.source.hierarchy import Doubt
from mak.source.names import line_of, node_at
from mak.source.resolve import Names
from mak.source.text import to_str
from mak.source.tree import Sources


class Intent(Protocol):
    """One refactoring that a person asked for; ``str`` is the sentence that `parse` reads back."""

    #: How a person may write it, for help and refusals.
    forms: ClassVar[tuple[str, ...]]
    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def proven(self) -> bool:
        """Whether only proven places are to change, and doubtful ones to stay as they are."""
        ...

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Read one sentence; None when it asks for something else."""
        ...

    def find(self, names: Names) -> Sites | Refusal:
        """Return everything that has to change for it, in the whole tree."""
        ...


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a refactoring cannot be done safely."""

    reason: str
    #: Where the trouble is, or what else may be meant.
    places: tuple[Doubt | str, ...] = ()
    #: The sentence that would change only what is proven; empty: that would not help.
    proven: str = ""

    def __str__(self) -> str:
        shown = self._shown()
        return f"{self.reason}: {'; '.join(shown)}" if shown else self.reason

    @property
    def told(self) -> str:
        """As ``str``, with one place to a line."""
        shown = self._shown()
        return "\n  ".join((f"{self.reason}:", *shown)) if len(shown) > 1 else str(self)

    @property
    def hint(self) -> str:
        """What a person can do about it."""
        if not self.proven:
            return ""
        ways = [
            f"to change only what is proven and see to these places yourself, say: {self.proven}"
        ]
        if any(isinstance(place, Doubt) and place.annotatable for place in self.places):
            ways.append("or annotate what is not known (def f(x: C)), and ask again")
        return "; ".join(ways)

    def _shown(self) -> list[str]:
        shown = [str(place) for place in self.places[:_SHOWN]]
        if len(self.places) > _SHOWN:
            shown.append(f"and {len(self.places) - _SHOWN} more")
        return shown


#: What a person adds to a sentence to have only proven places changed.
PROVEN = ", only where proven"
_RUNS = (NodeKind.BODY, NodeKind.CLASS_BODY)
#: Places that a refusal names before it only counts.
_SHOWN = 10


@dataclass(frozen=True, slots=True, order=True)
class Patch:
    """New text for the bytes ``[start, end)`` of a file."""

    path: str
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Sites:
    """Everything that one refactoring changes."""

    #: What is done, naming the definition by its node: `parse` reads it back.
    sentence: str
    #: By unit: a node, a class with its members (``#all``) or a file that is one node.
    patches: Mapping[NodeId, tuple[Patch, ...]]
    #: Edits of other kinds, by the path they belong to.
    additions: Mapping[str, tuple[Edit, ...]] = field(default_factory=dict)
    #: Units that are deleted; they have no patches.
    deletes: tuple[NodeId, ...] = ()
    #: Units whose signature or name changes.
    api: frozenset[NodeId] = frozenset()
    #: What does not exist yet.
    creates: tuple[NodeId, ...] = ()
    #: What is left to a person, by place; nothing in it stops the change.
    remarks: tuple[str, ...] = ()
    #: What is done besides.
    notes: tuple[str, ...] = ()

    @property
    def units(self) -> tuple[NodeId, ...]:
        """Every unit that changes, by path and in the order of the file."""
        return tuple(dict.fromkeys((*self.patches, *self.deletes)))

    @property
    def paths(self) -> tuple[str, ...]:
        """Every file that changes."""
        units = (unit.path for unit in self.units)
        return tuple(sorted({*units, *self.additions, *(node.path for node in self.creates)}))

    def missed(self, units: Collection[NodeId]) -> tuple[NodeId, ...]:
        """Return the units that hold some of `units` but are not among them.

        Whoever may write just those would leave a part of the change out.
        """
        given = frozenset(unit.node for unit in units)
        outer = given.union(c.node for unit in given for c in unit.containers)
        return tuple(
            unit
            for unit in self.units
            if unit.node in outer
            and (unit.is_file or unit.aspect is Aspect.ALL)
            and not _is_within(unit, units)
        )

    def edits(self, sources: Sources, units: Collection[NodeId]) -> tuple[Edit, ...]:
        """Return the edits of what lies in these units, and the additions of their files."""
        found: list[Edit] = []
        for unit in self.units:
            if not _is_within(unit, units):
                continue
            if unit in self.deletes:
                found.append(Delete(unit))
            else:
                text = _patched(sources, unit, self.patches[unit])
                empty = not text.strip() and not unit.is_file
                found.append(Delete(unit) if empty else Replace(unit, text))
        for path, additions in self.additions.items():
            own = [unit for unit in self.units if unit.path == path]
            if _is_within(own[0], units) if own else any(unit.path == path for unit in units):
                found.extend(additions)
        return tuple(found)


class Survey:
    """Collects what a refactoring finds on its way through the tree."""

    def __init__(self, names: Names, *, proven: bool = False) -> None:
        self.names = names
        #: Whether places in doubt are left as they are, with a remark, instead of being in the way.
        self.proven = proven
        self._doubtful: set[str] = set()
        self.patches: set[Patch] = set()
        self.additions: dict[str, list[Edit]] = defaultdict(list)
        self.deletes: list[NodeId] = []
        self.api: set[NodeId] = set()
        self.creates: list[NodeId] = []
        #: Nodes that get another id.
        self.renamed: list[NodeId] = []
        self._remarks: set[tuple[str, int, str]] = set()
        self._notes: dict[str, None] = {}
        #: Why the refactoring cannot be done, by what is wrong.
        self.troubles: dict[str, list[Doubt]] = defaultdict(list)

    def replace(self, path: str, start: int, old: str, new: str) -> None:
        """Replace the token `old`; trouble when it has no place that can be edited."""
        if start < 0:
            self.trouble("is spelled so that it cannot be edited", path, 0, old)
            return
        self.patch(path, start, start + len(old.encode(self.codec(path))), new)

    def patch(self, path: str, start: int, end: int, text: str) -> None:
        """Replace bytes of a file."""
        try:
            text.encode(self.codec(path))
        except UnicodeEncodeError:
            self.trouble(f"{text} does not fit the coding of the file", path, start, text)
            return
        self.patches.add(Patch(path, start, end, text))

    def codec(self, path: str) -> str:
        """Return the codec that a file's tokens are encoded in."""
        encoding = self.names.sources.file(path).encoding
        return "utf-8" if encoding in ("", "utf-8-sig") else encoding

    def add(self, edit: AddImport | Insert | Replace) -> None:
        """Note an edit that needs no granted node."""
        path = edit.path if isinstance(edit, AddImport) else _path(edit)
        if edit not in self.additions[path]:
            self.additions[path].append(edit)

    def note(self, text: str) -> None:
        """Say what is done besides what was asked for."""
        self._notes[text] = None

    def remark(self, text: str, path: str = "", offset: int = 0) -> None:
        """Note something that is left to a person, about a place or in general."""
        line = line_of(self.names.sources, path, offset) if path else 0
        self._remarks.add((path, line, text))

    @property
    def remarks(self) -> tuple[str, ...]:
        """What was noted, by place."""
        return tuple(
            f"{path}:{line}: {text}" if path else text for path, line, text in sorted(self._remarks)
        )

    def trouble(self, reason: str, path: str, offset: int, text: str) -> None:
        """Note a place that stands in the way."""
        doubt = self.place(path, offset, text)
        if doubt not in self.troubles[reason]:
            self.troubles[reason].append(doubt)

    def doubt(self, reason: str, *places: Doubt) -> None:
        """Note places where it cannot be proved what is meant."""
        for place in places:
            if self.proven:
                said = f"{place.text} is left as it is: {reason}"
                self._remarks.add((place.path, place.line, said))
            else:
                self._doubtful.add(reason)
                if place not in self.troubles[reason]:
                    self.troubles[reason].append(place)

    def place(self, path: str, offset: int, text: str) -> Doubt:
        """Return a place by its line."""
        line = line_of(self.names.sources, path, offset) if path in self.names.sources else 1
        return Doubt(path, line, text)

    def sites(self, sentence: str) -> Sites | Refusal:
        """Return the result, or why there is none."""
        if self.troubles:
            return self.refusal(sentence)
        grouped = self._grouped()
        for unit in self.deletes:
            grouped.pop(unit, None)
        deletes = [unit for unit in self.deletes if unit.file not in grouped]
        return Sites(
            sentence,
            {unit: tuple(patches) for unit, patches in grouped.items()},
            {path: tuple(edits) for path, edits in self.additions.items() if edits},
            tuple(deletes),
            frozenset(unit for unit in self.api if unit in grouped or unit in deletes),
            tuple(dict.fromkeys(self.creates)),
            self.remarks,
            tuple(self._notes),
        )

    def _grouped(self) -> dict[NodeId, list[Patch]]:
        """Return the patches by unit, in the order of the files."""
        nodes: dict[NodeId, list[Patch]] = defaultdict(list)
        for patch in sorted(self.patches):
            nodes[node_at(self.names.sources, patch.path, patch.start)].append(patch)
        wider = {unit for unit in (*self.api, *self.deletes) if unit.aspect is Aspect.ALL}
        wider.update(_around(node) for node in nodes if self._needs_more(node))
        grouped: dict[NodeId, list[Patch]] = defaultdict(list)
        for node, patches in nodes.items():
            holders = [node.file, *node.containers, NodeId(node.path, node.symbol, Aspect.ALL)]
            unit = next((holder for holder in holders if holder in wider), node)
            grouped[unit].extend(patches)
        for unit in self.deletes:
            if unit.file in wider:
                grouped[unit.file].append(self._cut(unit, grouped[unit.file]))
        return grouped

    def _cut(self, unit: NodeId, patches: list[Patch]) -> Patch:
        """Return the patch that takes out a unit; those inside it go."""
        start, end = extent(self.names.sources, unit)
        patches[:] = [patch for patch in patches if not start <= patch.start < end]
        return Patch(unit.path, start, end, "")

    def _needs_more(self, node: NodeId) -> bool:
        """Whether a node's text cannot be replaced by itself.

        It is counted or named after a definition that gets another name with it, or holds import
        statements, which by themselves would go to the header.
        """
        outer, _, leaf = node.symbol.rpartition(".")
        for renamed in self.renamed:
            scope, _, name = renamed.symbol.partition("#")[0].rpartition(".")
            if (node.path, outer) != (renamed.path, scope):
                continue
            if leaf.startswith("@") and leaf.partition(":")[2] == name.partition("[")[0]:
                return True
            if node in self.renamed and "#" in renamed.symbol:
                return True
        found = self.names.sources.node(node)
        facts = self.names.facts(node.path)
        if found is None or facts is None or found.kind not in _RUNS:
            return False
        return any(
            found.start <= entry.start < found.end and not entry.flags
            for entry in facts.imports
            if facts.scopes[entry.scope].kind in (ScopeKind.MODULE, ScopeKind.CLASS)
        )

    def refusal(self, what: str) -> Refusal:
        """Return why it cannot be done, first reason first."""
        reasons = list(self.troubles)
        places = tuple(doubt for reason in reasons for doubt in sorted(self.troubles[reason]))
        proven = f"{what}{PROVEN}" if self._doubtful.issuperset(reasons) else ""
        return Refusal(f"{what}: {' and '.join(reasons)}", places, proven)


def _is_within(unit: NodeId, units: Collection[NodeId]) -> bool:
    """Whether a unit is one of some, or lies in one of them."""
    return unit in units or any(container in units for container in unit.containers)


def _around(node: NodeId) -> NodeId:
    """Return what encloses a node most closely: its class with members, or its file."""
    holder = node.symbol.rpartition(".")[0]
    return NodeId(node.path, holder, Aspect.ALL) if holder else node.file


def _path(edit: Insert | Replace) -> str:
    return edit.parent.path if isinstance(edit, Insert) else edit.node.path


def extent(sources: Sources, unit: NodeId) -> tuple[int, int]:
    """Return the bytes of a file that a unit holds."""
    file = sources.file(unit.path)
    if unit.is_file:
        return 0, len(file.data)
    if unit.aspect is Aspect.ALL:
        members = file.members(unit.node)
        return members[0].start, members[-1].end
    node = file.node(unit)
    return node.start, node.end


def _patched(sources: Sources, unit: NodeId, patches: Iterable[Patch]) -> str:
    """Return the text of a unit with its patches, as an agent writes it."""
    file = sources.file(unit.path)
    codec = "utf-8" if file.encoding in ("", "utf-8-sig") else file.encoding
    begin, end = extent(sources, unit)
    parts: list[bytes] = []
    at = begin
    for patch in sorted(patches):
        if not at <= patch.start <= patch.end <= end:
            raise MakBug(f"patching {unit}: {patch} does not fit")
        parts += (file.data[at : patch.start], patch.text.encode(codec))
        at = patch.end
    parts.append(file.data[at:end])
    return to_str(b"".join(parts), file.encoding)
