"""One conversation with GitHub over HTTP: paced, patient with its limits, careful with writes.

What is read, or the same however often it is done, is asked again when the network or GitHub fails.
Whether another write was done is then unknown: it raises `AnswerLost`, and whoever wanted it looks
first.
"""

from __future__ import annotations

import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Self

import httpx

from mak import __version__
from mak.errors import AnswerLost, GitHubError
from mak.github.redaction import redact
from mak.github.tokens import Tokens

VERSION_HEADER = "x-github-api-version"
HEADERS = {
    "accept": "application/vnd.github+json",
    "user-agent": f"mak/{__version__}",
    VERSION_HEADER: "2022-11-28",
}
#: GitHub asks for a second between writes, and for a minute where it names no time.
PACE = 1.0
_MINUTE = 60.0
#: Attempts at one request, and the longest that is waited between two.
_ATTEMPTS = 5
_PATIENCE = 900.0
_PAGE = 100
_REMEMBERED = 256

Document = dict[str, Any]
Json = Any


@dataclass(frozen=True)
class Clock:
    """Time, as far as waiting needs it."""

    monotonic: Callable[[], float] = time.monotonic
    now: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep


class Transport:
    """Requests with the token of one source. Safe to share between threads; writes take turns."""

    def __init__(
        self,
        tokens: Tokens,
        url: str = "https://api.github.com",
        graphql_url: str = "",
        *,
        pace: float = PACE,
        clock: Clock | None = None,
    ) -> None:
        """Take a source of tokens and where the interfaces are: a GitHub server has its own."""
        self.tokens = tokens
        self.url = url.rstrip("/")
        # A server of one's own has `…/api/v3` and `…/api/graphql`.
        self.graphql_url = graphql_url or f"{self.url.removesuffix('/v3')}/graphql"
        self._pace, self._clock = pace, clock or Clock()
        self._http = httpx.Client(headers=HEADERS, timeout=httpx.Timeout(30, connect=10))
        self._writing = threading.Lock()
        self._written = -float("inf")
        self._known: OrderedDict[str, tuple[str, httpx.Response]] = OrderedDict()

    def __enter__(self) -> Self:
        """Keep connections until the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close them."""
        self._http.close()

    def get(self, path: str, **query: str | int) -> Json:
        """Return what is at a path; what has not changed since costs GitHub nothing."""
        return _json(self._read(self._address(path), query))

    def pages(self, path: str, key: str = "", **query: str | int) -> Iterator[Document]:
        """Yield every entry of a list, page by page; `key` names it within a document."""
        answer = self._read(self._address(path), {"per_page": _PAGE, **query})
        while True:
            document = _json(answer)
            yield from document[key] if key else document
            following = answer.links.get("next", {}).get("url")
            if not following:
                return
            # The token goes to no address but the one it is for.
            if httpx.URL(following).netloc != httpx.URL(self.url).netloc:
                raise GitHubError(f"reading {path}: its next page is on another server")
            answer = self._read(following, {})

    def write(self, method: str, path: str, body: Json = None, *, repeatable: bool = False) -> Json:
        """Change something; a method other than POST, or `repeatable`, may be done twice.

        Raises `GitHubError` when GitHub refuses, `AnswerLost` when it is unknown what it did.
        """
        again = repeatable or method != "POST"
        return _json(self._send(method, self._address(path), again=again, body=body, paced=True))

    def graphql(self, query: str, *, writes: bool = True, **variables: Json) -> Document:
        """Return the data of a GraphQL document; what MAK changes that way may be done twice.

        Raises `GitHubError` with what GitHub says, which comes with status 200.
        """
        body = {"query": query, "variables": variables}
        sent = self._send("POST", self.graphql_url, again=True, body=body, paced=writes)
        answer = _json(sent)
        if answer.get("errors"):
            said = "; ".join(error["message"] for error in answer["errors"])
            raise GitHubError(f"asking GitHub's GraphQL: {redact(said)}", status=200)
        data: Document = answer["data"]
        return data

    def _address(self, path: str) -> str:
        return f"{self.url}{path}"

    def _read(self, address: str, query: Mapping[str, str | int]) -> httpx.Response:
        url = str(httpx.URL(address).copy_merge_params(query)) if query else address
        known = self._known.get(url)
        headers = {"if-none-match": known[0]} if known else {}
        answer = self._send("GET", url, again=True, headers=headers)
        if answer.status_code == 304 and known:
            return known[1]
        if answer.headers.get("etag"):
            self._known[url] = (answer.headers["etag"], answer)
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return answer

    def _send(
        self,
        method: str,
        url: str,
        *,
        again: bool,
        body: Json = None,
        headers: Mapping[str, str] | None = None,
        paced: bool = False,
    ) -> httpx.Response:
        """Send a request until it is answered; raises `GitHubError` for what stays refused."""
        doing = f"{method} {httpx.URL(url).path}"
        renewed = False
        for attempt in range(1, _ATTEMPTS + 1):
            token = self.tokens.current()
            whole = {**(headers or {}), "authorization": f"Bearer {token}"}
            try:
                with self._turn() if paced else nullcontext():
                    answer = self._http.request(method, url, json=body, headers=whole)
            except httpx.ConnectError as error:
                # Nothing has been sent.
                self._retry(attempt, doing, error, 2.0**attempt)
                continue
            except httpx.TransportError as error:
                if not again:
                    raise AnswerLost(f"{doing}: {type(error).__name__}, no answer") from error
                self._retry(attempt, doing, error, 2.0**attempt)
                continue
            if answer.is_success or answer.status_code == 304:
                return answer
            if answer.status_code == 401 and not renewed and self.tokens.renew(token):
                renewed = True
                continue
            refusal = _refusal(doing, answer)
            wait = _to_wait(answer, attempt, self._clock.now())
            if wait is None:
                raise refusal
            if answer.status_code >= 500 and not again:
                raise AnswerLost(str(refusal), status=answer.status_code)
            self._retry(attempt, doing, refusal, wait)
        raise AssertionError("every attempt ends in an answer, an error or a wait")

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Hold the turn to write, not sooner after the last write than GitHub asks for."""
        with self._writing:
            early = self._written + self._pace - self._clock.monotonic()
            if early > 0:
                self._clock.sleep(early)
            try:
                yield
            finally:
                self._written = self._clock.monotonic()

    def _retry(self, attempt: int, doing: str, error: Exception, wait: float) -> None:
        """Wait before another attempt; raises when there is none, or GitHub asks for too much."""
        if attempt == _ATTEMPTS or wait > _PATIENCE:
            if isinstance(error, GitHubError):
                raise error
            reason = redact(f"{type(error).__name__}: {error}")
            raise GitHubError(f"{doing}: {reason}", hint="is GitHub reachable from here?")
        self._clock.sleep(wait)


def _to_wait(answer: httpx.Response, attempt: int, now: float) -> float | None:
    """Return how long to wait before asking again, or None when that is no use."""
    if answer.status_code >= 500:
        return 2.0**attempt
    if answer.status_code not in (403, 429):
        return None
    after = answer.headers.get("retry-after", "")
    if after.isdecimal():
        return float(after)
    if after:
        try:
            return max(0.0, parsedate_to_datetime(after).timestamp() - now)
        except ValueError:
            return _MINUTE
    if answer.headers.get("x-ratelimit-remaining") == "0":
        reset = answer.headers.get("x-ratelimit-reset", "")
        return max(0.0, float(reset) - now) if reset.isdecimal() else _MINUTE
    if answer.status_code == 429 or "secondary rate limit" in answer.text.lower():
        return float(_MINUTE * 2 ** (attempt - 1))
    return None


def _refusal(doing: str, answer: httpx.Response) -> GitHubError:
    try:
        document = answer.json()
    except ValueError:
        document = {}
    document = document if isinstance(document, dict) else {}
    said = [str(document.get("message") or answer.reason_phrase)]
    for error in document.get("errors", ()):
        said.append(str(error.get("message") or error) if isinstance(error, dict) else str(error))
    text = re.sub(r"\s+", " ", redact("; ".join(said)))[:500]
    hint = ""
    if answer.status_code == 401:
        hint = "the token is not valid, or not any more"
    elif answer.status_code == 403 and "not accessible" in text:
        hint = "the token lacks a permission for this; see `permissions:` of the job or the App"
    return GitHubError(
        f"{doing}: {answer.status_code} {text}", status=answer.status_code, hint=hint
    )


def _json(answer: httpx.Response) -> Json:
    return answer.json() if answer.content else None
