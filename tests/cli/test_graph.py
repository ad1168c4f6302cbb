"""`mak graph`: who relies on a node, in the working tree."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mak.cli.main import main

FILES = {
    "pkg/__init__.py": "from pkg.core import load\n",
    "pkg/core.py": (
        "from dataclasses import dataclass\n\n\n"
        "def load(name):\n    return parse(name)\n\n\n"
        "def parse(text):\n    return text\n\n\n"
        "@dataclass\nclass Point:\n    x: int\n    y: int\n\n"
        "    def shift(self, by):\n        return Point(self.x + by, self.y)\n"
    ),
    "app.py": (
        "import pkg\n\n\n"
        "def main():\n    return pkg.load('a')\n\n\n"
        "def move(point):\n    return point.shift(1)\n"
    ),
}

Ask = Callable[..., dict[str, Any]]


@pytest.fixture
def ask(make_repo: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> Ask:
    root = make_repo(FILES)

    def run(*args: str) -> dict[str, Any]:
        assert main(["graph", *args, "--json", "--work-dir", str(root)]) == 0
        found = json.loads(capsys.readouterr().out)
        assert isinstance(found, dict)
        return found

    return run


def brief(links: list[dict[str, Any]]) -> list[str]:
    return [f"{link['path']}:{link['line']} {link['kind']} {link['node']}" for link in links]


def test_callers_and_callees_are_told_with_their_places(ask: Ask) -> None:
    found = ask("pkg/core.py::load")
    assert found["signature"] == "def load(name)"
    assert brief(found["callers"]) == ["app.py:5 call app.py::main"]
    assert brief(found["callees"]) == ["pkg/core.py:5 call pkg/core.py::parse"]


def test_who_only_hands_it_on_is_told_apart(
    make_repo: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """A function that a package passes on to others was said to have nobody rely on it."""
    root = make_repo(
        {
            "pkg/__init__.py": 'from pkg.core import parse\n\n__all__ = ["parse"]\n',
            "pkg/core.py": "def parse(text):\n    return text\n",
            "app.py": "from pkg import parse as read\n",
        }
    )
    asked = ["graph", "pkg/core.py::parse", "--callers", "--work-dir", str(root)]
    assert main([*asked, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["callers"] == []
    assert brief(found["imports"]) == [
        "app.py:1 import app.py::@header",
        "pkg/__init__.py:1 re-export pkg/__init__.py::@header",
        "pkg/__init__.py:3 export pkg/__init__.py::@body",
    ]
    assert main(asked) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "nothing is known to use it" in lines
    assert "imports it or lists it in __all__ (3):" in lines


def test_one_side_is_told_when_only_that_is_asked_for(ask: Ask) -> None:
    assert "callees" not in ask("pkg/core.py::load", "--callers")
    assert "callers" not in ask("pkg/core.py::load", "--callees")
    assert [*ask("pkg/core.py::load", "--impact")] == ["node", "signature", "impact"]


def test_impact_goes_on_to_the_callers_of_callers(ask: Ask) -> None:
    assert ask("pkg/core.py::parse", "--impact")["impact"] == [
        {"node": "pkg/core.py::load", "steps": 1},
        {"node": "app.py::main", "steps": 2},
    ]


def test_who_makes_an_instance_relies_on_its_fields(ask: Ask) -> None:
    callers = brief(ask("pkg/core.py::Point.@body", "--callers")["callers"])
    assert "pkg/core.py:18 construct pkg/core.py::Point.shift" in callers


def test_a_receiver_that_is_not_known_only_may_call(ask: Ask) -> None:
    found = ask("pkg/core.py::Point.shift")
    assert found["callers"] == []
    assert found["may_call"] == [
        {"node": "app.py::move", "path": "app.py", "line": 9, "candidates": 1}
    ]


def test_a_dotted_name_and_a_misspelt_one_mean_the_node(ask: Ask) -> None:
    assert ask("pkg.core.load")["node"] == "pkg/core.py::load"
    assert ask("pkg/core.py::laod")["node"] == "pkg/core.py::load"


def test_a_dotted_name_that_a_package_passes_on_means_where_it_is_defined(
    make_repo: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    root = make_repo(
        {
            **FILES,
            "pkg/__init__.py": "from pkg.core import load\nfrom .core import Point as Spot\n",
            "pkg/other.py": "def load():\n    pass\n\n\nclass Spot:\n    pass\n",
            "top.py": "from pkg import load as read\n",
        }
    )
    for text, meant in (
        ("pkg.load", "pkg/core.py::load"),
        ("pkg.Spot", "pkg/core.py::Point"),
        ("pkg.Spot.shift", "pkg/core.py::Point.shift"),
        ("top.read", "pkg/core.py::load"),
    ):
        assert main(["graph", text, "--work-dir", str(root)]) == 0
        out, err = capsys.readouterr()
        assert out.splitlines()[0].split("  ")[0] == meant
        assert f"{text}: taken as {meant}" in err


def test_an_unknown_node_is_refused_with_the_nearest(
    make_repo: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    root = make_repo(FILES)
    assert main(["graph", "pkg/core.py::Poin.shuft_it", "--work-dir", str(root)]) == 2
    assert "did you mean pkg/core.py::Point.shift" in capsys.readouterr().err


def test_people_are_shown_lines(
    make_repo: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    root = make_repo(FILES)
    assert main(["graph", "pkg/core.py::Point.shift", "--work-dir", str(root)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "pkg/core.py::Point.shift  def shift(self, by)"
    assert "nothing is known to use it" in lines
    assert "  app.py:9  ?  app.py::move" in lines


def test_what_is_not_committed_counts(
    make_repo: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    root = make_repo(FILES)
    (root / "new.py").write_text("from pkg import load\nload(1)\n")
    assert main(["graph", "pkg/core.py::load", "--callers", "--work-dir", str(root)]) == 0
    assert "new.py:2" in capsys.readouterr().out
