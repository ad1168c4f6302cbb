"""Before, after → findings: one rule per file, listed in `CHECKS`.

Precision goes before recall: a false finding costs a retry and trust, a missed one is what tests
are for. A rule that cannot be sure stays silent, and only what the change introduced is found.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from mak.checks import (
    call,
    duplicate,
    duplicate_key,
    elision,
    granted,
    gutting,
    import_cycle,
    inert,
    interface,
    lost,
    missing_field,
    override,
    protected,
    stale,
    syntax,
    unbound,
    unknown_attribute,
    unknown_export,
    unknown_import,
    unknown_key,
)
from mak.checks.change import Change, Check
from mak.checks.protected import protected as protected_reason
from mak.checks.trees import Files, Trees, introduced
from mak.checks.view import View
from mak.model import Finding, NodeId
from mak.source import SourceFile, Sources
from mak.source.collector import paused
from mak.source.facts import BindingKind
from mak.source.names import Reference, references
from mak.workers import forked

__all__ = [
    "CHECKS",
    "Change",
    "Check",
    "Files",
    "Trees",
    "check_trees",
    "protected_reason",
    "run_checks",
]

#: Every check. All of them block.
CHECKS: tuple[Check, ...] = (
    protected.CHECK,
    granted.CHECK,
    syntax.CHECK,
    duplicate.CHECK,
    lost.CHECK,
    elision.CHECK,
    gutting.CHECK,
    inert.CHECK,
    interface.CHECK,
    unbound.CHECK,
    unknown_import.CHECK,
    unknown_attribute.CHECK,
    unknown_export.CHECK,
    call.CHECK,
    missing_field.CHECK,
    override.CHECK,
    import_cycle.CHECK,
    duplicate_key.CHECK,
    unknown_key.CHECK,
    stale.CHECK,
)


_DEFINED = (BindingKind.FUNCTION, BindingKind.CLASS)


def run_checks(change: Change) -> tuple[Finding, ...]:
    """Return what the checks find, in their order.

    What was `checked` before goes only to those checks that look beyond it.
    """
    before, after = (
        {path: file for path, file in side.items() if path not in change.checked}
        for side in (change.before, change.after)
    )
    rest = replace(change, before=before, after=after) if change.checked else change
    found: list[Finding] = []
    told: set[tuple[str, str]] = set()
    for check in CHECKS:
        for finding in check.findings(change if check.looks_beyond else rest):
            # Who is told that a definition goes need not hear of each place that misses it.
            if check.rule is None:
                told.update((finding.node.path, need.node.path) for need in finding.needs)
            elif any((place.path, finding.node.path) in told for place in finding.related):
                continue
            found.append(finding)
    return tuple(found)


def check_trees(
    before: Sources | None,
    after: Sources,
    *,
    paths: Collection[str] | None = None,
    select: Collection[str] = (),
    ignore: Collection[str] = (),
) -> tuple[Finding, ...]:
    """Return what a person's change of a tree introduces, by file, line and check.

    `before` is None: everything that the checks find in `after`. `paths` are the files to report
    on (None: all); `select` and `ignore` are ids of checks, where nothing selected means all.
    """
    with paused():
        found = _check_trees(before, after, select, ignore)
    order = {check.id: number for number, check in enumerate(CHECKS)}
    return tuple(
        sorted(
            (f for f in dict.fromkeys(found) if paths is None or f.node.path in paths),
            key=lambda f: (f.node.path, f.line, f.column, order[f.check]),
        )
    )


def _check_trees(
    before: Sources | None, after: Sources, select: Collection[str], ignore: Collection[str]
) -> list[Finding]:
    chosen = [
        check
        for check in CHECKS
        if check.for_people and (not select or check.id in select) and check.id not in ignore
    ]
    if before is None:
        return _check_tree(after, chosen)
    changed = _changed(before, after)
    trees = Trees(before, after, changed)
    change = _change(trees, changed, lambda node, files: references(before.overlay(files), node))
    return [finding for check in chosen for finding in _judged(check, change, trees)]


def _check_tree(tree: Sources, chosen: Sequence[Check]) -> list[Finding]:
    """Return what the checks find in a tree by itself; its files are shared out to the cores."""
    trees = Trees(None, tree, ())
    trees.after.names.index.read()
    paths = trees.after.graph.paths
    of_all = [check for check in chosen if check.rule is None and check.looks_beyond]
    of_one = [check for check in chosen if check not in of_all]
    here = os.getpid()

    def judge(share: Sequence[str]) -> list[Finding]:
        if os.getpid() != here:
            tree.keep_nothing()
        trees.affected = tuple(share)
        change = _change(trees, [path for path in share if _is_odd(trees.after, path)])
        return [finding for check in of_one for finding in _judged(check, change, trees)]

    cores = min(_CORES, _cores(), len(paths) // _SHARE + 1)
    found = [f for some in forked(judge, _shares(trees.after, paths, cores)) for f in some]
    change = _change(trees, ())
    return found + [finding for check in of_all for finding in _judged(check, change, trees)]


def _shares(view: View, paths: Sequence[str], count: int) -> list[list[str]]:
    """Split paths into shares of about the same work: neighbours, who ask about the same names."""
    work = [1 + len(facts.chains) if (facts := view.facts(path)) else 1 for path in paths]
    total, done = sum(work), 0
    shares: list[list[str]] = [[] for _ in range(count)]
    for path, own in zip(paths, work, strict=True):
        shares[done * count // total].append(path)
        done += own
    return shares


#: Processes that judge a tree, at most, and the files that one is worth.
_CORES = 4
_SHARE = 100


def _cores() -> int:
    """Return the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _change(
    trees: Trees,
    changed: Iterable[str],
    uses: Callable[[NodeId, Mapping[str, SourceFile | None]], Sequence[Reference]] = (
        lambda node, files: ()
    ),
) -> Change:
    before = trees.before.sources if trees.before is not None else None
    after = trees.after.sources
    return Change(
        before={p: before.file(p) if before and p in before else None for p in changed},
        after={p: after.file(p) if p in after else None for p in changed},
        references=uses,
        trees=trees,
        by_person=True,
    )


def _is_odd(view: View, path: str) -> bool:
    """Whether a rule about the nodes of a file alone may find something in it.

    The others need no nodes, and to cut a file takes as long as to judge it.
    """
    facts = view.facts(path)
    if facts is None or not view.names.index.compiles(path):
        return True
    defined = Counter((b.scope, b.name) for b in facts.bindings if b.kind in _DEFINED)
    return any(
        count > 1 or (scope == 0 and len(facts.bound(0, name)) > 1)
        for (scope, name), count in defined.items()
    )


def _judged(check: Check, change: Change, trees: Trees) -> Iterator[Finding]:
    if check.rule is not None:
        return introduced(check.id, check.rule, trees)
    return iter(check.findings(change))


def _changed(before: Sources | None, after: Sources) -> list[str]:
    """Return the paths that are not the same in both trees."""
    if before is None:
        return [*after.paths]
    return sorted(
        {
            path
            for path in {*before.paths, *after.paths}
            if (path in before) != (path in after)
            or (path in after and before.blob(path) != after.blob(path))
        }
    )
