"""What becomes of two changes that were under way at once, when both are put on one base.

A bare merge of two heads would judge everything that landed between them too. So the base is the
commit on which the earlier one landed, and the later one is ported onto it first. What does not
let itself be ported there, but onto the earlier change, was fitted to it before it landed: the two
conflict. What can be put on neither stands on something else that landed meanwhile, and is counted
apart. All objects that this makes go into a folder of their own; the repository stays as it is.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from mak.errors import MakError
from mak.source import Conflict, merge, split
from mak.store.git import Git
from mak.study.contention import Footprint
from mak.study.history import Blobs

_WHO = {
    f"GIT_{role}_{what}": value
    for role in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "study"), ("EMAIL", "study@localhost"), ("DATE", "@0 +0000"))
}


class Bucket(StrEnum):
    """What two changes came to."""

    CLEAN = "clean"
    #: The two conflict with each other, or the later one was fitted to the earlier one.
    CHANGE = "change-versus-change"
    #: The later one can be put neither on the earlier one nor on its base.
    MAINLINE = "change-versus-mainline"
    #: Git gave no verdict.
    INFRASTRUCTURE = "infrastructure"


@dataclass(frozen=True)
class Verdict:
    """What two changes came to, by Git and by MAK."""

    earlier: str
    later: str
    bucket: Bucket
    #: Git's conflicted paths.
    conflicted: tuple[str, ...] = ()
    #: Whether MAK merges every file that both change; None: they came to no merge.
    mak_clean: bool | None = None
    #: Whether what MAK does not merge are all files that are one node to it.
    mak_whole: bool = False
    #: Commits of the base, of either side and (where Git merged) the merged tree; empty where the
    #: later change could not be put on the base.
    base: str = ""
    ours: str = ""
    theirs: str = ""
    merged: str = ""
    why: str = ""


class Quarantine(Git):
    """Git in a repository, whose new objects go into a folder beside it."""

    def __init__(self, git: Git, folder: Path) -> None:
        super().__init__(git._cwd, None)
        self._options = git._options
        where = git.run("rev-parse", "--path-format=absolute", "--git-path", "objects")
        self.objects = Path(where.decode().strip())
        self.folder = folder
        self._env = {
            "GIT_OBJECT_DIRECTORY": str(folder),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(self.objects),
            **_WHO,
        }

    def attempt(
        self,
        *args: str,
        input: bytes | None = None,
        env: Mapping[str, str] | None = None,
        hooks: bool = False,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run Git as the base class does, with its new objects elsewhere."""
        return super().attempt(*args, input=input, env={**self._env, **(env or {})}, hooks=hooks)

    def commit(self, tree: str, *parents: str) -> str:
        """Make a commit of a tree."""
        more = [word for parent in parents for word in ("-p", parent)]
        return self.run("commit-tree", "-m", "study", *more, f"{tree}^{{tree}}").decode().strip()

    def merged(self, ours: str, theirs: str) -> tuple[str, tuple[str, ...]]:
        """Merge two commits without a working tree; return the tree and what conflicts."""
        done = self.attempt(
            "merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", ours, theirs
        )
        if done.returncode not in (0, 1):
            raise MakError(f"git merge-tree: {done.stderr.decode('utf-8', 'replace').strip()}")
        tree, *paths = done.stdout.decode("utf-8", "surrogateescape").rstrip("\0").split("\0")
        return tree, tuple(dict.fromkeys(paths)) if done.returncode else ()


@contextmanager
def quarantine(git: Git) -> Iterator[Quarantine]:
    """Yield Git whose new objects are gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="mak-study-") as folder:
        yield Quarantine(git, Path(folder))


def judge(git: Quarantine, earlier: Footprint, later: Footprint) -> Verdict:
    """Put two changes on one base and merge them."""
    one, other = earlier.change, later.change
    try:
        # The later one, from the commit it landed on to the commit that the earlier one landed on.
        ground = git.commit(other.parent)
        base = git.commit(one.parent)
        ported, stuck = git.merged(git.commit(one.parent, ground), git.commit(other.commit, ground))
        if stuck:
            _, still = git.merged(git.commit(one.commit, ground), git.commit(other.commit, ground))
            bucket = Bucket.MAINLINE if still else Bucket.CHANGE
            return Verdict(one.commit, other.commit, bucket, stuck)
        ours, theirs = git.commit(one.commit, base), git.commit(ported, base)
        merged, conflicted = git.merged(ours, theirs)
        refused = mak_refuses(git, base, ours, theirs)
    except MakError as error:
        return Verdict(one.commit, other.commit, Bucket.INFRASTRUCTURE, why=str(error))
    return Verdict(
        one.commit,
        other.commit,
        Bucket.CHANGE if conflicted else Bucket.CLEAN,
        conflicted,
        not refused,
        bool(refused) and all(refused.values()),
        base,
        ours,
        theirs,
        "" if conflicted else merged,
    )


def mak_refuses(git: Git, base: str, ours: str, theirs: str) -> dict[str, bool]:
    """Return the files that MAK does not put together, and whether each is one node to it."""
    blobs = Blobs(git)
    before, mine, yours = (entries(git, commit) for commit in (base, ours, theirs))
    refused: dict[str, bool] = {}
    for path in sorted({*mine, *yours}):
        old, one, two = before.get(path), mine.get(path), yours.get(path)
        if one == two or old in (one, two):
            continue
        texts = [blobs.read(blob) if blob else b"" for blob in (old, one, two)]
        files = [split(text or b"", path) for text in texts]
        gone = not one or not two or any(text is None for text in texts)
        if gone or isinstance(merge(*files), Conflict):
            refused[path] = not gone and files[1].whole
    return refused


def entries(git: Git, commit: str) -> dict[str, str]:
    """Return the files of a commit: path to blob."""
    out = git.run("ls-tree", "-r", "-z", "--full-tree", commit)
    found = {}
    for row in out.decode("utf-8", "surrogateescape").split("\0"):
        about, _, path = row.partition("\t")
        if path:
            found[path] = about.split()[2]
    return found


def really_merges(git: Quarantine, verdicts: Sequence[Verdict]) -> Iterator[tuple[Verdict, bool]]:
    """Merge the same commits with ``git merge`` in a working tree; yield whether it went."""
    with tempfile.TemporaryDirectory(prefix="mak-study-") as folder:
        root = Path(folder) / "tree"
        subprocess.run(["git", "init", "-q", str(root)], check=True, capture_output=True)
        (root / ".git/objects/info/alternates").write_text(f"{git.objects}\n{git.folder}\n")
        tree = Git(root / ".git", root)
        for verdict in verdicts:
            tree.run("checkout", "-q", "-f", "--detach", verdict.ours)
            done = tree.attempt("merge", "-q", "--no-edit", verdict.theirs, env=_WHO)
            yield verdict, done.returncode == 0
            tree.run("reset", "-q", "--hard", verdict.ours)
