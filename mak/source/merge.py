"""Two edits of one file, made from the same base, in one file again."""

from __future__ import annotations

from mak.source.file import Conflict, SourceFile


def merge(base: SourceFile, ours: SourceFile, theirs: SourceFile) -> SourceFile | Conflict:
    """Merge node by node; a `Conflict` when both sides changed one node in different ways."""
    raise NotImplementedError
