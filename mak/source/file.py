"""A file cut into nodes, and what an edit of it may come to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any, TypeVar

from mak.model import Aspect, Need, Node, NodeId, NodeKind
from mak.source.statement import Statement
from mak.source.text import to_str

#: How `SourceFile.why_whole` ends when it is our fault.
FLAW = "please report it"
FUNCTIONS = (NodeKind.FUNCTION, NodeKind.METHOD)
_CODECS = ("utf-8", "utf-8-sig")


@dataclass(frozen=True, slots=True)
class SourceFile:
    """The bytes of a file and the nodes that tile them."""

    path: str
    data: bytes
    #: Name of the `mak.source.language.Language` that cut it.
    language: str
    #: Tile `data` exactly, in order: the start of each is the end of the one before.
    nodes: tuple[Node, ...]
    #: The newline of most lines: ``\n``, ``\r\n`` or ``\r``.
    newline: str = "\n"
    #: Codec of the text; ``utf-8-sig``: UTF-8 with a BOM; empty: not text that we can encode.
    encoding: str = "utf-8"
    #: Why it is one `FILE` node although it claims to be code, in a few words; else empty.
    why_whole: str = ""
    #: Whether its syntax is newer than the running Python, which cannot compile it.
    newer: bool = False
    _index: dict[NodeId, Node] = field(
        default_factory=dict, init=False, compare=False, repr=False, hash=False
    )
    #: What functions said of the file; see `of_file`.
    _known: dict[str, Any] = field(
        default_factory=dict, init=False, compare=False, repr=False, hash=False
    )

    @property
    def whole(self) -> bool:
        """Whether it is one node: locked and edited as a whole."""
        return len(self.nodes) == 1 and self.nodes[0].kind is NodeKind.FILE

    @property
    def is_code(self) -> bool:
        """Whether it was cut as Python."""
        return self.language == "python" and not self.whole

    @property
    def is_flawed(self) -> bool:
        """Whether its own cut failed the self-check, and it is whole for that."""
        return self.why_whole.endswith(FLAW)

    @property
    def id(self) -> NodeId:
        """The id of the file as a whole."""
        return NodeId(self.path)

    def get(self, id: NodeId) -> Node | None:
        """Return the node with this id, or None."""
        if not self._index:
            self._index.update((node.id, node) for node in self.nodes)
        return self._index.get(id)

    def node(self, id: NodeId) -> Node:
        """Return the node with this id; raise KeyError."""
        node = self.get(id)
        if node is None:
            raise KeyError(str(id))
        return node

    def code_line(self, node: Node) -> int:
        """Return the 1-based line on which the node's code begins, below comments above it."""
        lead = self.data[node.start : node.start + node.lead]
        return node.line + len(lead.splitlines())

    def members(self, id: NodeId) -> tuple[Node, ...]:
        """Return the class `id` with everything in it, in order: shell first; () when unknown."""
        prefix = f"{id.symbol}."
        return tuple(
            node
            for node in self.nodes
            if node.id.symbol == id.symbol or node.id.symbol.startswith(prefix)
        )

    def text(self, id: NodeId) -> bytes:
        """Return the bytes of a node, of a class with its members, or of the file.

        Raises KeyError.
        """
        if id.is_file:
            return self.data
        node = self.node(id.node)
        if id.aspect is Aspect.ALL:
            return self.data[node.start : self.members(id.node)[-1].end]
        return self.data[node.start : node.end]


T = TypeVar("T")


def of_file(function: Callable[[SourceFile], T]) -> Callable[[SourceFile], T]:
    """Remember what a function says of a file for as long as the file is there."""
    name = f"{function.__module__}.{function.__qualname__}"

    @wraps(function)
    def known(file: SourceFile) -> T:
        values = file._known
        if name not in values:
            values[name] = function(file)
        found: T = values[name]
        return found

    return known


def unlike(file: SourceFile, other: SourceFile) -> tuple[Sequence[Node], Sequence[Node]]:
    """Return the nodes of two versions of a file, between those that are alike at both ends."""
    # Every check of a change asks for the same two. Only nodes are kept: no file holds another.
    known = file._known.get("unlike")
    if known is None or known[0] is not other.nodes:
        known = file._known["unlike"] = other.nodes, _unlike(file.nodes, other.nodes)
    found: tuple[Sequence[Node], Sequence[Node]] = known[1]
    return found


def _unlike(mine: Sequence[Node], theirs: Sequence[Node]) -> tuple[Sequence[Node], Sequence[Node]]:
    shorter = min(len(mine), len(theirs))
    head = 0
    while head < shorter and _alike(mine[head], theirs[head]):
        head += 1
    tail = 0
    while tail < shorter - head and _alike(mine[-1 - tail], theirs[-1 - tail]):
        tail += 1
    return mine[head : len(mine) - tail], theirs[head : len(theirs) - tail]


def changed_functions(
    before: SourceFile, after: SourceFile
) -> tuple[tuple[Node, Node], ...] | None:
    """Return the functions, before and after, whose text is all that differs; None: more does.

    Only of Python in UTF-8 that the running Python knows.
    """
    if after.language != "python" or after.newer or after.encoding not in _CODECS:
        return None
    if (after.whole, after.encoding) != (before.whole, before.encoding) or after.whole:
        return None
    if len(after.nodes) != len(before.nodes):
        return None
    found = []
    for old, new in zip(before.nodes, after.nodes, strict=True):
        if (new.id.symbol, new.kind) != (old.id.symbol, old.kind):
            return None
        if new.digest != old.digest:
            if new.kind not in FUNCTIONS:
                return None
            found.append((old, new))
    return tuple(found)


def _alike(node: Node, other: Node) -> bool:
    return node.digest == other.digest and node.id.symbol == other.id.symbol


#: Reads Python whose syntax the running Python does not know, or raises SyntaxError (it is none)
#: or MakError (no answer); production code runs `mak.source.python_newer.cut` in a worker process.
Newer = Callable[[bytes], Sequence[Statement]]


@dataclass(frozen=True, slots=True)
class Applied:
    """Edits that went into a file and did nothing else."""

    #: The file with the edits; None when it was deleted.
    file: SourceFile | None
    #: Nodes whose text changed, not counting blank lines around an inserted neighbour.
    changed: frozenset[NodeId] = frozenset()
    created: frozenset[NodeId] = frozenset()
    deleted: frozenset[NodeId] = frozenset()
    #: Nodes of before that callers see differently: other signature, lost names, renamed, gone.
    api_changed: frozenset[NodeId] = frozenset()


@dataclass(frozen=True, slots=True)
class Rejected:
    """Edits that were not applied; nothing changed."""

    #: Stable id of the rule, as in `Finding.check`.
    check: str
    #: One line that an agent and a person can act on.
    reason: str
    node: NodeId
    #: What would have to be granted for the same edit to be accepted.
    needs: tuple[Need, ...] = ()


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two versions of a file that cannot be merged."""

    nodes: tuple[NodeId, ...]
    reason: str


def join(file: SourceFile) -> bytes:
    """Return the bytes that the nodes of the file hold together."""
    data = file.data
    return b"".join([data[node.start : node.end] for node in file.nodes])


def decode(file: SourceFile, id: NodeId) -> str:
    """Return the text of a node as an agent reads it: ``\\n`` newlines, no BOM.

    Raises KeyError.
    """
    return to_str(file.text(id), file.encoding)


def label(node: NodeId) -> str:
    """Return how messages name a node: its symbol, or the path of a file."""
    return str(replace(node, path="")).removeprefix("::") or node.path


def unknown(file: SourceFile, node: NodeId) -> Rejected:
    """Say that there is no such node, and why or which is close."""
    if file.why_whole or file.whole:
        why = f": it {file.why_whole}" if file.why_whole else ""
        return Rejected(
            "whole-file",
            f"{file.path} can only be edited as a whole{why}",
            node,
            (Need(file.id, write=True, why="the file has no smaller nodes"),),
        )
    last = node.symbol.rpartition(".")[2]
    close = [n.id.symbol for n in file.nodes if n.id.symbol.rpartition(".")[2] == last]
    hint = f"; did you mean `{close[0]}`?" if close else ""
    return Rejected("unknown-node", f"there is no `{label(node)}` in {file.path}{hint}", node)
