"""What attributes make of a file: the same whether libgit2 or git is asked for them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mak.store.filters import Filters
from mak.store.repository import Repository
from mak.store.worktree import Worktree
from tests.conftest import git, write

MakeRepo = Callable[..., Path]

MANY = 40
CONTENTS = {
    "lf": b"# $Id$\none\n",
    "crlf": b"# $Id$\r\none\r\n",
    "mixed": b"one\r\ntwo\n",
    "cr": b"o\r",
}


@pytest.mark.parametrize("autocrlf", ["false", "input", "true"])
@pytest.mark.parametrize(
    "attributes",
    [
        "", "* text=auto", "*.py text", "*.py -text", "*.py eol=crlf", "*.py eol=lf", "*.py crlf",
        "*.py -crlf", "*.py ident", "*.py filter=x", "*.py -filter", "*.py binary",
        "*.py working-tree-encoding=UTF-16", "[attr]odd text eol=crlf\n*.py odd", "*.py !text",
    ],
)  # fmt: skip
def test_many_are_answered_as_each(make_repo: MakeRepo, attributes: str, autocrlf: str) -> None:
    names = [f"d/m{number}.py" for number in range(MANY)]
    root = make_repo({".gitattributes": f"{attributes}\n"})
    git(root, "config", "core.autocrlf", autocrlf)
    (root / "d").mkdir()
    for name, content in zip(names, [*CONTENTS.values()] * MANY, strict=False):
        (root / name).write_bytes(content)
    repository = Repository.open(root)
    together, single = Filters(repository), Filters(repository)
    plain = together.plain(names)
    assert plain == {name for name in names if single.plain([name])}
    found = Worktree.of(repository).look(names)
    for name in names:
        data = (root / name).read_bytes()
        assert together.are_git_s(name) == single.are_git_s(name)
        assert together.keep(name, data) == single.keep(name, data)
        assert found[name].oid == git(root, "hash-object", name).strip()
        if together.keep(name, data):
            assert git(root, "hash-object", "--no-filters", name).strip() == found[name].oid


def test_git_is_asked_where_libgit2_cannot_read_the_index(make_repo: MakeRepo) -> None:
    root = make_repo({"in/a.py": "a\n", "out/b.py": "b\n"})
    git(root, "sparse-checkout", "set", "--sparse-index", "in")
    write(root, {".git/info/attributes": "*.py ident\n"})
    filters = Filters(Repository.open(root))
    assert not filters.keep("in/a.py", b"") and filters.plain(["in/a.py", "c.txt"]) == {"c.txt"}
