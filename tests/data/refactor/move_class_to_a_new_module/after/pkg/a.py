"""Module a."""
from __future__ import annotations

import sys

__all__ = ["helper"]


def helper():
    return sys.platform
