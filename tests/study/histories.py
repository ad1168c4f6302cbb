"""A small history with known answers: pairs of branches that were under way at the same time."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

MODULE = """\
TABLE = {
    "one": 1,
}


def alpha(a):
    return a


def beta(b):
    return b


def gamma(c):
    return alpha(c)
"""


def git(root: Path, *args: str, author: str = "base", when: int = 0) -> str:
    """Run Git as somebody, at a minute of the history."""
    who = {
        f"GIT_{role}_{what}": value
        for role in ("AUTHOR", "COMMITTER")
        for what, value in (
            ("NAME", author),
            ("EMAIL", f"{author}@example.org"),
            ("DATE", f"@{1_700_000_000 + 60 * when} +0000"),
        )
    }
    done = subprocess.run(
        ["git", "-c", "merge.conflictStyle=merge", *args],
        cwd=root,
        env={**os.environ, **who},
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


class Author:
    """A repository in which branches begin, and land."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.minute = 0
        root.mkdir()
        self.git("init", "-q", "-b", "main")
        self.write("mod.py", MODULE)
        self.git("add", "-A")
        self.git("commit", "-qm", "base")

    def git(self, *args: str, author: str = "base") -> str:
        """Run Git, a minute later."""
        self.minute += 1
        return git(self.root, *args, author=author, when=self.minute)

    def write(self, path: str, text: str) -> None:
        """Write a file."""
        (self.root / path).write_text(text)

    def branch(self, name: str, start: str, **texts: tuple[str, str]) -> None:
        """Begin a branch at a commit, with one commit that replaces texts in ``mod.py``."""
        self.git("checkout", "-q", "-b", name, start)
        text = (self.root / "mod.py").read_text()
        for old, new in texts.values():
            assert old in text
            text = text.replace(old, new)
        self.write("mod.py", text)
        self.git("commit", "-qam", name, author=name)
        self.git("checkout", "-q", "main")

    def land(self, name: str) -> str:
        """Merge a branch with a merge commit."""
        self.git("merge", "-q", "--no-ff", "-m", f"Merge {name}", name)
        return self.git("rev-parse", "HEAD")

    def squash(self, name: str, number: int) -> str:
        """Land a branch as one commit, its head kept as that of a pull request."""
        self.git("update-ref", f"refs/pull/{number}/head", name)
        self.git("merge", "-q", "--squash", name)
        self.git("commit", "-qm", f"Add {name} (#{number})", author="forge")
        return self.git("rev-parse", "HEAD")


def contended(root: Path) -> Author:
    """Return a history of three pairs: two nodes, one table, one signature."""
    made = Author(root)
    made.branch("alpha", "main", a=("    return a\n", "    return a + 1\n"))
    made.branch("beta", "main", b=("    return b\n", "    return b + 1\n"))
    made.land("alpha")
    made.land("beta")
    made.branch("two", "main", t=('    "one": 1,\n', '    "one": 1,\n    "two": 2,\n'))
    made.branch("zero", "main", t=("TABLE = {\n", 'TABLE = {\n    "zero": 0,\n'))
    made.land("two")
    made.squash("zero", 7)
    made.branch("wide", "main", c=("def gamma(c):", "def gamma(c, d=0):"))
    made.branch("inner", "main", c=("    return alpha(c)", "    return alpha(c) * 2"))
    made.land("wide")
    # The lines touch: Git needs a person, who takes both.
    made.git("checkout", "-q", "inner")
    text = (root / "mod.py").read_text()
    made.git("checkout", "-q", "main")
    both = text.replace("def gamma(c):", "def gamma(c, d=0):")
    made.git("merge", "-q", "--no-commit", "-s", "ours", "--no-ff", "inner")
    made.write("mod.py", both)
    made.git("commit", "-qam", "Merge inner")
    return made
