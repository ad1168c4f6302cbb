"""Whether the running Python compiles a file: worked out once for the same bytes."""

from __future__ import annotations

import hashlib
import warnings
from collections import OrderedDict

from mak.source.python import why

#: Answers that stay in memory; one is a few dozen bytes.
_KEPT = 8192

_known: OrderedDict[bytes, tuple[str, int] | None] = OrderedDict()


def complaint(data: bytes) -> tuple[str, int] | None:
    """Return why Python source does not compile, and the line (0: no one line); None: it does."""
    key = hashlib.sha1(data, usedforsecurity=False).digest()
    if key in _known:
        return _known[key]
    found = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(data, "<source>", "exec", dont_inherit=True)
    except (RecursionError, MemoryError) as error:
        return why(error), 0  # depends on what is on the stack already
    except SyntaxError as error:
        found = error.msg or "invalid syntax", error.lineno or 0
    except (ValueError, OverflowError) as error:
        found = str(error) or type(error).__name__, 0
    _known[key] = found
    if len(_known) > _KEPT:
        _known.popitem(last=False)
    return found
