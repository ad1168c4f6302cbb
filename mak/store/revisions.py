"""Which commits a comparison is about, and what to type when a clone does not have them."""

from __future__ import annotations

from mak.errors import UsageError
from mak.store.repository import Repository

#: What the CI that people use most has to be told.
_DEEPER = ", or with actions/checkout: fetch-depth: 0"


def tip(repository: Repository) -> str:
    """Return the commit that HEAD is at; empty: there is none yet."""
    return repository.ref("HEAD")


def find(repository: Repository, revision: str) -> str:
    """Return the commit that a revision names; raise UsageError that says how to get it."""
    asked = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    found = repository.git.attempt(*asked).stdout.decode().strip()
    if found:
        return found
    where = "in this shallow clone" if is_shallow(repository) else "here"
    raise UsageError(f"there is no commit {revision!r} {where}", hint=_fetch(repository, revision))


def fork(repository: Repository, revision: str, commit: str) -> str:
    """Return the last commit that `revision` and `commit` have in common."""
    other = find(repository, revision)
    found = repository.git.attempt("merge-base", other, commit).stdout.decode().split()
    if found:
        return found[0]
    if is_shallow(repository):
        raise UsageError(
            f"this shallow clone does not reach back to where {revision} and {commit[:10]} parted",
            hint=_fetch(repository, revision),
        )
    raise UsageError(
        f"{revision} and {commit[:10]} have no commit in common",
        hint="git log --oneline shows the commits to choose from",
    )


def is_shallow(repository: Repository) -> bool:
    """Whether the history was cut off when it was cloned."""
    return (repository.common_dir / "shallow").exists()


def merging(repository: Repository) -> tuple[str, ...]:
    """Return the commits that a merge in progress brings in."""
    try:
        return tuple((repository.git_dir / "MERGE_HEAD").read_text().split())
    except OSError:
        return ()


def is_dirty(repository: Repository) -> bool:
    """Whether tracked files, in the index or the working tree, are not as HEAD has them."""
    asked = ("status", "--porcelain", "-z", "--untracked-files=no", "--ignore-submodules=all")
    return repository.root is not None and bool(repository.git.run(*asked))


def _fetch(repository: Repository, revision: str) -> str:
    """Return the command that is likely to bring the commit."""
    remote, _, name = revision.partition("/")
    known = bool(name) and remote in [*repository.handle.remotes.names()]
    what = f" {remote} +refs/heads/{name}:refs/remotes/{remote}/{name}" if known else ""
    if is_shallow(repository):
        return f"git fetch --unshallow{what}{_DEEPER}"
    return f"git fetch{what}" if known else "git log --oneline --all shows the commits there are"
