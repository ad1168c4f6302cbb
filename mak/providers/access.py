"""An endpoint together with its key, and the only place that reads keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import unquote, urlsplit, urlunsplit

from mak.errors import UsageError
from mak.providers import secrets
from mak.providers.connect import is_loopback, shown
from mak.providers.endpoints import PRESETS, Endpoint, Price, Wire
from mak.providers.faults import Asking
from mak.providers.prices import Counts, Tariff
from mak.providers.request import Rung
from mak.providers.setup import Setup
from mak.providers.spec import Spec

#: The SDKs insist on some key.
NO_KEY = "not-needed"
#: Shorter values are no secrets, and words would go missing from messages.
_SHORTEST = 4


@dataclass(frozen=True, slots=True)
class Access:
    """Where calls go and with what."""

    endpoint: Endpoint
    url: str
    key: str
    #: The variable that the key came from; empty: there is none.
    key_name: str
    tariff: Tariff
    #: Whether it is a server of one's own, whose counts tell whether it has cut a prompt; gateways
    #: count in ways of their own.
    cuts: bool

    def __repr__(self) -> str:
        return f"Access({self.endpoint.id})"

    @property
    def secrets(self) -> tuple[str, ...]:
        """Values that no message may hold."""
        values = (self.key, unquote(urlsplit(self.url).password or ""))
        return tuple(value for value in values if value != NO_KEY and len(value) >= _SHORTEST)

    def asking(self, model: str, rung: Rung, usual_end: str = "") -> Asking:
        """Return what the errors of one call tell about it."""
        wanted = next(iter(self.endpoint.key_names), "")
        return Asking(model, shown(self.url), rung, self.key_name, self.secrets, wanted, usual_end)


def access(endpoint: Endpoint, setup: Setup, model: str = "") -> Access:
    """Find URL and key of an endpoint; raise `UsageError` when it cannot be asked without one."""
    key, key_name = "", ""
    for variable in endpoint.key_names:
        if key := _key(variable, setup.variables):
            key_name = variable
            break
    if not key and endpoint.key_needed:
        names = " or ".join(endpoint.key_names)
        raise UsageError(
            f"opening {endpoint.id}: {names} is not set",
            hint=f"mak keys set {endpoint.key_names[0]}, or export it; "
            "the model spec builtin needs no key",
        )
    url = _url(endpoint, setup.variables)
    secrets.keep(key, unquote(urlsplit(url).password or ""))
    return Access(
        endpoint,
        url,
        key or NO_KEY,
        key_name,
        tariff(endpoint, setup, model),
        endpoint.local or is_loopback(url),
    )


def located(endpoint: Endpoint, setup: Setup) -> Endpoint:
    """Return an endpoint with the URL at which it is asked, where a variable moves it."""
    return replace(endpoint, url=_url(endpoint, setup.variables))


def tariff(endpoint: Endpoint, setup: Setup, model: str) -> Tariff:
    """Return what a model costs there; nothing else decides that. Needs no key.

    What a person says comes first, then the list of the vendor whose host it is, and a server of
    one's own costs nothing. Whatever else costs what nobody knows.
    """
    if said := setup.prices.get(f"{endpoint.id}:{model}") or endpoint.price(model):
        return Tariff(said)
    if vendor := _vendor(endpoint, setup):
        return Tariff(priced_as=vendor.priced_as)
    return Tariff(Price(0.0, 0.0) if endpoint.free else None)


def may_cut(endpoint: Endpoint, setup: Setup) -> bool:
    """Whether what answers may drop the start of a long prompt without a word.

    The vendors refuse one that is too long; of a gateway or a server of one's own nobody knows.
    """
    return _vendor(endpoint, setup) is None


def _vendor(endpoint: Endpoint, setup: Setup) -> Endpoint | None:
    """Return the vendor at whose own host an endpoint is asked, if it is."""
    host = _host(_url(endpoint, setup.variables))
    hosted = (preset for preset in PRESETS.values() if not preset.local)
    return next((preset for preset in hosted if _host(preset.url) == host), None)


def list_cost(spec: Spec, counts: Counts, setup: Setup) -> float | None:
    """Return what a call to the model of a spec costs in US dollars; None: no price is known."""
    if spec.endpoint is None:
        return 0.0
    return tariff(spec.endpoint, setup, spec.rest).cost(counts, spec.rest)


def _host(url: str) -> str | None:
    return urlsplit(url).hostname


def _url(endpoint: Endpoint, variables: Mapping[str, str]) -> str:
    """Return the base URL: what its variable says in the environment, else the endpoint's own."""
    url = variables.get(endpoint.url_name, "").strip() if endpoint.url_name else ""
    if not url:
        return endpoint.url
    return ollama_url(url) if endpoint.wire is Wire.OLLAMA else url


def ollama_url(host: str) -> str:
    """Return ``OLLAMA_HOST`` as a URL: servers listen on it, so that it may be any address."""
    parts = urlsplit(host if "://" in host else f"http://{host}")
    name = parts.hostname or "127.0.0.1"
    name = "127.0.0.1" if name in ("0.0.0.0", "::") else name
    name = f"[{name}]" if ":" in name else name
    user = f"{parts.netloc.rpartition('@')[0]}@" if "@" in parts.netloc else ""
    port = parts.port or (443 if parts.scheme == "https" else 11434)
    return urlunsplit((parts.scheme, f"{user}{name}:{port}", parts.path, "", ""))


def _key(variable: str, variables: Mapping[str, str]) -> str:
    key = variables.get(variable, "").strip()
    if key and not (key.isascii() and key.isprintable() and " " not in key):
        raise UsageError(
            f"reading the key in {variable}: it holds characters that no key has",
            hint=f"set {variable} again, without quotes, spaces or line breaks",
        )
    return key


def key_names() -> tuple[str, ...]:
    """Return every variable that may hold the key of a preset."""
    return tuple(name for preset in PRESETS.values() for name in preset.key_names)
