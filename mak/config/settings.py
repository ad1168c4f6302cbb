"""How a project wants MAK to work: one section per concern, every limit with its default.

A new setting is a field here, with what it means in a comment that its documentation and its JSON
Schema repeat; a new section is a class here and a field of `Config`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from mak.config.endpoints import EndpointSettings, Id, PriceSettings
from mak.config.sections import Section, Specs, SpecText, Texts
from mak.config.validation import OURS


class Mode(StrEnum):
    """Where models may run; a promise that is checked before anything is sent."""

    CLOUD = "cloud"
    LOCAL = "local"
    #: The planner in the cloud, the agents on this machine or in its network.
    HYBRID = "hybrid"


class Models(Section):
    """Who does the tasks. A list alone stands for `agents`."""

    agents: Specs = ("builtin",)
    """Model specs; tasks take them in turn."""
    auto_refresh: bool = True
    """Whether the model catalog is refreshed in the background, twice a month."""

    @model_validator(mode="before")
    @classmethod
    def _from_list(cls, data: Any) -> Any:
        if isinstance(data, str):
            raise PydanticCustomError(OURS, "should be a list of model specs, or a mapping")
        return {"agents": data} if isinstance(data, list | tuple) else data


class Generated(Section):
    """Files that a command writes: locked as a whole, never merged, written again instead."""

    paths: Texts
    """Which files, as patterns of .gitignore."""
    command: Annotated[str, Field(min_length=1)]
    """What writes them; it runs where `checks.commands` do."""
    timeout: float = Field(default=600.0, gt=0)
    """Seconds that it may take."""


class Files(Section):
    """Which files the planner and agents see and may touch, as patterns of .gitignore."""

    include: Texts = ()
    """Only what matches one of these; empty: everything."""
    exclude: Texts = ()
    """Nothing that matches one of these, like the lines of `.makignore`."""
    generated: tuple[Generated, ...] = Field(default=(), strict=False)
    """Lock files and other generated ones, and what writes them once a wave."""


class Timeouts(Section):
    """Deadlines in seconds; each covers everything below it, retries included."""

    task: float = Field(default=600.0, gt=0)
    """One agent's answer to one task."""
    attempt: float = Field(default=300.0, gt=0)
    """One call to a model; it is made again while the task has time."""


class Spending(Section):
    """What one run may spend on models; checked before every call."""

    max_total_tokens: int | None = Field(default=10_000_000, ge=1)
    """Tokens in and out, of the planner and of all agents; null: no limit."""
    max_usd: float | None = Field(default=None, gt=0)
    """US dollars; a model whose price is not known is then refused; unset: no limit."""


class When(StrEnum):
    """When a project's command judges."""

    #: Every wave, before it is committed.
    WAVE = "wave"
    #: What is on the branch when the waves of a plan are through.
    END = "end"


class Gate(Section):
    """A command of the project that says by its exit code whether a tree is in order."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$")
    """What it is called in findings: `gate:NAME`."""
    command: str = Field(min_length=1)
    """A shell command; it runs in a copy of the tree, in the work directory there."""
    timeout: float = Field(default=600.0, gt=0)
    """Seconds that one run of it may take."""
    when: When = Field(default=When.WAVE, strict=False)
    """`wave`: before each commit; `end`: when the waves of a plan are through."""


class Checks(Section):
    """What judges a change besides MAK's own checks."""

    commands: Annotated[tuple[Gate, ...], Field(strict=False)] = ()
    """The project's own commands, in the order in which they are asked."""
    env: Texts = ()
    """Environment variables that commands are given besides the usual ones; never a key."""
    links: Texts = (".venv", "venv", "node_modules")
    """Untracked files and folders of the work directory that the copy has links to."""

    @field_validator("commands")
    @classmethod
    def _once(cls, gates: tuple[Gate, ...]) -> tuple[Gate, ...]:
        names = [gate.name for gate in gates]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise PydanticCustomError("twice", f"two commands are called {twice[0]!r}")
        return gates


class Repair(Section):
    """What happens to what a wave leaves broken."""

    max_waves: int = Field(default=3, ge=0, le=20)
    """Waves of repairs that a run may take; 0: none."""


class Config(Section):
    """How a project wants MAK to work."""

    mode: Mode | None = Field(default=None, strict=False)
    """Where models may run: cloud, local or hybrid; unset: anywhere."""
    models: Models = Models()
    """Who does the tasks."""
    planner: SpecText | None = None
    """Model spec of the planner; unset: the first of the agents' models."""
    max_agents: int = Field(default=4, ge=1, le=64)
    """Agents that work at once."""
    attempts: int = Field(default=3, ge=1, le=10)
    """Times that an agent is asked for one task."""
    planner_tokens: int = Field(default=24_000, ge=1_000)
    """Tokens of source that the planner is shown."""
    context_tokens: int = Field(default=24_000, ge=1_000)
    """Tokens of source that one agent is shown beside what it may write."""
    files: Files = Files()
    """Which files the planner and agents see and may touch."""
    checks: Checks = Checks()
    """The project's own checks."""
    repair: Repair = Repair()
    """How long repairs are tried."""
    timeouts: Timeouts = Timeouts()
    """Deadlines."""
    session: Spending = Spending()
    """What one run may spend."""
    prices: dict[str, PriceSettings] = Field(default_factory=dict)
    """Prices by model spec (`endpoint:model`), before those of endpoints and of the price table."""
    endpoints: dict[Id, EndpointSettings] = Field(default_factory=dict)
    """Where else models can be asked, by an id that works wherever a provider's name does."""


def config_schema() -> dict[str, Any]:
    """Return the JSON Schema of a configuration file."""
    schema = Config.model_json_schema()
    models = schema["$defs"]["Models"]
    schema["$defs"]["Models"] = {"anyOf": [models, models["properties"]["agents"]]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "MAK configuration",
    }
