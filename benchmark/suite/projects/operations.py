"""An operation: name, parameters, what it does, body, two cases."""

from __future__ import annotations

from typing import NamedTuple


class Operation(NamedTuple):
    """A function to write; a case is arguments and the value, both as Python."""

    name: str
    signature: str
    about: str
    body: str
    cases: tuple[tuple[str, str], tuple[str, str]]


def operation(
    name: str, signature: str, about: str, body: str, *cases: tuple[str, str]
) -> Operation:
    """Return an operation with its two cases."""
    one, other = cases
    return Operation(name, signature, about, body, (one, other))
