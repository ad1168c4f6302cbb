"""config: features that also touch the settings, the dependencies and the changelog."""

from __future__ import annotations

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

#: Name, the setting's value, a dependency with its version, what is done with a number n.
FEATURES = (
    ("retries", 3, "tenacity==9.1.2", "n + limit"),
    ("timeout", 30, "anyio==4.9.0", "n * limit"),
    ("batch", 50, "more-itertools==10.7.0", "n // limit"),
    ("burst", 12, "limits==5.4.0", "n % limit"),
    ("depth", 7, "networkx==3.5.0", "max(n, limit)"),
    ("width", 80, "wcwidth==0.2.13", "min(n, limit)"),
    ("margin", 4, "rich==14.0.0", "n - limit"),
    ("weight", 9, "numpy==2.3.0", "abs(n - limit)"),
    ("window", 15, "pandas==2.3.0", "n * n + limit"),
    ("stride", 5, "xarray==2025.6.0", "n * limit + 1"),
    ("offset", 11, "arrow==1.3.0", "2 * n + limit"),
    ("ceiling", 99, "pydantic==2.11.0", "min(2 * n, limit)"),
    ("floor", 2, "attrs==25.3.0", "max(n - 1, limit)"),
    ("quota", 64, "redis==6.2.0", "limit - n"),
    ("shards", 8, "xxhash==3.5.0", "(n + 1) % limit"),
    ("jitter", 6, "hypothesis==6.135.0", "n ^ limit"),
)
_SETTINGS = "settings.toml"
_REQUIREMENTS = "requirements.txt"
_CHANGELOG = "CHANGELOG.md"


def make() -> Project:
    """Return the project."""
    tasks, tests, stubs = [], [], []
    for number, (name, limit, dependency, expression) in enumerate(FEATURES, 1):
        package = dependency.partition("==")[0]
        about = f"Return {expression}, where limit is the setting limits.{name}."
        stubs.append(stub(f"apply_{name}", "n", about))
        body = f'limit = setting("limits", "{name}")\nreturn {expression}'
        entry = f"- Setting `limits.{name}` and `apply_{name}`."
        edits = (
            Fill("service/limits.py", f"apply_{name}", written(f"apply_{name}", "n", about, body)),
            Row(Place(_SETTINGS, "limits", "[limits]", "[", ""), f"{name} = {limit}"),
            Row(Place(_REQUIREMENTS, "", "# What the limits need.", "#", ""), dependency, package),
            Row(Place(_CHANGELOG, "Unreleased/Added", "### Added", "#", ""), entry),
        )
        goal = (
            f"Write apply_{name}(n) in service/limits.py: {about} Read it with setting of "
            f"service.settings, which the file imports. Add the line {name} = {limit} to the end "
            f"of [limits] in {_SETTINGS}, the line {dependency} to the end of {_REQUIREMENTS}, and "
            f"the line {entry} to the end of the list under Added in {_CHANGELOG}."
        )
        tasks.append(Task(f"config-{number:03}", goal, edits))
        value = eval(expression, {"n": 5, "limit": limit, "abs": abs, "max": max, "min": min})
        tests += [
            Case(
                f"apply_{name}",
                f"from service.limits import apply_{name}\nassert apply_{name}(5) == {value}",
            ),
            Case(
                f"setting_{name}",
                f'from service.settings import setting\nassert setting("limits", "{name}") '
                f"== {limit}",
            ),
            Case(f"requirement_{name}", _has_line(_REQUIREMENTS, dependency)),
            Case(f"changelog_{name}", _has_line(_CHANGELOG, entry)),
        ]
    files = {
        "service/__init__.py": '"""A service with limits."""\n',
        "service/settings.py": (
            '"""Settings, from the file at the root."""\n\nimport tomllib\nfrom pathlib import Path'
            '\n\n\ndef setting(table, name):\n    """Return one setting."""\n'
            '    text = (Path(__file__).parent.parent / "settings.toml").read_text()\n'
            "    return tomllib.loads(text)[table][name]\n"
        ),
        "service/limits.py": '"""Limits."""\n\nfrom service.settings import setting\n\n\n'
        + module("", *stubs).removeprefix('""""""\n\n\n'),
        _SETTINGS: '[service]\nname = "limits"\n\n[limits]\nfirst = 1\n',
        _REQUIREMENTS: "# What the limits need.\npackaging==25.0\n",
        _CHANGELOG: "# Changelog\n\n## Unreleased\n\n### Added\n\n- The service.\n",
    }
    about = (
        "The service is to get features, each with a setting, a dependency and a changelog line."
    )
    return Project("config", about, dict(sorted(files.items())), tuple(tasks), tuple(tests))


def _has_line(path: str, line: str) -> str:
    return f"from pathlib import Path\nassert Path({path!r}).read_text().splitlines().count({line!r}) == 1"
