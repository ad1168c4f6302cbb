"""Telling a key from other text, so that none ends up in a file or message that is not for keys."""

from __future__ import annotations

import re
from itertools import pairwise

#: How the keys of vendors and code hosts begin.
_PREFIXES = re.compile(
    r"(?:^|[\s=:/\"'])(?:sk-|sk_|rk-|pk-|AIza|AQ\.|nvapi-|gsk_|xai-|r8_|hf_|gh[opsu]_|github_pat_|"
    r"glpat-|xox[abp]-|AKIA|eyJ|Bearer\s|Basic\s)\w"
)
#: User and password of a URL.
_USER = re.compile(r"(?<=://)[^\s/?#]*@")
#: A run of letters and digits that nobody would choose as a name.
_RUN = re.compile(r"[A-Za-z0-9+]{20,}")


def looks_like_key(text: str) -> bool:
    """Whether `text` holds what a vendor would hand out as a key or token.

    Names of models, hosts and environment variables do not: their parts are words.
    """
    if _PREFIXES.search(text):
        return True
    return any(_is_random(run) for run in _RUN.findall(text))


def without_user(text: str) -> str:
    """Return `text` with ``…`` for the user and password of every URL in it."""
    return _USER.sub("…@", text)


def _is_random(run: str) -> bool:
    digits = sum(char.isdigit() for char in run)
    changes = sum(a.isdigit() != b.isdigit() for a, b in pairwise(run))
    mixed = run.lower() != run and run.upper() != run
    return digits >= 2 and (changes >= 5 or (mixed and changes >= 2))
