"""Every kind of agent there is, and how to open one from a model spec."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from mak.agents.assignment import Agent, Ask
from mak.errors import UsageError
from mak.providers import Policy, Session, Setup, Spec, open_client, parse
from mak.providers.promise import keep_mode
from mak.providers.spec import BUILTIN, REPLAY, SCRIPTED

if TYPE_CHECKING:
    from mak.source.tree import Sources

MODEL = "model"


@dataclass(frozen=True, slots=True)
class Reach:
    """With what agents and planners are opened: patience, endpoints and keys, and a budget."""

    policy: Policy = field(default_factory=Policy)
    setup: Setup = field(default_factory=Setup)
    #: Shared by everybody who is opened with it.
    session: Session = field(default_factory=Session)


@dataclass(frozen=True, slots=True)
class Kind:
    """One row of `AGENTS`. What opens it imports what it needs when it is called."""

    title: str
    agent: Callable[[Spec, Reach], Agent]
    planner: Callable[[Spec, Reach, Sources], Ask]


def _builtin_agent(spec: Spec, reach: Reach) -> Agent:
    from mak.agents.builtin import BuiltinAgent

    return BuiltinAgent(spec.text)


def _builtin_planner(spec: Spec, reach: Reach, sources: Sources) -> Ask:
    from mak.agents.builtin import planner

    return planner(sources)


def _scripted_agent(spec: Spec, reach: Reach) -> Agent:
    from mak.agents.scripted import ScriptedAgent

    return ScriptedAgent(spec.text, Path(spec.rest))


def _scripted_planner(spec: Spec, reach: Reach, sources: Sources) -> Ask:
    from mak.agents.scripted import ScriptedPlanner

    return ScriptedPlanner(spec.text, Path(spec.rest)).ask


def _llm_agent(spec: Spec, reach: Reach) -> Agent:
    from mak.agents.llm import LLMAgent

    return LLMAgent(spec.text, open_client(spec, reach.policy, reach.setup, reach.session))


def _llm_planner(spec: Spec, reach: Reach, sources: Sources) -> Ask:
    from mak.agents.llm import LLMPlanner

    return LLMPlanner(open_client(spec, reach.policy, reach.setup, reach.session)).ask


#: By the name that starts a spec; every endpoint's id stands for `MODEL`.
AGENTS: Mapping[str, Kind] = {
    BUILTIN: Kind("deterministic refactorings, no model, no key", _builtin_agent, _builtin_planner),
    SCRIPTED: Kind("replies read from a YAML or JSONL file", _scripted_agent, _scripted_planner),
    REPLAY: Kind("answers that an earlier run recorded", _llm_agent, _llm_planner),
    MODEL: Kind("a language model at an endpoint", _llm_agent, _llm_planner),
}


def open_agents(specs: Sequence[str], reach: Reach | None = None) -> tuple[Agent, ...]:
    """Open one agent per spec, in order; equal specs share one.

    Raises `UsageError` for a spec that cannot be read or that the mode does not allow, a missing
    key, an unreadable script or a budget that cannot be kept, before anything is sent anywhere.
    Call `close` when the run ends.
    """
    if not specs:
        raise UsageError("opening agents: no model spec is given", hint="write --models builtin")
    reach = reach or Reach()
    opened: dict[str, Agent] = {}
    for text in specs:
        if text not in opened:
            spec = parse(text, reach.setup)
            keep_mode(spec, reach.setup, plans=False)
            opened[text] = _kind(spec).agent(spec, reach)
    return tuple(opened[text] for text in specs)


def open_planner(spec: str, sources: Sources, reach: Reach | None = None) -> Ask:
    """Open a planner; errors as `open_agents`."""
    reach = reach or Reach()
    parsed = parse(spec, reach.setup)
    keep_mode(parsed, reach.setup, plans=True)
    return _kind(parsed).planner(parsed, reach, sources)


def _kind(spec: Spec) -> Kind:
    return AGENTS.get(spec.name) or AGENTS[MODEL]


async def close() -> None:
    """Give up the connections that agents and planners opened in this event loop."""
    from mak.providers.connect import close

    await close()
