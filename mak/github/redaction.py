"""What goes to GitHub or into a log, without tokens: by value where known, else by form."""

from __future__ import annotations

import re

from mak.providers import secrets

#: Tokens of people, Apps, installations and refreshes; an installation's holds a JWT, with dots,
#: and none has a length to rely on. Also what an App signs for itself.
_TOKEN = re.compile(
    r"gh[pousr]_[A-Za-z0-9._-]{20,}|github_pat_[A-Za-z0-9_]{20,}"
    r"|eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{20,}"
)
_PEM = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*-----|\Z)", re.DOTALL)


def redact(text: str) -> str:
    """Return a text without tokens and keys."""
    # By form first: a value that is a part of a token would leave the rest of it.
    return secrets.redact(_PEM.sub("[redacted]", _TOKEN.sub("[redacted]", text)))
