"""What code expects to go wrong: exceptions it catches, tests that are meant to fail."""

from __future__ import annotations

import ast
import re
from functools import lru_cache

from mak.source.facts import Guard

_CAUGHT = {
    "BaseException": Guard.ALL,
    "Exception": Guard.ALL,
    "TypeError": Guard.CALL,
    "AttributeError": Guard.ATTRIBUTE,
    "ImportError": Guard.IMPORT | Guard.ATTRIBUTE,
    "ModuleNotFoundError": Guard.IMPORT | Guard.ATTRIBUTE,
    "NameError": Guard.NAME,
}
#: Context managers and functions, by their last name, that expect or swallow an exception.
_EXPECTING = ("raises", "suppress", "warns", "deprecated_call", "ignored", "does_not_raise")
#: Words without which a condition has looked at nothing; `looked_at` is slow.
LOOKING = re.compile(rb"attr|callable|signature|version_info|getfullargspec")
_SKIPPING = ("skip", "xfail", "expectedfailure")


def caught(node: ast.expr) -> int:
    """Return what an ``except`` clause of this type expects."""
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    found = 0
    for part in parts:
        name = part.id if isinstance(part, ast.Name) else getattr(part, "attr", "")
        found |= int(_CAUGHT.get(name, 0))
    return found


def looked_at(test: ast.expr) -> int:
    """Return what a condition has made sure of before: ``if hasattr(x, "y")``."""
    for node in ast.walk(test):
        name = node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")
        if name in ("hasattr", "getattr", "callable"):
            return int(Guard.ATTRIBUTE)
        if name in ("signature", "version_info", "getfullargspec"):
            return int(Guard.ALL)
    return 0


def expected(call: ast.Call) -> int:
    """Return what a context manager, or a call that runs a function, expects to go wrong."""
    name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
    return int(Guard.ALL) if _expects(name) else 0


@lru_cache(4096)
def _expects(name: str) -> bool:
    lowered = name.lower()
    return any(word in lowered for word in _EXPECTING) or name.startswith(
        ("assertRaises", "failUnless")
    )


def is_skip(decorator: tuple[str, ...]) -> bool:
    """Whether a decorator may keep a test from being run, or lets it fail."""
    lowered = decorator[-1].lower()
    return any(word in lowered for word in _SKIPPING)
