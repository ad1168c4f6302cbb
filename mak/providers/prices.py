"""What a call costs in US dollars, from a price table that needs no network."""

from __future__ import annotations

from dataclasses import dataclass

from mak.model import Usage

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


def tokens(*texts: str) -> int:
    """Estimate how many tokens these texts are."""
    return -(-sum(map(len, texts)) * 10 // int(CHARS_PER_TOKEN * 10))


def usage(counts: Counts, vendor: str, model: str) -> Usage:
    """Return `counts` with their price; without a `vendor`, or for an unknown model, it is None."""
    return Usage(
        input=counts.input,
        output=counts.output,
        cached=counts.cached,
        calls=1,
        cost=price(counts, vendor, model) if vendor else None,
        estimated=counts.estimated,
    )


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
