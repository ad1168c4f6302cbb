"""Issues, pull requests and repositories, read with github3.py and handed on as documents.

github3.py 4.0 names no version of the interface, and an installation's token that has ended is an
error to it; both are seen to here. It writes nothing: drafts, reviews by line and GraphQL are
unknown to it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import github3
import requests
from github3.exceptions import GitHubException
from github3.session import GitHubSession

from mak.errors import GitHubError
from mak.github.redaction import redact
from mak.github.transport import HEADERS, VERSION_HEADER, Document, Transport


class Reader:
    """One repository, to read."""

    def __init__(self, transport: Transport, repository: str) -> None:
        """Read with a transport's tokens and address."""
        self._transport = transport
        self._owner, self._name = repository.split("/")
        session = GitHubSession()
        session.base_url = transport.url
        # Its own `accept` stays: it relies on fields that only that media type has.
        session.headers.update({name: HEADERS[name] for name in ("user-agent", VERSION_HEADER)})
        self._github = github3.GitHub(session=session)

    def close(self) -> None:
        """Close the connections."""
        self._github.session.close()

    def repository(self) -> Document:
        """Return the repository."""
        return self._read("", lambda: self._github.repository(self._owner, self._name))

    def issue(self, number: int) -> Document:
        """Return an issue."""
        place = f" issue {number}"
        return self._read(place, lambda: self._github.issue(self._owner, self._name, number))

    def pull(self, number: int) -> Document:
        """Return a pull request."""
        place = f" pull request {number}"
        return self._read(place, lambda: self._github.pull_request(self._owner, self._name, number))

    def _read(self, place: str, read: Callable[[], Any]) -> Document:
        """Read something, once more with another token where one was refused."""
        doing = f"reading {self._owner}/{self._name}{place}"
        for last in (False, True):
            token = self._transport.tokens.current()
            # Not `login`: it has a token that is of the kind of an App's end by a clock of its own.
            self._github.session.headers["Authorization"] = f"Bearer {token}"
            try:
                return dict(read().as_dict())
            except GitHubException as error:
                status = getattr(error, "code", 0)
                if status == 401 and not last and self._transport.tokens.renew(token):
                    continue
                raise GitHubError(f"{doing}: {redact(str(error))}", status=status) from error
            except (requests.RequestException, AttributeError) as error:
                reason = redact(f"{type(error).__name__}: {error}")
                raise GitHubError(f"{doing}: {reason}") from error
        raise AssertionError("the second attempt ends in an answer or an error")
