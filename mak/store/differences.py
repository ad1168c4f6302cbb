"""What is different between two commits, by lines, as git tells it."""

from __future__ import annotations

import os
from typing import NamedTuple

import pygit2

from mak.store import treeops
from mak.store.repository import Repository, git_errors

#: Whatever a person has configured, and whatever attributes say: the bytes that are there.
_AS_IT_IS = (
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--no-renames",
    "--diff-algorithm=default",
)
#: The tree of nothing, which git knows without it being there.
_EMPTY = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


class Lines(NamedTuple):
    """How many lines of a file came and went; none in a file that is not text."""

    path: str
    added: int
    removed: int


def parent(repository: Repository, commit: str) -> str:
    """Return the first parent of a commit; empty: it has none."""
    with git_errors(f"reading {commit[:10]}"):
        found = repository.handle[commit].peel(pygit2.Commit).parent_ids
    return str(found[0]) if found else ""


def lines(repository: Repository, base: str, head: str) -> list[Lines]:
    """Return the files that differ, by path."""
    out = repository.git.run("diff", "--numstat", "-z", *_AS_IT_IS, *_trees(repository, base, head))
    rows = (entry.split(b"\t", 2) for entry in out.split(b"\0") if entry)
    return [Lines(os.fsdecode(path), _number(made), _number(gone)) for made, gone, path in rows]


def text(repository: Repository, base: str, head: str) -> str:
    """Return the difference as a patch with full blob ids."""
    trees = _trees(repository, base, head)
    out = repository.git.run("diff", "--full-index", *_AS_IT_IS, *trees)
    return out.decode("utf-8", "replace")


def _trees(repository: Repository, base: str, head: str) -> tuple[str, str]:
    return treeops.tree_of(repository, base) or _EMPTY, treeops.tree_of(repository, head)


def _number(text: bytes) -> int:
    return int(text) if text.isdigit() else 0
