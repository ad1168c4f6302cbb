"""What a check of Django costs: cold, warm, after one changed file; beside other tools."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from packages import files_of, sources_of, wheel
from spent import Spent, lowest, run

from mak.checks import check_trees
from mak.source import split

#: A file in the middle of things, and a function in it: what is edited.
EDITED = "django/utils/text.py"
_TOOLS = {
    "ruff check --select F": ("-m", "ruff", "check", "--quiet", "--no-cache", "--select", "F"),
    "pyflakes": ("-m", "pyflakes"),
    "mypy": ("-m", "mypy", "--no-error-summary", "--ignore-missing-imports", "--cache-dir"),
}


def measure(folder: Path, repeat: int) -> None:
    """Print the table, then the aims."""
    with tempfile.TemporaryDirectory(prefix="mak-benchmark-") as temporary:
        root = Path(temporary, "django")
        _repository(root, folder)
        print("\ndjango, seconds, the lowest of each\n")
        print("| | CPU | wall |\n|---|---:|---:|")
        mak = (sys.executable, "-m", "mak", "check")
        cache = root / ".git" / "mak"
        cold = lowest(repeat, lambda: run((*mak, "--all"), root, fresh=cache))
        _row("mak check --all, cold", cold)
        _row("mak check --all, warm", lowest(repeat, lambda: run((*mak, "--all"), root)))
        _edit(root)
        staged = lowest(repeat + 1, lambda: run((*mak, "--staged"), root))
        _row("mak check --staged, one file, warm", staged)
        again = _in_process(folder, repeat)
        _row("one changed file again, in one process", again)
        others = {}
        env = {**os.environ, "PYTHONPATH": str(wheel("pyflakes", folder))}
        for name, arguments in _TOOLS.items():
            more = (str(root / "no-cache"),) if name == "mypy" else ()
            command = (sys.executable, *arguments, *more, str(root / "django"))
            times = repeat if name != "mypy" else 1
            others[name] = lowest(times, partial(run, command, root, env=env))
            _row(name, others[name])
    print("\naims\n")
    _verdict("mak check --staged of one file, warm, wall s", staged.wall, 2)
    _verdict("cold beside pyflakes, wall", cold.wall / others["pyflakes"].wall, 2)
    _verdict("one changed file again, CPU ms", again.cpu * 1000, 50)


def _repository(root: Path, folder: Path) -> None:
    root.mkdir()
    for path, data in files_of("django", folder).items():
        if path.endswith((".py", ".pyi")):
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
    for args in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "Django"]):
        _git(root, *args)


def _edit(root: Path) -> None:
    """Stage a change of a signature that callers do not notice, and of a body."""
    path = root / EDITED
    text = path.read_text()
    edited = text.replace("def slugify(value, allow_unicode=False):", _SLUGIFY)
    assert edited != text
    path.write_text(edited)
    _git(root, "add", "-A")


_SLUGIFY = "def slugify(value, allow_unicode=False, lower=True):"


def _git(root: Path, *args: str) -> None:
    who = {
        f"GIT_{role}_{what}": "Ada"
        for role in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    subprocess.run(
        ["git", "-c", "commit.gpgsign=false", *args],
        cwd=root,
        env={**os.environ, **who},
        check=True,
    )


def _in_process(folder: Path, repeat: int) -> Spent:
    """Check a tree in which one file is edited anew each time, everything else known."""
    before = sources_of(files_of("django", folder))
    text = before.data(EDITED).decode()
    check_trees(before, before.overlay({EDITED: split(f"{text}\n\nX = 0\n".encode(), EDITED)}))
    spent = []
    for number in range(max(repeat, 5)):
        body = text.replace(
            "def slugify(value", f"def slugify_{number}(x):\n    return x\n\n\ndef slugify(value"
        )
        after = before.overlay({EDITED: split(body.encode(), EDITED)})
        cpu, wall = time.process_time(), time.perf_counter()
        check_trees(before, after)
        spent.append(Spent(time.process_time() - cpu, time.perf_counter() - wall))
    return Spent(min(one.cpu for one in spent), min(one.wall for one in spent))


def _row(name: str, spent: Spent) -> None:
    print(f"| {name} | {spent.cpu:.2f} | {spent.wall:.2f} |", flush=True)


def _verdict(what: str, value: float, limit: float) -> None:
    print(f"- {'met' if value <= limit else 'missed'}: {what}: {value:.2f}, aim {limit:g}")
