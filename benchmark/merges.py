"""Two edits of one file: what MAK makes of them beside ``git merge-file``.

``python benchmark/merges.py`` prints a row for every case of ``tests/data/merges``: base, two sides
and what a careful person would make of them, which is a text or, where order or meaning clashes, a
conflict. An outcome is right, a needless ``conflict``, or ``wrong``: a text that is not the one
wanted, or any text where there is a conflict. The last line counts the cases that one of the two
gets right and the other does not; the exit status is 1 where git does better in any.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mak.source import SourceFile, merge, split

CASES = Path(__file__).parent.parent / "tests" / "data" / "merges"
NEWLINES = {"crlf": b"\r\n", "cr": b"\r"}


@dataclass(frozen=True)
class Case:
    """Three texts, and the one that they should become; None: a conflict."""

    name: str
    path: str
    base: bytes
    ours: bytes
    theirs: bytes
    wanted: bytes | None


def cases(folder: Path) -> Iterator[Case]:
    """Read the cases; ``tests/source/test_cases.py`` says how they are written."""
    for file in sorted(folder.glob("*.txt")):
        for block in file.read_text("utf-8").split("##### ")[1:]:
            title, _, rest = block.partition("\n")
            name, *options = title.split(" | ")
            parts: dict[str, bytes] = {}
            for part in f"\n{rest}".removesuffix("\n").split("\n=== ")[1:]:
                head, has_text, text = part.partition("\n")
                parts[head.split(" ")[0]] = _bytes(text + has_text, options)
            path = next((o[5:] for o in options if o.startswith("path ")), "a.py")
            yield Case(
                name, path, parts["base"], parts["ours"], parts["theirs"], parts.get("merged")
            )


def _bytes(text: str, options: list[str]) -> bytes:
    data = (text.removesuffix("\n") if "no-eol" in options else text).encode()
    for option in options:
        data = data.replace(b"\n", NEWLINES.get(option, b"\n"))
    return data


def by_mak(case: Case) -> bytes | None:
    """Return the merge; None: a conflict."""
    result = merge(*(split(t, case.path) for t in (case.base, case.ours, case.theirs)))
    return result.data if isinstance(result, SourceFile) else None


def by_git(case: Case, *options: str) -> bytes | None:
    """Return what ``git merge-file`` makes of it; None: a conflict."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, name) for name in ("ours", "base", "theirs")]
        for path, data in zip(paths, (case.ours, case.base, case.theirs), strict=True):
            path.write_bytes(data)
        command = ["git", "merge-file", "-p", "-q", *options, *map(str, paths)]
        done = subprocess.run(command, capture_output=True, check=False)
    return done.stdout if done.returncode == 0 else None


def outcome(case: Case, made: bytes | None) -> str:
    """Say whether a result is right, a needless conflict, or wrong."""
    if made == case.wanted:
        return "right"
    return "conflict" if made is None else "wrong"


def main(arguments: list[str]) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", default=CASES, help="where the cases are")
    args = parser.parse_args(arguments)
    totals: dict[str, Counter[str]] = {"mak": Counter(), "git": Counter(), "union": Counter()}
    better = worse = count = 0
    print(f"{'case':58}{'wanted':10}{'mak':10}{'git':10}git --union")
    for case in cases(args.folder):
        found = {
            "mak": outcome(case, by_mak(case)),
            "git": outcome(case, by_git(case)),
            "union": outcome(case, by_git(case, "--union")),
        }
        for name, result in found.items():
            totals[name][result] += 1
        count += 1
        better += found["mak"] == "right" != found["git"]
        worse += found["git"] == "right" != found["mak"]
        wanted = "conflict" if case.wanted is None else "merge"
        print(f"{case.name[:56]:58}{wanted:10}{found['mak']:10}{found['git']:10}{found['union']}")
    for name, counts in totals.items():
        print(f"{name:6}" + ", ".join(f"{n} {what}" for what, n in sorted(counts.items())))
    print(f"{count} cases: MAK better in {better}, worse in {worse}, the rest alike")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
