"""What is promised before anything is sent: where models run, and whose word sends a key where."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from mak.errors import UsageError

if TYPE_CHECKING:
    from mak.config import Config, Found
    from mak.providers import Setup, Spec
    from mak.providers.endpoints import Endpoint

#: Ends of host names that no public name server knows.
_OWN_NAMES = (".local", ".lan", ".home", ".internal", ".localhost", ".home.arpa")


def check_specs(config: Config, setup: Setup, hosts: Collection[str] = ()) -> tuple[Spec, ...]:
    """Return the specs of planner and agents; raise `UsageError` unless they keep to the mode.

    `hosts` are ``host[:port]`` that a person has named as their own.
    """
    from mak.config import Mode
    from mak.providers import parse

    agents = [parse(text, setup) for text in config.models.agents]
    planner = parse(config.planner, setup) if config.planner else agents[0]
    match config.mode:
        case Mode.LOCAL:
            _refuse([planner, *agents], config.mode, setup, hosts, local=True)
        case Mode.CLOUD:
            _refuse([planner, *agents], config.mode, setup, hosts, local=False)
        case Mode.HYBRID:
            _refuse(agents, config.mode, setup, hosts, local=True)
            if not config.planner:
                raise UsageError(
                    "mode is hybrid, and no planner is named",
                    hint="name a hosted one, for example planner: anthropic (or --planner)",
                )
            _refuse([planner], config.mode, setup, hosts, local=False)
        case None:
            pass
    return (planner, *agents)


def _refuse(
    specs: Sequence[Spec], mode: str, setup: Setup, hosts: Collection[str], *, local: bool
) -> None:
    from mak.providers.access import located

    for spec in specs:
        if spec.endpoint is None:
            continue  # nobody is asked over a network
        url = located(spec.endpoint, setup).url
        if is_own(url, hosts) is not local:
            host = urlsplit(url).hostname
            where = "a hosted model" if local else "a server of one's own"
            wanted = "mak local lists what runs here" if local else "mak models lists hosted ones"
            raise UsageError(
                f"mode is {mode}, and {spec} is {where}, at {host}",
                hint=f"{wanted}; or change mode, in the configuration or with --mode",
            )


def is_own(url: str, hosts: Collection[str] = ()) -> bool:
    """Whether a URL leads to this machine, its network, or a host that a person named as theirs."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if host in {urlsplit(f"//{each}").hostname for each in hosts}:
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return "." not in host or host.endswith(_OWN_NAMES)
    return address.is_loopback or address.is_private or address.is_link_local


def refuse_leaks(
    found: Found,
    specs: Sequence[str],
    named: Mapping[str, Endpoint],
    mine: Mapping[str, Endpoint],
    hosts: Sequence[str],
) -> None:
    """Raise `UsageError` where a project's file would have a key sent to where it says.

    Such a file comes with a clone. What it names is used with a key only where a preset, or the
    person's own endpoints, send that key to that host already. `specs` are the models that are its
    choice; `named` are its endpoints, `mine` the person's.
    """
    from mak.providers.endpoints import PRESETS

    allowed = {
        (name, urlsplit(each.url).hostname)
        for each in (*PRESETS.values(), *mine.values())
        for name in each.key_names
    }
    for id, endpoint in named.items():
        settings = found.config.endpoints[id]
        if id in PRESETS and id not in mine:
            raise UsageError(
                f"reading {found.path}: the endpoint {id!r} would take the place of a known one",
                hint="give it an id of its own",
            )
        host = urlsplit(endpoint.url).hostname
        if settings.key and id not in mine and (settings.key, host) not in allowed:
            raise UsageError(
                f"reading {found.path}: the endpoint {id!r} would send {settings.key} to {host}, "
                "which only you can allow",
                hint=f"if it should: mak endpoint add {id} --url {endpoint.url} "
                f"--wire {settings.wire} --key {settings.key}"
                f"{f' --model {settings.model}' if settings.model else ''}",
            )
    for spec in specs:
        _, at, url = spec.rpartition("@")
        if at and "://" in url and not is_own(url, hosts):
            host = urlsplit(url).hostname
            raise UsageError(
                f"reading {found.path}: {spec} would be asked with your MAK_API_KEY at {host}, "
                "which only you can allow",
                hint=f"if it should: mak endpoint add ID --url {url} --key NAME, "
                "or name the model with --models",
            )
