"""A tree of files is cut lazily, once per content."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from mak.model import NodeId
from mak.source import Sources, split
from mak.source.packed import Cut
from mak.source.text import blob_id


class MemoryCache:
    """A cache as the store has one, with a count of what it was asked."""

    def __init__(self) -> None:
        self.items: dict[tuple[str, str], bytes] = {}
        self.hits = 0

    def get_many(self, kind: str, keys: Sequence[str]) -> dict[str, bytes]:
        found = {key: self.items[kind, key] for key in keys if (kind, key) in self.items}
        self.hits += len(found)
        return found

    def put_many(self, kind: str, items: Mapping[str, bytes]) -> None:
        self.items.update({(kind, key): value for key, value in items.items()})


class Tree:
    """Files as blobs, with a list of what was read."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.entries = {path: blob_id(data) for path, data in files.items()}
        self.blobs = {blob_id(data): data for data in files.values()}
        self.read_ids: list[str] = []

    def read(self, blob: str) -> bytes:
        self.read_ids.append(blob)
        return self.blobs[blob]


FILES = {
    "b/m.py": b"import os\n\n\ndef f(a):\n    return a\n",
    "a.py": b"class A:\n    x = 1\n",
    "copy.py": b"class A:\n    x = 1\n",
    "broken.py": b"def f(:\n",
    "notes.md": b"# notes\n",
    "tool": b"#!/usr/bin/env python3\ndef main(): pass\n",
}


def test_files_are_cut_when_they_are_looked_at() -> None:
    tree = Tree(FILES)
    sources = Sources(tree.entries, tree.read)
    assert list(sources.paths) == sorted(FILES)
    assert "a.py" in sources
    assert "z.py" not in sources
    assert tree.read_ids == []
    assert sources.file("b/m.py").nodes == split(FILES["b/m.py"], "b/m.py").nodes
    assert sources.file("b/m.py") is sources.file("b/m.py")
    assert len(tree.read_ids) == 1
    assert sources.node(NodeId("a.py", "A")) is not None
    assert sources.node(NodeId("a.py", "B")) is None
    assert sources.node(NodeId("z.py", "A")) is None
    with pytest.raises(KeyError):
        sources.file("z.py")


def test_second_tree_parses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    tree, cache = Tree(FILES), MemoryCache()
    first = Sources(tree.entries, tree.read, cache)
    first.load()
    expected = {path: first.file(path) for path in FILES}
    assert cache.hits == 0

    def parses(data: bytes, path: str = "", **options: object) -> object:
        raise AssertionError(f"{path} was parsed")

    second = Sources(tree.entries, tree.read, cache)
    tree.read_ids.clear()
    second.load()
    monkeypatch.setattr("mak.source.tree.split", parses)
    code = [path for path in FILES if path.endswith(".py")]
    for path in code:
        assert second.nodes(path) == expected[path].nodes
    assert tree.read_ids == []
    for path in code:
        assert second.file(path) == expected[path]


def test_one_content_at_two_paths_is_remembered_once_and_named_twice() -> None:
    tree, cache = Tree(FILES), MemoryCache()
    Sources(tree.entries, tree.read, cache).load()
    sources = Sources(tree.entries, tree.read, cache)
    assert sources.file("copy.py").nodes[1].id == NodeId("copy.py", "A")
    assert sources.file("a.py").nodes[1].id == NodeId("a.py", "A")


def test_content_that_is_not_of_its_cut_is_cut_again() -> None:
    tree, cache = Tree(FILES), MemoryCache()
    sources = Sources(tree.entries, tree.read, cache)
    sources.load()
    for kind, key in list(cache.items):
        cache.items[kind, key] = Cut.of(split(b"x = 1\n", "x.py")).dump()
    again = Sources(tree.entries, tree.read, cache)
    assert again.file("b/m.py").nodes == split(FILES["b/m.py"], "b/m.py").nodes


# I5
@pytest.mark.parametrize(
    "rubbish",
    [
        b"",
        b"[]",
        b"{}",
        b"[1]",
        b"\xff",
        b"[99,[],[]]",
        b"null",
        b"7",
        b"{}",
        b'[1,["","","","",0]' + b",[1]" * 9 + b",[]]",
    ],
)
def test_rubbish_in_the_cache_costs_only_time(rubbish: bytes) -> None:
    tree, cache = Tree(FILES), MemoryCache()
    Sources(tree.entries, tree.read, cache).load()
    for key in list(cache.items):
        cache.items[key] = rubbish
    sources = Sources(tree.entries, tree.read, cache)
    sources.load()
    assert sources.file("a.py").nodes == split(FILES["a.py"], "a.py").nodes


def test_loading_some_paths_leaves_the_rest() -> None:
    tree = Tree(FILES)
    sources = Sources(tree.entries, tree.read, MemoryCache())
    sources.load(["a.py"])
    assert tree.read_ids == [tree.entries["a.py"]]


def test_opaque_files_stay_whole_and_are_not_remembered() -> None:
    tree, cache = Tree(FILES), MemoryCache()
    Sources(tree.entries, tree.read, cache).load()
    sources = Sources(
        tree.entries,
        tree.read,
        cache,
        opaque=lambda path: "goes through the filter lfs" if path == "a.py" else "",
    )
    sources.load()
    assert sources.file("a.py").whole
    assert sources.file("a.py").why_whole == "goes through the filter lfs"
    assert not sources.file("copy.py").whole
    assert not Sources(tree.entries, tree.read, cache).file("a.py").whole


def test_overlay_changes_adds_and_removes() -> None:
    tree = Tree(FILES)
    sources = Sources(tree.entries, tree.read)
    changed = split(b"x = 1\n", "a.py")
    over = sources.overlay({"a.py": changed, "b/m.py": None, "new.py": split(b"", "new.py")})
    assert list(over.paths) == sorted({*FILES, "new.py"} - {"b/m.py"})
    assert over.file("a.py") is changed
    assert over.blob("a.py") == blob_id(b"x = 1\n")
    assert over.blob("notes.md") == tree.entries["notes.md"]
    assert "b/m.py" not in over
    assert over.node(NodeId("b/m.py", "f")) is None
    with pytest.raises(KeyError):
        over.file("b/m.py")
    with pytest.raises(KeyError):
        over.nodes("b/m.py")
    twice = over.overlay({"a.py": None})
    assert "a.py" not in twice
    assert "new.py" in twice
    over.load()
    assert over.file("copy.py") is sources.file("copy.py")
    assert "b/m.py" in sources


def test_dump_holds_everything_but_path_and_source() -> None:
    for path, data in FILES.items():
        file = split(data, path)
        again = Cut.load(Cut.of(file).dump()).file(path, data)
        assert again == file


def test_next_tree_knows_what_stayed_and_what_was_written() -> None:
    tree = Tree({**FILES, "b/m.py": b"x = 2\n"})
    first = Sources(Tree(FILES).entries, Tree(FILES).read)
    first.load()
    kept, changed = first.file("a.py"), first.file("b/m.py")
    written = {"b/m.py": split(b"x = 2\n", "b/m.py"), "broken.py": split(b"y = 3\n", "broken.py")}
    second = first.moved(tree.entries, written)
    assert second.file("a.py") is kept
    assert second.file("b/m.py") is written["b/m.py"] is not changed
    assert second.file("broken.py").data == FILES["broken.py"]


def test_next_tree_is_cut_anew_where_attributes_changed() -> None:
    opaque: list[str] = []
    before = Tree({**FILES, ".gitattributes": b"\n"})
    first = Sources(before.entries, before.read, opaque=lambda path: "".join(opaque))
    assert not first.file("a.py").whole
    after = Tree({**FILES, ".gitattributes": b"*.py filter=x\n"})
    before.blobs.update(after.blobs)
    opaque.append("Git converts it")
    assert first.moved(after.entries, {}).file("a.py").whole
    assert not first.moved(before.entries, {}).file("a.py").whole


def test_files_are_recalled_at_once_and_none_is_cut() -> None:
    tree, cache = Tree(FILES), MemoryCache()
    Sources(tree.entries, tree.read, cache).load(["a.py"])
    sources = Sources(tree.entries, tree.read, cache)
    tree.read_ids.clear()
    sources.recall(["a.py", "b/m.py"])
    assert cache.hits == 1
    assert tree.read_ids == []
    assert sources.nodes("a.py") == split(FILES["a.py"], "a.py").nodes
    assert cache.hits == 1
