"""What the kernel itself costs: one-node tasks by agents that answer at once.

``python benchmark/kernel.py`` prints, for repositories of 20, 200 and 2,000 files and for 50, 200
and 1,000 tasks, the CPU and wall time per task (planning, locks, parking, judging, checks and
commits included, child processes too), where that time goes by room, and the same edits made in
four Git worktrees that are merged at the end. It also compares the first read of a repository with
``ast.parse`` over the same bytes, and times the start on a repository that was read before.

All figures of one table come from one run; on a noisy machine compare ratios, not milliseconds.
"""

from __future__ import annotations

import argparse
import ast
import cProfile
import json
import os
import pstats
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
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
ROOMS = ("source", "store", "schedule", "plan", "agents", "checks")


@dataclass
class Spent:
    """Seconds: CPU of this process and its children, and wall clock."""

    cpu: float = 0.0
    wall: float = 0.0


@contextmanager
def measured() -> Iterator[Spent]:
    """Measure a block."""
    spent = Spent()
    cpu, wall = _cpu(), time.perf_counter()
    yield spent
    spent.cpu, spent.wall = _cpu() - cpu, time.perf_counter() - wall


def _cpu() -> float:
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


# ------------------------------------------------------------------------------------ material


def path_of(number: int) -> str:
    return f"pkg{number // 100:02}/module{number:04}.py"


def function(number: int, index: int, value: int) -> str:
    lines = [f"    x{i} = argument * {i} + {number} % {index + 1}\n" for i in range(STATEMENTS)]
    body = "".join(lines)
    return (
        f'def function{index}(argument, other=None):\n    """Compute {index}."""\n{body}'
        f"    return x0 + {value}\n"
    )


def module(number: int) -> str:
    head = f'"""Module {number}."""\n\nfrom __future__ import annotations\n\nimport os\n\n\n'
    return head + "\n\n".join(function(number, index, 0) for index in range(FUNCTIONS))


def git(where: Path, *args: str) -> str:
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    return subprocess.run(
        ["git", *identity, *args], cwd=where, check=True, capture_output=True, text=True
    ).stdout


def make_repository(root: Path, files: int) -> None:
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    for number in range(files):
        path = root / path_of(number)
        path.parent.mkdir(exist_ok=True)
        path.write_text(module(number))
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "base")


@dataclass(frozen=True)
class Work:
    """One edit: a function of a file gets another return value."""

    path: str
    index: int
    source: str


def make_work(files: int, tasks: int) -> list[Work]:
    """Spread the tasks over the files, each on a function of its own."""
    used: Counter[int] = Counter()
    work = []
    for number in range(tasks):
        file = number % files
        index = used[file]
        used[file] += 1
        if index == FUNCTIONS:
            raise ValueError(f"{tasks} tasks do not fit {files} files of {FUNCTIONS} functions")
        work.append(Work(path_of(file), index, function(file, index, number + 1)))
    return work


# ------------------------------------------------------------------------------------ arms


def run_kernel(root: Path, work: Sequence[Work], agents: int) -> None:
    """Carry the work out with the kernel and check that all of it landed."""
    tasks = tuple(
        Task(f"t{n}", f"change function {w.index}", (NodeId(w.path, f"function{w.index}"),))
        for n, w in enumerate(work)
    )
    script = root.parent / f"{root.name}.jsonl"
    empty = {"new_nodes": [], "imports": [], "deletes": [], "needs_locks": [], "notes": ""}
    with script.open("w") as out:
        for n, w in enumerate(work):
            result = {"node": "n1", "status": "edited", "new_source": w.source, "reason": ""}
            reply = {"results": [result], **empty}
            out.write(json.dumps({"task": f"t{n}", "reply": reply}) + "\n")
    options = kernel.Options(
        config=Config(), models=(f"scripted:{script}",), planner="builtin", max_agents=agents
    )

    async def main() -> None:
        with Store.open(root) as store:
            outcome = await kernel.run(store, Plan("benchmark", tasks), options)
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
    for w in work:
        if w.source not in (root / w.path).read_text():
            raise RuntimeError(f"{w.path}: the edit of function{w.index} is lost")


# ------------------------------------------------------------------------------------ tables


def table_tasks(scratch: Path, sizes: Sequence[int], counts: Sequence[int], agents: int) -> None:
    print(
        f"\nms per task, {agents} agents (CPU / wall); worktrees: the same edits, merged at the end"
    )
    print(
        f"{'files':>6} {'tasks':>6} {'kernel CPU':>11} {'wall':>7}"
        f" {'worktrees CPU':>14} {'wall':>7}"
    )
    cost: dict[tuple[int, int], float] = {}
    for count in counts:
        for size in sizes:
            if count > size * FUNCTIONS:
                continue
            work = make_work(size, count)
            root = scratch / f"kernel-{size}-{count}"
            make_repository(root, size)
            with Store.open(root) as store:
                sources_at(store, store.tip()).load()
            with measured() as ours:
                run_kernel(root, work, agents)
            check(root, work)
            other = scratch / f"worktrees-{size}-{count}"
            make_repository(other, size)
            with measured() as theirs:
                run_worktrees(other, work)
            check(other, work)
            cost[size, count] = ours.cpu / count
            figures = [1000 * t / count for t in (ours.cpu, ours.wall, theirs.cpu, theirs.wall)]
            print("{:>6} {:>6} {:>11.2f} {:>7.2f} {:>14.2f} {:>7.2f}".format(size, count, *figures))
    for count in counts:
        known = [size for size in sizes if (size, count) in cost]
        if len(known) > 1:
            ratio = cost[known[-1], count] / cost[known[0], count]
            print(f"{count} tasks: {known[-1]} files cost {ratio:.2f} x {known[0]} files")


def table_rooms(scratch: Path, size: int, count: int, agents: int) -> None:
    root = scratch / "profile"
    make_repository(root, size)
    work = make_work(size, count)
    profile = cProfile.Profile()
    profile.enable()
    run_kernel(root, work, agents)
    profile.disable()
    own: Counter[str] = Counter()
    home = str(Path(mak.__file__).parent)
    stats = pstats.Stats(profile)
    total = 0.0
    for (file, _, _), (_, _, self_time, _, callers) in stats.stats.items():  # type: ignore[attr-defined]
        total += self_time
        room = _room(file, home)
        if room:
            own[room] += self_time
            continue
        # Time in a library counts for the rooms that called it.
        calls = sum(entry[2] for entry in callers.values()) or 1.0
        for (caller, _, _), entry in callers.items():
            own[_room(caller, home) or "libraries"] += self_time * entry[2] / calls
    print(f"\nwhere the time goes, {count} tasks on {size} files (profiled, % of {total:.2f} s)")
    for room, seconds in own.most_common():
        print(f"{room:>12} {100 * seconds / total:5.1f} %")


def _room(file: str, home: str) -> str:
    if not file.startswith(home):
        return ""
    first = Path(file).relative_to(home).parts[0]
    return first if first in ROOMS else "kernel"


def table_reading(scratch: Path, size: int) -> None:
    root = scratch / "reading"
    make_repository(root, size)
    data = [(root / path_of(number)).read_bytes() for number in range(size)]
    with measured() as parsing:
        for raw in data:
            ast.parse(raw)
    with Store.open(root) as store, measured() as first:
        sources_at(store, store.tip()).load()
    start = (
        "import sys, time; began = time.perf_counter()\n"
        "from pathlib import Path\n"
        "from mak.store import Store\nfrom mak.landing import sources_at\n"
        "with Store.open(Path(sys.argv[1])) as store: sources_at(store, store.tip()).load()\n"
    )
    with measured() as second:
        subprocess.run([sys.executable, "-c", start, str(root)], check=True, env=dict(os.environ))
    print(f"\nreading {size} files, {sum(map(len, data)) / 1e6:.1f} MB (CPU / wall, s)")
    print(f"   ast.parse {parsing.cpu:6.2f} {parsing.wall:6.2f}")
    print(
        f"  first read {first.cpu:6.2f} {first.wall:6.2f}"
        f"   {first.cpu / parsing.cpu:.2f} x ast.parse"
    )
    print(f"second start {second.cpu:6.2f} {second.wall:6.2f}   a new process, nothing parsed")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--files", type=int, nargs="+", default=[20, 200, 2000])
    parser.add_argument("--tasks", type=int, nargs="+", default=[50, 200, 1000])
    parser.add_argument("--agents", type=int, default=4)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mak-benchmark-") as folder:
        scratch = Path(folder)
        table_tasks(scratch, options.files, options.tasks, options.agents)
        table_rooms(
            scratch, min(200, options.files[-1]), min(200, options.tasks[-1]), options.agents
        )
        table_reading(scratch, options.files[-1])


if __name__ == "__main__":
    main()
