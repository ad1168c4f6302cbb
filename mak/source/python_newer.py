"""Statements of Python that is newer than the Python that runs us.

The parser behind this recurses on the machine's stack and is superlinear in places: it can end the
process or run for minutes. `unfit` keeps the worst away from it, and `cut` is run in a worker
process with limits on time and memory.
"""

from __future__ import annotations

from mak.source.statement import Statement

#: Bytes above which nothing is cut.
LONGEST = 400_000
#: Depth of brackets above which nothing is cut.
DEEPEST = 90
#: Operators on one line, or lines in one chain of ``elif``, above which nothing is cut.
BUSIEST = 400

_NOT_BRACKETS = bytes(set(range(256)) - set(b"()[]{}"))
_OPERATORS = bytes(set(range(256)) - set(b"+-*/%@&|^<>=.,"))


def cut(data: bytes) -> tuple[Statement, ...]:
    """Return the top-level statements of Python source, whatever version it is written for.

    Raises SyntaxError when it is none, or when it cannot be told line by line.
    """
    from mak.source.python_cst import statements

    if reason := unfit(data):
        raise SyntaxError(reason)
    return statements(data)


def unfit(data: bytes) -> str:
    """Return why source must not be given to this parser; empty when it may."""
    if len(data) > LONGEST:
        return "it is too long to try newer syntax"
    if b"\0" in data:
        return "it holds a NUL character"
    depth = 0
    for byte in data.translate(None, _NOT_BRACKETS):
        depth = max(depth + (1 if byte in b"([{" else -1), 0)
        if depth > DEEPEST:
            return "it is nested too deeply to try newer syntax"
    for line in data.splitlines():
        if len(line) > BUSIEST and len(line.translate(None, _OPERATORS)) > BUSIEST * 4:
            return "it has lines too long to try newer syntax"
    if data.count(b"elif ") > BUSIEST:
        return "it has too many branches to try newer syntax"
    return ""
