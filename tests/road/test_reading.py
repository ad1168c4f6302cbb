"""What was read once is not parsed again."""

from __future__ import annotations

import subprocess
import sys

START = """
import ast, builtins, sys
from pathlib import Path
from mak.store import Store
from mak.landing import sources_at

with Store.open(Path(sys.argv[1])) as store:
    if sys.argv[2] == "parses nothing":
        def refuse(*args, **options):
            raise AssertionError("parsed again")
        ast.parse = builtins.compile = refuse
    sources = sources_at(store, store.tip())
    sources.load()
    print(sum(len(sources.file(path).nodes) for path in sources.paths))
"""


def read(root, *words: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", START, str(root), *words],
        check=True,
        capture_output=True,
        text=True,
    ).stdout


def test_second_run_over_an_unchanged_repository_parses_nothing(make_repo):
    files = {f"m{n}.py": f"import os\n\n\ndef f{n}():\n    return {n}\n" for n in range(20)}
    root = make_repo({**files, "broken.py": "def (\n", "notes.txt": "hello\n"})
    assert read(root, "parses") == read(root, "parses nothing") != "0\n"
