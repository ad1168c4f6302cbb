"""Trees change where they are told to and nowhere else; node versions join to their file."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pygit2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mak.errors import MakBug, StoreError
from mak.store import treeops
from mak.store.objects import Raw, blob_id
from mak.store.pack import PACK_FROM, put_objects
from mak.store.repository import Repository
from mak.store.treeops import EXECUTABLE, FILE, Entry, NodeVersions
from tests.conftest import git


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    root = tmp_path_factory.mktemp("trees")
    git(root, "init", "-q", "-b", "main")
    return Repository.open(root)


def listing(repository: Repository, tree: str) -> dict[str, Entry]:
    return {path: e for path, e in everything(repository, tree) if e.mode != treeops.TREE}


def everything(repository: Repository, tree: str, above: str = "") -> Iterator[tuple[str, Entry]]:
    """Yield all that a tree holds, folders too."""
    found = repository.handle[tree]
    assert isinstance(found, pygit2.Tree)
    for item in found:
        entry = Entry(str(item.id), int(item.filemode))
        yield f"{above}{item.name}", entry
        if entry.mode == treeops.TREE:
            yield from everything(repository, entry.oid, f"{above}{item.name}/")


names = st.sampled_from(["a", "b", "c.py", "é"])
paths = st.lists(names, min_size=1, max_size=3).map("/".join)
files = st.dictionaries(paths, st.integers(0, 9), max_size=8)


def without_conflicts(files: Mapping[str, int]) -> dict[str, int]:
    """Drop the files that are also a folder of another one."""
    return {
        path: value
        for path, value in files.items()
        if not any(other.startswith(f"{path}/") for other in files)
    }


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(before=files.map(without_conflicts), after=files.map(without_conflicts))
def test_update_gives_the_tree_that_git_would_write(
    repository: Repository, before: dict[str, int], after: dict[str, int]
) -> None:
    """Whatever is changed, added and removed, also files that become folders and back."""

    def entries(files: Mapping[str, int]) -> dict[str, Entry | None]:
        return {
            path: Entry(repository.put(b"%d\n" % value), EXECUTABLE if value % 2 else FILE)
            for path, value in files.items()
        }

    base = treeops.update_tree(repository, "", entries(before))
    assert listing(repository, base) == entries(before)
    changes = {**dict.fromkeys(before), **entries(after)}
    changed = treeops.update_tree(repository, base, changes)
    assert listing(repository, changed) == entries(after)
    assert changed == treeops.update_tree(repository, "", entries(after))
    folders = {p for p, e in everything(repository, changed) if e.mode == treeops.TREE}
    assert folders == {p.rsplit("/", n)[0] for p in after for n in range(1, p.count("/") + 1)}


def test_update_keeps_everything_else(repository: Repository) -> None:
    one, two = Entry(repository.put(b"1"), FILE), Entry(repository.put(b"2"), EXECUTABLE)
    base = treeops.update_tree(repository, "", {"d/x": one, "d/y": two, "e/z": one, "top": two})
    changed = treeops.update_tree(repository, base, {"d/x": two, "nothing/here": None, "e/z": None})
    assert listing(repository, changed) == {"d/x": two, "d/y": two, "top": two}
    assert treeops.entry(repository, changed, "d/y") == two
    assert treeops.entry(repository, changed, "e") is None
    assert treeops.entry(repository, "", "d") is None


def test_only_new_names_are_compared_with_their_neighbours(repository: Repository) -> None:
    """A repository that holds both a.py and A.py can still be edited."""
    one, two = Entry(repository.put(b"1"), FILE), Entry(repository.put(b"2"), FILE)
    builder = repository.handle.TreeBuilder()
    for name in ("a.py", "A.py"):
        builder.insert(name, pygit2.Oid(hex=one.oid), FILE)
    both = str(builder.write())
    changed = treeops.update_tree(repository, both, {"a.py": two})
    assert listing(repository, changed) == {"a.py": two, "A.py": one}
    with pytest.raises(StoreError, match="differs only in case"):
        treeops.update_tree(repository, both, {"a.PY": two})


def test_renaming_only_the_case_is_fine(repository: Repository) -> None:
    one = Entry(repository.put(b"1"), FILE)
    base = treeops.update_tree(repository, "", {"Mod.py": one})
    changed = treeops.update_tree(repository, base, {"Mod.py": None, "mod.py": one})
    assert listing(repository, changed) == {"mod.py": one}


# ------------------------------------------------------------------------------- node versions

symbols = st.one_of(
    st.sampled_from(["", "@header", "C.f", "C.f#2", "a/b", "..", ".git", "order", "x~1", "ſ"]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=300),
)
nodes = st.lists(st.tuples(symbols, st.binary(max_size=20)), max_size=6, unique_by=lambda n: n[0])
node_paths = st.sampled_from(["a.py", "a.py!", "a.py!/b", "p/%21", "p!/x", "p%21/x", "p/q/r.py"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.tuples(node_paths, st.one_of(st.none(), nodes)), max_size=6))
def test_node_versions_are_read_as_written(
    repository: Repository, steps: list[tuple[str, list[tuple[str, bytes]] | None]]
) -> None:
    tree, model = "", {}
    for path, given_nodes in steps:
        version = None if given_nodes is None else treeops.node_versions(given_nodes)
        if version is not None:
            put_objects(repository, version.objects)
        tree = treeops.update_nodes(repository, tree, {path: version})
        model[path] = given_nodes
    for path, expected in model.items():
        found = treeops.read_nodes(repository, tree, path)
        assert found == (None if expected is None else tuple(expected))
    assert (tree == "") == (not any(value is not None for value in model.values()))


def test_trees_of_node_versions_are_sound_to_git(repository: Repository) -> None:
    version = treeops.node_versions([(s, s.encode()) for s in ("", ".git", "a/b", "..", "é" * 99)])
    put_objects(repository, version.objects)
    tree = treeops.update_nodes(repository, "", {"a.py!": version, "a.py!/b": version})
    repository.git.run("fsck", "--strict", tree)
    assert len(listing(repository, tree)) == 12


def test_two_nodes_of_one_name_are_a_bug() -> None:
    with pytest.raises(MakBug, match="two nodes"):
        treeops.node_versions([("f", b"1"), ("f", b"2")])


def _commit(repository: Repository, files: Mapping[str, bytes]) -> str:
    entries = {path: Entry(repository.put(data), FILE) for path, data in files.items()}
    return repository.put_commit(treeops.update_tree(repository, "", entries), [], "test")


def _versions(repository: Repository, text: bytes) -> NodeVersions:
    version = treeops.node_versions([("f", text)])
    put_objects(repository, version.objects)
    return version


def test_only_nodes_of_unchanged_files_are_fresh(repository: Repository) -> None:
    paths = ["same.py", "d/changed.py", "gone.py"]
    tree = treeops.update_nodes(repository, "", {p: _versions(repository, b"1") for p in paths})
    old = _commit(repository, dict.fromkeys([*paths, "never.py"], b"1"))
    new = _commit(repository, {"same.py": b"1", "d/changed.py": b"2", "never.py": b"3"})
    fresh = treeops.without_stale(repository, tree, old, new)
    kept = [path for path in paths if treeops.read_nodes(repository, fresh, path) is not None]
    assert kept == ["same.py"]
    assert treeops.without_stale(repository, tree, new, new) == tree
    assert treeops.without_stale(repository, tree, "0" * 40, new) == ""
    assert treeops.without_stale(repository, tree, "", new) == ""


# --------------------------------------------------------------------------------------- blobs


@given(st.binary(max_size=200))
def test_blob_id_is_the_id_that_git_gives(data: bytes) -> None:
    assert blob_id(data) == str(pygit2.hash(data))


def test_only_nodes_that_changed_are_written_again(repository: Repository) -> None:
    nodes = [(f"f{i}", b"x" * i) for i in range(2 * PACK_FROM)]
    version = treeops.node_versions(nodes)
    put_objects(repository, version.objects)
    tree = treeops.update_nodes(repository, "", {"a.py": version})
    known = treeops.known_objects(repository, tree, ["a.py", "b.py"])
    assert known == version.objects.keys() - {version.tree}
    assert treeops.known_objects(repository, "", ["a.py"]) == frozenset()
    written: list[str] = []
    repository.before_write = written.append
    put_objects(repository, treeops.node_versions([*nodes[:-1], ("g", b"new")]).objects, known)
    assert sorted(written) == ["blob", "blob", "tree"]


@pytest.mark.parametrize("count", [0, 1, PACK_FROM - 1, PACK_FROM, 3 * PACK_FROM])
def test_blobs_are_written_loose_or_packed(tmp_path: Path, count: int) -> None:
    git(tmp_path, "init", "-q")
    repository = Repository.open(tmp_path)
    blobs = {blob_id(d): d for d in (b"%d:" % i + b"x" * (i * 37 % 5000) for i in range(count))}
    put_objects(repository, {oid: Raw(b"blob", d) for oid, d in blobs.items()})
    for oid, data in blobs.items():
        found = subprocess.run(["git", "cat-file", "blob", oid], cwd=tmp_path, capture_output=True)
        assert found.stdout == data
        assert repository.handle[oid].data == data  # type: ignore[attr-defined]
    assert len(list((tmp_path / ".git/objects/pack").glob("*.pack"))) == (count >= PACK_FROM)
    put_objects(repository, {oid: Raw(b"blob", d) for oid, d in blobs.items()})
    assert len(list((tmp_path / ".git/objects/pack").glob("*.pack"))) == (count >= PACK_FROM)
