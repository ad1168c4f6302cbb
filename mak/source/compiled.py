"""Whether the running Python compiles a file: worked out once for the same bytes.

What compiling finds beyond parsing lies in one function, or between it and the statements of the
module or class around it: never between two functions. So where the code of some functions changed
in a file, these and what is no function tell whether the file compiles as it did.
"""

from __future__ import annotations

import hashlib
import warnings
from collections import OrderedDict

from mak.model import NodeKind
from mak.source.file import SourceFile
from mak.source.python import Python, why
from mak.source.text import indent_of

#: Answers that stay in memory; one is a few dozen bytes.
_KEPT = 8192

_FUNCTIONS = (NodeKind.FUNCTION, NodeKind.METHOD)
_CODECS = ("utf-8", "utf-8-sig")

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


def still_compiles(before: SourceFile, after: SourceFile) -> bool:
    """Whether a changed file surely compiles, if it did before; False: only the whole can tell."""
    part = _changed_part(before, after)
    return part is not None and complaint(part) is None


def _changed_part(before: SourceFile, after: SourceFile) -> bytes | None:
    """Return the file with `pass` for each function that is as it was.

    None when more than the code of functions changed.
    """
    if after.language != Python.name or after.newer or after.encoding not in _CODECS:
        return None
    if (after.whole, after.encoding) != (before.whole, before.encoding):
        return None
    if len(after.nodes) != len(before.nodes):
        return None
    parts = []
    for old, new in zip(before.nodes, after.nodes, strict=True):
        if (new.id.symbol, new.kind) != (old.id.symbol, old.kind):
            return None
        text = after.data[new.start : new.end]
        if new.kind not in _FUNCTIONS:
            if new.digest != old.digest:
                return None
        elif new.digest == old.digest:
            text = indent_of(text[new.lead :]) + b"pass\n"
        parts.append(text)
    return b"".join(parts)
