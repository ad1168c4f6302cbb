from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nowhere import T


def h(x: T) -> T:
    return x
