"""What went wrong with a call, whatever the SDK, a proxy or a half-compatible server threw.

The SDKs' own exception tree is not all there is: a stream may carry an error under status 200, a
proxy may answer with a page, a connection may break half-way, and an answer of the wrong shape
surfaces as whatever the code that trusted it raises. Everything is mapped to one `NoAnswer` here.
"""

from __future__ import annotations

import errno
import json
import re
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from mak.errors import AgentErrorKind as Kind
from mak.providers import secrets
from mak.providers.limits import retry_after
from mak.providers.request import NoAnswer, Rung

#: Kinds that may pass when asked again.
PASSING = frozenset(
    {
        Kind.RATE_LIMITED,
        Kind.OVERLOADED,
        Kind.TRANSIENT,
        Kind.UNREACHABLE,
        Kind.TIMEOUT,
        Kind.MALFORMED,
    }
)

#: What code that trusts an answer raises when the answer has another shape.
MISSHAPEN = (ValueError, TypeError, AttributeError, LookupError, AssertionError, RuntimeError)

_FORMAT = re.compile(
    r"response_format|json.?schema|invalid format|json_object|output_config|output_format"
    r"|structured.output|grammar|literal_error|input_schema|tool_choice|\btools?\b|\bstrict\b",
    re.IGNORECASE,
)
#: llama-cpp-python answers 500 to a response_format that it does not know.
_VALIDATION = re.compile(r"validation error|literal_error|not supported|unsupported", re.IGNORECASE)
_CONTEXT = re.compile(
    r"context.?(length|window|size)|maximum context|prompt is too long|too many (input )?tokens"
    r"|input is too long|request_too_large",
    re.IGNORECASE,
)
_BILLING = re.compile(
    r"insufficient_quota|spend_limit_reached|billing_error|billing_hard_limit"
    r"|credit balance is too low|payment required",
    re.IGNORECASE,
)
#: An error in a stream has no status of its own; its type says what it would have been.
_STATUS_OF_TYPE = {
    "overloaded_error": 529,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 402,
    "billing_error": 402,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "invalid_request_error": 400,
    "request_too_large": 413,
    "timeout_error": 504,
}
_MAX_TEXT = 300
_NO_WAY = (errno.ENETUNREACH, errno.EHOSTUNREACH)


@dataclass(frozen=True, slots=True)
class Asking:
    """Which call it was, for the text of an error."""

    #: Empty: the list of models was asked for.
    model: str
    endpoint: str
    rung: Rung
    #: Environment variable that the key came from; empty: none was sent.
    key_name: str
    #: Values that no text may hold.
    secrets: tuple[str, ...] = ()
    #: Variable that a key would be read from; empty: none is.
    key_wanted: str = ""
    #: How base URLs of this wire mostly end.
    usual_end: str = ""

    def clean(self, text: str) -> str:
        """Return `text` on one line, short and without secrets."""
        text = secrets.redact(text)
        for secret in self.secrets:
            text = text.replace(secret, "[redacted]")
        if re.match(r"\s*(<!doctype|<html)", text, re.IGNORECASE):
            text = "an HTML page"
        text = "".join(char if char.isprintable() else " " for char in text)
        text = " ".join(text.split())
        return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}…"

    def error(
        self,
        kind: Kind,
        reason: str,
        *,
        status: int | None = None,
        retry_after: float | None = None,
    ) -> NoAnswer:
        """Return the error that a person will read."""
        return NoAnswer(
            f"asking {self.model or 'its models'} at {self.endpoint}: {self.clean(reason)}",
            kind=kind,
            status=status,
            retry_after=retry_after,
            hint=self._hint(kind),
        )

    def _hint(self, kind: Kind) -> str:
        match kind:
            case Kind.AUTH if self.key_name:
                return f"check the key in {self.key_name}"
            case Kind.AUTH if self.key_wanted:
                return f"it wants a key: mak keys set {self.key_wanted}"
            case Kind.AUTH:
                return "it wants a key: mak endpoint add ID --url … --key NAME, mak keys set NAME"
            case Kind.BILLING:
                return "add credit or raise the limit of this account, or choose another model"
            case Kind.NOT_FOUND:
                ends = self.usual_end
                lacks = ends and not self.endpoint.endswith(ends)
                usual = f", which mostly ends in {ends}" if lacks else ""
                name = f"the model's name ({self.model}) and " if self.model else ""
                return f"check {name}the base URL{usual}"
            case Kind.CONTEXT:
                return "split the task, or choose a model with a larger context window"
            case Kind.RATE_LIMITED | Kind.OVERLOADED:
                return "what has landed stays; run the rest later: mak show --plan"
            case Kind.UNREACHABLE:
                return f"see that a server runs at {self.endpoint}, or correct the base URL"
            case Kind.TRANSIENT | Kind.TIMEOUT | Kind.MALFORMED:
                return "check the network and the base URL, then run it again"
        return ""


def explain(error: Exception, asking: Asking, sdk: ModuleType | None = None) -> NoAnswer:
    """Turn what a call, made through `sdk` if any, raised into the one error that MAK knows."""
    import httpx2

    if isinstance(error, NoAnswer):
        return error
    if isinstance(error, httpx2.TimeoutException | TimeoutError | _of(sdk, "APITimeoutError")):
        return asking.error(Kind.TIMEOUT, "timed out waiting for the endpoint")
    if isinstance(error, _of(sdk, "APIResponseValidationError")):
        return asking.error(Kind.MALFORMED, "the answer is not of the API's shape")
    if isinstance(error, httpx2.InvalidURL | httpx2.UnsupportedProtocol):
        return asking.error(Kind.BAD_REQUEST, f"not a usable base URL: {error}")
    if isinstance(error, httpx2.TransportError | OSError | _of(sdk, "APIConnectionError")):
        if why := _unreachable(error):
            return asking.error(Kind.UNREACHABLE, f"nothing answers there: {why}")
        return asking.error(Kind.TRANSIENT, f"the connection failed: {_cause(error)}")
    known: Any = error
    if isinstance(error, _of(sdk, "APIStatusError")):
        said = (getattr(error, "error_code", ""), error, known.message)
        return refused(known.status_code, known.response.headers, known.body, asking, *said)
    if isinstance(error, _of(sdk, "APIError")):
        return refused(200, {}, known.body, asking, "", error, known.message)
    if isinstance(error, json.JSONDecodeError | UnicodeError):
        return asking.error(Kind.MALFORMED, "the answer is not JSON")
    return asking.error(
        Kind.MALFORMED, f"the answer is not of the API's shape ({type(error).__name__}: {error})"
    )


def _cause(error: BaseException) -> str:
    """Return the innermost reason; SDKs say only "Connection error."."""
    while error.__cause__ is not None:
        error = error.__cause__
    return str(error) or type(error).__name__


def _unreachable(error: BaseException) -> str:
    """Return why there was nobody to connect to; empty: there was somebody.

    There is no such host, no way there, or nobody listens, at no address of the host.
    """
    reasons = []
    for cause in _roots(error):
        if isinstance(cause, ConnectionRefusedError):
            reasons.append("connection refused")
        elif isinstance(cause, socket.gaierror) or (
            isinstance(cause, OSError) and cause.errno in _NO_WAY
        ):
            reasons.append((cause.strerror or str(cause)).lower())
        else:
            return ""
    return reasons[0] if reasons else ""


def _roots(error: BaseException) -> Iterator[BaseException]:
    """Yield what an error came from, also where the code between says so by raising only."""
    while inner := error.__cause__ or error.__context__:
        error = inner
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _roots(each)
    else:
        yield error


class _Nothing(Exception):
    """What no call raises."""


def _of(sdk: ModuleType | None, name: str) -> type[Exception]:
    """Return an exception of an SDK, where there is one."""
    found: type[Exception] = getattr(sdk, name, _Nothing) if sdk else _Nothing
    return found


def refused(
    status: int,
    headers: Mapping[str, str],
    body: Any,
    asking: Asking,
    code: str = "",
    *said_too: object,
) -> NoAnswer:
    """Return what an answer other than 200 means, or (status 200) an error inside a stream.

    `code` and `said_too` are what an SDK knows beside the body, the last of it for people.
    """
    inner = _inner(body)
    known_words = (inner.get("type"), inner.get("code"), code, inner.get("message"), *said_too)
    words = " ".join(str(part) for part in known_words if part)
    told = said_too[-1] if said_too else body
    said = str(inner.get("message") or inner.get("detail") or told or "no reason is given")
    in_stream = status == 200
    if in_stream:
        known = (str(inner.get(key)) for key in ("code", "type"))
        status = next((_STATUS_OF_TYPE[word] for word in known if word in _STATUS_OF_TYPE), 500)
    kind = _kind(status, words, asking.rung)
    prefix = "answered with an error" if in_stream else f"HTTP {status}"
    if 300 <= status < 400:
        said = f"redirected to {headers.get('location', 'elsewhere')}; set that as the base URL"
    return asking.error(
        kind,
        f"{prefix}: {said}",
        status=None if in_stream else status,
        retry_after=retry_after(headers),
    )


def _inner(body: Any) -> Mapping[str, Any]:
    """Return the part of an error body that says what is wrong."""
    if not isinstance(body, Mapping):
        return {}
    inner = body.get("error")
    if isinstance(inner, Mapping):
        return inner
    return {**body, "message": inner} if isinstance(inner, str) else body


def _kind(status: int, words: str, rung: Rung) -> Kind:
    if status == 402 or (status in (400, 403, 429) and _BILLING.search(words)):
        return Kind.BILLING
    match status:
        case 401 | 403:
            return Kind.AUTH
        case 404 | 405:
            return Kind.NOT_FOUND
        case 408 | 409 | 425:
            return Kind.TRANSIENT
        case 413:
            return Kind.CONTEXT
        case 429:
            return Kind.RATE_LIMITED
        case 503 | 529:
            return Kind.OVERLOADED
        case 400 | 422:
            if _CONTEXT.search(words):
                return Kind.CONTEXT
            unsupported = rung is not Rung.PROMPT and _FORMAT.search(words)
            return Kind.UNSUPPORTED_FORMAT if unsupported else Kind.BAD_REQUEST
    if status >= 500:
        unsupported = rung is not Rung.PROMPT and _FORMAT.search(words)
        if unsupported and _VALIDATION.search(words):
            return Kind.UNSUPPORTED_FORMAT
        return Kind.TRANSIENT
    return Kind.BAD_REQUEST
