"""How well the checks tell right code from broken code, and how long that takes.

``python benchmark/checks.py`` takes released packages (`benchmark/packages.py`; downloaded by pip)
and prints

1. what the checks find in them, all of it, as if every line were new: released code is right but
   for its own bugs, so that most findings would be false;
2. what share of known breaks they find, by kind of break (`benchmark/mutations.py`);
3. CPU and wall time on Django, cold, warm and after one changed file, beside pyflakes, ruff and
   mypy.

``false``, ``true`` and ``speed`` as arguments choose among them.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from pathlib import Path

from mutations import KINDS, Package, mutations
from packages import PACKAGES, STDLIB, files_of, sources_of
from speed import measure

from mak.checks import check_trees
from mak.model import Finding
from mak.source import Sources, split
from mak.source.graph import graph_of

FOLDER = Path(__file__).parent.parent / ".material" / "packages"


def print_false(names: list[str], folder: Path, *, verbose: bool) -> None:
    """Print what is found in released code, against nothing."""
    print("\nreleased code, as if every line were new\n")
    print("| package | files | call sites checked | findings | CPU s |")
    print("|---|---:|---:|---:|---:|")
    total = Counter[str]()
    sites = 0
    everything: list[tuple[str, Finding]] = []
    for name in names:
        sources = sources_of(files_of(name, folder))
        started = time.process_time()
        found = check_trees(None, sources)
        spent = time.process_time() - started
        graph = graph_of(sources)
        checked = sum(bool(site.signatures) for path in graph.paths for site in graph.calls(path))
        sites += checked
        total.update(finding.check for finding in found)
        everything += [(name, finding) for finding in found]
        print(f"| {name} | {len(graph.paths)} | {checked:,} | {len(found)} | {spent:.1f} |")
    print("\n| check | findings |\n|---|---:|")
    for check, count in total.most_common():
        print(f"| {check} | {count} |")
    print(f"\n{sites:,} call sites checked")
    for name, finding in everything if verbose else ():
        at = f"{finding.node.path}:{finding.line}"
        print(f"{name}: {at}: {finding.check}: {finding.message}")


def print_true(
    names: list[str], kinds: list[str], folder: Path, count: int, seed: int, *, verbose: bool
) -> None:
    """Print what share of known breaks is found, by kind."""
    print("\nknown breaks\n")
    tried, places, seen = Counter[str](), Counter[str](), Counter[str]()
    for name in names:
        files = files_of(name, folder)
        package, sources = Package(files), sources_of(files)
        for kind in kinds:
            for mutation in mutations(package, kind, count, seed):
                missed = mutation.where - _found(sources, mutation.files, mutation.checks)
                tried[kind] += 1
                places[kind] += len(mutation.where)
                seen[kind] += len(mutation.where) - len(missed)
                if missed and verbose:
                    print(f"missed: {name}: {kind}: {[*mutation.files]}: {sorted(missed)}")
    print("| break | edits | places that it breaks | found |")
    print("|---|---:|---:|---:|")
    for kind in kinds:
        share = 100 * seen[kind] / places[kind] if places[kind] else float("nan")
        print(f"| {kind} | {tried[kind]} | {places[kind]} | {share:.1f} % |")


def _found(before: Sources, files: dict[str, bytes | None], checks: frozenset[str]) -> set[str]:
    after = before.overlay(
        {path: None if data is None else split(data, path) for path, data in files.items()}
    )
    return {f.node.path for f in check_trees(before, after) if f.check in checks}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("what", nargs="*", metavar="false|true|speed")
    parser.add_argument("--packages", nargs="+", default=[STDLIB, *PACKAGES])
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--count", type=int, default=8, help="breaks by kind and package")
    parser.add_argument("--kinds", nargs="+", default=[""], help="words in the kinds of breaks")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--verbose", action="store_true", help="name what is found, and missed")
    options = parser.parse_args()
    wanted = options.what or ["false", "true", "speed"]
    if "false" in wanted:
        print_false(options.packages, options.folder, verbose=options.verbose)
    if "true" in wanted:
        packages = [name for name in options.packages if name != STDLIB]
        kinds = [kind for kind in KINDS if any(word in kind for word in options.kinds)]
        print_true(
            packages, kinds, options.folder, options.count, options.seed, verbose=options.verbose
        )
    if "speed" in wanted:
        measure(options.folder, options.repeat)


if __name__ == "__main__":
    main()
