"""The tests that a change can reach, for pytest to run first."""

from __future__ import annotations

import re
import shlex
from collections import deque
from collections.abc import Collection, Mapping
from pathlib import PurePosixPath

from mak.checks.change import differing
from mak.model import NodeId
from mak.source import SourceFile, Sources
from mak.source.names import callers

#: Nodes that are followed at most, and test files that are named at most.
_NODES, _FILES = 200, 40
_SHELL = re.compile(r"[;|&<>()$`\n]")
_TEST = re.compile(r"^test_.*\.py$|.*_test\.py$")


def narrow(command: str, prefix: str, sources: Sources, tests: Collection[str]) -> str:
    """Return a command that runs these tests only; empty: it is not one of pytest, or names some.

    `tests` are relative to the repository's top, `prefix` is the work directory.
    """
    if not tests or len(tests) > _FILES or _SHELL.search(command):
        return ""
    try:
        words = shlex.split(command)
    except ValueError:
        return ""
    names = [PurePosixPath(word).name for word in words]
    at = next((i for i, name in enumerate(names) if name in ("pytest", "py.test")), -1)
    if at < 0 or any(_is_there(f"{prefix}{word}", sources) for word in words[at + 1 :]):
        return ""
    inside = [path.removeprefix(prefix) for path in tests if path.startswith(prefix)]
    return f"{command} {' '.join(map(shlex.quote, inside))}" if inside else ""


def reached(after: Sources, before: Sources, changes: Mapping[str, SourceFile | None]) -> list[str]:
    """Return the test files that a change touches, or that use what it changes."""
    found = {path for path, file in changes.items() if file is not None and is_test(path)}
    todo: deque[NodeId] = deque()
    for path, file in changes.items():
        was = before.file(path) if path in before else None
        if file is not None and not file.whole:
            todo.extend(node.id for node in differing(file, was))
    seen = {*todo}
    while todo and len(seen) <= _NODES:
        for user in callers(after, todo.popleft()):
            node = user.node
            if is_test(node.path):
                found.add(node.path)
            elif node not in seen:
                seen.add(node)
                todo.append(node)
    return sorted(found)


def is_test(path: str) -> bool:
    """Whether a file is a test module by its name."""
    return _TEST.match(PurePosixPath(path).name) is not None


def _is_there(word: str, sources: Sources) -> bool:
    path = word.split("::", 1)[0].rstrip("/")
    return path in sources or any(known.startswith(f"{path}/") for known in sources.paths)
