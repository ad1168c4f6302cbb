"""Files that decide what runs, or with what, change only when the plan names them.

An import or a new symbol needs no grant. In a file that every test run, install or CI job executes
that freedom would let text from outside decide what runs on other machines.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from mak.checks.change import Change, Check
from mak.model import Finding, NodeId

_FOLDERS = {
    ".buildkite": "CI configuration",
    ".ci": "CI configuration",
    ".circleci": "CI configuration",
    ".git": "Git's own data",
    ".github": "CI configuration",
    ".gitlab": "CI configuration",
    ".mak": "MAK's configuration",
}
_NAMES = {
    ".drone.yml": "CI configuration",
    ".makignore": "what is kept from agents",
    ".pre-commit-config.yaml": "commit hooks",
    ".travis.yml": "CI configuration",
    "Jenkinsfile": "CI configuration",
    "action.yaml": "CI configuration",
    "action.yml": "CI configuration",
    "appveyor.yml": "CI configuration",
    "azure-pipelines.yml": "CI configuration",
    "bitbucket-pipelines.yml": "CI configuration",
    "codeowners": "who must review",
    "conftest.py": "code that every test run executes",
    "go.sum": "locked dependencies",
    "npm-shrinkwrap.json": "locked dependencies",
    "package-lock.json": "locked dependencies",
    "pnpm-lock.yaml": "locked dependencies",
    "pyproject.toml": "build and tool configuration",
    "setup.cfg": "build configuration",
    "setup.py": "code that every install executes",
    "sitecustomize.py": "code that every start of Python executes",
    "usercustomize.py": "code that every start of Python executes",
}
_SUFFIXES = {
    ".lock": "locked dependencies",
    ".pth": "code that every start of Python executes",
}
_BY_NAME = {name.lower(): what for name, what in _NAMES.items()}


def protected(path: str) -> str:
    """Say what makes the file at `path` write-protected; empty: it is not.

    Names are compared without regard to case: many file systems do.
    """
    parts = PurePosixPath(path.lower()).parts
    for part in parts[:-1]:
        if part in _FOLDERS:
            return _FOLDERS[part]
    name = parts[-1] if parts else ""
    if name in _BY_NAME:
        return _BY_NAME[name]
    if name.startswith(".git"):
        return "Git configuration"
    return _SUFFIXES.get(PurePosixPath(name).suffix, "")


def _findings(change: Change) -> Iterator[Finding]:
    if change.task is None:
        return
    named = {node.path for node in change.grants}
    for path, _, _ in change.files():
        what = protected(path)
        if what and path not in named:
            yield Finding(
                CHECK.id,
                NodeId(path),
                f"{path} is write-protected ({what}) and the plan does not name it; "
                "leave it as it is",
            )


CHECK = Check("protected-path", "a write-protected file changed without being planned", _findings)
