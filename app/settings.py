"""What the service is told: everything from the environment, or from files that it names.

`MAK_APP_X_FILE` names a file with the value of `MAK_APP_X`, for secrets that are mounted. Secrets
are taken out of the environment, so that no process started from here has them.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from app.queue import Limits
from mak.errors import UsageError
from mak.providers import secrets

T = TypeVar("T")

_PREFIX = "MAK_APP_"
#: GitHub has no rule; shorter ones can be guessed offline from one delivery.
_SHORTEST_SECRET = 16
#: What every process needs; the rest is named.
_USUAL = ("PATH", "HOME", "LANG", "TMPDIR")
_AMOUNT = re.compile(r"[0-9]{1,6}(?:\.[0-9]{1,4})?", re.ASCII)


class Mode(StrEnum):
    """Where a run is carried out."""

    #: By the worker of this service.
    RUN = "run"
    #: By the repository's own workflow, which the worker starts.
    DISPATCH = "dispatch"


@dataclass(frozen=True, slots=True)
class Kernel:
    """What runs are carried out with, in the mode `run`."""

    models: tuple[str, ...] = ("builtin",)
    planner: str = "builtin"
    #: At once; None: as the repository wants.
    agents: int | None = None
    #: US dollars of one run, at most; None: as the repository wants.
    budget: float | None = None
    #: All that the kernel's process has in its environment: keys of models, and none of the App.
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    #: Whether commands of a repository's configuration are run on this machine.
    commands: bool = False
    #: Where checkouts are made; empty: where the system has temporary files.
    folder: str = ""


@dataclass(frozen=True, slots=True)
class Settings:
    """The service."""

    #: The newest first: GitHub signs with one, which is replaced while both are accepted.
    webhook_secrets: tuple[str, ...] = field(repr=False)
    app_id: str
    private_key: str = field(repr=False)
    mode: Mode
    #: The file name of the workflow that is started.
    workflow: str
    queue: str = field(repr=False)
    limits: Limits
    host: str
    port: int
    #: Wakes that a worker has in hand at once.
    slots: int
    #: Seconds that work in hand has to end when the service stops.
    grace: float
    github_url: str
    #: Patterns of `owner/name`; none: wherever the App is installed.
    repositories: tuple[str, ...]
    #: Another word for `/mak` at the start of a command.
    alias: str
    #: What shows pages of runs; empty: there are none.
    pages_token: str = field(repr=False)
    #: Where people reach the service, no slash at the end; empty: nothing links to its pages.
    url: str = ""
    kernel: Kernel = field(default_factory=lambda: Kernel())

    @property
    def web(self) -> str:
        """Return the address of GitHub's pages, and of repositories for Git."""
        if self.github_url == "https://api.github.com":
            return "https://github.com"
        return self.github_url.rstrip("/").removesuffix("/api/v3")

    def serves(self, full_name: str) -> bool:
        """Say whether a repository is one of those that the service is for."""
        name = full_name.lower()
        patterns = self.repositories
        return not patterns or any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def read(environment: MutableMapping[str, str]) -> Settings:
    """Take the settings out of the environment.

    Raises `UsageError`, which names all that is missing at once.
    """
    given = _Given(environment)
    webhook_secrets = (given.secret("WEBHOOK_SECRET"), given.secret("WEBHOOK_SECRET_OLD"))
    app_id, key = given.text("ID"), given.secret("PRIVATE_KEY")
    needed = {
        "MAK_APP_WEBHOOK_SECRET": webhook_secrets[0],
        "MAK_APP_ID": app_id,
        "MAK_APP_PRIVATE_KEY": key,
    }
    missing = [name for name, value in needed.items() if not value]
    if missing:
        names = ", ".join(missing)
        raise UsageError(
            f"starting the GitHub App: {names} {'are' if missing[1:] else 'is'} missing",
            hint="docs/guides/github-app.md says where each comes from; NAME_FILE reads a file",
        )
    for secret in webhook_secrets:
        if secret and len(secret) < _SHORTEST_SECRET:
            least = f"has fewer than {_SHORTEST_SECRET} characters"
            hint = "python -c 'import secrets; print(secrets.token_hex(32))' makes one"
            raise UsageError(f"starting the GitHub App: the webhook secret {least}", hint=hint)
    usual = Limits()
    pages_token = given.secret("PAGES_TOKEN")
    if pages_token and len(pages_token) < _SHORTEST_SECRET:
        least = f"MAK_APP_PAGES_TOKEN has fewer than {_SHORTEST_SECRET} characters"
        raise UsageError(f"starting the GitHub App: {least}")
    return Settings(
        webhook_secrets=tuple(secret for secret in webhook_secrets if secret),
        app_id=app_id,
        private_key=key,
        mode=given.read("MODE", Mode.DISPATCH, Mode, "is run or dispatch"),
        workflow=given.text("WORKFLOW") or "mak.yml",
        queue=given.secret("QUEUE") or "sqlite:///mak-app.db",
        limits=Limits(
            all=given.number("LIMIT", usual.all),
            of_repository=given.number("LIMIT_PER_REPOSITORY", usual.of_repository),
            of_person=given.number("LIMIT_PER_PERSON", usual.of_person),
            running_of_repository=given.number(
                "RUNNING_PER_REPOSITORY", usual.running_of_repository
            ),
            running_of_person=given.number("RUNNING_PER_PERSON", usual.running_of_person),
        ),
        host=given.text("HOST") or "127.0.0.1",
        port=given.number("PORT", 8080),
        slots=given.number("SLOTS", 4),
        grace=float(given.number("GRACE", 30)),
        github_url=given.text("GITHUB_URL") or "https://api.github.com",
        repositories=tuple(given.text("REPOSITORIES").lower().replace(",", " ").split()),
        alias=given.text("ALIAS"),
        pages_token=pages_token,
        url=given.text("URL").rstrip("/"),
        kernel=_kernel(given),
    )


def _kernel(given: _Given) -> Kernel:
    models = tuple(given.text("MODELS").replace(",", " ").split()) or ("builtin",)
    names = [*_USUAL, *given.text("KEYS").replace(",", " ").split()]
    agents, budget = given.read("AGENTS", None, int, "is no number"), given.text("BUDGET")
    if agents is not None and agents < 1:
        raise UsageError("starting the GitHub App: MAK_APP_AGENTS is less than 1")
    if budget and not _AMOUNT.fullmatch(budget):
        raise UsageError("starting the GitHub App: MAK_APP_BUDGET is no amount, such as 2.50")
    if ours := [name for name in names if name.startswith(_PREFIX)]:
        raise UsageError(f"starting the GitHub App: MAK_APP_KEYS names {ours[0]}, the App's own")
    return Kernel(
        models=models,
        planner=given.text("PLANNER") or models[0],
        agents=agents,
        budget=float(budget) if budget else None,
        environment=given.kept(names),
        commands=given.read("COMMANDS", False, _yes, "is yes or no"),
        folder=given.text("FOLDER"),
    )


def _yes(text: str) -> bool:
    return {"yes": True, "no": False}[text.lower()]


class _Given:
    def __init__(self, environment: MutableMapping[str, str]) -> None:
        self._environment = environment

    def text(self, name: str) -> str:
        return self._environment.get(f"{_PREFIX}{name}", "").strip()

    def secret(self, name: str) -> str:
        whole = f"{_PREFIX}{name}"
        value = _value(self._environment.pop(whole, ""), whole, self._environment)
        if name != "QUEUE":
            secrets.keep(value)
        return value

    def kept(self, names: Sequence[str]) -> dict[str, str]:
        """Return variables that are not the App's; `NAME_FILE` names a file here too."""
        found: dict[str, str] = {}
        for name in names:
            value = self._environment.get(name, "")
            if name not in _USUAL:
                value = _value(self._environment.pop(name, ""), name, self._environment)
                secrets.keep(value)
            if value:
                found[name] = value
        return found

    def number(self, name: str, otherwise: int) -> int:
        value = self.read(name, otherwise, int, "is no number")
        if value < 1:
            raise UsageError(f"starting the GitHub App: {_PREFIX}{name} is less than 1")
        return value

    def read(self, name: str, otherwise: T, kind: Callable[[str], T], says: str) -> T:
        text = self.text(name)
        try:
            return kind(text) if text else otherwise
        except (KeyError, ValueError) as error:
            raise UsageError(f"starting the GitHub App: {_PREFIX}{name} {says}") from error


def _value(given: str, name: str, environment: Mapping[str, str]) -> str:
    """Return a secret: as it was given, or what is in the file that `NAME_FILE` names."""
    value, path = given.strip(), environment.get(f"{name}_FILE", "").strip()
    if path and not value:
        try:
            value = Path(path).read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            doing = f"starting the GitHub App: reading {name}_FILE"
            raise UsageError(f"{doing}: {error}") from error
    return value
