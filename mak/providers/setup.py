"""What is set up on a machine and for a run, as a launcher hands it in.

Nothing below the launchers looks for files of a person: endpoints, keys and folders arrive here.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from mak.providers.endpoints import PRESETS, Endpoint, Price
from mak.providers.request import Published

if TYPE_CHECKING:
    from mak.config import Mode


@dataclass(frozen=True, slots=True)
class Setup:
    """Where models can be asked, and with what."""

    #: A person's own endpoints by id; they come before presets of the same id.
    own: Mapping[str, Endpoint] = field(default_factory=dict)
    #: Keys and base URLs by environment variable.
    variables: Mapping[str, str] = field(default_factory=lambda: os.environ)
    #: Models by endpoint id where all of them are known; a spec with another one is refused. The
    #: endpoints that are not in it take any.
    models: Mapping[str, Collection[str]] = field(default_factory=dict)
    #: What endpoints said about models, by endpoint id and model.
    published: Mapping[tuple[str, str], Published] = field(default_factory=dict)
    #: Prices by model spec (``endpoint:model``), before those of endpoint and table.
    prices: Mapping[str, Price] = field(default_factory=dict)
    #: Where models may run; None: anywhere.
    mode: Mode | None = None
    #: Servers, as ``host[:port]``, that a person has named as their own.
    hosts: tuple[str, ...] = ()
    #: File that keeps what was learned about endpoints from one process to the next.
    learned: Path | None = None
    #: File to which questions and answers are added, for `replay:FILE`.
    record: Path | None = None

    @property
    def endpoints(self) -> Mapping[str, Endpoint]:
        """Every endpoint by id."""
        return {**PRESETS, **self.own}
