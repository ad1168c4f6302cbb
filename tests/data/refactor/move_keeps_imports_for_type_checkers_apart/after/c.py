from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nowhere import T
    from other import S


def k(x: S) -> S:
    return x


def g(x: T) -> T:
    return x
