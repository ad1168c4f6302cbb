"""Writes docs/transcripts/real-package.md: MAK on Django's source, commands and what they printed.

``make transcript`` runs it. Nothing is edited by hand; long output is cut where it says so.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.material import make_repository

ROOT = Path(__file__).parent.parent
TASK = "rename function django.utils.module_loading.import_string to load_object"

INTRO = """\
# A real package

MAK on the source of Django 5.2.19 as it is on the package index: 885 Python files, made a Git
repository of one commit. First the built-in agent renames a function that 32 files use, then four
scripted agents work on twenty tasks in eight files.

This page is what `make transcript` wrote; `… (n lines)` marks where long output was cut. To repeat
it by hand, in a checkout of MAK:

```sh
make material                                # downloads the packages that tests/material.txt pins
.venv/bin/python tests/material.py /tmp/real/django
cp tests/data/real/*.yaml /tmp/real/         # the twenty tasks, and what their agents answer
export PATH="$PWD/.venv/bin:$PATH"
cd /tmp/real/django
```

and then the commands below. `tests/road/test_real.py` does the same and checks every byte of it.
"""


class Terminal:
    """Types commands into a shell and writes them down with what they print."""

    def __init__(self, where: Path, home: Path) -> None:
        self.where = where
        bins = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        kept = {"PATH": bins, "HOME": str(home), "LANG": "C.UTF-8", "PYTHONPATH": str(ROOT)}
        self.env = {**kept, "PYTHONDONTWRITEBYTECODE": "1", "GIT_PAGER": "cat"}

    def type(self, command: str, *, head: int = 60, tail: int = 0, code: int = 0) -> None:
        """Run a command, print it and the first and last lines of what it says."""
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.where,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert done.returncode == code, (command, done.returncode, done.stdout)
        lines = done.stdout.splitlines()
        if len(lines) > head + tail:
            cut = f"… ({len(lines) - head - tail} lines)"
            lines = [*lines[:head], cut, *lines[len(lines) - tail :]]
        shown = "\n".join(line.rstrip() for line in lines)
        print(
            f"```console\n$ {command}\n{shown}\n```\n"
            if shown
            else f"```console\n$ {command}\n```\n"
        )


def say(text: str) -> None:
    print(f"{text}\n")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="mak-") as folder:
        root = Path(folder, "django")
        make_repository(root)
        for path in (ROOT / "tests/data/real").glob("*.yaml"):
            Path(folder, path.name).write_bytes(path.read_bytes())
        terminal = Terminal(root, Path(folder))
        print(INTRO)
        rename(terminal)
        twenty(terminal)


def rename(terminal: Terminal) -> None:
    say("## One function, thirty-two files")
    terminal.type(
        "git log --oneline; git ls-files '*.py' | wc -l; git grep -lw import_string | wc -l"
    )
    terminal.type(f'time mak run --no-review --task "{TASK}"', head=8, tail=16)
    say("One commit, one or a few lines in each file:")
    terminal.type("git show --stat", head=12, tail=10)
    say(
        "`shell.py` imports the function by another name, and calls a variable like it.\n"
        "The import follows, the variable stays:"
    )
    terminal.type("git show -U0 --format= -- django/core/management/commands/shell.py")
    terminal.type("git grep -nw import_string")
    say(
        "The two hits in `config.py` and the one in `messages` are comments and a docstring: MAK\n"
        "does not rewrite prose. The source compiles, and a second run finds nothing to rename:"
    )
    terminal.type("PYTHONPYCACHEPREFIX=../caches python -m compileall -q django && echo compiled")
    terminal.type(f'mak run --no-review --task "{TASK}"', code=1)
    say("`mak undo` brings the tree of the release back, so there is no difference to print:")
    terminal.type("mak undo && git status --short && git diff --stat HEAD~2")


def twenty(terminal: Terminal) -> None:
    say("## Twenty tasks, eight files, four agents")
    say(
        "Two of the tasks write methods of one class. One agent fails (its account is empty), and\n"
        "another leaves out code the first time it is asked. Three tasks wait for another one."
    )
    terminal.type("head -21 ../plan.yaml")
    script = "--plan ../plan.yaml --models scripted:../script.yaml"
    terminal.type(
        f"time mak run --no-review {script} --max-agents 4; echo exit $?",
        head=24,
        tail=36,
    )
    terminal.type("git log -2 --format=%B", head=60)
    terminal.type("git diff --stat HEAD~2")
    terminal.type("git diff -U1 HEAD~2 -- django/core/paginator.py django/utils/html.py", head=40)
    terminal.type("mak log")
    say("What became of one task, with all that its agent said:")
    terminal.type("mak show --task date-time")
    say("And back to the release once more:")
    terminal.type("mak undo && git status --short && git diff --stat HEAD~3")


if __name__ == "__main__":
    main()
