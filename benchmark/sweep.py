"""The simulated suite: the same work by the kernel, by Git worktrees and by one agent.

``python benchmark/sweep.py --config benchmark/sweeps/smoke.yaml --fresh`` runs every cell of a
sweep (arm, shape, agents, form of the entries, seed) and prints the table and the verdicts. The
coordination is real: the kernel, its store, locks, waves and commits; Git's worktrees, merges and
conflicts. Agents are modelled (`benchmark.simulation.model`), on a clock that skips the time in
which nothing is computed (`benchmark.simulation.clock`): seconds are real ones, unscaled.

Results go to ``benchmark/results/<sweep>/<arm>.jsonl``, a line per cell; a sweep goes on where it
was stopped, ``--fresh`` starts it over, ``--only`` carries out and shows a part. A result that
cannot be (`result.violations`) ends it.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmark.analysis.figures import draw, lacking
from benchmark.analysis.table import report
from benchmark.simulation import clock
from benchmark.simulation.arms import ARMS
from benchmark.simulation.model import Model
from benchmark.simulation.result import violations
from benchmark.simulation.workload import Shape, make
from mak.config import read_document

RESULTS = Path(__file__).resolve().parent / "results"


@dataclass(frozen=True, slots=True)
class Cell:
    """One run of one arm."""

    arm: str
    shape: str
    agents: int
    lines: int
    sort: bool
    seed: int
    tasks: int

    @property
    def key(self) -> dict[str, object]:
        """What names the cell in the results."""
        return {name: getattr(self, name) for name in self.__slots__}


def cells(config: dict[str, Any]) -> Iterator[Cell]:
    """Yield every cell of a sweep; one agent is one agent, however many there are."""
    done = set()
    for shape, agents, entry, seed, arm in product(
        config["shapes"], config["agents"], config["entries"], config["seeds"], config["arms"]
    ):
        if shape not in entry.get("shapes", config["shapes"]):
            continue
        count = 1 if arm == "sequential" else agents
        cell = Cell(arm, shape, count, entry["lines"], entry["sort"], seed, config["tasks"])
        if cell not in done:
            done.add(cell)
            yield cell


def chosen(cell: Cell, only: Sequence[str]) -> bool:
    """Whether a cell has one of the values of each ``NAME=VALUE,VALUE``; raise ValueError."""
    for text in only:
        name, _, values = text.partition("=")
        if name not in Cell.__slots__:
            raise ValueError(f"{text}: a cell has {', '.join(Cell.__slots__)}")
        if str(getattr(cell, name)).lower() not in values.lower().split(","):
            return False
    return True


def carry_out(cell: Cell, parameters: dict[str, Any]) -> dict[str, Any]:
    """Run one cell; raise when its result cannot be."""
    model = Model(seed=cell.seed, **parameters)
    workload = make(Shape(cell.shape), cell.tasks, cell.seed, lines=cell.lines, sort=cell.sort)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mak-sweep-") as folder:
        arm = ARMS[cell.arm]
        result = clock.run(lambda: arm(Path(folder), workload, model, cell.agents))
    row = result.row(workload, cell.agents)
    if wrong := violations(row, cell.agents):
        raise SystemExit(f"{cell}: {'; '.join(wrong)}")
    return {**cell.key, **row, "took": time.monotonic() - began}


def main() -> None:
    """Run a sweep and print its report."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--fresh", action="store_true", help="start over")
    parser.add_argument("--render-only", action="store_true", help="only report what is there")
    parser.add_argument("--figures", action="store_true", help="draw (needs matplotlib)")
    parser.add_argument(
        "--only",
        nargs="+",
        default=[],
        metavar="NAME=VALUE,…",
        help="leave out the cells that differ: agents=8,200 seed=1 lines=1 sort=false",
    )
    parser.add_argument("--jobs", type=int, default=2, help="cells at a time")
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    if options.figures and (why := lacking()):
        parser.error(f"--figures {why}")
    config = read_document(options.config)
    folder = options.results / options.config.stem
    if options.fresh and not options.render_only:
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    known = {name: read(folder / f"{name}.jsonl") for name in config["arms"]}
    done = {key_of(row) for rows in known.values() for row in rows}
    try:
        wanted = [cell for cell in cells(config) if chosen(cell, options.only)]
    except ValueError as error:
        parser.error(str(error))
    todo = [] if options.render_only else [c for c in wanted if key_of(c.key) not in done]
    with ProcessPoolExecutor(options.jobs) as pool:
        running = [pool.submit(carry_out, cell, config["model"]) for cell in todo]
        for number, future in enumerate(as_completed(running), 1):
            if future.exception() is not None:
                pool.shutdown(wait=False, cancel_futures=True)
            row = future.result()
            with (folder / f"{row['arm']}.jsonl").open("a") as out:
                out.write(json.dumps(row) + "\n")
            known[row["arm"]].append(row)
            if sys.stderr.isatty():
                print(f"\r{number} of {len(todo)} ", end="", file=sys.stderr, flush=True)
    shown = {key_of(cell.key) for cell in wanted}
    rows = [row for name in config["arms"] for row in known[name] if key_of(row) in shown]
    print(report(rows, folder))
    if options.figures:
        print(*draw(rows, folder), sep="\n")


def read(path: Path) -> list[dict[str, Any]]:
    """Read results; a last line that was cut off is dropped."""
    if not path.exists():
        return []
    lines = path.read_text().splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines.pop()
        path.write_text("".join(lines))
    return [json.loads(line) for line in lines]


def key_of(row: dict[str, Any]) -> tuple[object, ...]:
    """Return what tells one cell from another."""
    return tuple(row[name] for name in Cell.__slots__)


if __name__ == "__main__":
    main()
