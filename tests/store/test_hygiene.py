"""What the store must never call, read from its source."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import mak.store

FILES = sorted(Path(mak.store.__file__).parent.glob("*.py"))

#: libgit2 loses other refs when it deletes one, un-stages a concurrent `git add` when it writes
#: the index, and overwrites staged work when it checks out.
FORBIDDEN = re.compile(
    r"references\.delete|\.delete\(\)|transaction\.remove|tx\.remove|compress_references"
    r"|index\.(write|add|remove|read_tree)|\.(checkout|checkout_tree|checkout_head|checkout_index)\("
    r"|\.reset\(|\.stash\(|force=True|--prune|update-ref\b.*-d\b|owner_validation|FilterList"
)
#: A hint may tell a person to type what we never run.
HINTS = re.compile(r"hint=f?\"[^\"]*\"")


# I11
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_nothing_dangerous_is_called(file: Path) -> None:
    code = HINTS.sub("", file.read_text())
    assert not FORBIDDEN.findall(code)


def test_the_search_finds_what_it_looks_for() -> None:
    for line in (
        "repo.references.delete(name)",
        "tx.remove(name)",
        "repo.index.write()",
        "repo.checkout_tree(tree)",
        'git.run("update-ref", "-d", name)',
    ):
        assert FORBIDDEN.search(line), line
    assert len(FILES) > 10
