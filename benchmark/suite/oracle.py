"""The oracle: the tests of a project on a tree, each by itself and within a time limit.

One process per tree runs every test in a child of its own, so that what one does to the modules,
and how it ends, is no concern of the next.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmark.suite.specification import Project

#: Seconds of one test.
LIMIT = 5.0

_RUNNER = """
import json, os, signal, sys
tests, limit = json.load(sys.stdin)
sys.path.insert(0, os.getcwd())
sys.dont_write_bytecode = True
for name, code in tests:
    child = os.fork()
    if not child:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, limit)
        os.close(1)
        os.close(2)
        try:
            exec(compile(code, name, "exec"), {})
        except BaseException:
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    passed = os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0
    ended = "passed" if passed else "slow" if os.WIFSIGNALED(status) else "failed"
    print(json.dumps([name, ended]), flush=True)
"""


@dataclass(frozen=True)
class Verdict:
    """What the tests said."""

    #: Test to ``passed``, ``failed`` or ``slow``.
    tests: Mapping[str, str]
    #: Registrations that are not there, or not once, by their line.
    lost: tuple[str, ...]

    @property
    def passed(self) -> int:
        """How many passed."""
        return sum(ended == "passed" for ended in self.tests.values())


def judge(project: Project, root: Path, *, limit: float = LIMIT) -> Verdict:
    """Run every test in a folder that holds a finished tree."""
    tests = [(test.name, test.code) for test in project.tests]
    done = subprocess.run(
        [sys.executable, "-I", "-c", _RUNNER],
        cwd=root,
        input=json.dumps([tests, limit]),
        capture_output=True,
        text=True,
        check=True,
    )
    found = dict(json.loads(line) for line in done.stdout.splitlines())
    lost = tuple(
        row.line
        for row in project.rows()
        if not (root / row.path).exists() or not row.is_in((root / row.path).read_text())
    )
    return Verdict(found, lost)
