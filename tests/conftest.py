"""What every test shares: an empty home, no Git identity, and small real repositories."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# Before anything reads them: libgit2 looks for a person's configuration once, when it is loaded.
_HOME = tempfile.mkdtemp(prefix="mak-home-")
os.environ["HOME"] = _HOME
os.environ["GIT_CONFIG_NOSYSTEM"] = "1"
os.environ["ANTHROPIC_CONFIG_DIR"] = f"{_HOME}/none"
for _name in list(os.environ):
    if _name.startswith(("XDG_", "GIT_")) and _name != "GIT_CONFIG_NOSYSTEM":
        del os.environ[_name]
    if _name.endswith(("_API_KEY", "_BASE_URL")) or _name.lower().endswith("_proxy"):
        del os.environ[_name]

# The person whose suite this is: HOME may be unset or set back, the account stays.
_THEIR_HOME = Path(pwd.getpwuid(os.getuid()).pw_dir)
_THEIRS = tuple(
    str(_THEIR_HOME / folder / "mak") for folder in (".config", ".cache", ".local/state")
)


def _guard(event: str, args: tuple[Any, ...]) -> None:
    """Stop whatever is about to read a person's own configuration, here or in a child."""
    if event in ("open", "os.listdir", "os.scandir", "os.rename", "os.remove"):
        path = args[0]
        if isinstance(path, str | bytes) and os.fsdecode(path).startswith(_THEIRS):
            raise RuntimeError(f"a test reaches for {os.fsdecode(path)}")
    if event == "subprocess.Popen":
        environment = os.environ if args[3] is None else args[3]
        if Path(environment.get("HOME", _THEIR_HOME)) == _THEIR_HOME:
            raise RuntimeError("a test starts a process with the person's own HOME")


sys.addaudithook(_guard)

# A slow example on a loaded machine is no failure; CI draws the same examples every time.
settings.register_profile("mak", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("mak")

Files = Mapping[str, str | bytes]


def git(where: Path, *args: str, text: str | None = None) -> str:
    """Run git in a repository and return what it printed."""
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    done = subprocess.run(
        ["git", *identity, *args], cwd=where, input=text, capture_output=True, text=True
    )
    assert done.returncode == 0, f"git {' '.join(args)}: {done.stderr}"
    return done.stdout


def write(root: Path, files: Files) -> None:
    """Write files below a folder, as bytes."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


@pytest.fixture(autouse=True)
def person(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give each test a person of its own; return the folder of their configuration for MAK."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    return home / ".config" / "mak"


@pytest.fixture
def make_repo(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that makes a repository with one commit of the files given."""

    def make(files: Files, name: str = "repo") -> Path:
        root = tmp_path / name
        root.mkdir(parents=True)
        git(root, "init", "-q", "-b", "main")
        write(root, files)
        git(root, "add", "-A")
        git(root, "commit", "-q", "--allow-empty", "-m", "base")
        return root

    return make
