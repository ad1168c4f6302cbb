"""The changes that landed on a branch, from Git alone.

A change is one commit of the branch's first-parent line, as the difference from its first parent:
a merge commit is one change, and so is a squashed pull request. Where a change began is known for
merge commits, and for squashed ones whose pull request's head is there as a ref
(``refs/pull/N/head``); of any other only its landing is known.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mak.errors import StoreError, UsageError
from mak.store.git import Git

#: Commits whose patches are read by one command.
_BATCH = 200
_DIFF = ("-p", "-U0", "-M", "--full-index", "--no-color", "--no-ext-diff", "--no-textconv")
_PREFIXES = ("--src-prefix=a/", "--dst-prefix=b/")
_MARK = "\x01commit "
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_INDEX = re.compile(r"index ([0-9a-f]+)\.\.([0-9a-f]+)")
#: How forges name the pull request in the subject of what landed.
_SQUASHED = re.compile(r"\(#(\d+)\)\s*$")
_MERGED = re.compile(r"Merge pull request #(\d+)")


@dataclass(frozen=True, slots=True)
class Hunk:
    """A range of lines before and one after; a count of 0 means between two lines."""

    old: int
    old_count: int
    new: int
    new_count: int


@dataclass(frozen=True, slots=True)
class FileDiff:
    """What a change does to one file; a path or blob is empty where there is no such file."""

    old_path: str
    new_path: str
    old_blob: str
    new_blob: str
    hunks: tuple[Hunk, ...]

    @property
    def path(self) -> str:
        """The path that others know it by: that of before, where there was one."""
        return self.old_path or self.new_path


@dataclass(frozen=True, slots=True)
class Change:
    """One landed change."""

    commit: str
    #: The commit of the branch on which it landed.
    parent: str
    author: str
    subject: str
    #: Its place on the first-parent line, counted from the oldest that was read.
    landed: int
    #: How many changes had landed when it began; -1: it is not known.
    began: int
    #: The last commit of its own branch, where that is there; else empty.
    head: str
    #: How it landed: ``merge``, ``squash`` (a pull request's number), ``commit``.
    form: str
    files: tuple[FileDiff, ...]


@dataclass(frozen=True, slots=True)
class History:
    """The changes of a branch, oldest first."""

    #: The commit that was read from.
    tip: str
    changes: tuple[Change, ...]
    #: Changes that touch no file (and are not among `changes`).
    empty: int


class Blobs:
    """The contents of files by blob id, each read once while it is held."""

    def __init__(self, git: Git, *, kept: int = 20_000) -> None:
        self._git = git
        self._kept = kept
        self._known: dict[str, bytes] = {}

    def load(self, blobs: Sequence[str]) -> None:
        """Read several blobs by one command."""
        wanted = [blob for blob in dict.fromkeys(blobs) if blob and blob not in self._known]
        if not wanted:
            return
        if len(self._known) + len(wanted) > self._kept:
            self._known.clear()
        out = self._git.run("cat-file", "--batch", input="\n".join(wanted).encode() + b"\n")
        at = 0
        for blob in wanted:
            end = out.index(b"\n", at)
            words = out[at:end].split()
            at = end + 1
            if len(words) < 3 or words[1] != b"blob":
                continue
            size = int(words[2])
            self._known[blob] = out[at : at + size]
            at += size + 1

    def read(self, blob: str) -> bytes | None:
        """Return a blob; None where it is none or is not there (a submodule, a shallow clone)."""
        self.load([blob])
        return self._known.get(blob)


def open_git(path: Path) -> Git:
    """Return Git in a clone, bare or not; raise UsageError where there is none."""
    bare = (path / "objects").is_dir() and (path / "HEAD").exists()
    git = Git(path, None) if bare else Git(path / ".git", path)
    try:
        git.run("rev-parse", "--git-dir")
    except StoreError as error:
        raise UsageError(
            f"reading the history of {path}: {error}", hint="name a clone with its history"
        ) from error
    return git


def read_history(git: Git, *, limit: int = 2000, tip: str = "HEAD") -> History:
    """Read the last `limit` changes that touch files, oldest first.

    Raises UsageError where nothing is committed.
    """
    try:
        last = git.run("rev-parse", "--verify", "-q", f"{tip}^{{commit}}").decode().strip()
    except StoreError as error:
        raise UsageError(
            f"reading the history: there is no commit {tip}", hint="commit first, or name a clone"
        ) from error
    line = _first_parents(git, last)
    found: list[Change] = []
    empty = 0
    # A root commit is no change: there is nothing that it could have met.
    at = len(line)
    while at > 1 and len(found) < limit:
        batch = range(max(1, at - _BATCH), at)
        for number, files in _diffs(git, line, batch):
            if len(found) == limit:
                break
            if files:
                found.append(_change(line, number, files))
            else:
                empty += 1
        at = batch.start
    found.reverse()
    return History(last, tuple(_begun(git, line, found)), empty)


@dataclass(frozen=True, slots=True)
class _Landing:
    commit: str
    parents: tuple[str, ...]
    time: int
    author: str
    subject: str


def _first_parents(git: Git, tip: str) -> list[_Landing]:
    """Return the first-parent line, oldest first."""
    form = "--format=%H%x00%P%x00%ct%x00%ae%x00%s"
    out = git.run("log", "--first-parent", form, tip).decode("utf-8", "replace")
    line = []
    for row in reversed(out.split("\n")):
        if row:
            commit, parents, time, author, subject = row.split("\0", 4)
            line.append(_Landing(commit, tuple(parents.split()), int(time), author, subject))
    return line


def _change(line: Sequence[_Landing], number: int, files: tuple[FileDiff, ...]) -> Change:
    landing = line[number]
    merge = len(landing.parents) > 1
    squash = _SQUASHED.search(landing.subject)
    head = landing.parents[1] if len(landing.parents) == 2 else ""
    form = "merge" if merge else "squash" if squash else "commit"
    # The second parent's author is whose change it is; a merge names who pressed the button.
    return Change(
        landing.commit,
        landing.parents[0],
        landing.author,
        landing.subject,
        number,
        -1,
        head,
        form,
        files,
    )


def _begun(git: Git, line: Sequence[_Landing], changes: Sequence[Change]) -> Iterator[Change]:
    """Say when each change began, where its branch is known, and whose it is."""
    listed = git.run("for-each-ref", "--format=%(refname) %(objectname)", "refs/pull").decode()
    heads = {}
    for row in listed.splitlines():
        name, _, commit = row.partition(" ")
        if name.endswith("/head"):
            heads[name.split("/")[2]] = commit
    places = {landing.commit: number for number, landing in enumerate(line)}
    times: list[int] = []
    for landing in line:
        # Clocks go wrong; the line's order does not.
        times.append(max(landing.time, times[-1] if times else 0))
    for change in changes:
        head = change.head
        number = _SQUASHED.search(change.subject)
        if not head and number:
            head = heads.get(number[1], "")
        if not head:
            yield change
            continue
        own = git.run(
            "log", "--first-parent", "--format=%P %ae", head, f"^{change.parent}", check=False
        )
        # The oldest commit of its own says where it left the branch, and whose it is.
        words = own.decode("utf-8", "replace").strip().rpartition("\n")[2].split(" ")
        if len(words) < 2 or not words[0]:
            yield change
            continue
        fork, owner = words[0], words[-1]
        began = places.get(fork, -1)
        about = git.run("log", "-1", "--format=%ct", fork, check=False).decode().split()
        if began < 0 and about:
            began = bisect_right(times, int(about[0])) - 1
        began = min(began, change.landed - 1) if began >= 0 else -1
        yield replace(change, began=began, head=head, author=owner)


def _diffs(
    git: Git, line: Sequence[_Landing], batch: range
) -> Iterator[tuple[int, tuple[FileDiff, ...]]]:
    """Yield the files that each of some landings changes, newest first."""
    numbers = {line[number].commit: number for number in batch}
    ids = "\n".join(line[number].commit for number in reversed(batch))
    out = git.run(
        "-c",
        "core.quotePath=false",
        "log",
        "--no-walk=unsorted",
        "--stdin",
        "--diff-merges=first-parent",
        f"--format={_MARK}%H",
        *_DIFF,
        *_PREFIXES,
        input=ids.encode() + b"\n",
    )
    text = out.decode("utf-8", "surrogateescape")
    for part in text.split(_MARK)[1:]:
        commit, _, patch = part.partition("\n")
        yield numbers[commit], tuple(read_patch(patch))


def read_patch(text: str) -> Iterator[FileDiff]:
    """Read a patch as Git writes it with full ids and no lines around a change."""
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        if not lines[at].startswith("diff --git "):
            at += 1
            continue
        names = lines[at].removeprefix("diff --git ")
        old = new = ""
        blobs = ("", "")
        old_there = new_there = True
        hunks = []
        at += 1
        while at < len(lines) and not lines[at].startswith("diff --git "):
            row = lines[at]
            at += 1
            if found := _HUNK.match(row):
                counts = [1 if part is None else int(part) for part in found.groups()]
                hunks.append(Hunk(*counts))
                # What follows is text of the file, whatever it looks like.
                at += counts[1] + counts[3]
            elif row.startswith("new file mode"):
                old_there = False
            elif row.startswith("deleted file mode"):
                new_there = False
            elif row.startswith("rename from "):
                old = _unquoted(row.removeprefix("rename from "))
            elif row.startswith("rename to "):
                new = _unquoted(row.removeprefix("rename to "))
            elif ids := _INDEX.match(row):
                blobs = (ids[1], ids[2])
            elif row.startswith("--- ") and row != "--- /dev/null":
                old = _path(row.removeprefix("--- "))
            elif row.startswith("+++ ") and row != "+++ /dev/null":
                new = _path(row.removeprefix("+++ "))
        if not (old or new):
            old = new = _both(names)
        yield FileDiff(
            (old or new) if old_there else "",
            (new or old) if new_there else "",
            blobs[0] if old_there else "",
            blobs[1] if new_there else "",
            tuple(hunks),
        )


def _path(text: str) -> str:
    """Return the path of a ``---`` or ``+++`` line, without its prefix."""
    return _unquoted(text.removesuffix("\t"))[2:]


def _both(names: str) -> str:
    """Return the path of a header whose two names are the same: ``a/P b/P``."""
    if names.startswith('"'):
        return _unquoted(names[: names.index('" "') + 1])[2:]
    return names[2 : (len(names) - 1) // 2]


def _unquoted(name: str) -> str:
    if not name.startswith('"'):
        return name
    raw = name[1:-1].encode("utf-8", "surrogateescape")
    return raw.decode("unicode_escape").encode("latin-1", "replace").decode("utf-8", "replace")
