"""Which node an agent means when it asks for one that it was not given."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mak.model import NodeId

if TYPE_CHECKING:
    from mak.source.tree import Sources


def find(text: str, sources: Sources) -> NodeId | str:
    """Return the node that `text` names, or why there is none, in a few words.

    An id is taken as it is written, a dotted name as Python would import it. A file that does not
    exist may be asked for: somebody has to create it.
    """
    text = text.strip().strip("`'\"")
    if not text:
        return "the symbol is empty; write path::name"
    node = NodeId.parse(text)
    if node.path not in sources:
        dotted = None if "::" in text or "/" in text else _dotted(text, sources)
        if dotted is not None:
            return dotted
        if node.is_file and node.path.endswith(".py"):
            return node
        near = difflib.get_close_matches(node.path, sources.visible, n=1)
        return f"there is no file {node.path}{_hint(near)}; write path::name"
    if node.is_file or sources.node(node) is not None:
        return node
    names = [known.id.symbol for known in sources.file(node.path).nodes]
    near = difflib.get_close_matches(node.symbol, names, n=1, cutoff=0.5)
    return f"{node.path} has no {node.symbol}{_hint(near)}"


def _hint(near: list[str]) -> str:
    return f"; did you mean {near[0]}?" if near else ""


def _dotted(text: str, sources: Sources) -> NodeId | None:
    """Return what ``pkg.mod.f`` names; None unless exactly one file can be meant."""
    parts = text.split(".")
    for cut in range(len(parts), 0, -1):
        files = list(_modules("/".join(parts[:cut]), sources))
        if len(files) == 1:
            node = NodeId(files[0], ".".join(parts[cut:]))
            found = node.is_file or sources.node(node) is not None
            return node if found else None
    return None


def _modules(stem: str, sources: Sources) -> Iterator[str]:
    for path in sources.visible:
        for ending in (f"{stem}.py", f"{stem}/__init__.py"):
            if path == ending or path.endswith(f"/{ending}"):
                yield path
