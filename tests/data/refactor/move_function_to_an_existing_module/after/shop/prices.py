"""Prices."""

import math
from decimal import Decimal

from shop.tax import rate

__all__ = ["base", "price"]


def base():
    return 1


def price(x: "Decimal"):
    return math.floor(x * rate())


if __name__ == "__main__":
    print(base())
