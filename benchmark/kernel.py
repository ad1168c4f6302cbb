"""What the kernel itself costs: one-node tasks by agents that answer at once.

``python benchmark/kernel.py`` prints, for repositories of 20, 200 and 2,000 files and for 50, 200
and 1,000 tasks, the CPU and wall time per task (planning, locks, parking, judging, checks and
commits included, child processes too) beside the same edits made in four Git worktrees that are
merged at the end; where that time goes by room; what 1,100 tasks in one chain take; the first read
of a repository beside ``ast.parse`` over the same bytes, and the start on one that was read before.
Last comes what the project aims at, met or missed.

All figures come from one run. Each is the lowest of ``--repeat`` runs: another process on the
machine can only add to it. No two repositories hold the same text, so that nothing that a run has
worked out serves another.
"""

from __future__ import annotations

import argparse
import ast
import cProfile
import gc
import itertools
import json
import os
import pstats
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio

import mak
from mak import kernel
from mak.config import Config
from mak.landing import sources_at
from mak.model import NodeId, Plan, RunState, Task
from mak.store import Store

#: Functions of a file, and statements of a function.
FUNCTIONS, STATEMENTS = 20, 6
WORKTREES = 4
CHAIN = 1100
ROOMS = ("source", "store", "schedule", "plan", "agents", "checks")

_salts = itertools.count(1)


@dataclass
class Spent:
    """Seconds: CPU of this process and its children, and wall clock."""

    cpu: float = 0.0
    wall: float = 0.0


@contextmanager
def measured() -> Iterator[Spent]:
    """Measure a block."""
    gc.collect()
    spent = Spent()
    cpu, wall = _cpu(), time.perf_counter()
    yield spent
    spent.cpu, spent.wall = _cpu() - cpu, time.perf_counter() - wall


def _cpu() -> float:
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


def lowest(times: int, once: Callable[[], Spent]) -> Spent:
    """Return the run that took the least CPU."""
    return min((once() for _ in range(times)), key=lambda spent: spent.cpu)


# ------------------------------------------------------------------------------------ material


@dataclass(frozen=True)
class Work:
    """One edit: a function of a file gets another statement, and returns what that makes."""

    path: str
    index: int
    source: str


class Material:
    """A repository to work on, and the work."""

    def __init__(self, root: Path, files: int) -> None:
        self.root = root
        self.files = files
        self.salt = next(_salts)
        root.mkdir(parents=True)
        git(root, "init", "-q", "-b", "main")
        for number in range(files):
            path = root / path_of(number)
            path.parent.mkdir(exist_ok=True)
            path.write_text(self.module(number))
        git(root, "add", "-A")
        git(root, "commit", "-q", "-m", "base")

    def read(self) -> None:
        """Let the kernel read the repository, so that a run finds it known."""
        with Store.open(self.root) as store:
            sources_at(store, store.tip()).load()

    def read_before(self) -> None:
        """Let another process find out what runs do, as a run before would have left it."""
        self.read()
        subprocess.run([sys.executable, "-c", _KNOW, str(self.root)], check=True)

    def module(self, number: int) -> str:
        """Return the text of a file."""
        head = f'"""Module {number}."""\n\nfrom __future__ import annotations\n\nimport os\n\n\n'
        return head + "\n\n".join(self.function(number, index, 0) for index in range(FUNCTIONS))

    def function(self, number: int, index: int, value: int) -> str:
        """Return the text of a function."""
        start = self.salt * 10_000 + number
        lines = [f"    x{i} = argument * {i} + {start} % {index + 1}\n" for i in range(STATEMENTS)]
        if value:
            lines.append(f"    result = x1 if other is None else function0(other, x{value % 5})\n")
        return (
            f'def function{index}(argument, other=None):\n    """Compute {index}."""\n'
            f"{''.join(lines)}    return {'result' if value else 'x0'} + {value}\n"
        )

    def work(self, tasks: int) -> list[Work]:
        """Spread tasks over the files, each on a function of its own."""
        used: Counter[int] = Counter()
        work = []
        for number in range(tasks):
            file = number % self.files
            index = used[file]
            used[file] += 1
            if index == FUNCTIONS:
                raise ValueError(f"{tasks} tasks do not fit {self.files} files")
            work.append(Work(path_of(file), index, self.function(file, index, number + 1)))
        return work


def path_of(number: int) -> str:
    return f"pkg{number // 100:02}/module{number:04}.py"


def git(where: Path, *args: str) -> str:
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    return subprocess.run(
        ["git", *identity, *args], cwd=where, check=True, capture_output=True, text=True
    ).stdout


# ------------------------------------------------------------------------------------ arms

_EMPTY = {"new_nodes": [], "imports": [], "deletes": [], "needs_locks": [], "notes": ""}


def run_kernel(root: Path, work: Sequence[Work], agents: int) -> None:
    """Carry the work out with the kernel."""
    tasks = tuple(
        Task(f"t{n}", f"change function {w.index}", (NodeId(w.path, f"function{w.index}"),))
        for n, w in enumerate(work)
    )
    results = [{"status": "edited", "new_source": w.source, "reason": ""} for w in work]
    run_plan(root, Plan("benchmark", tasks), results, agents)


def run_chain(root: Path, length: int, agents: int) -> None:
    """Carry out a plan in which every task waits for the one before, and none edits."""
    nodes = itertools.cycle(NodeId(path_of(0), f"function{i}") for i in range(FUNCTIONS))
    tasks = tuple(
        Task(f"t{n}", "look", (next(nodes),), depends_on=(f"t{n - 1}",) if n else ())
        for n in range(length)
    )
    result = {"status": "no_changes_required", "new_source": "", "reason": "as it should be"}
    run_plan(root, Plan("benchmark", tasks), [result] * length, agents)


def run_plan(root: Path, plan: Plan, results: Sequence[dict[str, str]], agents: int) -> None:
    """Run a plan with scripted answers; raise when not all of it was done."""
    script = root.parent / f"{root.name}.jsonl"
    with script.open("w") as out:
        for task, result in zip(plan.tasks, results, strict=True):
            reply = {"results": [{"node": "n1", **result}], **_EMPTY}
            out.write(json.dumps({"task": task.id, "reply": reply}) + "\n")
    options = kernel.Options(
        config=Config(), models=(f"scripted:{script}",), planner="builtin", max_agents=agents
    )

    async def main() -> None:
        with Store.open(root) as store:
            outcome = await kernel.run(store, plan, options)
        if outcome.state is not RunState.DONE:
            raise RuntimeError(f"the run ended as {outcome.state}: {outcome.reason}")

    anyio.run(main)


def run_worktrees(root: Path, work: Sequence[Work]) -> None:
    """Make the same edits in four worktrees, a commit each, and merge the branches."""
    trees = []
    for number in range(WORKTREES):
        tree = root.parent / f"{root.name}-tree{number}"
        git(root, "worktree", "add", "-q", "-b", f"agent{number}", str(tree))
        trees.append(tree)
    for n, w in enumerate(work):
        tree = trees[n % WORKTREES]
        path = tree / w.path
        text = path.read_text()
        start = text.index(f"def function{w.index}(")
        end = text.find("\n\n\ndef ", start)
        tail = text[end + 1 :] if end >= 0 else ""
        path.write_text(text[:start] + w.source + tail)
        git(tree, "commit", "-q", "-a", "-m", f"t{n}")
    for number in range(WORKTREES):
        git(root, "merge", "-q", "--no-edit", f"agent{number}")


def check(root: Path, work: Sequence[Work]) -> None:
    """Raise when an edit is not in the working tree."""
    for w in work:
        if w.source not in (root / w.path).read_text():
            raise RuntimeError(f"{w.path}: the edit of function{w.index} is lost")


# ------------------------------------------------------------------------------------ tables


class Benchmark:
    """The tables, and what they came to."""

    def __init__(self, scratch: Path, agents: int, repeat: int) -> None:
        self.scratch = scratch
        self.agents = agents
        self.repeat = repeat
        self._names = itertools.count()
        #: CPU seconds per task, by files and tasks.
        self.cost: dict[tuple[int, int], float] = {}

    def material(self, files: int) -> Material:
        """Make a repository."""
        return Material(self.scratch / f"r{next(self._names)}", files)

    def warm_up(self) -> None:
        """Import what a run imports."""
        material = self.material(5)
        run_kernel(material.root, material.work(8), self.agents)

    def tasks(self, sizes: Sequence[int], counts: Sequence[int]) -> None:
        """Print what a task costs, and how that grows."""
        print(f"ms per task, {self.agents} agents; worktrees: the same edits, merged at the end\n")
        print("| files | tasks | CPU | wall | worktrees CPU | wall |")
        print("|---:|---:|---:|---:|---:|---:|")
        for count in counts:
            for size in sizes:
                if count > size * FUNCTIONS:
                    continue
                ours = lowest(self.repeat, lambda: self._kernel(size, count))  # noqa: B023
                theirs = self._worktrees(size, count)
                self.cost[size, count] = ours.cpu / count
                figures = [t * 1000 / count for t in (ours.cpu, ours.wall, theirs.cpu, theirs.wall)]
                print(f"| {size} | {count} |", " | ".join(f"{f:.1f}" for f in figures), "|")
        print()
        for count in counts:
            self._growth([(size, count) for size in sizes], "files", 0)
        for size in sizes:
            self._growth([(size, count) for count in counts], "tasks", 1)

    def _kernel(self, size: int, count: int) -> Spent:
        material = self.material(size)
        work = material.work(count)
        material.read_before()
        with measured() as spent:
            run_kernel(material.root, work, self.agents)
        check(material.root, work)
        return spent

    def _worktrees(self, size: int, count: int) -> Spent:
        material = self.material(size)
        work = material.work(count)
        with measured() as spent:
            run_worktrees(material.root, work)
        check(material.root, work)
        return spent

    def _growth(self, cells: Sequence[tuple[int, int]], what: str, axis: int) -> None:
        known = [cell for cell in cells if cell in self.cost]
        if len(known) > 1:
            first, last = known[0], known[-1]
            ratio = self.cost[last] / self.cost[first]
            other = f"{first[1 - axis]} {'tasks' if axis == 0 else 'files'}"
            print(
                f"{other}: at {last[axis]} {what} a task costs {ratio:.2f} x that at {first[axis]}"
            )

    def chain(self) -> Spent:
        """Print what a chain of tasks takes that change nothing."""
        material = self.material(20)
        with measured() as spent:
            run_chain(material.root, CHAIN, self.agents)
        print(f"\n{CHAIN} tasks in one chain: {spent.cpu:.1f} s CPU, {spent.wall:.1f} s wall")
        return spent

    def rooms(self, size: int, count: int) -> None:
        """Print where the time goes."""
        material = self.material(size)
        work = material.work(count)
        material.read_before()
        profile = cProfile.Profile()
        profile.enable()
        run_kernel(material.root, work, self.agents)
        profile.disable()
        own: Counter[str] = Counter()
        home = str(Path(mak.__file__).parent)
        total = 0.0
        stats = pstats.Stats(profile).stats  # type: ignore[attr-defined]
        for (file, _, _), (_, _, self_time, _, callers) in stats.items():
            total += self_time
            room = _room(file, home)
            if room:
                own[room] += self_time
                continue
            # Time in a library counts for the rooms that called it.
            calls = sum(entry[2] for entry in callers.values()) or 1.0
            for (caller, _, _), entry in callers.items():
                own[_room(caller, home) or "libraries"] += self_time * entry[2] / calls
        print(f"\nwhere the time goes, {count} tasks on {size} files (profiled)\n")
        print("| room | share |\n|---|---:|")
        for room, seconds in own.most_common():
            print(f"| {room} | {100 * seconds / total:.0f} % |")

    def reading(self, size: int) -> tuple[float, float]:
        """Print what reading takes; return the first read's ratio, and how long a start takes."""
        parsing = first = Spent(cpu=float("inf"), wall=float("inf"))
        start = float("inf")
        for _ in range(self.repeat):
            material = self.material(size)
            data = [material.module(number).encode() for number in range(size)]
            with measured() as once:
                for raw in data:
                    ast.parse(raw)
            parsing = min(parsing, once, key=lambda spent: spent.cpu)
            with measured() as once:
                material.read()
            first = min(first, once, key=lambda spent: spent.cpu)
            self._start(material.root)  # so that Python's own cache is there
            start = min(start, self._start(material.root))
        print(f"\nreading {size} files, {sum(map(len, data)) / 1e6:.1f} MB\n")
        print("| | CPU s | wall s |\n|---|---:|---:|")
        print(f"| `ast.parse` | {parsing.cpu:.2f} | {parsing.wall:.2f} |")
        print(f"| first read | {first.cpu:.2f} | {first.wall:.2f} |")
        print(f"| second process, from its start until all is known | | {start:.2f} |")
        return first.cpu / parsing.cpu, start

    def _start(self, root: Path) -> float:
        env = {**os.environ, "PYTHONPYCACHEPREFIX": str(self.scratch / "pycache")}
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        began = time.monotonic()
        command = [sys.executable, "-c", _START, str(root)]
        done = subprocess.run(command, env=env, check=True, capture_output=True, text=True)
        return float(done.stdout) - began


_KNOW = """
import sys
from pathlib import Path
from mak.landing import sources_at
from mak.source.names import names_of
from mak.store import Store
with Store.open(Path(sys.argv[1])) as store:
    index = names_of(sources_at(store, store.tip())).index
    index.load(index.paths)
"""

_START = """
import sys, time
from pathlib import Path
import mak.kernel
from mak.landing import sources_at
from mak.store import Store
with Store.open(Path(sys.argv[1])) as store:
    sources_at(store, store.tip()).load()
    print(time.monotonic())
"""


def _room(file: str, home: str) -> str:
    if not file.startswith(home):
        return ""
    first = Path(file).relative_to(home).parts[0]
    return first if first in ROOMS else "kernel"


def verdict(what: str, value: float | None, limit: float, unit: str) -> None:
    """Print whether an aim was met."""
    if value is None:
        print(f"- not measured: {what}")
        return
    word = "met" if value <= limit else "missed"
    print(f"- {word}: {what}: {value:.2f} {unit}, aim {limit:g}")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--files", type=int, nargs="+", default=[20, 200, 2000])
    parser.add_argument("--tasks", type=int, nargs="+", default=[50, 200, 1000])
    parser.add_argument("--agents", type=int, default=4)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mak-benchmark-") as folder:
        benchmark = Benchmark(Path(folder), options.agents, options.repeat)
        benchmark.warm_up()
        benchmark.tasks(options.files, options.tasks)
        benchmark.rooms(min(200, options.files[-1]), min(200, options.tasks[-1]))
        chain = benchmark.chain()
        ratio, start = benchmark.reading(options.files[-1])
    cost = benchmark.cost
    at_200 = cost.get((200, 200))
    small, large = cost.get((20, 200)), cost.get((2000, 200))
    few, many = cost.get((200, 50)), cost.get((200, 1000))
    print("\naims\n")
    verdict("200 tasks on 200 files, CPU a task", at_200 and at_200 * 1000, 5, "ms")
    growth = large / small if small and large else None
    verdict("200 tasks, 2,000 files beside 20", growth, 1.5, "x")
    verdict("200 files, 1,000 tasks beside 50", many / few if few and many else None, 1.5, "x")
    verdict(f"{CHAIN} tasks in one chain, CPU", chain.cpu, 4, "s")
    verdict(f"first read of {options.files[-1]} files beside ast.parse", ratio, 2, "x")
    verdict(f"second process on {options.files[-1]} files, wall", start, 0.5, "s")


if __name__ == "__main__":
    main()
