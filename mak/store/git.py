"""Git's own command line: for the index, the working tree, attributes and everything remote.

Invariant: a command sees the repository it was built for, whatever ``GIT_*`` variables a hook or a
shell left in the environment, and never runs the person's hooks unless asked to.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from mak.errors import StoreError

#: What ``git rev-parse --local-env-vars`` prints (Git 2.54), and switches that change what a
#: pathspec or a ref name means. Git obeys them and libgit2 does not, so both would disagree.
_LOCAL = {
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_CONFIG",
    "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_COUNT",
    "GIT_OBJECT_DIRECTORY",
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_GRAFT_FILE",
    "GIT_INDEX_FILE",
    "GIT_INDEX_VERSION",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_REPLACE_REF_BASE",
    "GIT_PREFIX",
    "GIT_SHALLOW_FILE",
    "GIT_COMMON_DIR",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_NAMESPACE",
    "GIT_QUARANTINE_PATH",
    "GIT_LITERAL_PATHSPECS",
    "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
    "GIT_DEFAULT_HASH",
    "GIT_DEFAULT_REF_FORMAT",
    "GIT_ATTR_SOURCE",
    "GIT_CEILING_DIRECTORIES",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
}

_ALWAYS = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}

#: Commands that change the repository or the working tree.
_WRITING = {
    "read-tree",
    "update-index",
    "checkout-index",
    "update-ref",
    "commit-tree",
    "index-pack",
    "fetch",
    "push",
    "worktree",
}

#: Bytes of arguments per command; Linux allows 2 MiB with the environment, 128 KiB a string.
_ARGUMENT_BYTES = 100_000


def environment() -> dict[str, str]:
    """Return this process's environment without what would point git at another repository."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in _LOCAL and not name.startswith(("GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_"))
    }
    return {**kept, **_ALWAYS}


class Git:
    """Runs git in one repository; `pinned`: whatever becomes of ``.git``, in no other."""

    def __init__(self, git_dir: Path, root: Path | None, *, pinned: bool = False) -> None:
        self._cwd = root or git_dir
        self._options = ["-c", "gc.auto=0", "-c", "maintenance.auto=false"]
        if root is None:
            self._options += [f"--git-dir={git_dir}"]
        elif pinned or not (root / ".git").exists():
            self._options += [f"--git-dir={git_dir}", f"--work-tree={root}"]
        #: Called before a command that writes, with its name; raising stops it.
        self.before_write: Callable[[str], None] = lambda command: None

    def run(
        self,
        *args: str,
        input: bytes | None = None,
        check: bool = True,
        env: Mapping[str, str] | None = None,
        hooks: bool = False,
    ) -> bytes:
        """Run ``git ARGS…`` at the repository's root and return what it wrote to stdout.

        Pathspecs are literal. The command is in a process group of its own, so that Ctrl-C in a
        terminal does not cut it short. Raise StoreError with git's words when it exits non-zero,
        unless `check` is false.
        """
        done = self.attempt(*args, input=input, env=env, hooks=hooks)
        if check and done.returncode:
            raise StoreError(f"git {args[0]}: {_complaint(done)}")
        return done.stdout

    def attempt(
        self,
        *args: str,
        input: bytes | None = None,
        env: Mapping[str, str] | None = None,
        hooks: bool = False,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run ``git ARGS…`` as `run` does and return its exit code and all its output."""
        options = self._options if hooks else [*self._options, "-c", "core.hooksPath=/dev/null"]
        try:
            if args[0] in _WRITING or "-w" in args:
                self.before_write(f"git {args[0]}")
            return subprocess.run(
                ["git", *options, *args],
                cwd=self._cwd,
                env={**environment(), **(env or {})},
                input=b"" if input is None else input,
                capture_output=True,
                check=False,
                process_group=0,
            )
        except FileNotFoundError as error:
            if error.filename != "git":
                raise StoreError(f"git {args[0]}: {self._cwd} is gone") from error
            raise StoreError(
                f"git {args[0]}: there is no git on the PATH", hint="install Git 2.30 or newer"
            ) from error
        except OSError as error:
            raise StoreError(f"git {args[0]}: {error}") from error

    def run_over(self, *args: str, paths: list[str]) -> bytes:
        """Run ``git ARGS… -- PATHS…`` in as many commands as the paths need; join the output."""
        output = bytearray()
        batch: list[str] = []
        size = 0
        for path in paths:
            if size + len(path) > _ARGUMENT_BYTES:
                output += self.run(*args, "--", *batch)
                batch, size = [], 0
            batch.append(path)
            size += len(os.fsencode(path)) + 1
        if batch:
            output += self.run(*args, "--", *batch)
        return bytes(output)


def _complaint(done: subprocess.CompletedProcess[bytes]) -> str:
    """What git said, without its ``fatal:``; its exit code when it said nothing."""
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    for prefix in ("fatal: ", "error: "):
        for line in lines:
            if line.startswith(prefix):
                return line.removeprefix(prefix)
    return " ".join(lines) or f"exit {done.returncode}"
