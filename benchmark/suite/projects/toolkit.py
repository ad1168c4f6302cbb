"""toolkit: 90 operations over 9 modules, all of which register in one shared function."""

from __future__ import annotations

from benchmark.suite.projects.figures import FIGURES
from benchmark.suite.projects.values import VALUES
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

_REGISTRY = "toolkit/registry.py"
_PLACE = Place(_REGISTRY, "register_all", "def register_all(", "    return", "    ")


def make() -> Project:
    """Return the project."""
    files = {"toolkit/__init__.py": '"""A toolkit of small operations."""\n'}
    tasks, tests = [], []
    for name, operations in {**VALUES, **FIGURES}.items():
        path = f"toolkit/{name}.py"
        files[path] = module(
            f"Operations on {name}.", *(stub(o.name, o.signature, o.about) for o in operations)
        )
        for each in operations:
            id = f"toolkit-{len(tasks) + 1:03}"
            key = f"{name}.{each.name}"
            text = written(each.name, each.signature, each.about, each.body)
            row = f'registry["{key}"] = "toolkit.{name}:{each.name}"'
            goal = (
                f"Write {each.name}({each.signature}) in {path}: {each.about} Register it in "
                f"register_all of {_REGISTRY}, before its return: {row}"
            )
            fill = Fill(path, each.name, text)
            tasks.append(Task(id, goal, (fill, Row(_PLACE, row))))
            for number, (arguments, value) in enumerate(each.cases, 1):
                code = (
                    f"from toolkit.{name} import {each.name}\n"
                    f"assert {each.name}({arguments}) == {value}"
                )
                tests.append(Case(f"{name}_{each.name}_{number}", code))
            code = (
                "from toolkit.registry import register_all\n"
                f'assert register_all({{}})["{key}"] == "toolkit.{name}:{each.name}"'
            )
            tests.append(Case(f"{name}_{each.name}_registered", code))
    files[_REGISTRY] = module(
        "Where every operation is found.",
        'def register_all(registry):\n    """Enter every operation by its name."""\n'
        "    return registry\n",
    )
    about = "The package toolkit has stubs of operations, each of which is to be written."
    return Project("toolkit", about, dict(sorted(files.items())), tuple(tasks), tuple(tests))
