"""Refactorings behind the `builtin` agent: one file each, listed in `REFACTORINGS`.

A refactoring reads one sentence of a request (`parse`), finds every place in the tree that has to
change for it or says why it will not (`find`), and turns that into edits of nodes.
"""

from mak.source.refactor.registry import REFACTORINGS, find, forms, nearest, parse, read
from mak.source.refactor.sites import Intent, Refusal, Sites

__all__ = [
    "REFACTORINGS",
    "Intent",
    "Refusal",
    "Sites",
    "find",
    "forms",
    "nearest",
    "parse",
    "read",
]
