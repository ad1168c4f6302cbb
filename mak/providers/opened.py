"""From a model spec to a client: find the key, choose the wire, take up what is known."""

from __future__ import annotations

from pathlib import Path

from mak.errors import MakBug, UsageError
from mak.providers.access import Access, access
from mak.providers.client import Client
from mak.providers.endpoints import Wire
from mak.providers.gate import gate
from mak.providers.ladder import ladder
from mak.providers.learned import learned
from mak.providers.policy import Policy
from mak.providers.prices import Counts
from mak.providers.recording import Recording, Replay
from mak.providers.request import Provider
from mak.providers.session import Session
from mak.providers.setup import Setup
from mak.providers.spec import REPLAY, Spec


def opened(spec: Spec, policy: Policy, setup: Setup, session: Session) -> Client:
    """Open the model of a spec; see `mak.providers.open_client`."""
    known = learned(setup.learned)
    if spec.name == REPLAY:
        replay = Replay(Path(spec.rest))
        if session.limits.usd is not None and not replay.is_priced:
            raise _unpriced(spec, "what its answers have cost")
        steps = ladder(replay.endpoint, "", replay.rungs, known)
        gate_ = gate(replay.endpoint, "", policy.concurrency)
        return Client(replay, spec.text, policy, gate_, steps, session, lambda counts: 0.0)
    if spec.endpoint is None:
        raise MakBug(f"opening {spec}: it asks no endpoint")
    found = access(spec.endpoint, setup, spec.rest)
    model = spec.rest
    if session.limits.usd is not None and found.tariff.cost(Counts(1, 1), model) is None:
        raise _unpriced(spec, f"the price of {model}")
    provider = connected(found, policy)
    steps = ladder(
        provider.endpoint,
        model,
        provider.rungs,
        known,
        profile=spec.endpoint,
        published=setup.published.get((spec.endpoint.id, model)),
    )
    return Client(
        provider,
        model,
        policy,
        gate(provider.endpoint, model, policy.concurrency),
        steps,
        session,
        lambda counts: found.tariff.cost(counts, model),
        spec.endpoint.context,
        Recording(setup.record).begin().add if setup.record else lambda request, completion: None,
    )


def _unpriced(spec: Spec, what: str) -> UsageError:
    return UsageError(
        f"opening {spec}: session.max_usd is set, and {what} is not known",
        hint="give its price under prices in the configuration, or limit tokens instead "
        "(session.max_total_tokens)",
    )


def connected(found: Access, policy: Policy) -> Provider:
    """Open the wire that an endpoint speaks; the SDKs take a while to import."""
    match found.endpoint.wire:
        case Wire.ANTHROPIC:
            from mak.providers.anthropic import AnthropicProvider

            return AnthropicProvider(found, policy)
        case Wire.OPENAI:
            from mak.providers.openai import OpenAIProvider

            return OpenAIProvider(found, policy)
        case Wire.OLLAMA:
            from mak.providers.ollama import OllamaProvider

            return OllamaProvider(found, policy)
