"""HTTP connections of the SDK clients: one client per provider and event loop, closed together."""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit, urlunsplit

from anyio.lowlevel import RunVar

from mak.providers.policy import Policy

if TYPE_CHECKING:
    import httpx2


T = TypeVar("T")

_open: RunVar[dict[object, Any]] = RunVar("mak.providers.connections")


def client(owner: object, kind: type[T], make: Callable[[], T]) -> T:
    """Return the client of `owner` in this event loop; make it the first time."""
    clients = _open.get({})
    _open.set(clients)
    found = clients.get(owner)
    if not isinstance(found, kind):
        found = clients[owner] = make()
    return found


async def close() -> None:
    """Close every client of this event loop; the next call opens a new one."""
    clients = _open.get({})
    while clients:
        _, found = clients.popitem()
        # SDKs call it close, httpx2 aclose.
        await (getattr(found, "aclose", None) or found.close)()


def http_client(url: str, policy: Policy) -> httpx2.AsyncClient:
    """Return an HTTP client for `url`.

    Proxies from the environment are not asked for this machine itself. Redirects are not followed:
    a key goes to the host it was meant for and to no other.
    """
    import httpx2

    trust_env = not is_loopback(url)
    return httpx2.AsyncClient(
        trust_env=trust_env,
        verify=_certificates(trust_env),
        follow_redirects=False,
        timeout=httpx2.Timeout(policy.idle, connect=policy.connect),
        limits=httpx2.Limits(max_connections=1000, max_keepalive_connections=100),
    )


@cache
def _certificates(trust_env: bool) -> ssl.SSLContext:
    """Read the certificates once per process; it takes longer than a call on this machine."""
    import httpx2

    return httpx2.create_ssl_context(trust_env=trust_env)


def is_loopback(url: str) -> bool:
    """Whether `url` leads to this machine."""
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def shown(url: str) -> str:
    """Return `url` without user, password and query, for messages and as a key."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))
