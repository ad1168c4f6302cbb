"""Every kind of agent there is, and how to open one from a model spec."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mak.agents import spec as specs_
from mak.agents.assignment import Agent, Ask
from mak.agents.spec import Spec
from mak.errors import UsageError
from mak.providers.policy import Policy

if TYPE_CHECKING:
    from mak.source.tree import Sources


@dataclass(frozen=True, slots=True)
class Kind:
    """One row of `AGENTS`. What opens it imports what it needs when it is called."""

    #: The shape of its specs, for help and refusals.
    form: str
    title: str
    agent: Callable[[Spec, Policy], Agent]
    planner: Callable[[Spec, Policy, Sources], Ask]


def _builtin_agent(spec: Spec, policy: Policy) -> Agent:
    _refuse_rest(spec)
    from mak.agents.builtin import BuiltinAgent

    return BuiltinAgent(spec.text)


def _builtin_planner(spec: Spec, policy: Policy, sources: Sources) -> Ask:
    _refuse_rest(spec)
    from mak.agents.builtin import planner

    return planner(sources)


def _refuse_rest(spec: Spec) -> None:
    if spec.rest:
        raise UsageError(
            f"reading the model spec {spec.text!r}: {spec.name} takes no model",
            hint=f"write {spec.name}",
        )


def _scripted_agent(spec: Spec, policy: Policy) -> Agent:
    from mak.agents.scripted import ScriptedAgent

    return ScriptedAgent(spec.text, _script(spec))


def _scripted_planner(spec: Spec, policy: Policy, sources: Sources) -> Ask:
    from mak.agents.scripted import ScriptedPlanner

    return ScriptedPlanner(spec.text, _script(spec)).ask


def _script(spec: Spec) -> Path:
    if not spec.rest:
        raise UsageError(
            f"reading the model spec {spec.text!r}: a scripted agent needs its file",
            hint="write scripted:FILE",
        )
    return Path(spec.rest)


def _llm_agent(spec: Spec, policy: Policy) -> Agent:
    from mak.agents.llm import LLMAgent
    from mak.providers import open_client

    return LLMAgent(spec.text, open_client(spec.name, spec.rest, spec.url, policy))


def _llm_planner(spec: Spec, policy: Policy, sources: Sources) -> Ask:
    from mak.agents.llm import LLMPlanner
    from mak.providers import open_client

    return LLMPlanner(open_client(spec.name, spec.rest, spec.url, policy)).ask


#: By the name that starts a spec.
AGENTS: Mapping[str, Kind] = {
    "builtin": Kind(
        "builtin",
        "deterministic refactorings, no model, no key",
        _builtin_agent,
        _builtin_planner,
    ),
    "anthropic": Kind("anthropic[:MODEL]", "Anthropic Messages API", _llm_agent, _llm_planner),
    "openai": Kind("openai[:MODEL]", "OpenAI Chat Completions API", _llm_agent, _llm_planner),
    "local": Kind(
        "local:MODEL@URL",
        "any OpenAI-compatible server",
        _llm_agent,
        _llm_planner,
    ),
    "scripted": Kind(
        "scripted:FILE",
        "replies read from a YAML or JSONL file",
        _scripted_agent,
        _scripted_planner,
    ),
}

FORMS = tuple(kind.form for kind in AGENTS.values())


def parse_spec(text: str) -> Spec:
    """Take a model spec apart; raise `UsageError` with the nearest names."""
    return specs_.parse(text, AGENTS, FORMS)


def open_agents(specs: Sequence[str], *, policy: Policy | None = None) -> tuple[Agent, ...]:
    """Open one agent per spec, in order; equal specs share one.

    Raises `UsageError` for a spec that cannot be read, a missing key or an unreadable script,
    before anything is sent anywhere. Call `close` when the run ends.
    """
    if not specs:
        raise UsageError("opening agents: no model spec is given", hint="write --models builtin")
    policy = policy or Policy()
    opened: dict[str, Agent] = {}
    for text in specs:
        if text not in opened:
            spec = parse_spec(text)
            opened[text] = AGENTS[spec.name].agent(spec, policy)
    return tuple(opened[text] for text in specs)


def open_planner(spec: str, sources: Sources, *, policy: Policy | None = None) -> Ask:
    """Open a planner; errors as `open_agents`."""
    parsed = parse_spec(spec)
    return AGENTS[parsed.name].planner(parsed, policy or Policy(), sources)


async def close() -> None:
    """Give up the connections that agents and planners opened in this event loop."""
    from mak.providers.connect import close

    await close()
