"""What is checked before anything is sent: the mode, and whose word sends a key where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from mak.errors import UsageError

if TYPE_CHECKING:
    from mak.config import Config, Found
    from mak.providers import Setup, Spec
    from mak.providers.endpoints import Endpoint


def check_specs(config: Config, setup: Setup) -> tuple[Spec, ...]:
    """Return the specs of planner and agents; raise `UsageError` unless they keep to the mode."""
    from mak.config import Mode
    from mak.providers import parse
    from mak.providers.promise import keep_mode

    agents = [parse(text, setup) for text in config.models.agents]
    if config.mode is Mode.HYBRID and not config.planner:
        raise UsageError(
            "mode is hybrid, and no planner is named",
            hint="name a hosted one, for example planner: anthropic (or --planner)",
        )
    planner = parse(config.planner, setup) if config.planner else agents[0]
    keep_mode(planner, setup, plans=True)
    for agent in agents:
        keep_mode(agent, setup, plans=False)
    return (planner, *agents)


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
    from mak.providers.promise import is_own

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
