"""What changes while nobody types here: the branch, what is not committed, the configuration."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mak.errors import MakError

if TYPE_CHECKING:
    from mak.cli.app.session import Session

#: Seconds between two looks, and how many times as long as the last look took at least.
EVERY, PATIENCE = 2.0, 20


@dataclass(frozen=True, slots=True)
class Place:
    """Where a session works, as Git tells it."""

    #: Empty: there is no repository.
    branch: str = ""
    #: Paths that are not as they are committed.
    changed: int = 0


@dataclass(frozen=True, slots=True)
class Chosen:
    """Who works and how, as the settings say."""

    models: tuple[str, ...]
    planner: str
    max_agents: int


class Watch:
    """Looks again and again in a thread of its own; what it saw last is there at once."""

    def __init__(self, session: Session) -> None:
        self._session = session
        #: None: nobody has looked yet.
        self.place: Place | None = None
        self.chosen: Chosen | None = None
        #: Why the settings cannot be read; empty: they can.
        self.problem = ""
        #: Called whenever what was seen has changed.
        self.changed: Callable[[], None] = lambda: None
        self._poked = threading.Event()
        self._stamp: object = None

    def start(self) -> None:
        """Begin to look; the thread ends with the process."""
        threading.Thread(target=self._look, name="watch", daemon=True).start()

    def poke(self) -> None:
        """Look at once."""
        self._stamp = None
        self._poked.set()

    def look(self) -> None:
        """Look once, here."""
        before = self.place, self.chosen, self.problem
        self.place = place_of(self._session.said.work_dir)
        stamp = self._settings_stamp()
        if stamp != self._stamp:
            self._stamp = stamp
            self._read()
        if before != (self.place, self.chosen, self.problem):
            self.changed()

    def _look(self) -> None:
        while True:
            began = time.monotonic()
            self.look()
            self._poked.wait(max(EVERY, PATIENCE * (time.monotonic() - began)))
            self._poked.clear()

    def _read(self) -> None:
        try:
            config = self._session.settings().config
        except MakError as error:
            self.problem, self.chosen = str(error), None
            return
        agents = config.models.agents
        self.problem = ""
        self.chosen = Chosen(agents, config.planner or agents[0], config.max_agents)

    def _settings_stamp(self) -> object:
        """Return what tells one state of all that settings depend on from another."""
        from mak.cli import person
        from mak.config import places

        said = self._session.said
        files = (said.config,) if said.config else places(said.work_dir, person.config_dir())
        every = (*files, person.variables_file(), person.endpoints_file())
        return vars(said).copy(), tuple(map(_modified, every))


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def place_of(folder: Path) -> Place:
    """Return where a folder is, as Git tells it."""
    # Inside a hook, GIT_DIR and its like would lead git to another repository.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", "status", "--porcelain=v2", "--branch", "--untracked-files=normal", "-z"]
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env={**kept, "GIT_OPTIONAL_LOCKS": "0"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except OSError:
        return Place()
    if done.returncode:
        return Place()
    branch, changed, skip = "", 0, False
    for line in done.stdout.decode(errors="replace").split("\0"):
        if skip:
            skip = False
        elif line.startswith("# branch.head "):
            branch = line.removeprefix("# branch.head ")
        elif line and not line.startswith("#"):
            changed += 1
            skip = line.startswith("2 ")  # a rename is followed by its old name
    return Place(branch, changed)
