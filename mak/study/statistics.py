"""How sure a figure is, and how unevenly something is spread."""

from __future__ import annotations

import math
from collections.abc import Sequence

#: The normal quantile of a 95 % interval.
Z95 = 1.959963984540054


def wilson(hits: int, of: int, z: float = Z95) -> tuple[float, float]:
    """Return Wilson's score interval (1927) of a rate, as shares of 1; (0, 1) of no trials."""
    if of == 0:
        return 0.0, 1.0
    rate, square = hits / of, z * z
    centre = (rate + square / (2 * of)) / (1 + square / of)
    half = z / (1 + square / of) * math.sqrt(rate * (1 - rate) / of + square / (4 * of * of))
    return max(0.0, centre - half), min(1.0, centre + half)


def gini(counts: Sequence[int]) -> float:
    """Return the Gini coefficient: 0 when all are alike, near 1 when one has everything."""
    total = sum(counts)
    if not total:
        return 0.0
    ordered = sorted(counts)
    weighted = sum(rank * count for rank, count in enumerate(ordered, 1))
    return 2 * weighted / (len(ordered) * total) - (len(ordered) + 1) / len(ordered)


def tail_exponent(counts: Sequence[int], least: int = 2) -> float | None:
    """Return the exponent of a power law fitted to the counts of at least `least`.

    The maximum likelihood of Clauset, Shalizi and Newman (2009), in their approximation for whole
    numbers; None of fewer than ten counts. It fits the law, it does not say that it is one.
    """
    tail = [count for count in counts if count >= least]
    if len(tail) < 10:
        return None
    return 1 + len(tail) / sum(math.log(count / (least - 0.5)) for count in tail)
