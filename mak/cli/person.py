"""Where a person keeps what holds for all of their projects; only launchers look there."""

from __future__ import annotations

import os
from pathlib import Path


def config_dir() -> Path:
    """Return the person's folder for MAK: below ``$XDG_CONFIG_HOME``, else below ``~/.config``.

    As the XDG Base Directory Specification wants it, a relative path in the variable is ignored.
    """
    return _base("XDG_CONFIG_HOME", ".config") / "mak"


def cache_dir() -> Path:
    """Return the folder for what can be fetched again, by ``$XDG_CACHE_HOME``."""
    return _base("XDG_CACHE_HOME", ".cache") / "mak"


def _base(variable: str, default: str) -> Path:
    named = Path(os.environ.get(variable, ""))
    return named if named.is_absolute() else Path.home() / default
