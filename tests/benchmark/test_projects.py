"""The projects of the suite: generated alike every time, and their oracle tells stub from done."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmark.simulation.repository import write
from benchmark.suite.oracle import judge
from benchmark.suite.projects import PROJECTS
from benchmark.suite.specification import Case, Fill, Project
from mak.source import split

#: Tasks, tests, modules with stubs.
SIZES = {
    "toolkit": (90, 270),
    "storefront": (58, 148),
    "jobs": (24, 150),
    "callers": (12, 84),
    "config": (16, 64),
}


@pytest.fixture(params=PROJECTS)
def project(request: pytest.FixtureRequest) -> Project:
    return PROJECTS[request.param]()


def test_projects_have_the_sizes_that_are_told(project: Project) -> None:
    assert (len(project.tasks), len(project.tests)) == SIZES[project.name]
    assert len({test.name for test in project.tests}) == len(project.tests)
    assert len({task.id for task in project.tasks}) == len(project.tasks)


def test_the_reference_passes_every_test(project: Project, tmp_path: Path) -> None:
    write(tmp_path, project.finished())
    verdict = judge(project, tmp_path)
    assert [name for name, ended in verdict.tests.items() if ended != "passed"] == []
    assert len(verdict.tests) == len(project.tests)
    assert verdict.lost == ()


def test_untouched_stubs_fail_every_test(project: Project, tmp_path: Path) -> None:
    write(tmp_path, dict(project.files))
    verdict = judge(project, tmp_path)
    assert [name for name, ended in verdict.tests.items() if ended == "passed"] == []
    assert len(verdict.lost) == len([*project.rows()])


def test_wrong_answers_parse_and_are_found(project: Project, tmp_path: Path) -> None:
    files = project.finished()
    fill = next(e for e in project.tasks[0].edits if isinstance(e, Fill))
    files[fill.path] = fill.wrong().apply(files[fill.path]) or ""
    compile(files[fill.path], fill.path, "exec")
    write(tmp_path, files)
    assert judge(project, tmp_path).passed < len(project.tests)


def test_tasks_can_be_carried_out_in_any_order(project: Project) -> None:
    files = dict(project.files)
    for task in reversed(project.tasks):
        files |= task.carry_out(files)
    assert all(e.is_in(files[e.path]) for task in project.tasks for e in task.edits)


def test_targets_are_nodes_of_the_project(project: Project) -> None:
    for task in project.tasks:
        for node in task.targets(project.sources):
            assert node.is_file or project.sources.node(node) is not None
    assert all(split(text.encode(), path).why_whole == "" for path, text in project.files.items())


def test_projects_come_out_alike_in_every_process() -> None:
    code = (
        "import hashlib; from benchmark.suite.projects import PROJECTS\n"
        "for make in PROJECTS.values():\n"
        "    p = make(); text = repr((p.files, p.tasks, p.tests))\n"
        "    print(hashlib.sha256(text.encode()).hexdigest())"
    )
    made = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={
                **os.environ,
                "PYTHONHASHSEED": seed,
                "PYTHONPATH": str(Path(__file__).parents[2]),
            },
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert made[0] == made[1] and len({*made[0].split()}) == len(PROJECTS)
    one = PROJECTS["jobs"]()
    mine = hashlib.sha256(repr((one.files, one.tasks, one.tests)).encode()).hexdigest()
    assert mine in made[0].split()


def test_a_test_that_hangs_ends_at_its_limit_and_alone(tmp_path: Path) -> None:
    tests = (Case("hangs", "while True: pass"), Case("exits", "raise SystemExit"), Case("good", ""))
    project = Project("p", "", {}, (), tests)
    verdict = judge(project, tmp_path, limit=0.2)
    assert verdict.tests == {"hangs": "slow", "exits": "failed", "good": "passed"}
