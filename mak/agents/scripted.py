"""Agents and planners whose answers stand in a file: for tests, demonstrations and bug reports.

A script is YAML or JSON, ``{plan: [attempt, …], tasks: {ID: [attempt, …]}}``, or JSON lines, each
an attempt with ``task: ID`` or ``plan: true``. An attempt holds ``delay_s`` and ``usage``, and one
of ``reply`` (a reply as models write it, or a plan; node ids may stand for slots), ``raw`` (text,
as if a model had written it) and ``error`` (``kind``, ``message``, ``status``, ``retry_after``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import anyio
from anyio.lowlevel import checkpoint
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from mak.agents.assignment import Asked, Assignment, Told
from mak.agents.reply import Malformed, read, to_reply, validate
from mak.config import read_document
from mak.errors import AgentErrorKind, UsageError
from mak.model import Reply, ReplyStatus, Usage
from mak.providers.request import NoAnswer

_HINT = "how scripts are written: docs/reference/model-specs.md"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ScriptedUsage(_Part):
    """What the attempt is said to have cost."""

    input: int = 0
    output: int = 0
    cached: int = 0
    cost: float | None = 0.0


class ScriptedError(_Part):
    """An error instead of an answer."""

    kind: AgentErrorKind
    message: str = "as the script says"
    status: int | None = None
    retry_after: float | None = None


class Attempt(_Part):
    """What happens when a task, or the planner, is asked once."""

    delay_s: float = Field(default=0.0, ge=0)
    usage: ScriptedUsage = ScriptedUsage()
    reply: dict[str, Any] | None = None
    raw: str | None = None
    #: For `raw` and `reply`: how the turn ended, when not with an answer.
    status: Literal["truncated", "incomplete", "empty", "filtered", "refused"] | None = None
    error: ScriptedError | None = None

    @model_validator(mode="after")
    def _one_of(self) -> Attempt:
        given = [self.reply is not None, self.raw is not None, self.error is not None]
        if sum(given) > 1 or (not any(given) and self.status is None):
            raise ValueError("write exactly one of reply, raw and error, or a status")
        return self

    def spent(self) -> Usage:
        """Return the usage, as of one call."""
        told = self.usage
        return Usage(told.input, told.output, told.cached, calls=1, cost=told.cost)


class Script(_Part):
    """A whole file."""

    plan: list[Attempt] = []
    tasks: dict[str, list[Attempt]] = {}


def read_script(path: Path) -> Script:
    """Read a script; raise `UsageError` that says where it is wrong."""
    try:
        data = read_document(path)
        if isinstance(data, list):
            data = _from_lines(data, path)
        return Script.model_validate({} if data is None else data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"reading {path}: {place}: {first['msg']}", hint=_HINT) from error
    except UsageError as error:
        error.hint = error.hint or _HINT
        raise


def _from_lines(lines: list[Any], path: Path) -> dict[str, Any]:
    plan: list[Any] = []
    tasks: dict[str, list[Any]] = {}
    for number, line in enumerate(lines, 1):
        if not isinstance(line, dict):
            raise UsageError(f"reading {path}: value {number} is not an object")
        attempt = dict(line)
        task = attempt.pop("task", None)
        if attempt.pop("plan", False):
            plan.append(attempt)
        elif isinstance(task, str):
            tasks.setdefault(task, []).append(attempt)
        else:
            raise UsageError(f"reading {path}: value {number} has neither a task nor plan: true")
    return {"plan": plan, "tasks": tasks}


def _pick(attempts: list[Attempt], number: int, what: str, spec: str) -> Attempt:
    """Return attempt `number`, from 1; a script that ran out is an error, never a repetition."""
    if number <= len(attempts):
        return attempts[number - 1]
    raise NoAnswer(
        f"asking {spec} about {what}: the script has {len(attempts)} attempts, "
        f"this is attempt {number}",
        kind=AgentErrorKind.UNAVAILABLE,
        hint="add an attempt to the script",
    )


async def _play(attempt: Attempt, what: str, spec: str) -> None:
    """Wait as long as the attempt takes; raise its error, if it is one."""
    if attempt.delay_s:
        await anyio.sleep(attempt.delay_s)
    else:
        await checkpoint()
    if attempt.error:
        raise NoAnswer(
            f"asking {spec} about {what}: {attempt.error.message}",
            kind=attempt.error.kind,
            status=attempt.error.status,
            retry_after=attempt.error.retry_after,
            usage=attempt.spent(),
        )


class ScriptedAgent:
    """Answers attempt *n* at a task with the *n*-th attempt of the script, also after a restart."""

    is_steady = False

    def __init__(self, spec: str, path: Path) -> None:
        self.spec = spec
        self._script = read_script(path)

    async def answer(self, assignment: Assignment) -> Reply:
        """Return what the script says; raise `NoAnswer` where it says so, or says nothing."""
        task = assignment.task.id
        what = f"task {task}"
        attempts = self._script.tasks.get(task, [])
        attempt = _pick(attempts, assignment.attempt, what, self.spec)
        await _play(attempt, what, self.spec)
        usage = attempt.spent()
        if attempt.status:
            reason = f"as the script says: {attempt.status}"
            raw = attempt.raw or ""
            return Reply(ReplyStatus(attempt.status), (), (), reason, "", usage, self.spec, raw)
        if attempt.raw is not None:
            reply = read(attempt.raw, assignment.slots, usage=usage, model=self.spec)
        else:
            document = validate(attempt.reply, free=True)
            reply = (
                document
                if isinstance(document, Malformed)
                else to_reply(document, assignment.slots, usage=usage, model=self.spec, free=True)
            )
        if isinstance(reply, Malformed):
            reason = f"the answer could not be read: {reply}"
            raw = attempt.raw if attempt.raw is not None else json.dumps(attempt.reply)
            return Reply(ReplyStatus.MALFORMED, (), (), reason, "", usage, self.spec, raw)
        return reply


class ScriptedPlanner:
    """Answers the *n*-th question with the *n*-th attempt under ``plan``."""

    def __init__(self, spec: str, path: Path) -> None:
        self._spec = spec
        self._script = read_script(path)
        self._asked = 0

    async def ask(self, system: str, told: Told, schema: Mapping[str, Any], request: str) -> Asked:
        """Return what the script says; raise `NoAnswer` where it says so, or says nothing."""
        self._asked += 1
        attempt = _pick(self._script.plan, self._asked, "the plan", self._spec)
        await _play(attempt, "the plan", self._spec)
        text = attempt.raw if attempt.raw is not None else json.dumps(attempt.reply or {})
        status = ReplyStatus(attempt.status) if attempt.status else ReplyStatus.EDITED
        detail = f"as the script says: {attempt.status}" if attempt.status else ""
        return Asked(text, status, attempt.spent(), self._spec, detail)
