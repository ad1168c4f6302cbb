"""The hooks for other projects, installed by pre-commit from this repository as anybody's would.

Offline: pre-commit makes its environment and pip builds and installs MAK into it; only what MAK
depends on is lent by the environment that runs the tests.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from tests.conftest import git, write

ROOT = Path(__file__).parents[2]
#: What the hooks' package is made of.
PACKAGE = ("pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml")

BASE = {
    "shop/__init__.py": "",
    "shop/prices.py": "def total(items):\n    return sum(items)\n",
    "shop/cart.py": "from shop.prices import total\n\n\ndef pay(items):\n    return total(items)\n",
}
BROKEN = BASE["shop/prices.py"].replace("total", "price")
MENDED = BASE["shop/cart.py"].replace("total", "price")


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a repository of what is here, committed."""
    root = tmp_path_factory.mktemp("hooks") / "mak"
    shutil.copytree(ROOT / "mak", root / "mak", ignore=shutil.ignore_patterns("__pycache__"))
    for name in PACKAGE:
        shutil.copy(ROOT / name, root / name)
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "MAK")
    return root


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Return the environment that pre-commit runs in."""
    yield {
        **os.environ,
        "PRE_COMMIT_HOME": str(tmp_path_factory.mktemp("home")),
        "PATH": f"{sysconfig.get_path('scripts')}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": sysconfig.get_path("purelib"),
        "PIP_NO_DEPS": "1",
        "PIP_NO_INDEX": "1",
        # So it is spelled: pip takes the value for that of `--build-isolation`.
        "PIP_NO_BUILD_ISOLATION": "off",
        "GIT_AUTHOR_NAME": "Ada",
        "GIT_AUTHOR_EMAIL": "ada@example.org",
        "GIT_COMMITTER_NAME": "Ada",
        "GIT_COMMITTER_EMAIL": "ada@example.org",
    }


@pytest.fixture
def run(home: dict[str, str], make_repo: Callable[..., Path]) -> Callable[..., tuple[int, str]]:
    """Return a function that runs a command in the sample project."""
    root = make_repo(BASE)

    def run(*command: str) -> tuple[int, str]:
        done = subprocess.run(
            command, cwd=root, env=home, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        return done.returncode, done.stdout

    return run


def root_of(run: Callable[..., tuple[int, str]]) -> Path:
    return Path(run("git", "rev-parse", "--show-toplevel")[1].strip())


def assert_is_refused(code: int, told: str) -> None:
    """The person is told what breaks, where, which definition is meant and what to do."""
    assert code == 1, told
    assert "shop/cart.py\n  1:25 " in told
    assert "imports total" in told and "shop/prices.py:1" in told
    assert "1 finding in 1 file" in told
    assert "# mak: ignore[" in told


def test_repository_can_be_tried_out_as_it_is(hooks: Path, run) -> None:
    root = root_of(run)
    tried = (sys.executable, "-m", "pre_commit", "try-repo", str(hooks), "mak-check")
    write(root, {"shop/prices.py": BROKEN})
    git(root, "add", "-A")
    code, told = run(*tried)
    assert_is_refused(code, told)
    write(root, {"shop/cart.py": MENDED})
    git(root, "add", "-A")
    code, told = run(*tried)
    assert code == 0, told
    assert "mak check" in told and "Passed" in told


def test_commits_and_pushes_are_refused_when_they_break_something(
    hooks: Path, run, tmp_path: Path
) -> None:
    root = root_of(run)
    revision = git(hooks, "rev-parse", "HEAD").strip()
    ids = [{"id": "mak-check"}, {"id": "mak-check-push"}]
    config = {"repos": [{"repo": str(hooks), "rev": revision, "hooks": ids}]}
    write(root, {".pre-commit-config.yaml": yaml.safe_dump(config)})
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "hooks")
    types = ("--hook-type", "pre-commit", "--hook-type", "pre-push")
    code, told = run(sys.executable, "-m", "pre_commit", "install", *types)
    assert code == 0, told

    # A partial stage: the break is staged, its mending is not.
    write(root, {"shop/prices.py": BROKEN})
    git(root, "add", "-A")
    write(root, {"shop/cart.py": MENDED})
    assert_is_refused(*run("git", "commit", "-m", "break"))
    assert (root / "shop/cart.py").read_text() == MENDED
    # The other way round: what is broken in the files is not part of the commit.
    git(root, "add", "-A")
    write(root, {"shop/cart.py": BASE["shop/cart.py"]})
    code, told = run("git", "commit", "-m", "mend")
    assert code == 0, told
    # `commit -a` has an index of its own.
    assert_is_refused(*run("git", "commit", "-am", "break"))

    # A module that goes: pre-commit lists no deleted files.
    git(root, "restore", ".")
    git(root, "rm", "-q", "shop/prices.py")
    code, told = run("git", "commit", "-m", "delete")
    assert code == 1 and "shop/cart.py\n  1" in told, told
    git(root, "restore", "--staged", "--worktree", ".")

    git(tmp_path, "init", "-q", "--bare", "remote")
    git(root, "remote", "add", "origin", str(tmp_path / "remote"))
    code, told = run("git", "push", "origin", "main")
    assert code == 0 and "mak check (push)" in told, told
    write(root, {"shop/cart.py": BASE["shop/cart.py"]})
    git(root, "commit", "-qam", "around the hook", "--no-verify")
    # Not what the files say counts, but what is pushed.
    write(root, {"shop/cart.py": MENDED})
    assert_is_refused(*run("git", "push", "origin", "main"))
    git(root, "commit", "-qam", "mended", "--no-verify")
    code, told = run("git", "push", "origin", "main")
    assert code == 0, told
