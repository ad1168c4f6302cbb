import math
from shop.tax import rate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from decimal import Decimal

__all__ = [
    "price",
    "other",
]


def price(x: "Decimal"):
    return math.floor(x * rate())


def other(x):
    return price(x) + 1


X = price(10)
