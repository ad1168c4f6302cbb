"""What a task that was granted some nodes may do to others."""

from __future__ import annotations

from mak.model import Need, NodeId
from mak.source.file import Rejected, label


def may_write(node: NodeId, granted: frozenset[NodeId]) -> bool:
    """Whether the text of `node` (or of a class with its members) may change."""
    return (
        node in granted
        or node.node.api in granted
        or any(container in granted for container in node.containers)
    )


def may_rename(node: NodeId, granted: frozenset[NodeId]) -> bool:
    """Whether what callers see of `node` was granted too."""
    return node.node.api in granted or any(c in granted for c in node.node.containers)


def not_granted(node: NodeId) -> Rejected:
    """Say that a node was edited without a grant."""
    return Rejected(
        "not-granted",
        f"`{label(node)}` was not granted; ask for it before editing it",
        node,
        (Need(node, write=True, why="the edit changes it"),),
    )
