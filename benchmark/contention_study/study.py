"""The study of one repository: everything that is counted, as the data of a JSON document."""

from __future__ import annotations

import random
import re
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmark.contention_study.probe import broken
from benchmark.contention_study.validate import validate
from benchmark.contention_study.verdicts import Bucket, judge, quarantine, really_merges
from mak.study import Grain, meetings, read_history
from mak.study.contention import (
    AGENTS,
    Footprint,
    Hot,
    footprints,
    hot_nodes,
    in_flight,
    only,
    replay,
    worth,
)
from mak.study.history import Blobs, Change, open_git
from mak.study.statistics import gini, tail_exponent, wilson

#: Nodes listed of each repository.
_HOTTEST = 15
_FORGE = re.compile(r"[:/]([^/:]+/[^/:]+?)(?:\.git)?/?$")


@dataclass(frozen=True)
class Sizes:
    """How much of a history is looked at."""

    changes: int = 2000
    #: Pairs that share a file and are merged.
    pairs: int = 200
    #: Of these, pairs that are also merged by ``git merge`` in a working tree.
    real: int = 20
    #: Clean merges that are probed with MAK's checks.
    probed: int = 20
    #: Changes whose files are walked to validate the mapper.
    validated: int = 300
    seed: int = 1


def name_of(path: Path) -> str:
    """Return what a clone is called: by its remote, else by its folder."""
    remote = open_git(path).run("config", "remote.origin.url", check=False).decode().strip()
    found = _FORGE.search(remote)
    if found and "://" in remote:
        return found[1]
    return path.resolve().name.removesuffix(".git")


def study(path: Path, sizes: Sizes) -> dict[str, Any]:
    """Study one clone; everything drawn is drawn from the seed."""
    began = time.monotonic()
    git = open_git(path)
    history = read_history(git, limit=sizes.changes)
    blobs = Blobs(git)
    _say(f"{path}: {len(history.changes)} changes")
    prints = footprints(history.changes, blobs)
    pairs = list(in_flight(prints))
    chance = random.Random(sizes.seed)
    sharing = [pair for pair in pairs if pair[0].meets(pair[1], Grain.FILE)]
    sample = chance.sample(sharing, min(sizes.pairs, len(sharing)))
    _say(f"{path}: {len(pairs)} pairs in flight, {len(sharing)} share a file")
    walked = chance.sample(history.changes, min(sizes.validated, len(history.changes)))
    verdicts, real, probed = _merges(path, sample, sizes, chance)
    python = only(prints, lambda name: name.endswith((".py", ".pyi")))
    agreement = validate(walked, blobs)
    return {
        "repository": name_of(path),
        "tip": history.tip,
        "sizes": asdict(sizes),
        "history": _about(history.changes, history.empty),
        "in_flight": {
            "all": _meetings(pairs),
            "python": _meetings(list(in_flight(python))),
        },
        "replay": {"all": _replay(prints), "python": _replay(python)},
        "verdicts": _verdicts(verdicts),
        "git_merge": real,
        "probe": probed,
        "nodes": {"all": _spread(hot_nodes(prints)), "python": _spread(hot_nodes(python))},
        "mapper": {
            **asdict(agreement),
            "coverage": agreement.coverage,
            "recall": agreement.recall,
        },
        "seconds": round(time.monotonic() - began, 1),
    }


def _merges(
    path: Path,
    sample: Sequence[tuple[Footprint, Footprint]],
    sizes: Sizes,
    chance: random.Random,
) -> tuple[list[Any], dict[str, Any], dict[str, Any]]:
    with quarantine(open_git(path)) as git:
        verdicts = [judge(git, one, other) for one, other in sample]
        _say(f"{path}: {len(verdicts)} pairs merged")
        merged = [v for v in verdicts if v.base]
        drawn = chance.sample(merged, min(sizes.real, len(merged)))
        agree, differing = 0, []
        for verdict, clean in really_merges(git, drawn):
            same = clean == (verdict.bucket is Bucket.CLEAN)
            agree += same
            if not same:
                differing.append([verdict.earlier, verdict.later])
        real = {"pairs": len(drawn), "agree": agree, "differing": differing}
        clean = [v for v in verdicts if v.bucket is Bucket.CLEAN]
        looked = clean[: sizes.probed]
        found = []
        for verdict in looked:
            if lines := broken(git, verdict):
                found.append({"pair": [verdict.earlier, verdict.later], "findings": lines})
        _say(f"{path}: {len(looked)} clean merges probed")
        probed = {
            "merges": len(looked),
            "broken": len(found),
            "interval": wilson(len(found), len(looked)),
            "found": found,
        }
    return verdicts, real, probed


def _about(changes: Sequence[Change], empty: int) -> dict[str, Any]:
    files = sorted(len(change.files) for change in changes)
    under_way = sorted(c.landed - c.began - 1 for c in changes if c.began >= 0)
    return {
        "changes": len(changes),
        "empty": empty,
        "authors": len({change.author for change in changes}),
        "forms": dict(sorted(Counter(change.form for change in changes).items())),
        "begin_known": len(under_way),
        "files_median": files[len(files) // 2] if files else 0,
        "landed_meanwhile_median": under_way[len(under_way) // 2] if under_way else None,
        "oldest": changes[0].commit if changes else "",
    }


def _meetings(pairs: Sequence[tuple[Footprint, Footprint]]) -> dict[str, Any]:
    found = meetings(pairs)
    shared = appended = 0
    for one, other in pairs:
        for node in one.nodes.keys() & other.nodes.keys():
            shared += 1
            appended += one.nodes[node] and other.nodes[node]
    return {
        "pairs": found.pairs,
        **{str(grain): {"met": found.met[grain], "rate": found.rate(grain)} for grain in Grain},
        "shared_nodes": shared,
        "append_only": appended,
        "append_interval": wilson(appended, shared),
    }


def _replay(prints: Sequence[Footprint]) -> dict[str, Any]:
    rows: dict[str, Any] = {}
    for grain in Grain:
        replays = [found for agents in AGENTS if (found := replay(prints, agents, grain))]
        rows[str(grain)] = {
            "worth": worth(replays),
            "waves": [{**asdict(one), "speedup": one.speedup} for one in replays],
        }
    return rows


def _verdicts(verdicts: Sequence[Any]) -> dict[str, Any]:
    buckets = Counter(verdict.bucket for verdict in verdicts)
    merged = [v for v in verdicts if v.base]
    both = Counter((str(v.bucket), bool(v.mak_clean)) for v in merged)
    return {
        "pairs": len(verdicts),
        "buckets": {
            str(bucket): {
                "pairs": buckets[bucket],
                "interval": wilson(buckets[bucket], len(verdicts)),
            }
            for bucket in Bucket
        },
        "fitted": sum(v.bucket is Bucket.CHANGE and not v.base for v in verdicts),
        "merged": len(merged),
        "git_clean": sum(v.bucket is Bucket.CLEAN for v in merged),
        "mak_clean": sum(bool(v.mak_clean) for v in merged),
        "only_git": both["clean", False],
        "only_git_whole": sum(v.bucket is Bucket.CLEAN and v.mak_whole for v in merged),
        "only_mak": both["change-versus-change", True],
        "why": sorted({v.why for v in verdicts if v.why})[:5],
    }


def _spread(hot: Sequence[Hot]) -> dict[str, Any]:
    counts = [one.changes for one in hot]
    files: Counter[str] = Counter()
    for one in hot:
        files[one.node.path] += one.changes
    return {
        "touched": len(hot),
        "gini": gini(counts),
        "tail_exponent": tail_exponent(counts),
        "tail_exponent_files": tail_exponent(list(files.values())),
        "adds": sum(one.adds for one in hot),
        "touches": sum(counts),
        "histogram": sorted(Counter(counts).items()),
        "hottest": [
            {"node": str(one.node), "changes": one.changes, "adds": one.adds}
            for one in hot[:_HOTTEST]
        ],
    }


def _say(text: str) -> None:
    if sys.stderr.isatty():
        print(text, file=sys.stderr)
