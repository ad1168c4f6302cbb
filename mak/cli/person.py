"""What a person keeps for all of their projects: settings, endpoints, keys, and what was fetched.

Only launchers look there, and hand on what they found.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mak.config import Endpoints, Found
    from mak.providers import Setup
    from mak.providers.catalog import Catalog
    from mak.providers.endpoints import Endpoint


def config_dir() -> Path:
    """Return the person's folder for MAK: below ``$XDG_CONFIG_HOME``, else below ``~/.config``.

    As the XDG Base Directory Specification wants it, a relative path in the variable is ignored.
    """
    return _base("XDG_CONFIG_HOME", ".config") / "mak"


def cache_dir() -> Path:
    """Return the folder for what can be fetched again, by ``$XDG_CACHE_HOME``."""
    return _base("XDG_CACHE_HOME", ".cache") / "mak"


def state_dir() -> Path:
    """Return the folder for what was typed and what went wrong, by ``$XDG_STATE_HOME``."""
    return _base("XDG_STATE_HOME", ".local/state") / "mak"


def _base(variable: str, default: str) -> Path:
    named = Path(os.environ.get(variable, ""))
    return named if named.is_absolute() else Path.home() / default


def variables_file() -> Path:
    """Return the file of the person's keys."""
    from mak.config import VARIABLES_FILE

    return config_dir() / VARIABLES_FILE


def endpoints_file() -> Path:
    """Return the file of the person's endpoints."""
    from mak.config import ENDPOINTS_FILE

    return config_dir() / ENDPOINTS_FILE


def variables() -> dict[str, str]:
    """Return keys and base URLs: what is exported, over what is kept."""
    from mak.config import merged, read_variables

    return merged(read_variables(variables_file()), os.environ)


def endpoints() -> Endpoints:
    """Return the person's endpoints, as written down."""
    from mak.config import read_endpoints

    return read_endpoints(endpoints_file())


def catalog() -> Catalog:
    """Return the lists of models that were fetched, over those that come with MAK."""
    from mak.providers.catalog import CATALOG_FILE, Catalog

    return Catalog(cache_dir() / CATALOG_FILE)


def key_names() -> dict[str, str]:
    """Return the variable that holds the key, by the id of every endpoint that takes one."""
    every = setup().endpoints.values()
    return {each.id: each.key_names[0] for each in every if each.key_names}


def known_names() -> frozenset[str]:
    """Return the variables that some endpoint reads: keys and base URLs."""
    from mak.providers.endpoints import OWN_KEY_NAME

    every = setup().endpoints.values()
    read = (name for each in every for name in (*each.key_names, each.url_name))
    return frozenset((OWN_KEY_NAME, *read)) - {""}


def setup(found: Found | None = None, specs: Sequence[str] = ()) -> Setup:
    """Return where models can be asked and with what, endpoints of a configuration included.

    `specs` are the models that the configuration alone has chosen.

    Raises `UsageError` where a project's configuration would send a key somewhere on its own.
    """
    from mak.cli.promise import refuse_leaks
    from mak.providers import Setup
    from mak.providers.access import located
    from mak.providers.own import named_prices, own

    kept = endpoints()
    mine = {id: own(id, each) for id, each in kept.endpoints.items()}
    named: dict[str, Endpoint] = {}
    if found is not None:
        named = {id: own(id, each) for id, each in found.config.endpoints.items()}
        if found.by_project:
            refuse_leaks(found, specs, named, mine, kept.hosts)
    lists = catalog()
    base = Setup(own={**named, **mine}, variables=variables())
    every = [located(each, base) for each in base.endpoints.values()]
    return Setup(
        own=base.own,
        variables=base.variables,
        models=lists.known(every),
        published=lists.published(every),
        prices=named_prices(found.config.prices) if found is not None else {},
        mode=found.config.mode if found is not None else None,
        hosts=kept.hosts,
        learned=cache_dir() / "learned.json",
    )
