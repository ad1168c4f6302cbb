"""Answers on file: what a run was told, to be told again without a model.

A recording is JSON lines, ``{"key", "stop", "text", …}``. The key is a digest of the question, so
that neither prompts nor anything that a run calls itself is in it; no key of an endpoint ever gets
there. Equal questions are answered in the order in which they were recorded.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from anyio.lowlevel import checkpoint

from mak.errors import AgentErrorKind as Kind
from mak.errors import UsageError
from mak.model import Usage
from mak.providers import secrets
from mak.providers.request import (
    Completion,
    NoAnswer,
    Published,
    Request,
    Rung,
    Stop,
    Tally,
)

_VERSION = 1


def key(request: Request) -> str:
    """Return the digest of a question: the same in every run, whoever is asked and however."""
    texts = [request.system, request.shared, request.prompt]
    if request.mark:
        texts = [text.replace(request.mark, "*") for text in texts]
    canonical = json.dumps([_VERSION, texts, request.schema], sort_keys=True)
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


@dataclasses.dataclass(frozen=True, slots=True)
class Recording:
    """A file to which questions and answers are added as they come."""

    path: Path

    def begin(self) -> Recording:
        """See that the file can be added to, before anything is asked."""
        self._write("")
        return self

    def add(self, request: Request, completion: Completion) -> None:
        """Add one answer. Raises `UsageError` when the file cannot be written."""
        line = {
            "key": key(request),
            "model": completion.model,
            "rung": completion.rung,
            "stop": completion.stop,
            "text": completion.text,
            "detail": completion.detail,
            "usage": dataclasses.asdict(completion.usage),
        }
        self._write(secrets.redact_content(json.dumps(line, ensure_ascii=True)) + "\n")

    def _write(self, text: str) -> None:
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise UsageError(
                f"recording to {self.path}: {(error.strerror or str(error)).lower()}"
            ) from error


class Replay:
    """A provider whose answers are those of a recording."""

    rungs: tuple[Rung, ...] = (Rung.JSON_SCHEMA,)
    cuts = False

    def __init__(self, path: Path) -> None:
        self.name = "replay"
        self.endpoint = f"replay:{path}"
        self._answers = _read(path)
        self._told: dict[str, int] = defaultdict(int)

    @property
    def is_priced(self) -> bool:
        """Whether every answer says what it has cost."""
        every = (answer for answers in self._answers.values() for answer in answers)
        return all(answer.usage.cost is not None for answer in every)

    async def complete(self, model: str, request: Request, rung: Rung, tally: Tally) -> Completion:
        """Return the next answer to this question; the last one stays for all that follow."""
        await checkpoint()
        digest = key(request)
        answers = self._answers.get(digest)
        if not answers:
            raise NoAnswer(
                f"asking {self.endpoint}: the recording has no answer to this question "
                f"({digest[:12]}; it has {len(self._answers)})",
                kind=Kind.UNAVAILABLE,
                hint="replay it with the same request, repository, plan and version of MAK, "
                "or record it again: mak run --record FILE",
            )
        number = min(self._told[digest], len(answers) - 1)
        self._told[digest] += 1
        answer = answers[number]
        tally.usage = answer.usage
        return answer

    async def models(self) -> tuple[Published, ...]:
        """See `Provider`; a recording has none to choose from."""
        return ()

    async def look(self, model: str) -> Published | None:
        """See `Provider`."""
        return None


def _read(path: Path) -> dict[str, list[Completion]]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"reading the recording {path}: {reason.lower()}") from error
    answers: dict[str, list[Completion]] = defaultdict(list)
    for number, line in enumerate(text.splitlines(), 1):
        try:
            data = json.loads(line)
            answers[data["key"]].append(_completion(data))
        except (ValueError, TypeError, LookupError) as error:
            raise UsageError(
                f"reading the recording {path}:{number}: it is not a line of a recording",
                hint="record one with: mak run --record FILE",
            ) from error
    return dict(answers)


def _completion(data: dict[str, Any]) -> Completion:
    return Completion(
        data["text"],
        Stop(data["stop"]),
        data["model"],
        Rung(data["rung"]),
        data["detail"],
        Usage(**data["usage"]),
    )
