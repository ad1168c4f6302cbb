"""Who can be asked: endpoints, keys, wire formats, and asking them until there is an answer."""

from __future__ import annotations

from mak.providers.client import Client
from mak.providers.policy import Policy
from mak.providers.session import Limits, Session
from mak.providers.setup import Setup
from mak.providers.spec import Spec, parse

__all__ = ["Client", "Limits", "Policy", "Session", "Setup", "Spec", "open_client", "parse"]


def open_client(
    spec: Spec | str,
    policy: Policy,
    setup: Setup | None = None,
    session: Session | None = None,
) -> Client:
    """Open the model that a spec names.

    Raises `UsageError` when the key that its endpoint needs is not there, and when the session has
    a limit in dollars and no price is known.
    """
    from mak.providers.opened import opened

    setup = Setup() if setup is None else setup
    spec = parse(spec, setup) if isinstance(spec, str) else spec
    return opened(spec, policy, setup, Session() if session is None else session)
