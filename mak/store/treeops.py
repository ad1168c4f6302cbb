"""Trees from trees: change a few paths, and keep the versions of nodes beside the files.

The node versions of a file are one directory, ``<path>!``: a blob per node and ``order``, which
lists the symbols. The invariant: joined in that order, the blobs are the file's blob at the
branch commit that the state names as its head. Everything here costs by what changes, not by the
size of the repository.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import quote

import pygit2
from pygit2.enums import FileMode

from mak.errors import MakBug, StoreError
from mak.store.objects import Raw, blob_id
from mak.store.repository import Repository


class Entry(NamedTuple):
    """What a tree holds under a name."""

    oid: str
    mode: int


TREE = int(FileMode.TREE)
FILE = int(FileMode.BLOB)
EXECUTABLE = int(FileMode.BLOB_EXECUTABLE)

#: Longest part of an entry's name that comes from the symbol; with its suffix it stays below
#: the 255 bytes of common file systems, so that the tree can be checked out for a look.
_NAME = 180

_ORDER = "order"

_Changes = Mapping[str, Entry | None]


# ------------------------------------------------------------------------------------- any tree


def tree_of(repository: Repository, commit: str) -> str:
    """Return the tree of a commit (empty: none)."""
    if not commit:
        return ""
    found = repository.handle[commit]
    assert isinstance(found, pygit2.Commit)
    return str(found.tree_id)


def entry(repository: Repository, tree: str, path: str) -> Entry | None:
    """Return what the tree (empty: none) holds at a path."""
    if not tree:
        return None
    root = repository.handle[tree]
    assert isinstance(root, pygit2.Tree)
    try:
        found = root[path]
    except KeyError:
        return None
    return Entry(str(found.id), int(found.filemode))


def update_tree(repository: Repository, base: str, changes: _Changes) -> str:
    """Write the tree (empty: none) with these files changed, added or, where None, removed.

    Raises StoreError when a file would take the place of a directory or the other way round, and
    when a new name differs from its neighbour only in case or Unicode form: such trees cannot be
    checked out everywhere.
    """
    return _update(
        repository, base, "", [(p.split("/"), v) for p, v in changes.items()], True
    ) or _empty(repository)


def prospective(repository: Repository, commit: str, files: Mapping[str, bytes | None]) -> str:
    """Write the tree of a commit (empty: none) with the contents of these files; None: removed."""
    tree = tree_of(repository, commit)
    changes: dict[str, Entry | None] = {}
    for path, data in files.items():
        known = entry(repository, tree, path)
        mode = known.mode if known is not None and known.mode != TREE else FILE
        changes[path] = None if data is None else Entry(repository.put(data), mode)
    return update_tree(repository, tree, changes) if changes else tree or _empty(repository)


def difference(repository: Repository, old: str, new: str) -> dict[str, bytes | None]:
    """Return the contents of the files of a tree that another has not got like that.

    None: it has not got the file at all.
    """
    was, now = repository.handle[old], repository.handle[new]
    assert isinstance(was, pygit2.Tree) and isinstance(now, pygit2.Tree)
    found: dict[str, bytes | None] = {}
    for delta in was.diff_to_tree(now).deltas:
        gone = delta.status_char() == "D"
        path = delta.old_file.path if gone else delta.new_file.path
        found[path] = None if gone else _data(repository.handle[delta.new_file.id])
    return found


def _empty(repository: Repository) -> str:
    return str(repository.write("tree", repository.handle.TreeBuilder().write))


def _update(
    repository: Repository,
    base: str,
    where: str,
    changes: Sequence[tuple[list[str], Entry | None]],
    strict: bool,
) -> str:
    """Return the new tree, empty when nothing is left in it."""
    leaves: dict[str, Entry | None] = {}
    below: dict[str, list[tuple[list[str], Entry | None]]] = {}
    for (name, *rest), value in changes:
        if rest:
            below.setdefault(name, []).append((rest, value))
        else:
            leaves[name] = value
    tree = repository.handle[base] if base else None
    assert tree is None or isinstance(tree, pygit2.Tree)
    builder = (
        repository.handle.TreeBuilder(tree) if tree is not None else repository.handle.TreeBuilder()
    )
    added: list[str] = []
    for name, value in leaves.items():
        current = builder.get(name)
        if value is None and current is not None and (not strict or int(current.filemode) != TREE):
            builder.remove(name)
    for name, changed in below.items():
        current = builder.get(name)
        inner = str(current.id) if current is not None and int(current.filemode) == TREE else ""
        if current is not None and not inner:
            if all(value is None for _, value in changed):
                continue
            raise StoreError(f"writing below {where}{name}/: {where}{name} is a file")
        new = _update(repository, inner, f"{where}{name}/", changed, strict)
        if new:
            builder.insert(name, pygit2.Oid(hex=new), FileMode.TREE)
        elif current is not None:
            builder.remove(name)
        if new and current is None:
            added.append(name)
    for name, value in leaves.items():
        if value is None:
            continue
        current = builder.get(name)
        if strict and current is not None and int(current.filemode) == TREE:
            raise StoreError(f"writing {where}{name}: it is a directory")
        builder.insert(name, pygit2.Oid(hex=value.oid), FileMode(value.mode))
        if current is None:
            added.append(name)
    if not len(builder):
        return ""
    written = str(repository.write("tree", builder.write))
    if strict and added:
        _refuse_collisions(repository, written, where, added)
    return written


def _refuse_collisions(repository: Repository, tree: str, where: str, added: Iterable[str]) -> None:
    names: dict[str, list[str]] = {}
    written = repository.handle[tree]
    assert isinstance(written, pygit2.Tree)
    for item in written:
        names.setdefault(fold(item.name or ""), []).append(item.name or "")
    for name in added:
        others = [other for other in names[fold(name)] if other != name]
        if others:
            raise StoreError(
                f"writing {where}{name}: {where}{others[0]} differs only in case or Unicode form",
                hint="some file systems cannot hold both; choose another name",
            )


def fold(name: str) -> str:
    """Return the form in which two names are the same to a case-insensitive file system."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


# ----------------------------------------------------------------------------------- node tree


class NodeVersions(NamedTuple):
    """The nodes of one file: the id of their directory, and it and its blobs by their ids."""

    tree: str
    objects: dict[str, Raw]


def node_versions(nodes: Sequence[tuple[str, bytes]]) -> NodeVersions:
    """Lay out the nodes of a file, given as (symbol, bytes) in file order."""
    order = json.dumps([symbol for symbol, _ in nodes], separators=(",", ":")).encode()
    ids: dict[str, str] = {}
    objects: dict[str, Raw] = {}
    for name, data in ((_ORDER, order), *((_entry_name(s), data) for s, data in nodes)):
        if name in ids:
            raise MakBug(f"storing node versions: two nodes are called {name}")
        raw = Raw(b"blob", data)
        ids[name] = raw.id
        objects[raw.id] = raw
    tree = Raw(
        b"tree",
        b"".join(b"100644 %s\0%s" % (n.encode(), bytes.fromhex(ids[n])) for n in sorted(ids)),
    )
    return NodeVersions(tree.id, {**objects, tree.id: tree})


def update_nodes(
    repository: Repository, base: str, versions: Mapping[str, NodeVersions | None]
) -> str:
    """Write the node tree (empty: none) with the nodes of these files replaced or, None, gone.

    The objects of the versions must have been written. Returns "" when no file has nodes.
    """
    if not versions:
        return base
    changes = [
        (node_directory(path).split("/"), Entry(version.tree, TREE) if version else None)
        for path, version in versions.items()
    ]
    return _update(repository, base, "", changes, False)


def read_nodes(
    repository: Repository, tree: str, path: str
) -> tuple[tuple[str, bytes], ...] | None:
    """Return the node versions of a file as (symbol, bytes) in order; None: it has none."""
    found = entry(repository, tree, node_directory(path))
    if found is None:
        return None
    directory = repository.handle[found.oid]
    assert isinstance(directory, pygit2.Tree)
    if _ORDER not in directory:
        return None
    symbols = json.loads(_data(directory[_ORDER]))
    return tuple((symbol, _data(directory[_entry_name(symbol)])) for symbol in symbols)


def known_objects(repository: Repository, nodes: str, paths: Iterable[str]) -> frozenset[str]:
    """Return the ids of the blobs in a node tree (empty: none) that belong to these files."""
    known: set[str] = set()
    for path in paths:
        found = entry(repository, nodes, node_directory(path))
        if found is not None:
            directory = repository.handle[found.oid]
            assert isinstance(directory, pygit2.Tree)
            known.update(str(item.id) for item in directory)
    return frozenset(known)


def without_stale(repository: Repository, nodes: str, old: str, new: str) -> str:
    """Return the node tree that belonged to commit `old` without the files `new` has otherwise.

    When `old` cannot be read any more, nothing is known to be fresh: returns "".
    """
    if not nodes or old == new:
        return nodes
    try:
        before = repository.handle[old].peel(pygit2.Tree)
        after = repository.handle[new].peel(pygit2.Tree)
    except (KeyError, ValueError):
        return ""
    deltas = before.diff_to_tree(after).deltas
    changed = {file.path for delta in deltas for file in (delta.old_file, delta.new_file)}
    stale = {
        path: None for path in changed if entry(repository, nodes, node_directory(path)) is not None
    }
    return update_nodes(repository, nodes, stale)


def node_directory(path: str) -> str:
    """Return where the node tree keeps the nodes of a file; never a directory of another one."""
    return "/".join(_component(part) for part in path.split("/")) + "!"


def _component(name: str) -> str:
    name = name.replace("%", "%25")
    return f"{name[:-1]}%21" if name.endswith("!") else name


@lru_cache(4096)
def _entry_name(symbol: str) -> str:
    return f"{quote(symbol, safe='')[:_NAME]}~{blob_id(symbol.encode())[:8]}"


def _data(item: pygit2.Object) -> bytes:
    assert isinstance(item, pygit2.Blob)
    return item.data
