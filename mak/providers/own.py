"""Endpoints as a person writes them down → endpoints that models are asked at."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from mak.config.endpoints import EndpointSettings, PriceSettings
from mak.errors import UsageError
from mak.providers.connect import is_loopback
from mak.providers.endpoints import PRESETS, Endpoint, Price, Wire
from mak.providers.request import Encoding, Rung
from mak.providers.spec import RESERVED


def own(id: str, settings: EndpointSettings) -> Endpoint:
    """Return the endpoint that settings describe; raise `UsageError` for an id that is taken.

    Where it lies on the host of a preset, that one's prices hold; on this machine nothing costs.
    """
    if id in RESERVED:
        raise UsageError(
            f"reading the endpoint {id!r}: specs that begin so mean something else already",
            hint="give it another id",
        )
    local = settings.local or is_loopback(settings.url)
    prices = named_prices(settings.prices)
    if local:
        prices.setdefault("*", Price(0.0, 0.0))
    return Endpoint(
        id,
        Wire(settings.wire),
        settings.url,
        title=settings.title,
        model=settings.model,
        key_names=(settings.key,) if settings.key else (),
        key_needed=bool(settings.key),
        headers=tuple(settings.headers.items()),
        rungs=tuple(map(Rung, settings.formats)),
        encoding=Encoding.ENVELOPE if settings.envelope else Encoding.JSON,
        priced_as=_priced_as(settings.url),
        prices=tuple(prices.items()),
        context=settings.context,
        max_output=settings.max_output,
        local=local,
    )


def named_prices(prices: Mapping[str, PriceSettings]) -> dict[str, Price]:
    """Return prices as they count, by what they are for."""
    return {name: Price(each.input, each.output, each.cached) for name, each in prices.items()}


def settings_of(endpoint: Endpoint) -> EndpointSettings:
    """Return what to write down for an endpoint, to begin one of one's own from a preset."""
    return EndpointSettings(
        url=endpoint.url,
        wire=endpoint.wire.value,
        title=endpoint.title,
        model=endpoint.model,
        key=endpoint.key_names[0] if endpoint.key_names and endpoint.key_needed else "",
        headers=dict(endpoint.headers),
        context=endpoint.context,
        max_output=endpoint.max_output,
        formats=tuple(rung.value for rung in endpoint.rungs),
        envelope=endpoint.encoding is Encoding.ENVELOPE,
        local=endpoint.local,
    )


def _priced_as(url: str) -> str:
    host = urlsplit(url).hostname
    at_host = (p.priced_as for p in PRESETS.values() if urlsplit(p.url).hostname == host)
    return next(at_host, "") if not is_loopback(url) else ""
