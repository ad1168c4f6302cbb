"""One repository at GitHub, and all that is needed to work on its runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mak.config import Policy
from mak.github.api import Api
from mak.github.ledger import Ledger
from mak.github.messages import Links
from mak.github.policy import rules
from mak.github.reading import Reader
from mak.github.reduce import Rules
from mak.github.remote import Remote

#: Seconds between two looks at what people say while a run is under way.
POLL = 5.0


@dataclass(frozen=True, slots=True)
class Wishes:
    """What whoever runs MAK wants of every run; empty or None: as the project is configured."""

    models: tuple[str, ...] = ()
    planner: str = ""
    agents: int | None = None
    #: US dollars of one run, at most.
    budget: float | None = None
    #: The project's configuration, as YAML.
    config: str = ""
    #: Whether endpoints of the project's configuration may be given keys.
    endpoints: bool = True


class Stopped(Exception):
    """What is under way is left as it is; whoever comes next goes on with it."""


@dataclass(frozen=True)
class Site:
    """One repository."""

    api: Api
    reader: Reader
    remote: Remote
    ledger: Ledger
    #: Accounts that MAK writes as, by number; what they say is never a command.
    mine: frozenset[int]
    #: Name and address that commits bear.
    who: tuple[str, str]
    #: A folder of one's own, for checkouts.
    folder: Path
    #: What the kernel's process has in its environment: models' keys, and no token.
    environment: Mapping[str, str]
    policy: Policy = field(default_factory=Policy)
    links: Links = field(default_factory=Links)
    #: Whether MAK speaks with a job's `GITHUB_TOKEN`: what it pushes starts no workflow by itself.
    by_job: bool = False
    wishes: Wishes = Wishes()
    #: Another word for `/mak`.
    alias: str = ""
    #: Who works: told apart from others by it.
    owner: str = "mak"
    poll: float = POLL
    now: Callable[[], float] = time.time
    #: Told what happens, for a log.
    note: Callable[[str], None] = lambda line: None
    #: Told what the kernel does, event by event, as the run log has them.
    see: Callable[[Mapping[str, Any]], None] = lambda event: None
    #: Asked why what is under way is to be left as it is, such as `the service stops`; empty: it
    #: goes on.
    stopped: Callable[[], str] = lambda: ""
    #: Told before anything of a run is published: a token may be for no more than planning.
    publishing: Callable[[], None] = lambda: None
    #: For tests: called with the name of every effect before and after it.
    fault: Callable[[str], None] = lambda name: None

    @property
    def rules(self) -> Rules:
        """Return what the repository asks of those who decide."""
        return rules(self.policy)

    @property
    def moment(self) -> int:
        """Return the time, in seconds since 1970."""
        return int(self.now())
