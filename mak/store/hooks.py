"""The repository's commit hooks as a gate: run once per wave, in a throw-away working tree.

Hooks never see the person's index or files, and nothing they change there is taken, except the
message that commit-msg leaves; MAK's trailers stay in it.
"""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mak.store.git import environment
from mak.store.message import with_trailers_of
from mak.store.repository import Repository
from mak.store.scratch import scratch
from mak.store.signing import Settings

_NAMES = ("pre-commit", "commit-msg")

#: Seconds that one hook may take.
TIMEOUT = 600.0


@dataclass(frozen=True, slots=True)
class Refused:
    """A hook said no."""

    hook: str
    output: str


def present(settings: Settings) -> tuple[str, ...]:
    """Return which of the hooks that judge a commit the repository has."""
    return tuple(name for name in _NAMES if os.access(settings.hooks / name, os.X_OK))


def judge(
    repository: Repository, settings: Settings, base: str, tree: str, message: str
) -> str | Refused:
    """Run pre-commit and commit-msg on a commit to be; return its message, or who refused it."""
    names = present(settings)
    if not names:
        return message
    with scratch(repository, base) as copy:
        copy.show(tree)
        git, root = copy.git, copy.root
        for name in names:
            arguments = []
            if name == "commit-msg":
                file = Path(git.run("rev-parse", "--absolute-git-dir").decode().strip())
                file = file / "COMMIT_EDITMSG"
                file.write_text(message, encoding="utf-8")
                arguments = [str(file)]
            refused = _run(settings.hooks / name, arguments, root, copy.environment)
            if refused is not None:
                return Refused(name, refused)
            if arguments:
                text = file.read_text(encoding="utf-8", errors="replace")
                message = text if text == message else with_trailers_of(text, message)
        git.run("add", "-A")
        if git.run("write-tree").decode().strip() != tree:
            changed = git.run("diff", "--cached", "--name-only", tree).decode("utf-8", "replace")
            return Refused("pre-commit", f"it changes files:\n{changed}")
    return message


def _run(hook: Path, arguments: list[str], root: Path, more: Mapping[str, str]) -> str | None:
    """Run a hook; return None when it agrees, else what it said."""
    env = {**environment(), **more, "GIT_EDITOR": ":"}
    env.pop("GIT_LITERAL_PATHSPECS", None)
    for command in ([str(hook)], ["sh", str(hook)]):
        try:
            done = subprocess.run(
                [*command, *arguments],
                cwd=root,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=TIMEOUT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"it was still running after {TIMEOUT:.0f} s"
        except OSError as error:
            if error.errno == errno.ENOEXEC:
                continue  # no #! line: git has the shell run it
            return str(error)
        text = done.stdout.decode("utf-8", "replace").strip()
        return None if done.returncode == 0 else text or f"exit {done.returncode}"
    return "it cannot be executed"
