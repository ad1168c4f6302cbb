"""storefront: 58 features over 8 modules; each meets none, one or two of 4 shared tables."""

from __future__ import annotations

from benchmark.suite.projects.features import FEATURES
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

#: Table to file, and what it is.
_TABLES = {
    "ROUTES": ("storefront/routing.py", "the address"),
    "EVENTS": ("storefront/routing.py", "the event"),
    "PERMISSIONS": ("storefront/access.py", "the permission"),
    "REPORTS": ("storefront/access.py", "the report"),
}


def make() -> Project:
    """Return the project."""
    files = {
        "storefront/__init__.py": '"""A small shop."""\n',
        "storefront/routing.py": _tables("What is called from outside.", "ROUTES", "EVENTS"),
        "storefront/access.py": _tables("Who may do what.", "PERMISSIONS", "REPORTS"),
    }
    tasks, tests = [], []
    for name, features in FEATURES.items():
        path = f"storefront/{name}.py"
        files[path] = module(
            f"What the shop does with {name}.",
            *(stub(f.name, f.signature, f.about) for f in features),
        )
        for each in features:
            number = len(tasks)
            rows = []
            for table in _meets(number):
                home = _TABLES[table][0]
                place = Place(home, table, f"{table} = {{", "}", "    ")
                key = f"{table.lower()}.{each.name}"
                rows.append(Row(place, f'"{key}": "storefront.{name}:{each.name}",'))
                package = home.removesuffix(".py").replace("/", ".")
                code = (
                    f"from {package} import {table}\n"
                    f'assert {table}["{key}"] == "storefront.{name}:{each.name}"'
                )
                tests.append(Case(f"{name}_{each.name}_in_{table.lower()}", code))
            fill = Fill(path, each.name, written(each.name, each.signature, each.about, each.body))
            goal = f"Write {each.name}({each.signature}) in {path}: {each.about}"
            for row in rows:
                goal += (
                    f" Enter {_TABLES[row.place.symbol][1]} as the last entry of "
                    f"{row.place.symbol} in {row.path}: {row.line}"
                )
            tasks.append(Task(f"storefront-{number + 1:03}", goal, (fill, *rows)))
            for case, (arguments, value) in enumerate(each.cases, 1):
                code = (
                    f"from storefront.{name} import {each.name}\n"
                    f"assert {each.name}({arguments}) == {value}"
                )
                tests.append(Case(f"{name}_{each.name}_{case}", code))
    about = "The package storefront has stubs of features, each of which is to be written."
    return Project("storefront", about, dict(sorted(files.items())), tuple(tasks), tuple(tests))


def _meets(number: int) -> tuple[str, ...]:
    """Return the tables of a feature: 8 features have two, 16 have one."""
    names = tuple(_TABLES)
    if number and number % 7 == 0:
        return names[number // 7 % 4], names[(number // 7 + 1) % 4]
    if number % 7 in (2, 5):
        return (names[number % 4],)
    return ()


def _tables(about: str, *names: str) -> str:
    parts = "\n\n".join(f'{name} = {{\n    "first": "storefront",\n}}' for name in names)
    return f'"""{about}"""\n\n{parts}\n'
