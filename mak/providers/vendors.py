"""Vendors: where they are, which variable holds their key, which model is their default."""

from __future__ import annotations

import os
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from mak.errors import UsageError
from mak.providers.policy import Policy
from mak.providers.request import Provider


@dataclass(frozen=True, slots=True)
class Vendor:
    """One vendor; its key goes to its own host, or to where `url_name` sends it on purpose."""

    name: str
    #: Environment variables.
    key_name: str
    url_name: str
    url: str
    #: Model for a spec that names none.
    model: str


VENDORS = {
    vendor.name: vendor
    for vendor in (
        Vendor(
            "anthropic",
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_BASE_URL",
            "https://api.anthropic.com",
            "claude-sonnet-5-5",
        ),
        Vendor(
            "openai",
            "OPENAI_API_KEY",
            "OPENAI_BASE_URL",
            "https://api.openai.com/v1",
            "gpt-6.1-sol",
        ),
    )
}

#: Key for servers that a spec names by URL; vendors' keys never go there.
OWN_KEY_NAME = "MAK_API_KEY"
#: The SDK insists on some key.
NO_KEY = "not-needed"
#: Shorter values are no secrets, and words would go missing from messages.
_SHORTEST_SECRET = 4


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where calls go and with what."""

    #: Provider name as in a model spec.
    name: str
    url: str
    key: str
    key_name: str
    #: Whose prices hold here; empty: nobody's.
    priced_as: str

    def __repr__(self) -> str:
        return f"Endpoint({self.name})"

    @property
    def secrets(self) -> tuple[str, ...]:
        """Values that no message may hold."""
        password = unquote(urlsplit(self.url).password or "")
        found = (value for value in (self.key, password) if value != NO_KEY)
        return tuple(value for value in found if len(value) >= _SHORTEST_SECRET)


def endpoint(name: str, url: str) -> Endpoint:
    """Find URL and key of a provider; raise `UsageError` when its key is not set."""
    vendor = VENDORS.get(name)
    if vendor is None:
        return Endpoint(name, url, _key(OWN_KEY_NAME) or NO_KEY, OWN_KEY_NAME, "")
    key = _key(vendor.key_name)
    if not key:
        raise UsageError(
            f"opening {name}: {vendor.key_name} is not set",
            hint=f"export {vendor.key_name}=…, or use the model spec builtin, which needs no key",
        )
    chosen = os.environ.get(vendor.url_name, "").strip() or vendor.url
    own_host = urlsplit(chosen).hostname == urlsplit(vendor.url).hostname
    return Endpoint(name, chosen, key, vendor.key_name, name if own_host else "")


def _key(variable: str) -> str:
    key = os.environ.get(variable, "").strip()
    if key and not (key.isascii() and key.isprintable() and " " not in key):
        raise UsageError(
            f"reading the key in {variable}: it holds characters that no key has",
            hint=f"set {variable} again, without quotes, spaces or line breaks",
        )
    return key


def open_provider(name: str, model: str, url: str, policy: Policy) -> tuple[Provider, str]:
    """Open the provider `name`; return it with the model to ask, its default when none is named."""
    found = endpoint(name, url)
    model = model or VENDORS[name].model
    if name == "anthropic":
        from mak.providers.anthropic import AnthropicProvider

        return AnthropicProvider(found, policy), model
    from mak.providers.openai import OpenAIProvider

    return OpenAIProvider(found, policy), model
