"""What the kernel is asked to do for a run, in a process of its own, and what comes back.

The process has a checkout and the models' keys; it has no token and never speaks to GitHub. It is
given one `Job` as a line of JSON, then lines that say how far to go; it answers with lines, each an
object with one key: `event` (as the run log has it), `offer`, `repairs`, `outcome` or `error`.
"""

from __future__ import annotations

import json
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter

from mak.github.redaction import redact

#: Seconds that a process has to end in good order.
GRACE = 60.0
#: Lines of what it wrote on stderr that are kept.
_TAIL = 40


@dataclass(frozen=True, slots=True)
class Job:
    """One thing to do. Paths are absolute; plans are as in a plan file."""

    do: Literal["plan", "ground", "run", "recover"]
    #: The checkout, on the run's branch.
    folder: str
    #: The kernel's id of the run.
    run: str = ""
    request: str = ""
    #: What the issue says beside it; only a planner that is a model is given it.
    context: str = ""
    #: What a person has to say of `plan`, for planning anew.
    remark: str = ""
    plan: Mapping[str, Any] | None = None
    #: What is done about repairs, by the digest under which the kernel comes up with them: the plan
    #: that was approved in their place. None: they are done without.
    repairs: Mapping[str, Mapping[str, Any] | None] = field(default_factory=dict)
    last_wave: int | None = None
    #: Model specs; empty: as configured.
    models: tuple[str, ...] = ()
    planner: str = ""
    agents: int | None = None
    #: US dollars; None: as configured.
    budget: float | None = None
    trailers: tuple[tuple[str, str], ...] = ()
    #: The project's configuration, as YAML.
    config: str = ""
    #: Whether its endpoints may be given keys: they are whoever's who wrote it.
    endpoints: bool = True


class Process:
    """The kernel at work on a job."""

    def __init__(self, job: Job, environment: Mapping[str, str]) -> None:
        """Start; the process has nothing but this environment."""
        self._lines: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._tail: list[str] = []
        #: Whether all it said has been read; it says no more.
        self.is_over = False
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-m", "mak.github.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(environment),
            cwd=Path(job.folder).parent,
            start_new_session=True,
        )
        self._readers = [
            threading.Thread(target=self._read, daemon=True),
            threading.Thread(target=self._listen, daemon=True),
        ]
        for reader in self._readers:
            reader.start()
        self._tell(json.loads(TypeAdapter(Job).dump_json(job)))

    def next(self, patience: float) -> dict[str, Any] | None:
        """Return the next thing it says; None: nothing for `patience` seconds, or no more."""
        try:
            said = self._lines.get(timeout=patience)
        except queue.Empty:
            return None
        self.is_over = said is None
        return said

    @property
    def tail(self) -> str:
        """Return what it wrote last beside its answers, without secrets."""
        return redact("\n".join(self._tail[-_TAIL:]))

    def go_as_far_as(self, wave: int) -> None:
        """Have it begin no wave after this one."""
        self._tell({"last_wave": wave})

    def stop(self) -> None:
        """Have it end, keeping what it has; kill it where it does not."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self.close()

    def close(self) -> None:
        """Wait for its end and give up what belongs to it."""
        if self._process.stdin:
            try:
                self._process.stdin.close()
            except OSError:
                self._tail.append("it ended before it was told all")
        self._process.wait()
        for reader in self._readers:
            reader.join()
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe:
                pipe.close()

    def _tell(self, document: Mapping[str, Any]) -> None:
        assert self._process.stdin
        try:
            self._process.stdin.write(json.dumps(document).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            self._tail.append("it ended before it was told all")

    def _read(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            self._lines.put(json.loads(line))
        self._lines.put(None)

    def _listen(self) -> None:
        assert self._process.stderr
        for line in self._process.stderr:
            self._tail.append(line.decode("utf-8", "replace").rstrip())
            del self._tail[:-_TAIL]
