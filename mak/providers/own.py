"""Endpoints as a person writes them down → endpoints that models are asked at."""

from __future__ import annotations

from collections.abc import Mapping

from mak.config.endpoints import EndpointSettings, PriceSettings
from mak.errors import UsageError
from mak.providers.connect import is_loopback
from mak.providers.endpoints import Endpoint, Price, Wire
from mak.providers.request import Encoding, Rung
from mak.providers.spec import RESERVED


def own(id: str, settings: EndpointSettings) -> Endpoint:
    """Return the endpoint that settings describe; raise `UsageError` for an id that is taken.

    One that is said to be local costs nothing, and one on this machine that wants no key; a gateway
    that bills may run here, too.
    """
    if id in RESERVED:
        raise UsageError(
            f"reading the endpoint {id!r}: specs that begin so mean something else already",
            hint="give it another id",
        )
    is_here = is_loopback(settings.url)
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
        prices=tuple(named_prices(settings.prices).items()),
        context=settings.context,
        max_output=settings.max_output,
        local=settings.local or is_here,
        free=settings.local or (is_here and not settings.key),
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
        local=endpoint.free,
    )
