"""The main job on a real package: Django's source as released, 885 modules, made a repository.

The package comes from the package index (`tests/material.py`); without it these tests fail.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from mak.cli.main import main
from mak.config import read_document
from mak.model import NodeId
from mak.source import SourceFile, decode, split
from tests.conftest import git
from tests.material import fetch, make_repository

DATA = Path(__file__).parents[1] / "data" / "real"
OLD, NEW = "import_string", "load_object"
#: Imports the function by another name and calls a variable of its own like it.
NAMESAKE = "django/core/management/commands/shell.py"
#: Starts Django with its own applications and lets it check itself, imports modules one by one and
#: tells what became of each.
CHECK = """
import importlib, json, sys
from django.conf import settings
apps = "admin auth contenttypes sessions messages staticfiles sitemaps syndication humanize".split()
settings.configure(
    INSTALLED_APPS=[f"django.contrib.{app}" for app in apps],
    SECRET_KEY="x",
    USE_I18N=False,
    SILENCED_SYSTEM_CHECKS=["admin.E403", "admin.E408", "admin.E409", "admin.E410"],
)
import django
django.setup()
from django.core.management import call_command
call_command("check", stdout=sys.stderr)
told = {}
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
        told[name] = "imported"
    except Exception as error:
        told[name] = f"{type(error).__name__}: {error}"
print(json.dumps(told))
"""


@dataclass
class Django:
    """The package as a repository."""

    root: Path
    capsys: pytest.CaptureFixture[str]

    def mak(self, command: str, *more: str) -> tuple[int, str, str]:
        """Type a command; return its exit code and what it printed."""
        self.capsys.readouterr()
        code = main([command, *more, "--work-dir", str(self.root)])
        return code, *self.capsys.readouterr()

    def before(self, path: str) -> SourceFile:
        """Return a file as it was released."""
        command = ["git", "show", f"base:{path}"]
        data = subprocess.run(command, cwd=self.root, capture_output=True, check=True).stdout
        return split(data, path)

    def changed(self) -> list[str]:
        """Return the paths that differ from the release, in branch and working tree alike."""
        assert git(self.root, "status", "--porcelain") == ""
        return git(self.root, "diff", "--name-only", "base").split()

    def python(self, *args: str) -> subprocess.CompletedProcess[str]:
        """Run Python where Django can be imported; what it compiles goes beside the repository."""
        wheels = fetch()
        path = os.pathsep.join(map(str, (self.root, wheels["asgiref"], wheels["sqlparse"])))
        caches = self.root.parent / "caches"
        env = {**os.environ, "PYTHONPATH": path, "PYTHONPYCACHEPREFIX": str(caches)}
        command = [sys.executable, *args]
        return subprocess.run(command, cwd=self.root, env=env, capture_output=True, text=True)

    def check(self, paths: list[str]) -> dict[str, str]:
        """Have Django check itself and import some of its modules."""
        stems = (path.removesuffix(".py").removesuffix("/__init__") for path in paths)
        modules = [stem.replace("/", ".") for stem in stems]
        done = self.python("-c", CHECK, *modules)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "no issues" in done.stderr
        told: dict[str, str] = json.loads(done.stdout)
        return told


@pytest.fixture
def django(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Django]:
    root = tmp_path / "django"
    make_repository(root)
    git(root, "tag", "base")
    yield Django(root, capsys)
    assert git(root, "fsck", "--no-dangling") == ""


def nodes_that_differ(before: SourceFile, after: SourceFile) -> tuple[set[str], set[str]]:
    """Return the symbols whose text differs on either side; the others keep their order."""
    old = {node.id.symbol: node.digest for node in before.nodes}
    new = {node.id.symbol: node.digest for node in after.nodes}
    same = [name for name in old if new.get(name) == old[name]]
    assert same == [name for name in new if old.get(name) == new[name]]
    return old.keys() - {*same}, new.keys() - {*same}


def renamed(path: str, data: bytes) -> bytes:
    """Rename in code and nowhere else, by the interpreter's own tokenizer."""
    if path == NAMESAKE:
        return data.replace(b"import import_string as", b"import load_object as")
    lines = data.decode().splitlines(keepends=True)
    for token in reversed([*tokenize.tokenize(io.BytesIO(data).readline)]):
        if token.type == tokenize.NAME and token.string == OLD:
            (row, start), (_, end) = token.start, token.end
            lines[row - 1] = lines[row - 1][:start] + NEW + lines[row - 1][end:]
    return "".join(lines).encode()


def test_a_function_that_32_files_use_is_renamed_everywhere_and_nothing_else_changes(django):
    sources = {
        path.relative_to(django.root).as_posix(): path.read_bytes()
        for path in django.root.rglob("*.py")
    }
    users = sorted(path for path, data in sources.items() if renamed(path, data) != data)
    assert (len(sources), len(users)) == (885, 32)
    before = django.check(users)
    # That one wants a package which is not there.
    failing = [name for name, told in before.items() if told != "imported"]
    assert failing == ["django.template.backends.jinja2"]

    request = f"rename function django.utils.module_loading.{OLD} to {NEW}"
    code, out, _ = django.mak("run", "--task", request, "--no-review", "--models", "builtin")
    assert code == 0
    assert "32 of 32 tasks landed in 1 commit on main" in out
    assert git(django.root, "rev-list", "--count", "base..HEAD") == "1\n"

    assert django.changed() == users
    for path in users:
        old, new = django.before(path), split((django.root / path).read_bytes(), path)
        assert new.data == renamed(path, old.data)
        gone, come = nodes_that_differ(old, new)
        assert gone - {OLD} == come - {NEW}
        assert all(OLD in decode(old, NodeId(path, symbol)) for symbol in gone)
    assert django.check(users) == before
    compiled = django.python("-m", "compileall", "-q", "django")
    assert compiled.returncode == 0, compiled.stdout
    # The namesake keeps its variable; elsewhere only comments and docstrings have the old name.
    left = git(django.root, "grep", "-w", "-c", OLD).splitlines()
    assert left == [
        "django/apps/config.py:2",
        "django/contrib/messages/storage/__init__.py:1",
        f"{NAMESAKE}:4",
    ]


def at_once(told: str) -> int:
    """Return how many agents worked at the same time at most, by what a run told."""
    working: set[str] = set()
    most = 0
    for line in told.splitlines():
        label, _, text = line.partition(" ")
        task = text.strip().split(":")[0].split(" ")[0]
        if label == "start":
            working.add(task)
            most = max(most, len(working))
        elif label in ("reply", "fail"):
            working.discard(task)
    return most


def trailers(root: Path, commit: str) -> dict[str, str]:
    """Return the trailers of a commit."""
    text = git(root, "log", "-1", "--format=%(trailers:only,unfold)", commit)
    return dict(line.split(": ", 1) for line in text.splitlines() if line)


def test_twenty_tasks_over_eight_files_with_four_agents(django):
    plan, script = read_document(DATA / "plan.yaml"), read_document(DATA / "script.yaml")["tasks"]
    writes = {task["id"]: NodeId.parse(task["writes"][0]) for task in plan["tasks"]}
    files = sorted({node.path for node in writes.values()})
    lost = {"date-date": "failed", "filter-slashes": "skipped"}
    second = ["lorem-words", "filter-capfirst"]
    first = [task for task in writes if task not in (*lost, *second)]
    assert (len(writes), len(files)) == (20, 8)
    assert sum(node.symbol.startswith("Paginator.") for node in writes.values()) == 2
    before = django.check(files)
    assert set(before.values()) == {"imported"}

    agents = ["--models", f"scripted:{DATA / 'script.yaml'}", "--max-agents", "4"]
    code, out, told = django.mak(
        "run", "--plan", str(DATA / "plan.yaml"), "--no-review", *agents, "--json"
    )
    assert code == 1
    run = json.loads(out)
    states = {name: task["state"] for name, task in run["tasks"].items()}
    assert states == {**dict.fromkeys([*first, *second], "done"), **lost}
    assert "the prompt is too long" in run["tasks"]["date-date"]["reason"]
    assert run["tasks"]["date-time"]["attempts"] == 2
    assert (run["usage"]["calls"], run["usage"]["input"]) == (20, 20 * 1200)
    assert at_once(told) == 4

    commits = git(django.root, "rev-list", "--reverse", "base..HEAD").split()
    assert [wave["commit"] for wave in run["waves"]] == commits
    assert [wave["tasks"] for wave in run["waves"]] == [first, second]
    for number, (commit, tasks) in enumerate(zip(commits, (first, second), strict=True), 1):
        found = trailers(django.root, commit)
        assert len(found.pop("MAK-Plan")) == 64
        assert found == {
            "MAK-Run": run["run"],
            "MAK-Wave": str(number),
            "MAK-Kind": "wave",
            "MAK-Tasks": ", ".join(tasks),
        }

    # What was asked for is there word for word; every other node is as it was, byte for byte.
    beside = {"django/utils/html.py": "@body", "django/template/defaultfilters.py": "@header"}
    assert django.changed() == files
    for path in files:
        old, new = django.before(path), split((django.root / path).read_bytes(), path)
        tasks = [task for task in (*first, *second) if writes[task].path == path]
        gone, come = nodes_that_differ(old, new)
        expected = {writes[task].symbol for task in tasks} | {beside.get(path, "")} - {""}
        assert gone == come == expected
        for task in tasks:
            [result] = script[task][-1]["reply"]["results"]
            assert decode(new, writes[task]).strip("\n") == result["new_source"].strip("\n")
    assert django.check(files) == before
    look_back(django, run["run"])
    take_back(django, commits)


def look_back(django: Django, run: str) -> None:
    """Check what ``mak log`` and ``mak show`` tell."""
    code, out, _ = django.mak("log")
    assert code == 0
    [row] = out.splitlines()[1:]
    assert row.startswith(run)
    assert "failed on main  18/20" in row and "Small clean-ups" in row

    code, out, _ = django.mak("show")
    assert code == 0
    assert f"run      {run} (failed)" in out
    assert "wave 1   " in out and "wave 2   " in out
    assert "filter-slashes  skipped" in out
    assert "edit    django/utils/html.py::linebreaks (10 lines)" in out
    assert "from django.utils.text import capfirst as capitalize" in out

    code, out, _ = django.mak("show", "--task", "date-time")
    assert code == 0
    assert "refused elision: '... existing code ...'" in out
    assert "--- attempt 1: django/utils/dateparse.py::parse_time (11 lines)" in out
    assert "--- attempt 2: django/utils/dateparse.py::parse_time (22 lines)" in out


def take_back(django: Django, commits: list[str]) -> None:
    """Check that ``mak undo`` brings the released tree back, on top of what was done."""
    code, out, _ = django.mak("undo")
    assert code == 0
    assert "Took back 2 commits" in out
    assert django.changed() == []
    assert git(django.root, "rev-list", "--count", "base..HEAD") == f"{len(commits) + 1}\n"
