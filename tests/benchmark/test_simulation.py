"""The simulated suite: one clock, the same agents for every arm, results that can be."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from benchmark.analysis.table import report
from benchmark.simulation import clock
from benchmark.simulation.arms import ARMS
from benchmark.simulation.arms.worktrees import resolve, share_out
from benchmark.simulation.model import Model
from benchmark.simulation.result import violations
from benchmark.simulation.workload import Shape, make

SHAPES = [Shape.ONE_SYMBOL, Shape.IMPORTS, Shape.SIGNATURES]


def test_the_clock_jumps_over_waiting_and_runs_while_there_is_work() -> None:
    async def main() -> float:
        began = clock.now()
        await asyncio.gather(asyncio.sleep(3000), asyncio.sleep(5000))
        time.sleep(0.02)
        return clock.now() - began

    began = time.monotonic()
    assert 5000.02 <= clock.run(main) < 5010
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("arm", ARMS)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_arm_does_the_work_and_claims_nothing_that_cannot_be(
    tmp_path: Path, shape: Shape, arm: str
) -> None:
    workload, model = make(shape, 6, 1, lines=4, sort=True), Model(seed=1, loss=0.0)
    agents = 1 if arm == "sequential" else 3
    result = clock.run(lambda: ARMS[arm](tmp_path, workload, model, agents))
    row = result.row(workload, agents)
    assert violations(row, agents) == []
    assert row["parses"]
    assert row["passed"] == sum(model.correct(job.id) for job in workload.jobs)
    assert row["survived"] == row["registrations"]


def test_a_figure_that_cannot_be_is_found() -> None:
    good = {"makespan": 10.0, "bound": 9.0, "utilisation": 0.9, "speedup": 3.0}
    row = {**good, "survived": 4, "registrations": 4}
    assert violations(row, 4) == []
    assert len(violations({**row, "makespan": 8.0}, 4)) == 1
    assert len(violations({**row, "utilisation": 1.1}, 4)) == 1
    assert len(violations({**row, "speedup": 4.1}, 4)) == 1
    assert len(violations({**row, "survived": 5}, 4)) == 1


def test_every_arm_meets_the_same_agents() -> None:
    model = Model(seed=3)
    assert model.seconds("t1") == Model(seed=3).seconds("t1") != model.seconds("t2")
    assert model.seconds("t1", 2) != model.seconds("t1")
    assert make(Shape.ZIPF, 20, 3) == make(Shape.ZIPF, 20, 3) != make(Shape.ZIPF, 20, 4)


def test_a_resolver_keeps_both_sides_and_loses_only_contended_lines() -> None:
    workload = make(Shape.ONE_SYMBOL, 2, 1)
    path = "shop/registry.py"
    one, two = (workload.edit(workload.files, job, correct=True)[path] for job in workload.jobs)
    lines = [next(ln for ln in t.splitlines() if '"job' in ln) for t in (one, two)]
    base = workload.files[path]
    conflict = base.replace(
        "    return registry\n",
        f"<<<<<<< ours\n{lines[0]}\n=======\n{lines[1]}\n>>>>>>> theirs\n    return registry\n",
    )
    kept = resolve(workload, path, conflict, one, two, lambda line: True)
    assert all(kept.count(line) == 1 for line in lines)
    lost = resolve(workload, path, conflict, one, two, lambda line: False)
    assert not any(line in lost for line in lines)
    assert lost == base


def test_work_is_shared_out_by_file_and_no_agent_gets_too_much() -> None:
    jobs = make(Shape.DISJOINT, 24, 1).jobs
    shares = share_out(jobs, Model(seed=1), 4)
    assert sorted(job.id for share in shares for job in share) == [job.id for job in jobs]
    assert max(map(len, shares)) <= 6
    homes = [{job.path for job in share} for share in shares]
    assert all(not a & b for i, a in enumerate(homes) for b in homes[:i])


def test_the_report_names_every_cell_that_misses() -> None:
    def row(arm: str, makespan: float, survived: int) -> dict[str, object]:
        made = {"arm": arm, "shape": "zipf", "agents": 4, "lines": 1, "sort": False, "seed": 1}
        figures = {"bound": 100.0, "allowed": 100.0, "speedup": 2.0, "utilisation": 0.5}
        counts = {"conflicts": 0, "resolver_calls": 0, "tokens": 10, "tests": 5, "passed": 5}
        return {
            **made,
            **figures,
            **counts,
            "makespan": makespan,
            "registrations": 9,
            "survived": survived,
            "parses": True,
        }

    good = report([row("mak", 104.0, 9), row("worktrees-end", 120.0, 8)])
    assert good.count(": holds") == 4
    bad = report([row("mak", 130.0, 8), row("worktrees-end", 120.0, 9)])
    assert bad.count(": does not hold") == 3
    assert "1 lines lost" in bad and "worktrees 120 s" in bad


def test_no_more_files_are_resolved_at_once_than_there_are_agents(tmp_path: Path) -> None:
    workload, model = make(Shape.UNIFORM, 24, 4), Model(seed=4, resolving=60.0)
    result = clock.run(lambda: ARMS["worktrees-end"](tmp_path, workload, model, 2))
    row = result.row(workload, 2)
    assert row["resolver_calls"] > 2
    assert violations(row, 2) == []
