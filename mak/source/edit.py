"""Edits of one file: all of them or none, and nothing but them."""

from __future__ import annotations

from collections.abc import Sequence

from mak.model import Edit, NodeId
from mak.source.file import Applied, Newer, Rejected, SourceFile

__all__ = ["Applied", "Rejected", "apply", "compiles"]


def apply(
    file: SourceFile | None,
    path: str,
    edits: Sequence[Edit],
    *,
    granted: frozenset[NodeId],
    newer: Newer | None = None,
) -> Applied | Rejected:
    """Apply all edits of the file at `path` (None: it does not exist), or none of them."""
    raise NotImplementedError


def compiles(file: SourceFile) -> str | None:
    """Return why the running Python does not compile the file; None when it does."""
    raise NotImplementedError
