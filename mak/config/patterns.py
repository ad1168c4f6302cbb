"""Which files are kept from the planner and the agents, by patterns as in .gitignore."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from mak.errors import UsageError

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

    from mak.config.settings import Generated

#: A file of patterns in the top folder of a repository, or in the work dir.
IGNORE_FILE = ".makignore"


class Patterns:
    """Lines of patterns from one place; paths are seen from the folder `base` (``a/``, or none)."""

    def __init__(self, where: str, lines: Sequence[str], base: str = "") -> None:
        self.where = where
        self._lines = tuple(lines)
        self._base = base

    def __bool__(self) -> bool:
        return bool(self._lines)

    def match(self, path: str) -> int:
        """Return the number, from 1, of the line that decides that `path` matches; 0: none."""
        if not path.startswith(self._base):
            return 0
        result = self._spec.check_file(path.removeprefix(self._base))
        return result.index + 1 if result.include and result.index is not None else 0

    @cached_property
    def _spec(self) -> GitIgnoreSpec:
        from pathspec import GitIgnoreSpec

        try:
            return GitIgnoreSpec.from_lines(self._lines)
        except ValueError as error:
            raise UsageError(f"reading {self.where}: {error}") from error


class Generators:
    """Which command writes a file; False where none does."""

    def __init__(self, generated: Sequence[Generated] = (), base: str = "") -> None:
        self._known = [
            (Patterns(f"files.generated[{number}].paths", each.paths, base), each.command)
            for number, each in enumerate(generated)
        ]

    def __bool__(self) -> bool:
        return bool(self._known)

    def command(self, path: str) -> str:
        """Return the command that writes a file; empty: none does."""
        return next((command for found, command in self._known if found.match(path)), "")

    def commands(self, paths: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Return the commands that write some of these files, each once, with the files."""
        found: dict[str, tuple[str, ...]] = {}
        for path in paths:
            if command := self.command(path):
                found[command] = (*found.get(command, ()), path)
        return found


class Hidden:
    """What the patterns of a project come to; False where nothing is hidden."""

    def __init__(self, excluded: Sequence[Patterns] = (), included: Patterns | None = None) -> None:
        self._excluded = tuple(each for each in excluded if each)
        self._included = included or None

    def __bool__(self) -> bool:
        return bool(self._excluded or self._included)

    def why(self, path: str) -> str:
        """Return what keeps a path from agents, in words that follow it; empty: nothing does."""
        for patterns in self._excluded:
            if line := patterns.match(path):
                return f"kept from agents by {patterns.where}:{line}"
        if self._included is not None and not self._included.match(path):
            return f"kept from agents: {self._included.where} does not name it"
        return ""
