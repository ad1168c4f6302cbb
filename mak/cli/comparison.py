"""The two trees that ``mak check`` compares, and how they are called."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from mak.cli.reports.report import NOTHING
from mak.errors import UsageError
from mak.source import Sources

if TYPE_CHECKING:
    from mak.store import Store
    from mak.store.snapshot import Snapshot

#: What pre-commit says about the commits of a push, or of ``pre-commit run --from-ref``.
_FROM, _TO = "PRE_COMMIT_FROM_REF", "PRE_COMMIT_TO_REF"
#: The branch that is pushed.
_PUSHED = "PRE_COMMIT_LOCAL_BRANCH"
#: Set where pre-commit runs us at all.
_HOOK = "PRE_COMMIT"


@dataclass(frozen=True, slots=True)
class Comparison:
    """What is compared with what."""

    #: None: with nothing; everything there is counts as new.
    before: Sources | None
    after: Sources
    #: Paths that are not the same in both, sorted.
    changed: tuple[str, ...]
    #: How the sides are called.
    base: str
    subject: str
    #: What else a merge in progress joins: what is so there, the merge does not introduce.
    others: tuple[Sources, ...] = ()
    #: Whether there are changes that the subject does not hold.
    is_partial: bool = False
    remarks: tuple[str, ...] = ()


def compare(store: Store, args: Namespace) -> Comparison:
    """Read both sides, as the command line says; raise UsageError when one is not there."""
    from mak.store import revisions
    from mak.store.snapshot import Snapshot, Snapshots

    repository = store.repository
    shots = Snapshots(repository)
    tip = revisions.tip(repository)
    if args.pre_commit:
        args = _asked_by_pre_commit(args)
    if args.base:
        return _commits(store, args.base, tip)
    if args.all and args.tip:
        last = revisions.find(repository, args.tip)
        return _comparison(store, None, shots.commit(last), NOTHING, _named(args.tip, last))
    if args.all:
        bare = repository.root is None
        after = shots.commit(tip) if bare else shots.worktree()
        subject = _named("HEAD", tip) if bare else "the working tree"
        return _comparison(store, None, after, NOTHING, subject)
    if args.staged:
        after, subject = shots.index(), "what is staged"
        if after.conflicts:
            raise UsageError(
                f"the index holds unresolved conflicts: {', '.join(after.conflicts[:5])}",
                hint="resolve them and git add the files, or look at the files: mak check",
            )
    else:
        after, subject = shots.worktree(), "the working tree"
    base = _named("HEAD", tip) if tip else "an empty branch"
    others = tuple(shots.commit(commit) for commit in revisions.merging(repository) if tip)
    before = shots.commit(tip) if tip else Snapshot({})
    return _comparison(store, before, after, base, subject, others)


def present(store: Store) -> Sources:
    """Return the files as they are: the working tree, or in a bare repository its last commit."""
    from mak.store import revisions
    from mak.store.snapshot import Snapshot, Snapshots

    repository = store.repository
    shots = Snapshots(repository)
    if repository.root is not None:
        found = shots.worktree()
    else:
        tip = revisions.tip(repository)
        found = shots.commit(tip) if tip else Snapshot({})
    return _view(store, found)


def _asked_by_pre_commit(args: Namespace) -> Namespace:
    """Return the arguments that mean what pre-commit is about: some commits, or the next one."""
    begin, end = os.environ.get(_FROM, ""), os.environ.get(_TO, "")
    if begin and end:
        return Namespace(**{**vars(args), "base": f"{begin}...{end}"})
    if not os.environ.get(_HOOK):
        raise UsageError(
            "--pre-commit is for hooks that pre-commit runs",
            hint="mak check --staged, or mak check --base REV",
        )
    if pushed := os.environ.get(_PUSHED):
        # The first push of a whole history: there is nothing to compare with.
        return Namespace(**{**vars(args), "all": True, "tip": pushed})
    return Namespace(**{**vars(args), "staged": True})


def _commits(store: Store, revisions_: str, tip: str) -> Comparison:
    """Compare ``A`` (what it and HEAD share) with HEAD, or ``A..B`` and ``A...B`` as git diff."""
    from mak.store import revisions
    from mak.store.snapshot import Snapshots

    repository = store.repository
    begin, dots, end = revisions_.partition("...")
    if not dots:
        begin, dots, end = revisions_.partition("..")
    begin, end = begin or "HEAD", end or "HEAD"
    if not tip and "HEAD" in (begin, end):
        raise UsageError(
            f"--base {revisions_}: this branch has no commit yet",
            hint="mak check --staged looks at the first one",
        )
    last = revisions.find(repository, end)
    first = revisions.find(repository, begin)
    if dots != "..":
        first = revisions.fork(repository, begin, last)
    shots = Snapshots(repository)
    return _comparison(
        store,
        shots.commit(first),
        shots.commit(last),
        _named(begin, first),
        _named(end, last),
        is_partial=last == tip and revisions.is_dirty(repository),
    )


def _named(name: str, commit: str) -> str:
    return commit[:10] if commit.startswith(name) else f"{name} ({commit[:10]})"


def _comparison(
    store: Store,
    before: Snapshot | None,
    after: Snapshot,
    base: str,
    subject: str,
    others: tuple[Snapshot, ...] = (),
    *,
    is_partial: bool = False,
) -> Comparison:
    sides = tuple(side for side in (before, after, *others) if side is not None)
    new = _view(store, after, *sides)
    old = new.moved(before.entries, {}) if before is not None else None
    known: Mapping[str, str] = before.entries if before is not None else {}
    changed = {
        path for path in {*known, *after.entries} if known.get(path) != after.entries.get(path)
    }
    return Comparison(
        old,
        new,
        tuple(sorted(changed)),
        base,
        subject,
        tuple(new.moved(other.entries, {}) for other in others),
        is_partial,
        tuple(dict.fromkeys(remark for side in sides for remark in side.remarks)),
    )


def _view(store: Store, side: Snapshot, *others: Snapshot) -> Sources:
    """Return a side as sources, which can be moved to the others."""
    from mak.landing import newer
    from mak.store.snapshot import reader

    paths = {path for known in (side, *others) for path in known.entries}

    @cache
    def reasons() -> dict[str, str]:
        # Asked about one by one, files that are not committed would cost a process each.
        return store.opaque_reasons(sorted(paths))

    return Sources(
        side.entries,
        reader(store.repository, side, *others),
        store.cache,
        opaque=lambda path: reasons()[path],
        newer=newer,
    )
