"""Which repositories can be written safely, and what to say about the others.

Every refusal names what was found and the command that changes it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pygit2

from mak.errors import RepositoryRefused, UsageError

#: What git leaves in a worktree's git directory while it waits for a person, what that is, and
#: how it ends. In this order: a rebase also leaves the marks of what it is made of.
_OPERATIONS = (
    ("rebase-merge", "a rebase", "git rebase --continue (or --abort)"),
    ("rebase-apply/applying", "git am", "git am --continue (or --abort)"),
    ("rebase-apply", "a rebase", "git rebase --continue (or --abort)"),
    ("MERGE_HEAD", "a merge", "git merge --continue (or --abort)"),
    ("CHERRY_PICK_HEAD", "a cherry-pick", "git cherry-pick --continue (or --abort)"),
    ("REVERT_HEAD", "a revert", "git revert --continue (or --abort)"),
    ("sequencer", "a cherry-pick or revert", "git cherry-pick --continue (or --abort)"),
    ("BISECT_LOG", "a bisection", "git bisect reset"),
)

_FALSE = ("false", "no", "off", "0")

# `extensions.partialClone` only says where missing objects come from, which we ask git for;
# unlike others, it changes nothing about what is in the object database.
pygit2.settings.set_extensions(["partialclone"])


def discover(work_dir: Path) -> pygit2.Repository:
    """Open the repository that holds `work_dir`, or refuse it."""
    if not work_dir.is_dir():
        raise UsageError(f"opening {work_dir}: there is no such folder")
    try:
        found = pygit2.discover_repository(str(work_dir))
        if found is None:
            raise UsageError(
                f"opening {work_dir}: not in a Git repository",
                hint="git init && git add . && git commit -m 'first commit'",
            )
        return pygit2.Repository(found)
    except (pygit2.GitError, ValueError, KeyError, OSError) as error:
        _refuse(work_dir, str(error), error)


def _refuse(work_dir: Path, text: str, error: Exception) -> NoReturn:
    where = f"opening {work_dir}"
    if "not owned by current user" in text:
        path = text.split("'")[1] if text.count("'") >= 2 else str(work_dir)
        raise RepositoryRefused(
            f"{where}: the repository belongs to another user",
            hint=f"git config --global --add safe.directory '{path}'",
        ) from error
    if "object format" in text:
        raise RepositoryRefused(
            f"{where}: SHA-256 repositories are not supported by libgit2",
            hint="clone its files into a repository made with git init --object-format=sha1",
        ) from error
    if "extensions.refstorage" in text:
        raise RepositoryRefused(
            f"{where}: the reftable ref format is not supported by libgit2",
            hint="git refs migrate --ref-format=files",
        ) from error
    if "unsupported extension" in text or "repository version" in text:
        raise RepositoryRefused(
            f"{where}: {text.split(': ', 1)[-1]}",
            hint="it needs a Git feature that libgit2 does not have; work in a plain clone",
        ) from error
    hint = "check that HOME is a folder you can read" if ".gitconfig" in text else "git fsck"
    raise RepositoryRefused(f"{where}: {text}", hint=hint) from error


def refuse_tree_less(handle: pygit2.Repository, work_dir: Path) -> None:
    """Refuse a partial clone that has no trees: every path would be a trip to the remote."""
    for entry in handle.config:
        if entry.name.endswith(".partialclonefilter") and "tree:" in (entry.value or ""):
            raise RepositoryRefused(
                f"opening {work_dir}: it was cloned without trees (--filter={entry.value})",
                hint="git fetch --refetch --filter=blob:none",
            )


def is_partial(handle: pygit2.Repository) -> bool:
    """Whether missing objects are to be had from a remote."""
    return any(
        entry.name == "extensions.partialclone"
        or (entry.name.endswith(".promisor") and (entry.value or "").lower() not in _FALSE)
        for entry in handle.config
    )


def operation(git_dir: Path) -> tuple[str, str] | None:
    """Return what a person is in the middle of in this worktree, and how to end it."""
    for mark, what, end in _OPERATIONS:
        if (git_dir / mark).exists():
            return what, end
    return None


def worktrees_on(common_dir: Path, branch: str) -> Iterator[tuple[Path, Path]]:
    """Yield the worktrees that have a branch checked out, or will again after a rebase.

    Each as its git directory and the folder its files are in.
    """
    main = pygit2.Repository(str(common_dir)) if (common_dir / "HEAD").exists() else None
    if main is not None and main.workdir and _is_on(common_dir, branch):
        yield common_dir, Path(main.workdir)
    linked = common_dir / "worktrees"
    for git_dir in sorted(linked.iterdir()) if linked.is_dir() else ():
        try:
            folder = Path((git_dir / "gitdir").read_text().rstrip("\n")).parent
        except OSError:
            continue
        if not folder.is_absolute():
            folder = Path(os.path.normpath(git_dir / folder))
        if folder.exists() and _is_on(git_dir, branch):
            yield git_dir, folder


def _is_on(git_dir: Path, branch: str) -> bool:
    for name, prefix in (
        ("HEAD", "ref: "),
        ("rebase-merge/head-name", ""),
        ("rebase-apply/head-name", ""),
    ):
        try:
            if (git_dir / name).read_text().strip() == f"{prefix}{branch}":
                return True
        except OSError:
            continue
    return False
