"""The real-model suite: the same tasks by MAK, by Git worktrees, by one agent, by a command line.

``python3 benchmark/run_benchmark.py --mode real --models anthropic:claude-opus-5 --agents 3`` asks
the models that are named, with the keys of whoever runs it, and costs money; ``--mode mock`` needs
no key: a server on this machine speaks the vendors' formats and answers from the reference
implementations, with a set rate of mistakes. A mock proves the harness and says nothing of models.

Every run is a line of ``benchmark/results/<mode>.jsonl``; what is there is not run again, so that
a suite that was killed goes on where it was (``--fresh`` starts over). ``--render-only`` shows what
is there. Nothing that was not run is in a table but as "not run".
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmark.analysis.figures import draw_suite, lacking
from benchmark.analysis.suite import report
from benchmark.simulation.repository import create
from benchmark.suite.arms import ARMS
from benchmark.suite.arms.setting import NotRun, Result, Setting
from benchmark.suite.arms.worktrees import installed
from benchmark.suite.oracle import judge
from benchmark.suite.projects import PROJECTS
from benchmark.suite.reference import Rates, Reference
from benchmark.suite.wire import served
from benchmark.sweep import RESULTS, read
from mak.agents import open_agents
from mak.errors import MakError
from mak.providers import Setup
from mak.providers.endpoints import Endpoint, Price, Wire

#: How the mock's endpoint is called in a model spec.
MOCK = "mock"


@dataclass(frozen=True)
class Cell:
    """One run of one arm."""

    mode: str
    project: str
    arm: str
    models: tuple[str, ...]
    planner: str
    agents: int
    repeat: int


def cells(options: argparse.Namespace) -> Iterator[Cell]:
    """Yield every run; one agent is one agent, however many there are."""
    for repeat, project, arm in product(range(1, options.repeat + 1), options.project, options.arm):
        agents = 1 if arm == "sequential" else options.agents
        models = tuple(options.models)
        yield Cell(options.mode, project, arm, models, options.planner, agents, repeat)


def carry_out(cell: Cell, options: argparse.Namespace) -> dict[str, Any]:
    """Run one cell in a folder of its own and return its row."""
    project = PROJECTS[cell.project]()
    keep = options.keep
    folder = Path(tempfile.mkdtemp(prefix=f"mak-{cell.project}-{cell.arm}-"))
    with ExitStack() as stack:
        if not keep:
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
        setup = Setup(prices=options.prices)
        if cell.mode == "mock":
            reference = Reference(project, Rates(), options.seed + cell.repeat)
            url = stack.enter_context(served(reference.answer, latency=options.latency))
            setup = Setup(own={MOCK: Endpoint(MOCK, Wire.ANTHROPIC, url)}, variables={})
        create(folder / "main", dict(project.files))
        setting = Setting(
            folder, project, cell.models, cell.planner, cell.agents, setup, options.command
        )
        try:
            result = asyncio.run(_run(cell.arm, setting))
        except NotRun as error:
            return {**asdict(cell), "not_run": str(error)}
        verdict = judge(project, folder / "main")
        if keep:
            print(f"kept: {folder / 'main'}", file=sys.stderr)
    return {**asdict(cell), **_row(result, cell), **_oracle(verdict, project)}


async def _run(arm: str, setting: Setting) -> Result:
    return await ARMS[arm](setting)


def _row(result: Result, cell: Cell) -> dict[str, Any]:
    usage, planner = result.usage, result.planner_usage
    return {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "seconds": round(result.seconds, 3),
        "input": usage.input,
        "output": usage.output,
        "cached": usage.cached,
        "calls": usage.calls,
        "cost": usage.cost if cell.mode == "real" else None,
        "estimated": usage.estimated,
        "planner_input": planner.input,
        "planner_output": planner.output,
        "conflicts": result.conflicts,
        "resolver_calls": result.resolver_calls,
        "retries": result.retries,
        "escalations": result.escalations,
        "missing": result.missing,
        "failed": result.failed,
        "reason": result.reason,
    }


def _oracle(verdict: Any, project: Any) -> dict[str, Any]:
    return {
        "tasks": len(project.tasks),
        "tests": len(project.tests),
        "passed": verdict.passed,
        "not_passed": sorted(n for n, ended in verdict.tests.items() if ended != "passed"),
        "registrations": len([*project.rows()]),
        "lost": len(verdict.lost),
    }


def key_of(row: dict[str, Any]) -> str:
    """Return what tells one run from another."""
    return json.dumps([row[name] for name in Cell.__dataclass_fields__])


def arguments(words: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line; whatever is wrong is said before anything is asked or spent."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--mode", choices=("mock", "real"), required=True)
    parser.add_argument("--models", nargs="+", metavar="SPEC", help="tasks take them in turn")
    parser.add_argument("--planner", metavar="SPEC", help="default: the first of the models")
    parser.add_argument("--agents", type=int, default=3)
    parser.add_argument("--project", nargs="+", choices=[*PROJECTS], default=[*PROJECTS])
    parser.add_argument("--arm", nargs="+", choices=[*ARMS], default=[*ARMS])
    parser.add_argument("--repeat", type=int, default=1, help="runs of everything")
    parser.add_argument(
        "--cli", metavar="COMMAND", help="agentic command line, with {prompt} in it"
    )
    parser.add_argument(
        "--price",
        nargs="+",
        default=[],
        metavar="SPEC=IN,OUT[,CACHED]",
        help="US dollars for a million tokens, where no table knows them (a gateway of one's own)",
    )
    parser.add_argument("--keep", action="store_true", help="keep the finished repositories")
    parser.add_argument("--fresh", action="store_true", help="start over")
    parser.add_argument("--render-only", action="store_true", help="only report what is there")
    parser.add_argument("--figures", action="store_true", help="draw (needs matplotlib)")
    parser.add_argument("--latency", type=float, default=0.02, help="mock: seconds of an answer")
    parser.add_argument("--seed", type=int, default=0, help="mock: what mistakes are drawn from")
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args(words)
    if options.figures and (why := lacking()):
        parser.error(f"--figures {why}")
    if options.mode == "mock":
        if options.models:
            parser.error("--models is for --mode real: a mock answers from the references")
        options.models = [f"{MOCK}:reference"]
    elif not options.models and not options.render_only:
        parser.error("--mode real needs --models, and their keys: they are asked, and paid")
    try:
        options.prices = dict(map(_price, options.price))
    except (ValueError, TypeError):
        parser.error(f"--price {' '.join(options.price)}: write SPEC=IN,OUT or SPEC=IN,OUT,CACHED")
    options.models = options.models or []
    options.planner = options.planner or (options.models or [""])[0]
    options.command = tuple(shlex.split(options.cli)) if options.cli else ()
    if not options.command and options.mode == "real":
        options.command = installed()
    if options.mode == "real" and not options.render_only:
        try:
            for spec in {*options.models, options.planner}:
                open_agents([spec])
        except MakError as error:
            parser.error(f"{error}" + (f" ({error.hint})" if error.hint else ""))
    return options


def _price(text: str) -> tuple[str, Price]:
    spec, _, figures = text.partition("=")
    return spec, Price(*map(float, figures.split(",")))


def main(words: Sequence[str] | None = None) -> int:
    """Run what is not there yet, and print the report."""
    options = arguments(words)
    options.results.mkdir(parents=True, exist_ok=True)
    file = options.results / f"{options.mode}.jsonl"
    if options.fresh and not options.render_only:
        file.unlink(missing_ok=True)
    rows = read(file)
    done = {key_of(row) for row in rows}
    wanted = [] if options.render_only else [*cells(options)]
    for number, cell in enumerate(wanted, 1):
        if key_of(asdict(cell) | {"models": list(cell.models)}) in done:
            continue
        row = carry_out(cell, options)
        print(f"{number} of {len(wanted)}: {_brief(row)}", file=sys.stderr, flush=True)
        if "not_run" in row:
            rows.append(row)
            continue
        with file.open("a") as out:
            out.write(json.dumps(row) + "\n")
            out.flush()
            os.fsync(out.fileno())
        rows.append(json.loads(json.dumps(row)))
    text = report(rows, options.mode)
    (options.results / f"{options.mode}.md").write_text(text)
    print(text, end="")
    if options.figures and (ran := [row for row in rows if "not_run" not in row]):
        print(*draw_suite(ran, options.results, options.mode), sep="\n")
    return 0


def _brief(row: dict[str, Any]) -> str:
    name = f"{row['project']} {row['arm']}"
    if "not_run" in row:
        return f"{name}: not run: {row['not_run']}"
    return f"{name}: {row['passed']} of {row['tests']} tests, {row['seconds']:.1f} s"


if __name__ == "__main__":
    raise SystemExit(main())
