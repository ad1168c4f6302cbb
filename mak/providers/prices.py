"""What a call costs in US dollars, from a price table that needs no network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mak.model import Usage
from mak.providers.endpoints import Price

#: Characters that one token stands for, on average, where an endpoint counts nothing.
CHARS_PER_TOKEN = 3.6


@dataclass(frozen=True, slots=True)
class Counts:
    """Tokens of one call; `input` includes what was read from and written to a cache."""

    input: int = 0
    output: int = 0
    cached: int = 0
    written: int = 0
    estimated: bool = False


def told(source: object, name: str) -> int:
    """Return a count that a server tells in an object or a mapping; 0 where it is none."""
    value = source.get(name) if isinstance(source, Mapping) else getattr(source, name, None)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(value) if 0 < value < 1e15 else 0


def tokens(*texts: str) -> int:
    """Estimate how many tokens these texts are."""
    return -(-sum(map(len, texts)) * 10 // int(CHARS_PER_TOKEN * 10))


@dataclass(frozen=True, slots=True)
class Tariff:
    """What calls to one endpoint cost."""

    #: What a person says, before all else.
    price: Price | None = None
    #: Provider of the price table; empty: nobody's prices hold.
    priced_as: str = ""

    def cost(self, counts: Counts, model: str) -> float | None:
        """Return what a call costs in US dollars; None where no price is known."""
        if self.price is None:
            return price(counts, self.priced_as, model) if self.priced_as else None
        each = self.price
        cached = each.input if each.cached is None else each.cached
        fresh = counts.input - counts.cached
        return (fresh * each.input + counts.cached * cached + counts.output * each.output) / 1e6

    def usage(self, counts: Counts, model: str, answered: str = "") -> Usage:
        """Return the counts of one call with what it cost.

        The model that was asked decides, as it did before the call; where no price of it is known,
        the one that a gateway says has `answered`.
        """
        cost = self.cost(counts, model)
        if cost is None and answered:
            cost = self.cost(counts, answered)
        return Usage(counts.input, counts.output, counts.cached, 1, cost, counts.estimated)


def price(counts: Counts, vendor: str, model: str) -> float | None:
    """Return what a call to a model of `vendor` costs; None when no price is known."""
    import genai_prices

    try:
        found = genai_prices.calc_price(
            genai_prices.Usage(
                input_tokens=counts.input,
                cache_read_tokens=counts.cached,
                cache_write_tokens=counts.written,
                output_tokens=counts.output,
            ),
            model,
            provider_id=vendor,
        )
    except (LookupError, ValueError):
        return None
    return float(found.total_price)
