from typing import TYPE_CHECKING

from shop.prices import price

__all__ = [
    "other",
]


def other(x):
    return price(x) + 1


X = price(10)
