"""jobs: a job service of several tenants; 24 tasks, and workflows that go through many of them."""

from __future__ import annotations

from benchmark.suite.projects.operations import Operation
from benchmark.suite.projects.service import CASES, FUNCTIONS, WORKFLOWS
from benchmark.suite.specification import (
    Case,
    Fill,
    Place,
    Project,
    Row,
    Task,
    module,
    stub,
    written,
)

_ACTIONS = Place("jobs/actions.py", "ACTIONS", "ACTIONS = {", "}", "    ")


def make() -> Project:
    """Return the project."""
    files = {
        "jobs/__init__.py": '"""A job service of several tenants."""\n',
        "jobs/actions.py": (
            '"""What may be asked of the service, by name."""\n\nACTIONS = {\n'
            '    "ping": "jobs",\n}\n'
        ),
    }
    tasks: list[Task] = []
    tests = []
    for name, functions in FUNCTIONS.items():
        path = f"jobs/{name}.py"
        files[path] = module(
            f"The part of the service that knows of {name}.",
            *(stub(f.name, f.signature, f.about) for f in functions),
        )
        for each in functions:
            tasks.append(_task(len(tasks) + 1, name, path, each))
            lines = CASES[each.name]
            for number, line in enumerate(lines, 1):
                code = f"from jobs.{name} import {each.name}\nassert {line}"
                tests.append(Case(f"{name}_{each.name}_{number}", code))
    imports = "".join(f"from jobs.{name} import *\n" for name in FUNCTIONS)
    for number, flow in enumerate(WORKFLOWS, 1):
        tests.append(Case(f"workflow_{number:02}", imports + flow))
    about = "The package jobs has stubs of a job service, each of which is to be written."
    return Project("jobs", about, dict(sorted(files.items())), tuple(tasks), tuple(tests))


def _task(number: int, name: str, path: str, each: Operation) -> Task:
    edits: list[Fill | Row] = [
        Fill(path, each.name, written(each.name, each.signature, each.about, each.body))
    ]
    goal = f"Write {each.name}({each.signature}) in {path}: {each.about}"
    # Every third is an action, too.
    if number % 3 == 0:
        row = Row(_ACTIONS, f'"{each.name}": "jobs.{name}:{each.name}",')
        edits.append(row)
        goal += f" Enter it as the last entry of ACTIONS in {_ACTIONS.path}: {row.line}"
    return Task(f"jobs-{number:03}", goal, tuple(edits))
