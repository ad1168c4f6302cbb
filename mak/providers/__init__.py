"""Who can be asked: endpoints, keys, wire formats, and asking them until there is an answer."""

from __future__ import annotations

from mak.providers.client import Client
from mak.providers.policy import Policy

__all__ = ["Client", "Policy", "open_client"]


def open_client(name: str, model: str, url: str, policy: Policy) -> Client:
    """Open `model` (empty: the provider's default) at the provider `name`, or at `url`.

    Raises `UsageError` when the key that the provider needs is not in the environment.
    """
    from mak.providers.vendors import open_provider

    provider, model = open_provider(name, model, url, policy)
    return Client(provider, model, policy)
