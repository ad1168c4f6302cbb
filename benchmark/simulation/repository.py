"""A project as a Git repository, and Git as all arms call it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path

_IDENTITY = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "gc.auto=0")


def git(where: Path, *args: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run Git; raise when it fails and `check` says so."""
    return subprocess.run(
        ["git", *_IDENTITY, *args], cwd=where, check=check, capture_output=True, text=True
    )


def create(root: Path, files: dict[str, str]) -> None:
    """Make a repository with one commit on ``main``."""
    root.mkdir(parents=True)
    git(root, "init", "-q", "-b", "main")
    write(root, files)
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "base")


def write(root: Path, files: dict[str, str]) -> None:
    """Write files."""
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


def read(root: Path, paths: Iterable[str]) -> dict[str, str]:
    """Read files."""
    return {path: (root / path).read_text() for path in paths}
