from __future__ import annotations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nowhere import T


def f(x: T) -> T:
    return x
