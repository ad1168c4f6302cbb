"""The contention study: how often changes of real repositories meet in a file, a node, a signature.

``python -m benchmark.contention_study run --repo PATH…`` studies clones that are on this machine
(an address is refused: the study downloads nothing) and writes a JSON document each, then the
tables and the datasheet; ``render`` writes these anew from the documents, with ``--plots`` also
the plots, light and dark.
"""

from __future__ import annotations

import argparse
import json
from concurrent.futures import ProcessPoolExecutor
from dataclasses import fields
from pathlib import Path

from benchmark.analysis.figures import lacking
from benchmark.contention_study.plots import draw
from benchmark.contention_study.report import datasheet, tables
from benchmark.contention_study.study import Sizes, study
from mak.errors import MakError

RESULTS = Path(__file__).resolve().parent.parent / "results/contention"


def main(words: list[str] | None = None) -> int:
    """Study clones, or render what was found."""
    parser = argparse.ArgumentParser(prog="python -m benchmark.contention_study")
    parser.add_argument("--results", type=Path, default=RESULTS)
    actions = parser.add_subparsers(dest="action", required=True)
    run = actions.add_parser("run", help="study clones, then render")
    run.add_argument("--repo", nargs="+", required=True, metavar="PATH")
    run.add_argument("--jobs", type=int, default=1, help="repositories at a time")
    normal = Sizes()
    for size in fields(Sizes):
        value = getattr(normal, size.name)
        run.add_argument(f"--{size.name}", type=int, default=value, help=f"normally {value}")
    for each in (run, actions.add_parser("render", help="write tables and datasheet anew")):
        each.add_argument("--plots", action="store_true", help="draw (needs matplotlib)")
    args = parser.parse_args(words)
    if args.plots and (why := lacking()):
        parser.error(f"--plots {why}")
    args.results.mkdir(parents=True, exist_ok=True)
    if args.action == "run":
        for repo in args.repo:
            if "://" in repo or not Path(repo).is_dir():
                parser.error(f"{repo}: no folder here. The study downloads nothing: clone it first")
        sizes = Sizes(**{size.name: getattr(args, size.name) for size in fields(Sizes)})
        try:
            with ProcessPoolExecutor(args.jobs) as pool:
                for found in pool.map(study, map(Path, args.repo), [sizes] * len(args.repo)):
                    file = args.results / f"{found['repository'].replace('/', '-')}.json"
                    file.write_text(json.dumps(found, indent=1) + "\n")
        except MakError as error:
            parser.error(str(error))
    documents = [json.loads(path.read_text()) for path in sorted(args.results.glob("*.json"))]
    if not documents:
        parser.error(f"there is no result in {args.results}")
    text = tables(documents)
    (args.results / "tables.md").write_text(text)
    (args.results / "datasheet.md").write_text(datasheet(documents))
    print(text, end="")
    if args.plots:
        print(*draw(documents, args.results), sep="\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
