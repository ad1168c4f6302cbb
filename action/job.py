"""The job that the Action runs in: its inputs, and the ways in which it may speak.

What a repository, a model or a person wrote is never a command to the runner: annotations are
escaped, outputs have an end that nobody can guess, and all else is printed while commands are off.

https://docs.github.com/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import secrets
import sys
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mak.errors import UsageError
from mak.github.redaction import redact

_PREFIX = "MAK_ACTION_"
_TOKEN, _PIPE = f"{_PREFIX}GITHUB_TOKEN", f"{_PREFIX}PIPE"
#: What else a job's processes could speak to GitHub or to later steps with.
_NOT_FOR_OTHERS = (
    *("GITHUB_TOKEN", "GH_TOKEN", "ACTIONS_RUNTIME_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN"),
    *("ACTIONS_ID_TOKEN_REQUEST_URL", "ACTIONS_RUNTIME_URL", "ACTIONS_CACHE_URL"),
    *("GITHUB_ENV", "GITHUB_PATH", "GITHUB_OUTPUT", "GITHUB_STATE", "GITHUB_STEP_SUMMARY"),
)
#: prctl(2): whether others of the same user may look into the process.
_PR_SET_DUMPABLE = 4
#: GitHub drops a step's summary that is larger.
SUMMARY = 1024 * 1024
_CUT = "\n\n… cut: GitHub shows no more here.\n"


@dataclass(frozen=True)
class Inputs:
    """What a workflow asked for."""

    command: str
    token: str
    base: str = ""
    exclude: tuple[str, ...] = ()
    offer_repair: bool = False
    #: Model specs; empty: as the policy or the configuration says.
    models: tuple[str, ...] = ()
    planner: str = ""
    agents: int | None = None
    #: US dollars of one run, at most.
    budget: float | None = None
    #: Path of the configuration on the default branch; empty: where it is looked for by itself.
    config: str = ""
    #: Numbers of accounts that MAK writes as, besides the jobs' own.
    accounts: tuple[int, ...] = ()
    #: Another word for `/mak`.
    alias: str = ""


def hide_token(environment: Mapping[str, str]) -> None:
    """Begin anew without the token in the environment, where it has one.

    What a process was started with stays readable in `/proc` for as long as it runs, also for the
    project's own commands, which it starts. The token comes back through a pipe.
    """
    token = environment.get(_TOKEN, "")
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0)
    if not token:
        return
    read, write = os.pipe()
    os.write(write, token.encode())
    os.close(write)
    os.set_inheritable(read, True)
    others = {name: value for name, value in environment.items() if token not in value}
    arguments = [sys.executable, "-I", "-m", "action"]
    os.execve(sys.executable, arguments, {**others, _PIPE: str(read)})


def take_inputs(environment: MutableMapping[str, str]) -> Inputs:
    """Take the inputs out of the environment, and what no other process is to have.

    Raises `UsageError` for what cannot be used as given.
    """
    given = {
        name.removeprefix(_PREFIX).lower(): environment.pop(name).strip()
        for name in sorted(environment)
        if name.startswith(_PREFIX)
    }
    for name in _NOT_FOR_OTHERS:
        environment.pop(name, None)
    token = given.get("github_token", "")
    if pipe := given.get("pipe"):
        with os.fdopen(int(pipe), "rb") as file:
            token = file.read().decode()
    return Inputs(
        command=given.get("command", ""),
        token=token.strip(),
        base=given.get("base", ""),
        exclude=_lines(given.get("exclude", "")),
        offer_repair=_flag("offer-repair", given.get("offer_repair", "")),
        models=_lines(given.get("models", "")),
        planner=given.get("planner", ""),
        agents=_whole("agents", given.get("agents", "")),
        budget=_amount("budget", given.get("budget", "")),
        config=given.get("config", ""),
        accounts=tuple(
            number
            for line in _lines(given.get("accounts", ""))
            if (number := _whole("accounts", line)) is not None
        ),
        alias=given.get("alias", ""),
    )


def for_kernel(environment: Mapping[str, str], token: str) -> dict[str, str]:
    """Return what the kernel's process may have: the models' keys, and nothing to reach GitHub."""
    return {
        name: value
        for name, value in environment.items()
        if name not in _NOT_FOR_OTHERS
        and not name.startswith(("ACTIONS_", "INPUT_", _PREFIX))
        and not (token and token in value)
    }


def event(environment: Mapping[str, str]) -> dict[str, Any]:
    """Return the payload of the event that started the job; raises `UsageError` without one."""
    try:
        found = json.loads(Path(environment.get("GITHUB_EVENT_PATH", "")).read_bytes())
    except (OSError, ValueError) as error:
        raise UsageError(f"reading the event of the job: {error}") from error
    if not isinstance(found, dict):
        raise UsageError("reading the event of the job: it is no object")
    return found


class Job:
    """What the Action tells the runner."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        """Take the environment: where outputs and the summary go."""
        self._output = environment.get("GITHUB_OUTPUT", "")
        self._summary = environment.get("GITHUB_STEP_SUMMARY", "")
        self._said = 0

    def output(self, **values: str) -> None:
        """Set outputs of the step; a value cannot end early or begin another."""
        lines = []
        for name, value in values.items():
            end = f"end-{secrets.token_hex(16)}"
            lines += [f"{name.replace('_', '-')}<<{end}", redact(value), end]
        self._append(self._output, "".join(f"{line}\n" for line in lines))

    def summarise(self, markdown: str) -> None:
        """Add to the job's summary, up to what GitHub shows."""
        text = redact(markdown)
        room = SUMMARY - self._said
        if len(text.encode()) > room:
            kept = max(0, room - len(_CUT.encode()))
            text = text.encode()[:kept].decode(errors="ignore") + (_CUT if kept else "")
        self._said += len(text.encode())
        self._append(self._summary, text)

    def annotate(self, level: str, message: str, **properties: str) -> None:
        """Say something that GitHub shows: `error`, `warning` or `notice`."""
        named = ",".join(f"{name}={_property(redact(text))}" for name, text in properties.items())
        print(f"::{level} {named}::{_data(redact(message))}", flush=True)

    def mask(self, secret: str) -> None:
        """Have the runner hide a value in what it logs."""
        for line in secret.splitlines():
            if line.strip():
                print(f"::add-mask::{_data(line)}", flush=True)

    @contextmanager
    def quoting(self) -> Iterator[None]:
        """Print what others wrote: nothing in it is a command to the runner."""
        end = secrets.token_hex(16)
        print(f"::stop-commands::{end}", flush=True)
        try:
            yield
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            print(f"\n::{end}::", flush=True)

    def _append(self, path: str, text: str) -> None:
        if path:
            with Path(path).open("a", encoding="utf-8", newline="") as file:
                file.write(text)


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.splitlines() if line.strip())


def _whole(name: str, text: str) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and 0 < len(text) < 19 and int(text)):
        raise UsageError(f"input {name}: {text!r} is no whole number above 0")
    return int(text)


def _amount(name: str, text: str) -> float | None:
    if not text:
        return None
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,6})?", text, re.ASCII) or not float(text):
        raise UsageError(f"input {name}: {text!r} is no amount of US dollars, such as 2.50")
    return float(text)


def _flag(name: str, text: str) -> bool:
    if text.lower() not in ("", "true", "false"):
        raise UsageError(f"input {name}: {text!r} is neither true nor false")
    return text.lower() == "true"


def _data(value: str) -> str:
    return value.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(value: str) -> str:
    return _data(value).replace(":", "%3A").replace(",", "%2C")
