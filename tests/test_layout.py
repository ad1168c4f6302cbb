"""What documents, registries and configuration say about the project is so."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from mak.checks import CHECKS
from mak.cli.commands import COMMANDS

ROOT = Path(__file__).parents[1]
ARCHITECTURE = (ROOT / "docs/architecture.md").read_text()
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCK = (ROOT / "requirements.lock").read_text()


def section(text: str, title: str) -> str:
    return text.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def rows(text: str) -> list[str]:
    """Return the first cell of every row of the tables in a text."""
    cells = [line.split("|")[1].strip() for line in text.splitlines() if line.startswith("|")]
    return [cell for cell in cells if cell and not set(cell) <= set("-: ")]


def python_files(folder: str) -> Iterator[Path]:
    data = ROOT / "tests" / "data"
    return (path for path in (ROOT / folder).rglob("*.py") if data not in path.parents)


# ----------------------------------------------------------------------------------- invariants

CITED = re.compile(r"\bI\d+\b")


def test_every_invariant_is_held_by_a_test() -> None:
    listed = [cell for cell in rows(section(ARCHITECTURE, "Invariants")) if CITED.fullmatch(cell)]
    assert listed == [f"I{n}" for n in range(1, len(listed) + 1)]
    cited = {
        name
        for path in python_files("tests")
        for line in path.read_text().splitlines()
        if line.lstrip().startswith("# I")
        for name in CITED.findall(line)
    }
    assert sorted(cited) == sorted(listed)


# ---------------------------------------------------------------------------------------- floors


# I1
def test_rooms_import_only_what_stands_below_them() -> None:
    run = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()"]
    done = subprocess.run([*run, "--no-cache"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_architecture_shows_the_floors_that_are_enforced() -> None:
    contracts = PROJECT["tool"]["importlinter"]["contracts"]
    (floors,) = [contract["layers"] for contract in contracts if contract["name"] == "Floors"]
    here = {path.stem for path in (ROOT / "mak").iterdir()}
    enforced = [[r for r in re.findall(r"\w+", floor) if r in here] for floor in floors]
    drawn = next(block for block in ARCHITECTURE.split("```") if "→ kernel →" in block)
    assert [re.findall(r"\w+", floor) for floor in drawn.split("→")] == enforced


def test_every_room_is_in_the_architecture() -> None:
    listed = {cell.strip("`/") for cell in rows(section(ARCHITECTURE, "Rooms and floors"))[1:]}
    here = {
        f"mak/{path.name}"
        for path in (ROOT / "mak").iterdir()
        if not path.name.startswith(("_", "."))
    }
    assert listed == here


def test_help_needs_none_of_the_heavy_libraries() -> None:
    heavy = [
        "anthropic",
        "github3",
        "httpx",
        "httpx2",
        "jwt",
        "libcst",
        "openai",
        "prompt_toolkit",
        "pydantic",
        "pygit2",
        "rich",
        "yaml",
    ]
    code = f"import sys, mak.cli.main; print(*[m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("", "")


# I20
def test_only_a_launcher_catches_everything() -> None:
    swallowing = {
        str(path.relative_to(ROOT))
        for path in python_files("mak")
        for handler in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(handler, ast.ExceptHandler)
        and (handler.type is None or "Exception" in _names(handler.type))
        and not isinstance(handler.body[-1], ast.Raise)
    }
    assert swallowing <= {"mak/cli/main.py", "mak/cli/app/loop.py"}


def _names(expression: ast.expr) -> set[str]:
    names = {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}
    return {name.replace("BaseException", "Exception") for name in names}


# ------------------------------------------------------------------------------------ registries


def test_every_check_is_registered_and_documented_once() -> None:
    files = {path.stem for path in python_files("mak/checks") if "\nCHECK = " in path.read_text()}
    modules = {importlib.import_module(f"mak.checks.{name}").CHECK for name in files}
    assert modules == {*CHECKS}
    ids = [check.id for check in CHECKS]
    assert len(ids) == len({*ids})
    assert [cell.strip("`") for cell in rows(section(ARCHITECTURE, "Checks"))[1:]] == ids


def test_every_check_has_a_page_that_says_what_to_do() -> None:
    pages = {path.stem: path.read_text() for path in (ROOT / "docs/checks").glob("*.md")}
    assert {*pages} - {"README", "precision"} == {check.id for check in CHECKS}
    for check in CHECKS:
        page = pages[check.id]
        assert page.startswith(f"# {check.id}\n")
        assert "**What to do.**" in page
        # In what does not compile no comment can be told from the rest.
        can_be_ignored = check.for_people and check.id != "syntax"
        assert (f"mak: ignore[{check.id}]" in page) == can_be_ignored


def test_every_slash_command_is_registered_and_documented() -> None:
    from mak.cli.app.commands import SLASHES
    from tests.slashes import table

    files = {path.stem for path in python_files("mak/cli/app/commands") if path.stem != "__init__"}
    assert {slash.name.replace("-", "_") for slash in SLASHES} == files
    assert table() in (ROOT / "docs/guides/app.md").read_text(), "make slashes writes it anew"


def test_every_command_is_registered() -> None:
    files = {path.stem for path in python_files("mak/cli/commands") if path.stem != "__init__"}
    assert {command.name for command in COMMANDS} == files


# ---------------------------------------------------------------------------------- dependencies

EXTRAS = [text for extra in PROJECT["project"]["optional-dependencies"].values() for text in extra]
DECLARED = [Requirement(text) for text in (*PROJECT["project"]["dependencies"], *EXTRAS)]
BUILD = [Requirement(text) for text in PROJECT["build-system"]["requires"]]


def test_the_lock_pins_every_declared_dependency_within_its_range() -> None:
    pins = dict(re.findall(r"^([a-z0-9-]+)==(\S+)", LOCK, re.MULTILINE))
    for requirement in (*DECLARED, *BUILD):
        version = pins[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version, prereleases=True), requirement


def test_the_lock_has_hashes_and_names_no_host_or_path() -> None:
    for entry in re.split(r"\n(?=[a-z0-9])", LOCK.split("\n", 2)[2]):
        assert "--hash=sha256:" in entry, entry
    assert not re.search(r"://|--(?!hash=)|\bvia\b|[ =]/", LOCK.split("\n", 2)[2])


def test_every_dependency_is_justified() -> None:
    table = section(CONTRIBUTING, "Dependencies")
    named = [name for cell in rows(table) for name in cell.split(", ")]
    assert sorted(
        {*named} - {"package", "for the GitHub App", "for development"}, key=str.lower
    ) == sorted((requirement.name for requirement in DECLARED), key=str.lower)


def test_the_wheel_holds_the_package_only(tmp_path: Path) -> None:
    builder = pytest.importorskip("hatchling.builders.wheel")
    wheel = next(builder.WheelBuilder(str(ROOT)).build(directory=str(tmp_path)))
    import zipfile

    tops = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"mak"}


# --------------------------------------------------------------------------------------- the rest


def test_documents_keep_their_length() -> None:
    assert len(ARCHITECTURE.splitlines()) <= 300
    assert len(CONTRIBUTING.splitlines()) <= 120


def test_links_between_documents_lead_somewhere() -> None:
    for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")):
        for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", path.read_text()):
            assert (path.parent / target).exists(), f"{path.name}: {target}"


def test_actions_are_pinned_and_may_only_read() -> None:
    for path in (ROOT / ".github/workflows").glob("*.yml"):
        text = path.read_text()
        for uses in re.findall(r"uses: (.+)", text):
            assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", uses), uses
        assert "\npermissions:\n  contents: read\n" in text
        assert text.count("actions/checkout@") == text.count("persist-credentials: false")


def test_continuous_integration_runs_every_supported_python() -> None:
    lowest = int(PROJECT["project"]["requires-python"].removeprefix(">=3."))
    text = (ROOT / ".github/workflows/ci.yml").read_text()
    (matrix,) = re.findall(r"python: \[(.+)\]", text)
    assert [int(v) for v in re.findall(r'"3\.(\d+)"', matrix)] == [*range(lowest, 15)]
