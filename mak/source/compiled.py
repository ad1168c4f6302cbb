"""Whether the running Python compiles a file: worked out once for the same bytes.

What compiling finds beyond parsing lies in one function, or between it and the statements of the
module or class around it: never between two functions. So where the code of some functions changed
in a file, these and what is no function tell whether the file compiles as it did.
"""

from __future__ import annotations

import hashlib
import warnings
from collections import OrderedDict

from mak.source.file import FUNCTIONS, SourceFile, changed_functions
from mak.source.python import why
from mak.source.python_ast import parsed
from mak.source.text import indent_of

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
            _compile(data)
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


def _compile(data: bytes) -> None:
    tree = parsed(data)
    if tree is not None:
        try:
            compile(tree, "<source>", "exec", dont_inherit=True)
            return
        except (RecursionError, MemoryError):
            pass  # a tree of Python's objects is read with less depth to spare than the text
    compile(data, "<source>", "exec", dont_inherit=True)


def still_compiles(before: SourceFile, after: SourceFile) -> bool:
    """Whether a changed file surely compiles, if it did before; False: only the whole can tell."""
    part = _changed_part(before, after)
    return part is not None and complaint(part) is None


def _changed_part(before: SourceFile, after: SourceFile) -> bytes | None:
    """Return the file with `pass` for each function that is as it was.

    None when more than the code of functions changed.
    """
    changed = changed_functions(before, after)
    if changed is None:
        return None
    fresh = {new.start for _, new in changed}
    parts = []
    for node in after.nodes:
        text = after.data[node.start : node.end]
        if node.kind in FUNCTIONS and node.start not in fresh:
            text = indent_of(text[node.lead :]) + b"pass\n"
        parts.append(text)
    return b"".join(parts)
