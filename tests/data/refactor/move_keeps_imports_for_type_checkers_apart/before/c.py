from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from other import S


def k(x: S) -> S:
    return x
