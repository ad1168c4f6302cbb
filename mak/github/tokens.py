"""Whom MAK speaks as on GitHub: a token that is given, or an App that gets tokens as it needs them.

A token is an opaque text of any length. Each is noted as a secret when it is seen first.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

import jwt

from mak.errors import GitHubError, UsageError
from mak.providers import secrets

#: GitHub's limit is ten minutes, from an `iat` that its clock must not find in the future.
_BACKDATED, _JWT_LIFE = 60, 540
#: A token lives an hour; it is replaced before, so that none ends in the middle of a push.
_SPARE = 600

#: What Git is given, and nothing else: runs are recorded in refs from their first moment.
RECORDING: Mapping[str, str] = {"contents": "write"}
#: What a token may do while a plan is made, and when results are published.
PLANNING: Mapping[str, str] = {"contents": "read", "issues": "write", "pull_requests": "write"}
PUBLISHING: Mapping[str, str] = {
    "contents": "write",
    "issues": "write",
    "pull_requests": "write",
    "checks": "write",
}


class Tokens(Protocol):
    """Where the token of a request comes from."""

    def current(self) -> str:
        """Return a token that should be valid."""
        ...

    def renew(self, refused: str) -> bool:
        """Say whether there is another token in place of one that GitHub does not take."""
        ...


@dataclass(frozen=True)
class GivenToken:
    """A token that somebody else looks after: a job's `GITHUB_TOKEN`, a person's own."""

    token: str

    def __post_init__(self) -> None:
        """Note the secret; an empty one is a mistake in the workflow."""
        if not self.token.strip():
            raise UsageError("talking to GitHub: the token is empty", hint="pass github-token")
        secrets.keep(self.token)

    def current(self) -> str:
        """Return it."""
        return self.token

    def renew(self, refused: str) -> bool:
        """Say that there is no other."""
        return False


class AppToken:
    """What an App says who it is with; good for finding and minting, for nothing else."""

    def __init__(
        self, app_id: int | str, private_key: str, now: Callable[[], float] = time.time
    ) -> None:
        """Take the App's id and its private key, as PEM.

        Raises `UsageError` when the key is none.
        """
        self._app_id, self._key, self._now = app_id, private_key, now
        secrets.keep(private_key)
        self.current()

    def current(self) -> str:
        """Return a new one; GitHub wants `iss` to be a string."""
        now = int(self._now())
        claims = {"iat": now - _BACKDATED, "exp": now + _JWT_LIFE, "iss": str(self._app_id)}
        try:
            token = jwt.encode(claims, self._key, algorithm="RS256")
        except (ValueError, TypeError, jwt.PyJWTError) as error:
            raise UsageError(
                "signing for the GitHub App: its private key cannot be read",
                hint="it is the whole PEM file that GitHub lets you download, newlines included",
            ) from error
        secrets.keep(token)
        return token

    def renew(self, refused: str) -> bool:
        """Say that a new one is no better."""
        return False


#: Asks GitHub for a token of an installation, with a narrowing; returns GitHub's document.
Mint = Callable[[int, Mapping[str, Any]], Mapping[str, Any]]


class InstallationToken:
    """The tokens of an installation, for one repository, or all, and what one phase is to do."""

    def __init__(
        self,
        installation_id: int,
        repository_id: int | None,
        permissions: Mapping[str, str],
        mint: Mint,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Take what to ask for, and how; nothing is asked for until it is needed."""
        self._installation_id = installation_id
        self._narrowing: dict[str, Any] = {"permissions": dict(permissions)}
        if repository_id is not None:
            self._narrowing["repository_ids"] = [repository_id]
        self._mint, self._now = mint, now
        self._lock = threading.Lock()
        self._token, self._until = "", 0.0

    def current(self) -> str:
        """Return a token that lives for ten more minutes at least."""
        with self._lock:
            if self._now() >= self._until:
                self._fetch()
            return self._token

    def renew(self, refused: str) -> bool:
        """Get another one, unless that has happened since."""
        with self._lock:
            if self._token == refused:
                self._fetch()
            return self._token != refused

    def _fetch(self) -> None:
        minted = self._mint(self._installation_id, self._narrowing)
        try:
            expires = datetime.fromisoformat(minted["expires_at"]).timestamp()
            self._token, self._until = minted["token"], expires - _SPARE
        except (KeyError, TypeError, ValueError) as error:
            message = "getting an installation token: GitHub's answer has none"
            raise GitHubError(message) from error
        secrets.keep(self._token)
