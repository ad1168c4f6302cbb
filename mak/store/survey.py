"""Look at the files of a wave before it: what follows, what must be merged, what is in the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from mak.store.journal import Touched
from mak.store.objects import blob_id
from mak.store.treeops import Entry
from mak.store.worktree import Found, Kind, Staged, Worktree

#: ``merge(path, base, ours, theirs)``: the text that holds both changes, or None. Bytes are as in
#: blobs; `ours` is the wave's, `theirs` the working tree's.
Merge = Callable[[str, bytes, bytes, bytes], bytes | None]


class Change(NamedTuple):
    """One file of a wave: its entry in the parent and in the commit."""

    path: str
    base: Entry | None
    new: Entry | None


@dataclass(slots=True)
class Survey:
    """What the working tree says to a wave."""

    files: list[Touched] = field(default_factory=list)
    found: dict[str, Found] = field(default_factory=dict)
    staged: dict[str, Staged] = field(default_factory=dict)
    #: Why a file cannot be written, and what to do, by path.
    obstacles: dict[str, str] = field(default_factory=dict)
    #: Blobs, by id, that hold both the wave's and a person's change.
    merged: dict[str, bytes] = field(default_factory=dict)


def survey(
    worktree: Worktree, changes: Sequence[Change], new: Callable[[str], bytes], merge: Merge
) -> Survey:
    """Look at each file; `new` returns what the wave writes to a path.

    Whether the index is in the way is looked at only where the file differs from the parent: for
    the others `git read-tree` looks itself.
    """
    result = Survey(found=worktree.look([change.path for change in changes]))
    differing = [c for c in changes if not result.found[c.path].holds(c.base)]
    result.staged = worktree.staged([c.path for c in differing])
    for change in changes:
        found = result.found[change.path]
        if found.holds(change.base):
            result.files.append(Touched(*change, change.base, change.new))
            continue
        verdict = _differing(worktree, change, found, result, new, merge)
        if isinstance(verdict, Touched):
            result.files.append(verdict)
        else:
            result.obstacles[change.path] = verdict
    return result


def _differing(
    worktree: Worktree,
    change: Change,
    found: Found,
    result: Survey,
    new: Callable[[str], bytes],
    merge: Merge,
) -> Touched | str:
    path, base, wanted = change
    staged = result.staged.get(path)
    if staged is not None and staged.skipped and found.kind is Kind.ABSENT:
        return Touched(*change, None, None)
    obstacle = in_index(change, staged)
    if obstacle:
        return obstacle
    if found.holds(wanted):
        return Touched(*change, wanted, wanted)
    obstacle = _in_the_way(change, found, staged)
    if obstacle:
        return obstacle
    assert base is not None and wanted is not None
    mode = found.mode or base.mode
    theirs = Entry(worktree.keep(path), mode)
    if theirs.oid in (base.oid, wanted.oid):  # only the exec bit is the person's
        return Touched(*change, theirs, Entry(wanted.oid, mode))
    text = merge(path, worktree.blob(base.oid), new(path), worktree.blob(theirs.oid))
    if text is None:
        if worktree.is_checkout(path, base.oid):
            return unfaithful(path)
        return "it was edited where the wave edits it: commit, stash or undo that edit"
    result.merged[blob_id(text)] = text
    return Touched(*change, theirs, Entry(blob_id(text), mode))


def in_index(change: Change, staged: Staged | None) -> str:
    """Return why what the index holds is in the way of a change; empty: it is not."""
    path, base, new = change
    if staged is None:
        if base is None or new is None:
            return ""
        return f"its deletion is staged: git restore --staged '{path}', or commit the deletion"
    if staged.stage:
        return f"it has an unresolved conflict: resolve it and git add '{path}'"
    if staged.entry not in (base, new):
        return f"it has staged changes: commit them, or git restore --staged '{path}'"
    if staged.assumed:
        return (
            "it is marked assume-unchanged and was changed: "
            f"git update-index --no-assume-unchanged '{path}'"
        )
    if staged.skipped:
        return (
            "it is marked skip-worktree and was changed: "
            f"git update-index --no-skip-worktree '{path}'"
        )
    return ""


def _in_the_way(change: Change, found: Found, staged: Staged | None) -> str:
    path, base, new = change
    match found.kind:
        case Kind.ABSENT:
            return f"it was deleted: git restore '{path}', or commit the deletion"
        case Kind.DIRECTORY:
            return "a directory is in its place: move it away"
        case Kind.LINK:
            return "a symbolic link is in its place: move it away"
        case Kind.OTHER:
            return "something that is no file is in its place: move it away"
        case Kind.BLOCKED:
            return "a folder above it is a file or a symbolic link"
        case Kind.FILE:
            if base is None:
                return "an untracked file is in its place: move it away or commit it"
            if new is None:
                return "it was edited and the wave deletes it: commit, stash or undo that edit"
    return ""


def unfaithful(path: str) -> str:
    """Say why a file that Git shows as changed right after a checkout cannot be written."""
    return (
        "its line endings or filters do not fit its Git attributes, so that Git sees a change in "
        f"every checkout: git add --renormalize '{path}', and commit that first"
    )
