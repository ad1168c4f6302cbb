"""Git worktrees, one per agent: really created, committed to and merged.

What conflicts is resolved by one call per conflicted file. The resolver keeps both sides, entries
where they belong, but each contended line is lost with the model's probability.
"""

from __future__ import annotations

import asyncio
import re
import time
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from benchmark.simulation import clock
from benchmark.simulation.model import Model
from benchmark.simulation.repository import create, git, read, write
from benchmark.simulation.result import Result
from benchmark.simulation.workload import Job, Workload

_HUNK = re.compile(
    r"^<<<<<<< [^\n]*\n(?P<ours>.*?)(?:^\|\|\|\|\|\|\| [^\n]*\n.*?)?^=======\n(?P<theirs>.*?)"
    r"^>>>>>>> [^\n]*\n",
    re.MULTILINE | re.DOTALL,
)


@dataclass
class Tree:
    """The worktree of one agent, and its branch."""

    name: str
    root: Path


class Work(Protocol):
    """What an agent is given to do."""

    @property
    def id(self) -> str:
        """What it is called."""

    @property
    def depends_on(self) -> tuple[str, ...]:
        """What has to be done before, by name."""


W = TypeVar("W", bound=Work)


class Worktrees(ABC, Generic[W]):
    """Agents in worktrees of their own, merged with Git; how they work is for others to say."""

    def __init__(self, folder: Path, agents: int) -> None:
        """Take the repository ``main`` in `folder`; make a worktree beside it for each agent."""
        self.main = folder / "main"
        self.trees = [Tree(f"agent{i}", folder / f"agent{i}") for i in range(agents)]
        #: Where the work on each job is: in which tree it was done, once it is done.
        self.done: dict[str, Tree] = {}
        self.changed = asyncio.Event()
        self.lock = asyncio.Lock()
        #: One call at a time for every agent, whether it works or resolves.
        self.calls = asyncio.Semaphore(agents)
        self.conflicts = 0
        #: Seconds waited for the lock of the main branch.
        self.waits: list[float] = []
        for tree in self.trees:
            git(self.main, "worktree", "add", "-q", "-b", tree.name, str(tree.root))

    @abstractmethod
    async def do(self, tree: Tree, job: W) -> None:
        """Do one job in a tree, and commit it."""

    @abstractmethod
    async def resolve(self, root: Path, path: str, name: str) -> None:
        """Resolve one conflicted file; those of a merge are resolved side by side."""

    async def work(
        self, choose: Callable[[Tree], W | None], often: bool, open_jobs: Callable[[], bool]
    ) -> None:
        """Let every agent take jobs as `choose` says, once what they need is there."""
        async with asyncio.TaskGroup() as group:
            for tree in self.trees:
                group.create_task(self._agent(tree, choose, often, open_jobs))

    async def _agent(
        self,
        tree: Tree,
        choose: Callable[[Tree], W | None],
        often: bool,
        open_jobs: Callable[[], bool],
    ) -> None:
        while True:
            job = choose(tree)
            if job is None:
                if not open_jobs():
                    return
                self.changed.clear()
                await self.changed.wait()
                continue
            for needed in job.depends_on:
                other = self.done[needed]
                if other is not tree:
                    await self.merge(tree.root, "main" if often else other.name)
            await self.do(tree, job)
            if often:
                await self._integrate(tree)
            self.done[job.id] = tree
            self.changed.set()

    async def _integrate(self, tree: Tree) -> None:
        """Bring a branch up to main and main up to it; conflicts are resolved outside the lock."""
        while True:
            await self.merge(tree.root, "main")
            began = clock.now()
            async with self.lock:
                self.waits.append(clock.now() - began)
                moved = git(self.main, "merge", "-q", "--ff-only", tree.name, check=False)
            if moved.returncode == 0:
                return

    async def merge(self, root: Path, branch: str) -> None:
        """Merge a branch; resolve what conflicts."""
        merged = git(root, "merge", "-q", "--no-edit", branch, check=False)
        if merged.returncode == 0:
            return
        paths = git(root, "diff", "--name-only", "--diff-filter=U").stdout.split()
        if not paths:
            raise RuntimeError(f"merging {branch}: {merged.stderr}")
        self.conflicts += 1
        what = git(root, "rev-parse", "HEAD", branch).stdout
        async with asyncio.TaskGroup() as group:
            for path in paths:
                group.create_task(self.resolve(root, path, f"{path}:{what}"))
        git(root, "commit", "-q", "-a", "--no-edit")

    async def at_the_end(self, jobs: Sequence[W]) -> None:
        """Let every agent work on its own branch; merge all when all work is done."""
        queue = deque(jobs)
        await self.work(lambda tree: self.next(queue), False, lambda: bool(queue))
        for tree in self.trees:
            await self.merge(self.main, tree.name)

    async def often(self, jobs: Sequence[W]) -> None:
        """Merge every job into main as soon as it is done."""
        queue = deque(jobs)
        await self.work(lambda tree: self.next(queue), True, lambda: bool(queue))

    def next(self, queue: deque[W]) -> W | None:
        """Take the first job whose needs are done; None: there is none now."""
        for job in queue:
            if all(needed in self.done for needed in job.depends_on):
                queue.remove(job)
                return job
        return None


class _Run(Worktrees[Job]):
    """Modelled agents in worktrees."""

    def __init__(self, folder: Path, workload: Workload, model: Model, agents: int) -> None:
        create(folder / "main", workload.files)
        super().__init__(folder, agents)
        self.workload = workload
        self.model = model
        self.result = Result(critical=critical(workload.jobs, model))

    async def do(self, tree: Tree, job: Job) -> None:
        """Take as long as the model says, and make the job's edit."""
        shown = read(tree.root, job.paths)
        seconds = self.model.seconds(job.id)
        async with self.calls:
            await asyncio.sleep(seconds)
        made = self.workload.edit(shown, job, correct=self.model.correct(job.id))
        self.result.calls.append((job.id, seconds))
        self.result.tokens += self.model.tokens(
            sum(map(len, shown.values())), sum(len(made[p]) - len(shown[p]) for p in made)
        )
        write(tree.root, made)
        began = time.monotonic()
        git(tree.root, "commit", "-q", "-a", "-m", job.id)
        self.result.commits.append(time.monotonic() - began)

    async def resolve(self, root: Path, path: str, name: str) -> None:
        """Resolve one conflicted file; those of a merge side by side, as far as agents are free."""
        seconds = self.model.resolving_seconds(name)
        async with self.calls:
            await asyncio.sleep(seconds)
        text = (root / path).read_text()
        ours, theirs = (git(root, "show", f":{n}:{path}").stdout for n in (2, 3))
        made = resolve(self.workload, path, text, ours, theirs, lambda n: self.model.keeps(name, n))
        self.result.calls.append((f"resolve {path}", seconds))
        self.result.resolver_calls += 1
        self.result.tokens += self.model.tokens(len(text), len(made))
        (root / path).write_text(made)

    def finish(self, began: float) -> Result:
        """Read what main holds."""
        self.result.makespan = clock.now() - began
        self.result.conflicts, self.result.waits = self.conflicts, self.waits
        self.result.files = read(self.main, self.workload.files)
        touched = Counter(path for job in self.workload.jobs for path in job.paths)
        self.result.hottest = touched.most_common(3)
        return self.result


async def merged_at_the_end(folder: Path, workload: Workload, model: Model, agents: int) -> Result:
    """Every agent works on its own branch; all are merged when all work is done."""
    run = _Run(folder, workload, model, agents)
    began = clock.now()
    await run.at_the_end(workload.jobs)
    return run.finish(began)


async def merged_often(folder: Path, workload: Workload, model: Model, agents: int) -> Result:
    """Every task is merged into main as soon as it is done."""
    run = _Run(folder, workload, model, agents)
    began = clock.now()
    await run.often(workload.jobs)
    return run.finish(began)


async def assigned(folder: Path, workload: Workload, model: Model, agents: int) -> Result:
    """Jobs that meet in a file go to the same agent as long as no agent gets too much."""
    run = _Run(folder, workload, model, agents)
    began = clock.now()
    shares = share_out(workload.jobs, model, agents)
    queues = {tree.name: deque(jobs) for tree, jobs in zip(run.trees, shares, strict=True)}
    await run.work(
        lambda tree: run.next(queues[tree.name]),
        False,
        lambda: any(queues.values()),
    )
    for tree in run.trees:
        await run.merge(run.main, tree.name)
    return run.finish(began)


def share_out(jobs: Sequence[Job], model: Model, agents: int) -> list[list[Job]]:
    """Group jobs by the files that they share, and the groups by size; cut what is too big.

    Nobody knows beforehand how long a job takes, so each counts for one.
    """
    parent: dict[str, str] = {}

    def root(item: str) -> str:
        while parent.setdefault(item, item) != item:
            item = parent[item]
        return item

    for job in jobs:
        for other in (*job.paths, *job.depends_on):
            parent[root(other)] = root(job.id)
    groups: dict[str, list[Job]] = {}
    for job in jobs:
        groups.setdefault(root(job.id), []).append(job)
    fair = -(-len(jobs) // agents)
    pieces = [
        group[i : i + fair]
        for group in sorted(groups.values(), key=len, reverse=True)
        for i in range(0, len(group), fair)
    ]
    shares: list[list[Job]] = [[] for _ in range(agents)]
    for piece in sorted(pieces, key=len, reverse=True):
        min(shares, key=len).extend(piece)
    order = {job.id: n for n, job in enumerate(jobs)}
    return [sorted(share, key=lambda job: order[job.id]) for share in shares]


def resolve(
    workload: Workload, path: str, text: str, ours: str, theirs: str, keeps: Callable[[int], bool]
) -> str:
    """Return a conflicted file with what both sides did in it.

    Nothing outside the conflict is touched, and contended lines that are not kept are missing; not
    where the file would not parse without them, for that a resolver sees.
    """
    hunks = list(_HUNK.finditer(text))
    contended = {line for h in hunks for line in (h["ours"] + h["theirs"]).splitlines()}
    whole = workload.unite(path, ours, theirs)
    kept = []
    for number, line in enumerate(whole.splitlines(keepends=True)):
        if line.strip() and line.rstrip("\n") in contended and not keeps(number):
            continue
        kept.append(line)
    made = "".join(kept)
    return made if workload.parses({path: made}) else whole


def critical(jobs: Sequence[Job], model: Model) -> float:
    """Return the longest chain of dependencies in seconds."""
    end: dict[str, float] = {}
    for job in jobs:
        end[job.id] = model.seconds(job.id) + max((end[d] for d in job.depends_on), default=0.0)
    return max(end.values(), default=0.0)
