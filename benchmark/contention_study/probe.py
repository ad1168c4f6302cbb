"""Whether merges that Git calls clean are: MAK's checks on the merged tree.

What counts is what neither side brought about by itself: a finding in the merge that is in neither
of the two changes on the same base.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from benchmark.contention_study.verdicts import Quarantine, Verdict, entries
from mak.checks import check_trees
from mak.source import Sources
from mak.study.history import Blobs


def broken(git: Quarantine, verdict: Verdict) -> list[str]:
    """Return what only the merge of both changes breaks, a line each."""
    blobs = Blobs(git)
    trees = {
        name: {p: b for p, b in entries(git, commit).items() if p.endswith((".py", ".pyi"))}
        for name, commit in (
            ("base", verdict.base),
            ("ours", verdict.ours),
            ("theirs", verdict.theirs),
            ("merged", verdict.merged),
        )
    }
    blobs.load([blob for files in trees.values() for blob in files.values()])
    base = Sources(trees["base"], _reader(blobs))

    def found(name: str) -> Mapping[tuple[str, str, str], str]:
        after = base.moved(trees[name], {})
        return {
            (f.check, str(f.node), f.message): f"{f.check} {f.node}: {f.message}"
            for f in check_trees(base, after)
        }

    alone = {**found("ours"), **found("theirs")}
    return [line for key, line in found("merged").items() if key not in alone]


def _reader(blobs: Blobs) -> Callable[[str], bytes]:
    def read(blob: str) -> bytes:
        return blobs.read(blob) or b""

    return read
