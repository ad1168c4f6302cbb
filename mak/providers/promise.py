"""What a mode promises about where models run, kept before anything is sent."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection
from urllib.parse import urlsplit

from mak.errors import UsageError
from mak.providers.access import located
from mak.providers.setup import Setup
from mak.providers.spec import Spec

#: Ends of host names that no public name server knows.
_OWN_NAMES = (".local", ".lan", ".home", ".internal", ".localhost", ".home.arpa")


def keep_mode(spec: Spec, setup: Setup, *, plans: bool) -> None:
    """Raise `UsageError` where the mode does not allow this model as planner, or as agent."""
    if setup.mode is None or spec.endpoint is None:
        return  # nothing is promised, or nobody is asked over a network
    from mak.config import Mode

    wants_own = setup.mode is Mode.LOCAL or (setup.mode is Mode.HYBRID and not plans)
    url = located(spec.endpoint, setup).url
    if is_own(url, setup.hosts) is wants_own:
        return
    host = urlsplit(url).hostname
    where = "a hosted model" if wants_own else "a server of one's own"
    wanted = "mak local lists what runs here" if wants_own else "mak models lists hosted ones"
    raise UsageError(
        f"mode is {setup.mode}, and {spec}, which {'plans' if plans else 'edits'}, is {where}, "
        f"at {host}",
        hint=f"{wanted}; or change mode, in the configuration or with --mode",
    )


def is_own(url: str, hosts: Collection[str] = ()) -> bool:
    """Whether a URL leads to this machine, its network, or a host that a person named as theirs."""
    host = urlsplit(url).hostname or ""
    if host in {urlsplit(f"//{each}").hostname for each in hosts}:
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return "." not in host or host.endswith(_OWN_NAMES)
    return address.is_loopback or address.is_private or address.is_link_local
