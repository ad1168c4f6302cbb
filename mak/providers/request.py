"""What is asked of a model, what comes back, and the error for "nothing came back"."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from mak.errors import AgentError, AgentErrorKind
from mak.model import Usage


class Rung(StrEnum):
    """How a reply of a given shape is asked for, strictest first."""

    JSON_SCHEMA = "json_schema"
    TOOL = "tool"
    JSON_OBJECT_SCHEMA = "json_object_schema"
    JSON_OBJECT = "json_object"
    #: In words; every endpoint takes this one.
    PROMPT = "prompt"


#: Rungs on which the model sees the schema only if the prompt spells it out.
IN_WORDS = frozenset({Rung.JSON_OBJECT_SCHEMA, Rung.JSON_OBJECT, Rung.PROMPT})


class Encoding(StrEnum):
    """How an answer is written down."""

    JSON = "json"
    #: A JSON header, and source code in fenced blocks of its own, for models that escape badly.
    ENVELOPE = "envelope"


class Stop(StrEnum):
    """Why the model stopped."""

    DONE = "done"
    TRUNCATED = "truncated"
    REFUSED = "refused"
    FILTERED = "filtered"
    #: Prompt and answer did not fit the model's window.
    CONTEXT = "context"
    EMPTY = "empty"
    #: The stream ended without a stop reason: nobody knows what is missing.
    INCOMPLETE = "incomplete"


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a model, in the order that caches best."""

    #: Rules; the same for every agent of every run.
    system: str
    #: The same for every agent of one run, or every time that a planner is asked; what a person and
    #: the repository say is in it, so it goes with the prompt and not with the rules.
    shared: str
    prompt: str
    schema: Mapping[str, Any] = field(default_factory=dict)
    schema_name: str = "reply"
    #: Tokens of the answer.
    max_tokens: int = 4096
    #: Tokens that the model can hold; 0: not known.
    window: int = 0
    #: How to write the answer down in the envelope encoding; empty: only JSON is read.
    envelope: str = ""
    #: Names the run, so that an endpoint sends calls of one run to where its prompt is cached.
    cache_key: str = ""
    #: Part of the texts that differs from run to run and means nothing.
    mark: str = ""

    @property
    def said(self) -> str:
        """All but the rules, as one text."""
        return f"{self.shared}\n\n{self.prompt}" if self.shared else self.prompt


@dataclass(frozen=True, slots=True)
class Completion:
    """What came back, and what all the calls it took have cost."""

    text: str
    stop: Stop
    #: As the endpoint calls it.
    model: str
    rung: Rung
    #: What the endpoint said about a refusal or a filter.
    detail: str = ""
    #: Every call is in it, usable or not.
    usage: Usage = field(default_factory=Usage)


class NoAnswer(AgentError):
    """No answer came; `usage` is what the calls cost all the same."""

    def __init__(
        self,
        message: str,
        *,
        kind: AgentErrorKind,
        status: int | None = None,
        retry_after: float | None = None,
        hint: str = "",
        usage: Usage | None = None,
    ) -> None:
        super().__init__(message, kind=kind, status=status, retry_after=retry_after, hint=hint)
        self.usage = usage or Usage()


class Tally:
    """What one call has cost so far; readable also when the call is cut off or cancelled."""

    __slots__ = ("began", "headers", "usage")

    def __init__(self, began: Callable[[], None] = lambda: None) -> None:
        self.usage = Usage()
        #: Of the answer, in lower case; what an endpoint says about its limits is among them.
        self.headers: Mapping[str, str] = {}
        #: To be called when the answer begins: the prompt is read, and its format is taken.
        self.began = began


@dataclass(frozen=True, slots=True)
class Published:
    """What an endpoint says about one of its models; None: it does not say."""

    id: str
    title: str = ""
    #: Tokens of prompt and answer together.
    context: int | None = None
    #: Tokens of an answer.
    max_output: int | None = None
    #: Whether answers can be held to a JSON schema.
    schema: bool | None = None
    #: ``active``, ``deprecated``, ``retired``.
    lifecycle: str = ""
    #: Day (ISO 8601) on which it goes; empty: none is known.
    retires: str = ""


def is_named(listed: object) -> bool:
    """Whether an entry of an SDK's list of models, which trusts the server, has an id."""
    id = getattr(listed, "id", None)
    return isinstance(id, str) and bool(id)


class Provider(Protocol):
    """One wire format at one endpoint."""

    #: The endpoint's id, as in a model spec.
    name: str
    #: Base URL without credentials; with the model it names the quota that callers share.
    endpoint: str
    rungs: tuple[Rung, ...]
    #: Whether the server may drop the start of a long prompt without a word.
    cuts: bool

    async def complete(self, model: str, request: Request, rung: Rung, tally: Tally) -> Completion:
        """Make one call, without retries or a deadline.

        What it costs goes to `tally`, also when it fails. Raises `NoAnswer` when nothing came.
        """
        ...

    async def models(self) -> tuple[Published, ...]:
        """List the endpoint's models. Raises `NoAnswer`."""
        ...

    async def look(self, model: str) -> Published | None:
        """Ask what one model can do, where that takes a call of its own; None: nothing is known.

        Raises `NoAnswer`.
        """
        ...
