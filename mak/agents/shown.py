"""What an agent is shown: all of what it may write, and as much of the rest as fits."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import unified_diff
from typing import TYPE_CHECKING

from mak.agents.around import around
from mak.agents.assignment import Slot
from mak.errors import MakBug, PlanError
from mak.model import Aspect, NodeId, NodeKind, Task

if TYPE_CHECKING:
    from mak.source.file import SourceFile
    from mak.source.tree import Sources

#: Characters of source that one token stands for, on average.
CHARS_PER_TOKEN = 3.6
#: Share of the budget that outlines may take before reads are placed.
_OUTLINE = 0.25


@dataclass(frozen=True, slots=True)
class Context:
    """The sources for one task."""

    slots: tuple[Slot, ...]
    #: An id with ``#api`` where only the signature is shown.
    reads: tuple[tuple[NodeId, str], ...]
    #: Path and outline of each file that holds a slot and is not shown whole.
    outlines: tuple[tuple[str, str], ...]
    #: Bytes shown, by layer.
    shares: tuple[tuple[str, int], ...]

    def meanwhile(self, now: Sources) -> Iterator[tuple[NodeId, str]]:
        """Yield what reads otherwise in another tree than it is shown, with a unified diff."""
        for node, text in self._texts():
            file = now.file(node.path) if node.path in now else None
            there = ""
            if file is not None and _exists(file, node):
                is_api = node.aspect is Aspect.API
                there = _signature(file, node, sys.maxsize) if is_api else _text(file, node)
            if there != text:
                lines = unified_diff(
                    text.splitlines(), there.splitlines(), "shown", "meanwhile", n=1, lineterm=""
                )
                yield node, "\n".join(lines)

    def _texts(self) -> Iterator[tuple[NodeId, str]]:
        yield from ((slot.node, slot.source) for slot in self.slots if slot.exists)
        yield from self.reads


def context(
    task: Task, sources: Sources, *, budget: int = 24_000, built: Iterable[NodeId] = ()
) -> Context:
    """Collect what an agent needs for `task`, from the tree its wave is built on.

    What it may write is always shown whole. `budget`, in tokens, bounds the rest: outlines of the
    files it writes in, its reads in plan order, then what stands around its nodes
    (`mak.agents.around`), cut to signatures where the text is too long. `built` is what the tasks
    that it depends on have changed. Raises `PlanError` when something to be written or read is not
    there, and `MakBug` when a task that builds on others is shown nothing at all.
    """
    slots = tuple(_slots(task, sources))
    own = sum(_size(slot.source) for slot in slots)
    room = max(0, int(budget * CHARS_PER_TOKEN) - own)

    outlines = []
    for path in dict.fromkeys(slot.node.path for slot in slots if not slot.node.is_file):
        text = outline(sources.file(path), int(room * _OUTLINE))
        room -= _size(text)
        outlines.append((path, text))

    reads = []
    for node in dict.fromkeys(task.reads):
        if any(_covers(slot.node, node) for slot in slots if slot.exists):
            continue
        shown, text = _read(task, sources, node, room)
        room -= _size(text)
        reads.append((shown, text))
    shares = [("own", own), ("reads", sum(_size(text) for _, text in reads))]
    known = {node.node for node, _ in reads} | {slot.node.node for slot in slots}
    for slot in slots:
        if slot.exists and (slot.node.is_file or slot.node.aspect is Aspect.ALL):
            known |= {n.id for n in sources.nodes(slot.node.path) if _covers(slot.node, n.id)}

    def read(node: NodeId, room: int) -> tuple[NodeId, str]:
        return _read(task, sources, node, room)

    def sign(node: NodeId, room: int) -> str:
        return _signature(sources.file(node.path), node, room)

    for layer in around(slots, built, sources, read, sign, room, known):
        reads += layer.shown
        shares.append((layer.name, layer.size))
    shares.append(("outline", sum(_size(text) for _, text in outlines)))
    if task.depends_on and not (reads or outlines or any(slot.exists for slot in slots)):
        raise MakBug(
            f"task {task.id} depends on {', '.join(task.depends_on)}, and its agent would be "
            "shown nothing"
        )
    return Context(slots, tuple(reads), tuple(outlines), tuple(shares))


def _text(file: SourceFile, node: NodeId) -> str:
    """Return a node's text, of pieces without the blank lines that set them apart."""
    from mak.source import decode

    text = decode(file, node)
    return text if node.is_file else text.strip("\n") + "\n"


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


# --------------------------------------------------------------------------------------- slots


def _slots(task: Task, sources: Sources) -> Iterator[Slot]:
    wanted: dict[NodeId, bool] = {}
    for node in task.writes:
        text = node.node if node.aspect is Aspect.API else node
        wanted[text] = wanted.get(text, False) or node.aspect is Aspect.API
    for created in task.creates:
        if created.is_file and created.path in sources:
            raise PlanError(
                f"preparing task {task.id}: {created}, which it is to create, is there by now"
            )
        # Symbols of a file that is not there yet come with the file, members with their class.
        node = created.node if created.path in sources else created.file
        if not any(_holds(other, node) for other in task.creates):
            wanted.setdefault(node, True)
    whole = [node for node in wanted if node.is_file or node.aspect is Aspect.ALL]
    number = 0
    for node, api in wanted.items():
        if any(other != node and _covers(other, node) for other in whole):
            continue
        number += 1
        file = sources.file(node.path) if node.path in sources else None
        exists = file is not None and _exists(file, node)
        if not exists and node in {write.node for write in task.writes}:
            raise PlanError(f"preparing task {task.id}: {node} is not there any more")
        source = _text(file, node) if exists and file is not None else ""
        yield Slot(f"n{number}", node, source, exists, api, owner(file, node))


def _exists(file: SourceFile, node: NodeId) -> bool:
    return node.is_file or file.get(node.node) is not None


def _holds(outer: NodeId, inner: NodeId) -> bool:
    """Whether `inner` is a member of the class `outer`."""
    return outer.path == inner.path and inner.symbol.startswith(f"{outer.symbol}.")


def _covers(outer: NodeId, inner: NodeId) -> bool:
    """Whether the text of `inner` is part of the text of `outer`."""
    if outer.is_file:
        return outer.path == inner.path
    if outer.aspect is Aspect.ALL:
        prefix = f"{outer.symbol}."
        same = inner.symbol == outer.symbol or inner.symbol.startswith(prefix)
        return outer.path == inner.path and same
    return outer == inner.node


def owner(file: SourceFile | None, node: NodeId) -> NodeId | None:
    """Return the class that `node` is, or lies in; None when it lies in none."""
    if node.is_file:
        return None
    found = file.get(node.node) if file else None
    if node.aspect is Aspect.ALL or (found and found.kind is NodeKind.CLASS):
        return node.node
    parent = node.symbol.rpartition(".")[0]
    return NodeId(node.path, parent) if parent else None


# --------------------------------------------------------------------------------------- reads


def _read(task: Task, sources: Sources, node: NodeId, room: int) -> tuple[NodeId, str]:
    if node.path not in sources:
        raise PlanError(f"preparing task {task.id}: {node} is not there any more")
    file = sources.file(node.path)
    if not _exists(file, node):
        raise PlanError(f"preparing task {task.id}: {node} is not there any more")
    if node.aspect is not Aspect.API:
        text = _text(file, node)
        if _size(text) <= room:
            return node, text
    return node.api, _signature(file, node, room)


def _signature(file: SourceFile, node: NodeId, room: int) -> str:
    if node.is_file:
        return outline(file, room)
    if node.aspect is Aspect.ALL:
        members = (n for n in file.nodes if _covers(node, n.id))
        return _listing((n.signature for n in members), room)
    found = file.get(node.node)
    return found.signature if found else ""


def outline(file: SourceFile, room: int) -> str:
    """Return the header of a file and the signatures of what it defines, in at most `room` bytes.

    The first lines come first; what does not fit is counted.
    """
    from mak.source import decode

    header = next((n for n in file.nodes if n.kind is NodeKind.HEADER), None)
    lines = decode(file, header.id).strip("\n").split("\n") if header else []
    return _listing((*lines, *(n.signature for n in file.nodes if n.signature)), room)


def _listing(lines: Iterator[str] | tuple[str, ...], room: int) -> str:
    shown: list[str] = []
    left_out = 0
    for line in lines:
        room -= _size(line) + 1
        if room >= 0 and not left_out:
            shown.append(line)
        else:
            left_out += 1
    if left_out:
        shown.append(f"# … {left_out} more lines")
    return "\n".join(shown)
