"""What was learned about models at endpoints, kept for a while and from one process to the next.

Nothing depends on the file: without it, or with a broken one, everything is learned again.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mak.providers.request import Rung

#: Seconds that a lesson holds: servers are updated, and then take what they refused.
TTL = 7 * 24 * 3600.0
_VERSION = 1


@dataclass(slots=True)
class Lessons:
    """About one model at one endpoint; each with the time (Unix seconds) when it was learned."""

    #: Rungs that the endpoint refuses or ignores.
    refused: dict[Rung, float] = field(default_factory=dict)
    #: Rungs on which a probe got what it asked for.
    works: dict[Rung, float] = field(default_factory=dict)
    #: Tokens that it accepts at most for an answer, with the time; None: not known.
    room: tuple[int, float] | None = None


class Learned:
    """The lessons of this process, and of those before it where there is a file."""

    def __init__(self, path: Path | None = None, clock: Callable[[], float] = time.time) -> None:
        self.path = path
        self.clock = clock
        self._lessons: dict[str, Lessons] | None = None

    def about(self, endpoint: str, model: str) -> Lessons:
        """Return what is known about a model; whoever changes it calls `keep`."""
        if self._lessons is None:
            self._lessons = self._read()
        return self._lessons.setdefault(f"{endpoint} {model}", Lessons())

    def holds(self, since: float) -> bool:
        """Whether what was learned at a time is still to be trusted."""
        return 0 <= self.clock() - since < TTL

    def keep(self) -> None:
        """Write the file, whole or not at all; what cannot be written is learned again."""
        if self.path is None:
            return
        # Another process may have learned something else meanwhile.
        everything = {**self._read(), **(self._lessons or {})}
        data = {"version": _VERSION, "models": {k: _dump(v) for k, v in everything.items()}}
        with suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=".learned-")
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    json.dump(data, file, indent=1, sort_keys=True)
                Path(name).replace(self.path)
            except OSError:
                Path(name).unlink(missing_ok=True)
                raise

    def _read(self) -> dict[str, Lessons]:
        if self.path is None:
            return {}
        try:
            data = json.loads(self.path.read_text(encoding="utf-8"))
            if data["version"] != _VERSION:
                return {}
            return {key: _load(value) for key, value in data["models"].items()}
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            return {}


def _dump(lessons: Lessons) -> dict[str, Any]:
    return {"refused": lessons.refused, "works": lessons.works, "room": lessons.room}


def _load(data: Mapping[str, Any]) -> Lessons:
    room = data["room"]
    return Lessons(
        {Rung(name): float(at) for name, at in data["refused"].items()},
        {Rung(name): float(at) for name, at in data["works"].items()},
        (int(room[0]), float(room[1])) if room else None,
    )


_files: dict[Path | None, Learned] = {}


def learned(path: Path | None) -> Learned:
    """Return what this process shares about the endpoints of a file."""
    return _files.setdefault(path, Learned(path))
